"""Text of expected and measured values: numbers with units, and seeds as median and range."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.reproduce.verdict import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.reproduce.model import Check
    from levelflow.reproduce.outcome import Outcome

SIGNS = {"==": "=", "~=": "≈", "<=": "≤", ">=": "≥", "<": "<", ">": ">", "->": "→", "between": "between"}
#: Unit and conversion factor, by the suffix of a metric's name.
ENDINGS = {
    "bps": ("b/s", 1.0),
    "kbps": ("b/s", 1e3),
    "mbps": ("b/s", 1e6),
    "s": ("s", 1.0),
    "us": ("s", 1e-6),
    "bytes": ("bytes", 1.0),
    "pct": ("%", 1.0),
    "pkts": ("packets", 1.0),
    "packets": ("packets", 1.0),
    "rtts": ("round trips", 1.0),
}
#: Multiples of a unit for output, largest first.
MULTIPLES = {
    "b/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}
#: Largest number of values of a list that are shown. More values are shown as a range.
MOST = 8
#: Unit suffix of a name, before any `[...]`. After a number, a unit belongs to the number, as in
#: `monotonic_until_120_s`.
ENDING = re.compile(rf"(?<!\d)(?<!_per)_({'|'.join(ENDINGS)})(?:\[|$)")


@dataclass(frozen=True)
class Unit:
    """Unit of printed numbers.

    Attributes:
        name: Text after the number; empty for plain numbers.
        factor: Factor that converts the metric to this unit.
    """

    name: str = ""
    factor: float = 1.0

    def number(self, value: float) -> str:
        """Returns a number in this unit to six digits, without the name of the unit."""
        scaled = value if self.factor == 1 else value * self.factor
        return f"{scaled:.6g}" if isinstance(scaled, float) else str(scaled)


PLAIN = Unit()


def unit_named(metric: str) -> Unit:
    """Returns the unit of a metric by the suffix of its name."""
    found = ENDING.search(metric)
    return Unit(*ENDINGS[found[1]]) if found else PLAIN


def unit_of(outcome: Outcome) -> Unit:
    """Returns a multiple of the metric's unit in which the largest expected or measured number is at least 1."""
    own = unit_named(outcome.check.metric)
    if own is PLAIN:
        return PLAIN
    name, factor = own.name, own.factor
    numbers = _numbers([outcome.check.value, outcome.check.tol_abs, outcome.target, outcome.measured])
    largest = factor * max(map(abs, numbers), default=0.0)
    multiples = MULTIPLES.get(name, ((1.0, name),))
    size, name = next((one for one in multiples if 0 < one[0] <= largest), multiples[-1] if largest else (1.0, name))
    return Unit(name, factor / size)


def _numbers(values: Sequence[Any]) -> list[float]:
    """Returns the finite numbers in nested lists of values."""
    found = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found.append(float(value))
    return found


def shown(value: Any, unit: Unit = PLAIN) -> str:
    """Returns one or several values to six digits with their unit; empty for None."""
    if value is None:
        return ""
    values = listed(value)
    texts = [_text(item, unit) for item in values]
    alike = len(texts) > 2 and len(set(texts)) == 1
    if len(values) > MOST and not alike and all(map(_is_number, values)):
        low, high = (_text(pick(values), unit) for pick in (min, max))
        return f"{_with(f'{low} to {high}', unit)} ({len(values)} numbers)"
    text = texts[0] if alike else ", ".join(texts)
    if any(map(_is_number, values)):
        text = _with(text, unit)
    return f"{text} (each of {len(texts)})" if alike else text


def _text(value: Any, unit: Unit) -> str:
    if isinstance(value, list | tuple):
        return f"({', '.join(_text(item, unit) for item in value)})"
    if isinstance(value, bool):
        return str(value).lower()
    return unit.number(value) if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with(text: str, unit: Unit) -> str:
    return f"{text} {unit.name}".rstrip()


def expected(check: Check, unit: Unit = PLAIN) -> str:
    """Returns the expected value of a check, such as "≈ 4 ± 50 %"."""
    if check.op in ("true", "false"):
        return check.op
    value = shown(check.value, unit)
    if check.op == "between":
        low, high = listed(check.value)  # type: ignore[arg-type]
        value = f"{_text(low, unit)} and {shown(high, unit)}"
    share = " % of it" if unit.name == "%" else " %"
    tolerances = [f"{100 * check.tol_rel:g}{share}"] if check.tol_rel else []
    tolerances += [shown(check.tol_abs, unit)] if check.tol_abs else []
    return f"{SIGNS[check.op]} {value}" + (f" ± {' or '.join(tolerances)}" if tolerances else "")


def measured(outcome: Outcome, unit: Unit) -> tuple[str, str]:
    """Returns the measured value, and a note on its seeds. Several seeds are given as median and range."""
    spread = outcome.spread
    if spread is None:
        return shown(outcome.measured, unit), ""
    if spread.seeds == 1:
        return shown(spread.median, unit), "one seed"
    counts = Counter(shown(value, unit) for value in outcome.measured)
    if len(counts) == 1:
        return shown(spread.median, unit), f"the same in {spread.seeds} seeds"
    met = f"{spread.met} of {spread.seeds} seeds meet it"
    if not all(_is_number(item) for item in listed(spread.median)):
        return "; ".join(f"{text} ({n})" for text, n in counts.most_common()), met
    if len(listed(spread.median)) > MOST:
        return shown(spread.median, unit), f"medians; {met}"
    columns = zip(*map(listed, (spread.median, spread.low, spread.high)), strict=True)
    texts = [f"{_text(mid, unit)} ({_text(low, unit)} to {_text(high, unit)})" for mid, low, high in columns]
    return _with(", ".join(texts), unit), f"median, lowest and highest; {met}"
