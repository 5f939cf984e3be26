"""Table that compares laws."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from levelflow.measure.fairness import SETTLED_WITHIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.convergence.records import Record
    from levelflow.convergence.trial import Outcome

HEAD = (
    "networks",
    "law",
    "settle",
    "mean within 5 %",
    "of own equilibrium",
    "steps",
    "steps per level",
    "drop packets",
    "packets dropped",
    "longest delay, ms",
    "most, ms",
    "stopped",
)
#: Boundaries between groups of networks by longest round-trip time, s.
ROUND_TRIP_BOUNDS_S = (0.0, 0.02, 0.2, np.inf)


def share(count: int, of: int) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a proportion (Clopper and Pearson 1934).

    >>> tuple(round(end, 4) for end in share(8, 10))
    (0.4439, 0.9748)
    """
    from scipy.stats import beta

    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return float(low), float(high)


def median(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Returns the median and its 95 % confidence interval; None for too few values.

    The interval is from the k-th smallest to the k-th largest of n values. It misses the true median if fewer than k
    values are below the median, or fewer than k values are above it. Both numbers are binomial with probability 1/2.

    >>> median(range(1, 11))
    (5.5, 2.0, 9.0)
    """
    from scipy.stats import binom

    ordered = sorted(float(value) for value in values)
    k = int(binom.ppf(0.025, len(ordered), 0.5)) if ordered else 0
    return (float(np.median(ordered)), ordered[k - 1], ordered[-k]) if k else None


def table(records: Sequence[Record]) -> list[str]:
    """Returns a Markdown table: a row per law for all networks, and for each round-trip range, mode and family."""
    lines = [f"Reference: {'; '.join(references(records))}.", ""]
    lines += [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    for name, own in groups(records).items():
        for law in dict.fromkeys(record.law for record in own):
            lines.append(row(name, law, [record for record in own if record.law == law]))
    return lines


def groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Returns the records of each group of networks in the table, by name."""
    found = {"all": list(records)}
    for record in sorted(records, key=lambda record: record.round_trip_s):
        found.setdefault(_round_trips(record.round_trip_s), []).append(record)
    for mode in dict.fromkeys(record.mode for record in records):
        found[mode] = [record for record in records if record.mode == mode]
    for family in dict.fromkeys(record.family for record in records):
        found[family] = [record for record in records if record.family == family]
    return {name: sorted(own, key=lambda record: _place(records, record)) for name, own in found.items()}


def _place(records: Sequence[Record], record: Record) -> int:
    return list(dict.fromkeys(one.law for one in records)).index(record.law)


def _round_trips(round_trip_s: float) -> str:
    low, high = next((low, high) for low, high in pairwise(ROUND_TRIP_BOUNDS_S) if round_trip_s < high)
    if not low:
        return f"round trip below {1e3 * high:g} ms"
    return f"{1e3 * low:g} ms and longer" if high == np.inf else f"{1e3 * low:g} to {1e3 * high:g} ms"


def references(records: Sequence[Record]) -> list[str]:
    """Returns a text per reference: its name and the laws that are compared with it."""
    by_name: dict[str, list[str]] = {}
    for law, name in dict.fromkeys((record.law, record.outcome.reference) for record in records):
        by_name.setdefault(name, []).append(law)
    return [f"{name} for {', '.join(laws)}" for name, laws in by_name.items()]


def row(name: str, law: str, records: Sequence[Record]) -> str:
    """Returns the table row of a law for a group of networks."""
    outcomes = [record.outcome for record in records]
    steps = [(record.steps, record.levels) for record in records if record.steps is not None]
    near = sum(one.distance is not None and one.distance <= SETTLED_WITHIN for one in outcomes)
    known = [one for one in outcomes if not one.runaway]
    queues = [one.queue_ms for one in known if one.queue_ms is not None]
    cells = [
        name,
        law,
        _share(len(steps), len(records)),
        str(near),
        _own(outcomes),
        _median([one for one, _ in steps]),
        _median([one / levels for one, levels in steps]),
        _share(sum(bool(one.drops) for one in known), len(known)),
        f"{sum(one.drops or 0 for one in known):,}",
        _median(queues),
        f"{max(queues):,.0f}" if queues else "-",
        str(len(outcomes) - len(known)),
    ]
    return f"| {' | '.join(cells)} |"


def _share(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = share(count, of)
    return f"{count} of {of} ({100 * low:.0f} to {100 * high:.0f} %)"


def _own(outcomes: Sequence[Outcome]) -> str:
    """Counts the runs with mean rates within 5 % of the law's equilibrium, among the runs with a known equilibrium."""
    known = [one.distance_own for one in outcomes if one.distance_own is not None]
    return f"{sum(distance <= SETTLED_WITHIN for distance in known)} of {len(known)}" if known else "-"


def _median(values: Sequence[float]) -> str:
    if not values:
        return "-"
    found = median(values)
    return f"{found[0]:.3g} ({found[1]:.3g} to {found[2]:.3g})" if found else f"{np.median(values):.3g}"
