"""Matrices and lists of numbers on a command line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.stability.matrices import Matrix


def array(text: str, name: str = "matrix") -> Any:
    """Returns the numbers in a text such as "1,4" or "[[1, 2], [3, 4]]", or in a file.

    A file is .json, or has rows of numbers in .csv or .txt.

    Other values than numbers are returned, too; the caller rejects them.

    Raises:
        TheoryError: if there is no such file, or it cannot be read.
    """
    kind = Path(text).suffix
    if text.lstrip().startswith("["):
        return _literal(text, text)
    if kind not in {".json", ".csv", ".txt"}:
        return numbers(name, text, "; or a list as in '[[1, 2], [3, 4]]', or a .csv, .json or .txt file")
    try:
        content = Path(text).read_text(encoding="utf-8")
    except OSError as error:
        raise _error(f"{text}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise _error(f"{text}: not UTF-8 text; needs rows of numbers") from None
    return _literal(content, text) if kind == ".json" else _rows(content, text)


def matrix(text: str) -> Matrix:
    """Returns the square matrix in a text or a file.

    Raises:
        TheoryError: like `array`, or if it is not a matrix.
    """
    from levelflow.theory.stability.matrices import read_matrix

    return read_matrix(array(text))


def numbers(name: str, text: str, otherwise: str = "") -> list[float]:
    """Returns the numbers in a text such as "1,4".

    Raises:
        TheoryError: if it does not consist of numbers.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise _error(f"{name} {text!r} is not allowed; needs numbers with commas, as in '1,4'{otherwise}") from None


def times(text: str) -> list[float]:
    """Returns the times in a text such as "30 ms, 180 ms", in s.

    Raises:
        TheoryError: if it does not consist of times.
    """
    from levelflow.theory.units import time

    return [time(part) for part in text.split(",")]


def _literal(content: str, shown: str) -> Any:
    try:
        return ast.literal_eval(content.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _error(f"{shown!r} is no list of numbers; needs rows, as in '[[1, 2], [3, 4]]'") from None


def _rows(content: str, shown: str) -> list[list[float]]:
    lines = [line.replace(",", " ").split() for line in content.splitlines()]
    try:
        return [[float(cell) for cell in cells] for cells in lines if cells]
    except ValueError as error:
        raise _error(f"{shown}: {error}; needs rows of numbers") from None


def _error(text: str) -> TheoryError:
    from levelflow.theory.errors import TheoryError

    return TheoryError(text)
