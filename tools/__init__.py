"""Developer tools of the checkout. Run them from its root, for example ``python -m tools.bench``."""

from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
