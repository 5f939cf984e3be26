"""Input files of the importers: lines, numbers, and errors with file and line number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from levelflow import files
from levelflow._core import ScenarioError
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Largest size of a transfer and largest start time in a file: 2^62.
LARGEST = 1 << 62
#: Longest quotation of a file in an error message, characters.
LONGEST_QUOTE = 40
#: Number of lines that decide the format of a file.
HEAD_LINES = 60


@dataclass(frozen=True)
class Source:
    """Input file.

    Attributes:
        path: Path of the file, as the user wrote it.
        text: Content.
        named: True if another file names this file. Error messages then contain nothing of its content.
    """

    path: Path
    text: str
    named: bool = False

    @classmethod
    def read(cls, path: Path, *, named: bool = False) -> Source:
        """Reads a file of at most 256 MiB.

        Raises:
            ScenarioError: If the file is unreadable.
        """
        return cls(path, files.read(path), named)

    def lines(self, comment: str = "#") -> Iterator[tuple[int, list[str]]]:
        """Yields the number and the words of each line that is neither empty nor a comment."""
        for number, line in enumerate(self.text.split("\n"), 1):
            words = line.split()
            if words and not words[0].startswith(comment):
                yield number, words

    @cached_property
    def head(self) -> list[list[str]]:
        """Words of the first lines."""
        found = []
        for _, words in self.lines():
            found.append(words)
            if len(found) == HEAD_LINES:
                break
        return found

    def fail(self, line: int, problem: str) -> NoReturn:
        """Raises the error for a mistake in a line; line 0 is the whole file."""
        place = f"{self.path}, line {line}" if line else str(self.path)
        raise ScenarioError(f"{place}: {problem}")

    def unknown(self, line: int, what: str, word: str, allowed: list[str]) -> NoReturn:
        """Raises the error for an unknown word."""
        self.fail(line, f"unknown {what} {self.quoted(word)}; {nearest(word, allowed)}")

    def whole(self, line: int, what: str, word: str, low: int = 0, high: int = LARGEST) -> int:
        """Returns a whole number within limits."""
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 20 else -1
        if not low <= number <= high:
            limits = f"{low} to {high}" if high < LARGEST else f"a whole number, at least {low}"
            self.fail(line, f"{what} is {self.quoted(word)}; allowed: {limits}")
        return number

    def quoted(self, text: str) -> str:
        """Returns a text of the file in quotes, without control characters and at most `LONGEST_QUOTE` long."""
        if self.named:
            return "(not shown)"
        return repr(text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}...")
