"""Quantities as resolved scenarios and options write them."""

from __future__ import annotations

import re

from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, shown

#: In base units: s, bit/s.
UNITS = {
    "": 1.0,
    **{f"{prefix}s": factor for prefix, factor in zip("pnum", (1e-12, 1e-9, 1e-6, 1e-3), strict=True)},
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    **{f"{prefix}b/s": factor for prefix, factor in zip(("", *"kMGT"), (1.0, 1e3, 1e6, 1e9, 1e12), strict=True)},
}


@explained
def base(text: str) -> float:
    """Reads a quantity as resolved scenarios write it, in s or bit/s.

    Raises:
        ParameterError: if it is none.

    >>> base("2.5 Mb/s"), base("20 ms"), base("0.5")
    (2500000.0, 0.02, 0.5)
    """
    number, _, unit = text.partition(" ")
    try:
        return float(number) * UNITS[unit]
    except (KeyError, ValueError):
        raise ParameterError(
            f"quantity {shown(text)} is not allowed; needs a number with its unit, as '2 ms'"
        ) from None


@explained
def time(text: str) -> float:
    """Reads a time with its unit, s.

    Raises:
        ParameterError: if it is none.

    >>> time("500 ms")
    0.5
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?([pnum]?s|min|h)", text.strip())
    if parts is None:
        raise ParameterError(f"time {text!r} is not allowed; needs a number with its unit, as in '45 s'")
    return float(parts[1]) * UNITS[parts[2]]
