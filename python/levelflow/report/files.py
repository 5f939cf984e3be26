"""Files that are written in one step, and folders that one process writes."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO


def replace(path: Path, text: str) -> None:
    """Writes a text file in one step, so that a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = part(path)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def part(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f".{path.name}.part")


def lock(folder: Path) -> TextIO:
    """Keeps other processes out of a folder, made if need be, until what this returns is closed; not on Windows.

    Raises:
        BlockingIOError: if another process has it.
        OSError: if it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held = open(folder / ".lock", "w")  # noqa: SIM115 - held as long as the folder is written
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        held.close()
        raise
    return held
