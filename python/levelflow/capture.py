"""Capture files of a run, readable by Wireshark and tshark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Self

from levelflow._core import ScenarioError

START = bytes.fromhex("0a0d0d0a")


class Capture:
    """Capture of packets at the far end of links: Ethernet, IPv4, UDP, shim and header of each packet.

    Attributes:
        path: File in pcapng format, with one interface per link and times in nanoseconds.
        links: Names of the links; all links if empty.
    """

    def __init__(self, path: Path | str, links: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.links = list(links)
        self.file: BinaryIO | None = None

    def check(self) -> Self:
        """Verifies that the file is new or an older capture; writes nothing.

        Raises:
            ScenarioError: If the file is no capture or its directory does not exist; one line.
        """
        if self.path.is_file():
            with self.path.open("rb") as file:
                begins = file.read(len(START))
            if begins not in (START, b""):
                raise ScenarioError(f"{self.path}: is not a capture; allowed: a new file, or a capture to replace")
        elif self.path.exists():
            raise ScenarioError(f"{self.path}: not a file; allowed: a new file, or a capture to replace")
        elif not self.path.parent.is_dir():
            raise ScenarioError(f"{self.path}: its directory does not exist")
        return self

    def append(self, captured: bytes) -> None:
        """Appends captured packets; the first call truncates the file."""
        if self.file is None:
            self.file = self.path.open("wb")
        self.file.write(captured)

    def flush(self) -> None:
        """Flushes the file, so that other processes can read it."""
        if self.file:
            self.file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self.file:
            self.file.close()
