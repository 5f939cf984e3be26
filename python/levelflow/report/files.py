"""Atomic writing of files, and locks on folders."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO


def replace(path: Path, text: str) -> None:
    """Writes a text file atomically: readers see the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = part(path)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def part(path: Path) -> Path:
    """Returns the temporary path of a file that is being written."""
    return path.with_name(f".{path.name}.part")


def lock(folder: Path) -> TextIO:
    """Locks a folder against other processes until the returned file is closed; creates the folder if necessary.

    On Windows there is no lock.

    Raises:
        BlockingIOError: If another process holds the lock.
        OSError: If the folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held = open(folder / ".lock", "w")  # noqa: SIM115 - open as long as the folder is locked
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        held.close()
        raise
    return held
