"""Packets of a run in a capture file, which Wireshark and tshark read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Self

from levelflow._core import ScenarioError

START = bytes.fromhex("0a0d0d0a")


class Capture:
    """What links carry: Ethernet, IPv4, UDP, shim and header of each packet, as it reaches the far end of a link.

    Attributes:
        path: the file, in pcapng, one interface per link, times in nanoseconds.
        links: names of the links; all if there are none.
    """

    def __init__(self, path: Path | str, links: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.links = list(links)
        self.file: BinaryIO | None = None

    def check(self) -> Self:
        """Refuses, before anything is written, a file that holds something else or cannot be written.

        Raises:
            ScenarioError: one line that says why.
        """
        if self.path.is_file():
            with self.path.open("rb") as file:
                begins = file.read(len(START))
            if begins not in (START, b""):
                raise ScenarioError(f"{self.path}: holds something else; allowed: a new file, or a capture to replace")
        elif self.path.exists():
            raise ScenarioError(f"{self.path}: not a file; allowed: a new file, or a capture to replace")
        elif not self.path.parent.is_dir():
            raise ScenarioError(f"{self.path}: its directory does not exist")
        return self

    def append(self, captured: bytes) -> None:
        """Writes what was captured; the first time, in place of what the file held."""
        if self.file is None:
            self.file = self.path.open("wb")
        self.file.write(captured)

    def flush(self) -> None:
        """Makes what was written visible to others."""
        if self.file:
            self.file.flush()

    def close(self) -> None:
        """Ends the file."""
        if self.file:
            self.file.close()
