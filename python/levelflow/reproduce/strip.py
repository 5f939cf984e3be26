"""Strip charts of checks: the allowed range, the expected value, and a dot per measured number."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.reproduce.verdict import allowed, listed, meets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.reproduce.model import Check
    from levelflow.reproduce.outcome import Outcome

#: Size of a strip in pixels, and margin at both ends as a fraction of the range.
WIDTH, HEIGHT = 180, 16
ROOM = 0.08
#: Largest number of strips of a check. More strips would be harder to read than numbers.
MOST = 8
#: Distance of infinite numbers from the end of the strip, pixels.
EDGE = 4


@dataclass(frozen=True)
class Strip:
    """Strip chart with one scale.

    Attributes:
        low: Lowest allowed number.
        high: Highest allowed number.
        named: Expected number, or lower and upper bound.
        dots: Measured numbers.
        inside: True for each measured number that meets the check.
        seeds: True if there is one measured number per seed.
    """

    low: float
    high: float
    named: tuple[float, ...]
    dots: tuple[float, ...]
    inside: tuple[bool, ...]
    seeds: bool

    def place(self, value: float) -> float:
        """Returns the horizontal position of a number; infinite numbers are at the ends."""
        shown = [number for number in (self.low, self.high, *self.named, *self.dots) if math.isfinite(number)]
        least, most = min(shown), max(shown)
        room = ROOM * (most - least) or 0.1 * abs(most) or 1.0
        if math.isinf(value):
            return EDGE if value < 0 else WIDTH - EDGE
        return WIDTH * (value - least + room) / (most - least + 2 * room)


def strips(outcome: Outcome) -> list[Strip]:
    """Returns the strips of a check, one per expected number.

    Returns none if there would be too many strips, or if values are not numbers.
    """
    check = outcome.check
    target = check.value if outcome.target is None else outcome.target
    if outcome.measured is None or target is None:
        return []
    values = [listed(value) for value in (outcome.measured if outcome.seeds else [outcome.measured])]
    if not all(_is_number(item) for item in [*listed(target), *(item for value in values for item in value)]):
        return []
    many = isinstance(target, list | tuple) and check.op != "between"
    dots: dict[tuple[Any, ...], list[Any]] = {}
    for value in values:
        wanted = [(number,) for number in listed(target)] if many else [tuple(listed(target))] * len(value)
        for named, number in zip(wanted, value, strict=True):
            dots.setdefault(named, []).append(number)
    rows = [_strip(check, named, numbers, 1 < len(numbers) == outcome.seeds) for named, numbers in dots.items()]
    return rows if len(rows) <= MOST else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _strip(check: Check, named: Sequence[float], dots: Sequence[float], seeds: bool) -> Strip:
    slack = (check.tol_rel or 0.0, check.tol_abs or 0.0)
    sides = (">=", "<=") if check.op == "between" else (check.op, check.op)
    low, high = allowed(sides[0], named[0], *slack)[0], allowed(sides[1], named[-1], *slack)[1]
    wanted = named if check.op == "between" else named[0]
    inside = tuple(meets(check.op, wanted, dot, *slack) for dot in dots)
    return Strip(low, high, tuple(map(float, named)), tuple(dots), inside, seeds)


def svg(outcome: Outcome) -> str:
    """Returns the strips of a check as one SVG element with a text alternative; empty if it has no strips."""
    rows = strips(outcome)
    if not rows or not all(any(map(math.isfinite, row.named + row.dots)) for row in rows):
        return ""
    height = HEIGHT * len(rows)
    inside = [dot for row in rows for dot in row.inside]
    label = f"{sum(inside)} of {len(inside)} measured values meet the check"
    parts = "".join(f"<g transform='translate(0 {HEIGHT * i})'>{_drawn(row)}</g>" for i, row in enumerate(rows))
    return (
        f"<svg class=strip role=img aria-label='{label}' viewBox='0 0 {WIDTH} {height}' width={WIDTH} height={height}>"
        f"{parts}</svg>"
    )


def _drawn(strip: Strip) -> str:
    middle = HEIGHT / 2
    left = 0.0 if math.isinf(strip.low) else strip.place(strip.low)
    right = float(WIDTH) if math.isinf(strip.high) else strip.place(strip.high)
    places = [strip.place(dot) for dot in strip.dots]
    parts = [
        f"<line class=axis x1=0 x2={WIDTH} y1={middle} y2={middle} />",
        f"<rect class=band x={left:.2f} width={max(right - left, 1.0):.2f} y=1 height={HEIGHT - 2} />",
        *(_upright("named", strip.place(number), 1) for number in strip.named if math.isfinite(number)),
        f"<line class=range x1={min(places):.2f} x2={max(places):.2f} y1={middle} y2={middle} />",
    ]
    if strip.seeds:
        parts.append(_upright("median", statistics.median(places), 4))
    for dot, place, inside in zip(strip.dots, places, strip.inside, strict=True):
        kind = "in" if inside else "out"
        if math.isfinite(dot):
            parts.append(f"<circle class={kind} cx={place:.2f} cy={middle} r=2.5 />")
        else:
            tip = math.copysign(EDGE, dot)
            parts.append(f"<path class={kind} d='M{place:.2f} {middle - EDGE}l{tip} {EDGE}l{-tip} {EDGE}z' />")
    return "".join(parts)


def _upright(kind: str, place: float, margin: int) -> str:
    return f"<line class={kind} x1={place:.2f} x2={place:.2f} y1={margin} y2={HEIGHT - margin} />"
