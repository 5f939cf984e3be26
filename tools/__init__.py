"""Programs of the checkout outside the package: run them from its root, as ``python -m tools.bench``."""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
sys.path.append(str(CHECKOUT / "papers" / "zhang-2008"))  # its models define the rows of the tables of buffers
