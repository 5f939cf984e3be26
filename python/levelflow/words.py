"""Hints for unknown words, and parser of values on the command line."""

from __future__ import annotations

import difflib
import json
from typing import Any

from levelflow import _core


def nearest(word: str, allowed: list[str]) -> str:
    """Returns a hint with the closest allowed word, or all allowed words.

    >>> nearest("capcity", ["capacity", "delay"])
    "did you mean 'capacity'?"
    >>> nearest("zzz", ["capacity", "delay"])
    'allowed: capacity, delay'
    """
    close = difflib.get_close_matches(word, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(allowed) or 'none'}"


def value_of(text: str) -> Any:
    """Parses a value of the command line as TOML; returns the text itself if it is not TOML.

    >>> value_of("0.5"), value_of("3 s"), value_of("{ uniform = ['1 s', '2 s'] }")
    (0.5, '3 s', {'uniform': ['1 s', '2 s']})
    """
    return json.loads(_core.value_of(text))
