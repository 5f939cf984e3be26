"""Files that Levelflow writes and reads; `crates/files` describes their properties."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from levelflow import _core


def replace(path: Path, content: str | bytes) -> None:
    """Writes a file atomically and durably: after a kill or a loss of power, it has its old or its new content.

    Raises:
        OSError: If the file is not writable.
        ScenarioError: If the path names something other than a regular file.
    """
    with suppress(FileExistsError):  # if the parent is a file, `replace` below raises the error
        _core.create_dirs(path.parent)
    _core.replace(path, content.encode() if isinstance(content, str) else content)


def lock(folder: Path) -> _core.Lock:
    """Locks a folder against other processes until the returned lock is closed; creates the folder if necessary.

    On Windows there is no lock.

    Raises:
        BlockingIOError: If another process holds the lock.
        OSError: If the folder is not writable.
    """
    return _core.Lock(folder)


def read(path: Path, *, any_file: bool = False) -> str:
    """Returns the text of a regular file of at most 256 MiB. With `any_file`, it may be a pipe or a device.

    Raises:
        ScenarioError: If the file is unreadable; the message has the path and nothing of the content.
    """
    try:
        if not any_file:
            return _core.read(path)
        with path.open("rb") as file:  # not read by the engine: Ctrl-C must end a read that waits for a pipe
            return _core.text(path, file.read(_core.MAX_BYTES + 1))
    except OSError as error:
        raise _core.ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from None
