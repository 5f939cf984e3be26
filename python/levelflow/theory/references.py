"""The rates with which a run is compared: those of the equilibrium of its laws.

Laws whose routers signal the smallest share or the largest price of a path come to max-min fair rates, or near them.
Some others come to rates of largest utility. The records of `theory.laws` find the equilibrium of the flows of a law in
a scenario. Laws of the first kind are compared with max-min fair rates, which is what they are after; so are those
whose equilibrium is not known, and several laws together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from levelflow.theory.competition import Competition, competition
from levelflow.theory.errors import ConvergenceError
from levelflow.theory.laws import theory_of, weights
from levelflow.theory.networks.equilibrium import Equilibrium
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.record import MAX_MIN, UTILITY, NotSupported
from levelflow.theory.validate import explained


class Reference(NamedTuple):
    """What rates are compared with.

    Attributes:
        name: `MAX_MIN` or `UTILITY`.
        rates: of one flow of each entry, bit/s, the mean where flows take several paths; None where no flow competes.
        on_path: of a flow by the number of its entry and of its path there, bit/s.
    """

    name: str
    rates: list[float | None]
    on_path: dict[tuple[int, int], float]


@explained
def reference(
    scenario: dict[str, Any], active: Sequence[float], sending: Mapping[int, float] | None = None
) -> Reference:
    """Returns the rates that the flows that compete have in equilibrium.

    Args:
        scenario: resolved.
        active: how many flows of each entry compete; a mean may be a fraction. A flow gets at most the capacity of its
            narrowest link, also where it competes for a part of the time.
        sending: what entries send that have applications, by their number, bit/s; they do not compete.
    """
    found = competition(scenario, active, sending)
    laws = {flow["law"] for flow in found.entries}
    known = equilibrium_of(found) if {model(law) for law in laws} == {UTILITY} else None
    name = MAX_MIN if known is None else UTILITY
    each = maxmin(found.routes, found.available, weights(found)) / found.counts if known is None else known.rates
    each = np.minimum(each, [found.available[route].min() for route in found.routes])
    on_path = {key: float(rate) for key, rate in zip(zip(found.numbers, found.paths, strict=True), each, strict=True)}
    rates: list[float | None] = [None] * len(active)
    for number, rate, count in zip(found.numbers, each, found.counts, strict=True):
        rates[number] = (rates[number] or 0.0) + float(rate * count / active[number])
    return Reference(name, rates, on_path)


def equilibrium_of(found: Competition) -> Equilibrium | None:
    """Returns the equilibrium of flows of one law; None if there are several, or that of the law is not known.

    Nor is it known where a link has nothing left for flows that cross it, round trips are drawn, or the level from
    which a link marks does not stay where it is.
    """
    laws = {flow["law"] for flow in found.entries}
    crossed = sorted({link for route in found.routes for link in route})
    if len(laws) != 1 or not (found.available[crossed] > 0).all():
        return None
    find = theory_of(laws.pop()).in_scenario
    if isinstance(find, NotSupported):
        return None
    try:
        return find(found)
    except ConvergenceError:
        return None


@explained
def model(law: str) -> str:
    """What theory knows of the equilibrium of a law: `MAX_MIN`, `UTILITY` or "none"."""
    found = theory_of(law).reference
    return "none" if isinstance(found, NotSupported) else found
