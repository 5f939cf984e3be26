"""Programs of the checkout that are not part of the package: run them from its root, as ``python -m tools.bench``."""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
sys.path.append(str(CHECKOUT / "papers" / "zhang-2008"))  # its models give the tables of buffers their rows
