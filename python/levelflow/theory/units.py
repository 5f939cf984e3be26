"""Quantities in the notation of resolved scenarios and of command-line options."""

from __future__ import annotations

import math
import re

from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, shown

#: Value of each unit in the base unit of its quantity: s, bit/s, bytes or packets.
UNITS = {
    "": 1.0,
    **{f"{prefix}s": factor for prefix, factor in zip("pnum", (1e-12, 1e-9, 1e-6, 1e-3), strict=True)},
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    **{
        prefix + unit: factor
        for prefix, factor in zip(("", *"kMGT"), (1.0, 1e3, 1e6, 1e9, 1e12), strict=True)
        for unit in ("b/s", "B")
    },
    "/s": 1.0,
    "packet": 1.0,
    "packets": 1.0,
}


@explained
def base(text: str) -> float:
    """Parses a quantity in the notation of resolved scenarios, and returns it in s, bit/s, bytes or packets.

    Raises:
        ParameterError: if the text is not a quantity.

    >>> base("2.5 Mb/s"), base("20 ms"), base("0.5"), base("1.875 MB"), base("5 packets")
    (2500000.0, 0.02, 0.5, 1875000.0, 5.0)
    """
    number, _, unit = text.partition(" ")
    try:
        return float(number) * UNITS[unit]
    except (KeyError, ValueError):
        raise ParameterError(
            f"quantity {shown(text)} is not allowed; needs a number with its unit, as '2 ms'"
        ) from None


@explained
def room(buffer: str, packet: float) -> float:
    """Returns the size of a buffer in bytes. The text is in bytes, in packets of `packet` bytes, or `unlimited`."""
    if buffer == "unlimited":
        return math.inf
    return base(buffer) * (packet if "packet" in buffer else 1.0)


@explained
def time(text: str) -> float:
    """Parses a time with its unit, and returns it in s.

    Raises:
        ParameterError: if the text is not a time.

    >>> time("500 ms")
    0.5
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?([pnum]?s|min|h)", text.strip())
    if parts is None:
        raise ParameterError(f"time {text!r} is not allowed; needs a number with its unit, as in '45 s'")
    return float(parts[1]) * UNITS[parts[2]]


@explained
def ratio(text: str) -> float:
    """Parses a fraction, given as a number or in percent.

    Raises:
        ParameterError: if the text is neither a number nor a percentage.

    >>> ratio("0.95"), ratio("95%"), ratio("2 %")
    (0.95, 0.95, 0.02)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        if not rest:
            return float(number) / (100 if percent else 1)
    except ValueError:
        pass
    raise ParameterError(f"share {shown(text)} is not allowed; needs a number or percent, as in '0.95' or '95 %'")
