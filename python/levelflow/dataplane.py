"""Where the program `levelflow-net` is, and whether its router in the kernel can run here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: The program, and the variable of the environment that may name another one.
PROGRAM, VARIABLE = "levelflow-net", "LEVELFLOW_NET"
#: What a check needs that measures the router in the kernel.
NEED = "data plane"
#: A router for a moment, at a device of a network of its own.
TRIAL = ("router", "--dev", "lo", "--capacity", "1 Mb/s", "--duration", "10 ms", "--quiet")


class DataPlaneError(ValueError):
    """The data plane is not here, or may not make a network: one line, what to do about it."""


def program() -> Path | None:
    """The data plane: what ``LEVELFLOW_NET`` names, else a neighbour of this Python, else what ``PATH`` knows."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    beside = Path(sys.executable).with_name(PROGRAM)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM)
    return Path(found) if found else None


def usable() -> Path:
    """The data plane, where this process may make a network.

    Raises:
        DataPlaneError: when there is none, or this is not root.
    """
    if (found := program()) is None:
        raise DataPlaneError(f"{PROGRAM} is not here; build it with make net, or name it in {VARIABLE}")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise DataPlaneError("a network inside this machine needs root; try sudo -E")
    return found


def has_kernel_router() -> bool:
    """Whether a router starts in the kernel: root, a build with clang, a kernel that takes it."""
    try:
        command = ["unshare", "--net", str(usable()), *TRIAL]
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (DataPlaneError, OSError, subprocess.TimeoutExpired):
        return False
