"""Search for the program `levelflow-net`, and test for its router in the kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Name of the program, and environment variable that overrides its path.
PROGRAM, VARIABLE = "levelflow-net", "LEVELFLOW_NET"
#: Entry of `needs` in claim.toml for checks that measure the kernel router.
NEED = "data plane"
#: Arguments of a short test run of the router, in a separate network namespace.
TRIAL = ("router", "--dev", "lo", "--capacity", "1 Mb/s", "--duration", "10 ms", "--quiet")


class DataPlaneError(ValueError):
    """Error that `levelflow-net` or a privilege is missing. The message is one line with the remedy."""


def program() -> Path | None:
    """Returns the program from ``LEVELFLOW_NET``, else from the directory of the running Python, else from ``PATH``."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    beside = Path(sys.executable).with_name(PROGRAM)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM)
    return Path(found) if found else None


def usable() -> Path:
    """Returns the program if this process may create network namespaces.

    Raises:
        DataPlaneError: If the program is missing, or the user is not root.
    """
    if (found := program()) is None:
        raise DataPlaneError(f"{PROGRAM} was not found; build it with make net, or set {VARIABLE} to its path")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise DataPlaneError("network namespaces need root; try sudo -E")
    return found


def has_kernel_router() -> bool:
    """Returns True if the kernel router starts.

    The kernel router needs root, a build with clang, and a suitable kernel.
    """
    try:
        command = ["unshare", "--net", str(usable()), *TRIAL]
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (DataPlaneError, OSError, subprocess.TimeoutExpired):
        return False
