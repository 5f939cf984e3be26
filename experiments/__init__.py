"""Experiments that print numbers of README and `docs`. Run them from the root, as ``python -m experiments.no_loss``."""

import sys

from tools import CHECKOUT

sys.path.append(str(CHECKOUT / "papers" / "zhang-2008"))  # Models of this folder define rows of tables.
