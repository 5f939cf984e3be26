"""Developer tools of the checkout: run them from its root, as ``python -m tools.bench``."""

from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
