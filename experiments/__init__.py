"""Experiments that print numbers of README and `docs`: run them from the root, as ``python -m experiments.no_loss``."""

import sys

from tools import CHECKOUT

sys.path.append(str(CHECKOUT / "papers" / "zhang-2008"))  # its models define the rows of the tables of buffers
