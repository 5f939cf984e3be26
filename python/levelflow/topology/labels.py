"""Rates in link labels, as written on network maps: "10 Gbps", "OC-48", "2 x 155 Mbit/s"."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

#: Line rates by name, bit/s (ITU-T G.702 and G.707, Bellcore GR-253).
LINE_RATES = {
    "T1": 1.544e6,
    "T3": 44.736e6,
    "DS1": 1.544e6,
    "DS3": 44.736e6,
    "E1": 2.048e6,
    "E2": 8.448e6,
    "E3": 34.368e6,
    "E4": 139.264e6,
}
#: Rate of level 1 of each hierarchy, bit/s. Level n has n times this rate.
HIERARCHIES = {"OC": 51.84e6, "STS": 51.84e6, "STM": 155.52e6}
#: Largest relative difference between two names of the same rate, such as 1.5 Mb/s and T1.
SAME_RATE = 0.03
#: Largest length of a text that is parsed as a label, characters.
LONGEST = 200
PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
COUNTS = {"dual": 2, "double": 2, "twin": 2, "two": 2, "triple": 3, "three": 3, "quad": 4, "four": 4}

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u00d7\u2715\u2a2f", "x"),
        **dict.fromkeys("\u00b7\u2217\u22c5", "*"),
        **dict.fromkeys("\u00b1\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2264\u2266", "<"),
        **dict.fromkeys("\u2265\u2267", ">"),
        "\u2026": "..",
    }
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?![\d.,])|\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?|(?i:\bten|\bforty|\bhundred)"
# End of a word, or position before a multiple, as in "10GEx12".
_END = r"(?=\s?[xX*]\s?(?:\d|[nN]\b)|(?![A-Za-z0-9]))"
_SECOND = r"\s?/\s?[sS](?:ec(?:onds?)?)?"
_BITS = rf"(?P<prefix>[kKmMgGtT])(?P<word>[bB](?i:its?|ytes?)?)?(?:{_SECOND}|(?i:ps|pbs|s))?"
_PLAIN = rf"(?P<plain>[bB](?i:its?|ytes?)?(?:{_SECOND}|(?i:ps)))"
_SPOKEN = r"(?P<spoken>(?i:(?:gig(?:a|abit)?|meg(?:a|abit)?|kilobit|tera(?:bit)?)s?\s?(?:e|ethernet)?|gb?e))"
_BASE = r"(?P<base>[gG])?\s?(?i:BASE)(?:-?\w+)?"
_RATE = re.compile(
    rf"(?:(?<![A-Za-z0-9.])|(?<=[xX])|(?<=\.\.))(?P<number>{_NUMBER})(?P<more>\+)?[\s-]?\s?(?:{_BASE}|{_SPOKEN}|{_BITS}|{_PLAIN}){_END}"
    r"|(?:(?<![A-Za-z0-9])|(?<=[0-9nN\s][xX]))(?:"
    r"(?i:(?P<hierarchy>OC|STM|STS)[- ]?(?P<level>\d+)c?)"
    r"|(?i:(?P<line>T|E|DS)-?(?P<order>[1-4]))"
    r"|(?P<gigabit>(?i:gig(?:abit)?[- ]?e(?:thernet)?|gb?e))|(?P<fast>(?i:fast[- ]?e(?:thernet)?|fe))"
    rf"){_END}"
)
# Letters that are also units of other quantities: "m" for metres or mega, "t" for tonnes or tera.
_OTHER_UNITS = {"m", "t"}

_N = r"\d+(?:\.\d+)?"
_BETWEEN = r"(?:[-~/,;&+:]|\.{2,3}|(?:to|or|and|bis|et|und|y|a|e|o)\b)"
#: Text next to a rate. It shows that the rate is an end of a range, or one of several rates.
_RANGE_BEFORE = re.compile(rf"(?<![\w.,-]){_N}(?:\s*{_BETWEEN}\s*{_N})*\s*(?:{_BETWEEN}\s*)?$", re.IGNORECASE)
_RANGE_AFTER = re.compile(r"\s*(?:[-/&:~]|\.{2,3}|(?:to|or|and|bis)\b)\s*(?:\d|[nN]\b)", re.IGNORECASE)
#: Text next to a rate. It shows that the rate is a bound, or a term of an unknown sum.
_BOUND_BEFORE = re.compile(
    r"(?:[<>]\s?=?|\b(?:less|more|greater|fewer|lower|higher|slower|faster)\s+than|\b(?:up\s?-?to|under|over|below"
    r"|above|at\s+(?:least|most)|min(?:imum)?|max(?:imum)?|from|between|exceeding|beyond|bis(?:\s+zu)?|hasta|fino\s+a|of"
    r"|per|each|several|many|multiple|multi|various|partial|fractional|half|quarter)\b|\bjusqu\S*)[\s.:=-]*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"\s*(?:\+(?!\s+[A-Za-z])|[-]\s*$|(?:and|or|&)\s+(?:more|less|above|below|up|over|under|better|\w+er)\b"
    r"|(?:min|max)(?:imum)?\b|upwards?\b|plus\b|at\s+(?:least|most)\b|per\b|each\b"
    r"|/\s?(?:lambda|λ|wave|channel|link|port|fib))",
    re.IGNORECASE,
)
_COUNT_BEFORE = re.compile(r"(?:(?<![\w.,/+-])|(?<=[0-9][xX*]))(\d+)\s*[xX*]\s*$")
_COUNT_WORD = re.compile(rf"\b({'|'.join(COUNTS)})[\s-]*$", re.IGNORECASE)
_COUNT_AFTER = re.compile(
    r"\s*(?:\(?\s*[xX*]\s*(?P<after>\d+)(?![\w.,]|\s*[-/]\s*\d)\s*\)?|\(\s*(?P<inside>\d+)\s*[xX]\s*\))"
)
_UNKNOWN_BEFORE = re.compile(r"(?<![A-Za-z])(?:[A-Za-z]\s*[xX*]|[nN]|[xX*])\s*$")
_UNKNOWN_AFTER = re.compile(r"\s*\(?\s*(?:[xX]\s*(?:[nN]\b|\)|$)|[*]\s*[nN]\b|[xX*]\s*\d)")


class Reading(NamedTuple):
    """Rate read from a label.

    Attributes:
        rate: rate named by the label, bit/s; None if the label does not name exactly one rate.
        doubtful: True if the label names a range, a bound, several rates or an unknown multiple.
    """

    rate: float | None
    doubtful: bool


def speed(label: str) -> float | None:
    """Returns the rate named by a label, in bit/s; None for a range, a bound, several rates or an unknown multiple.

    `MB/s` means megabits per second, as in the Topology Zoo: its LinkSpeedRaw for "24 MB/s" is 24000000. `MByte/s`
    means megabytes per second.

    >>> speed("10 Gbps"), speed("OC-48"), speed("2x 155 Mbit/s"), speed("2,5 Gbit/s"), speed("Gigabit Ethernet")
    (10000000000.0, 2488320000.0, 310000000.0, 2500000000.0, 1000000000.0)
    >>> speed("Fibre"), speed("1-20Gbps"), speed("<= 10 Mbps"), speed("N*10Gbit/s"), speed("10/100 Mbps")
    (None, None, None, None, None)
    """
    return read(label).rate


def read(label: str) -> Reading:
    """Parses a label; see `speed`."""
    if len(label) > LONGEST:
        return Reading(None, True)
    label = label.translate(_SIGNS)
    named: list[float] = []
    written: list[float] = []
    for found in _RATE.finditer(label):
        rate = _rate(found)
        if rate is None:
            continue
        rate = _times(label[: found.start()], rate, label[found.end() :])
        if found["more"] or not rate or not math.isfinite(rate):
            return Reading(None, True)
        (named if found["number"] is None else written).append(rate)
    # Rates with numbers come before names of line rates, because a name is only a nominal rate.
    rates = written + named
    if not rates:
        return Reading(None, False)
    same = all(math.isclose(rate, rates[0], rel_tol=SAME_RATE) for rate in rates)
    return Reading(rates[0], False) if same else Reading(None, True)


def _rate(found: re.Match[str]) -> float | None:
    """Returns the rate of one term, in bit/s; NaN if its number is ambiguous; None if the term is no rate."""
    if found["hierarchy"]:
        return HIERARCHIES[found["hierarchy"].upper()] * int(found["level"])
    if found["line"]:
        return LINE_RATES.get(f"{found['line'].upper()}{found['order']}")
    if found["number"] is None:
        return 1e9 if found["gigabit"] else 1e8
    unit = found["spoken"] or found["prefix"] or ""
    if found["prefix"] in _OTHER_UNITS and found[0].rstrip().endswith(found["prefix"]):
        return None
    if not (found["spoken"] or found["prefix"] or found["plain"]):
        unit = found["base"] or "m"
    word = (found["word"] or found["plain"] or "").lower()
    return _number(found["number"], PREFIXES[unit[:1].lower()]) * (8 if word.startswith("byte") else 1)


def _number(text: str, unit: float) -> float:
    """Returns a number times its unit. A comma before three digits is ambiguous: it may be a decimal point."""
    words = {"ten": 10.0, "forty": 40.0, "hundred": 100.0}
    if text.lower() in words:
        return words[text.lower()] * unit
    decimal = float(text.replace(",", ".")) * unit if text.count(",") < 2 else math.nan
    if not re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        return decimal
    thousands = float(text.replace(",", "")) * unit
    standards = [*LINE_RATES.values(), *(HIERARCHIES["OC"] * level for level in (1, 3, 12, 48, 192, 768))]
    if any(math.isclose(decimal, standard, rel_tol=1e-3) for standard in standards):
        return decimal
    # A decimal fraction does not usually end in two zeros, so the comma separates thousands.
    return thousands if text.endswith("00") or text.count(",") > 1 else math.nan


def _times(before: str, rate: float, after: str) -> float | None:
    """Returns a rate times the multiples in the text around it; None if this text makes the rate ambiguous."""
    while found := _COUNT_BEFORE.search(before):
        rate *= int(found[1])
        before = before[: found.start()]
    if found := _COUNT_WORD.search(before):
        rate *= COUNTS[found[1].lower()]
        before = before[: found.start()]
    if found := _COUNT_AFTER.match(after):
        rate *= int(found["after"] or found["inside"])
        after = after[found.end() :]
    open_before = (_UNKNOWN_BEFORE, _BOUND_BEFORE, _RANGE_BEFORE)
    open_after = (_UNKNOWN_AFTER, _BOUND_AFTER, _RANGE_AFTER)
    if any(one.search(before) for one in open_before) or any(one.match(after) for one in open_after):
        return None
    return rate
