"""Reference rates with which a run is compared: the equilibrium of its laws.

The routers of some laws signal the smallest share or the largest price of a path. These laws converge to max-min fair
rates, or close to them. They are compared with max-min fair rates, which are their goal. Other laws converge to rates
that maximise a utility, and are compared with these rates. The records in `theory.laws` contain the equilibrium of a
law's flows in a scenario. If the equilibrium of a law is unknown, or a scenario has several laws, the reference is
max-min fair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.competition import Competition, competition
from levelflow.theory.errors import ConvergenceError
from levelflow.theory.laws import theory_of, weights
from levelflow.theory.networks.equilibrium import Equilibrium
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.record import MAX_MIN, UTILITY, NotSupported
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    from levelflow.records import ScenarioRecord


class Reference(NamedTuple):
    """Reference rates for a comparison.

    Attributes:
        name: `MAX_MIN` or `UTILITY`.
        rates: rate of one flow of each `[[flow]]` entry, bit/s, averaged over paths; None if no flow competes.
        on_path: rate of one flow, by entry number and path number, bit/s.
    """

    name: str
    rates: list[float | None]
    on_path: dict[tuple[int, int], float]


@explained
def reference(
    scenario: ScenarioRecord, active: Sequence[float], sending: Mapping[int, float] | None = None
) -> Reference:
    """Returns the equilibrium rates of the competing flows.

    Args:
        scenario: resolved scenario.
        active: number of competing flows of each `[[flow]]` entry; may be fractional, as a mean. A flow gets at most
            the capacity of its narrowest link, even if it competes only part of the time.
        sending: total rate of application-limited flow entries, by index of the entry, bit/s; these entries do not
            compete.
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
    """Returns the equilibrium of flows that all use one law; None for several laws, or if the equilibrium is unknown.

    The equilibrium is also unknown if a link has no capacity left for its flows, if round trips are random, or if the
    marking threshold of a link changes.
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
    """Kind of equilibrium of a law: `MAX_MIN`, `UTILITY` or "none"."""
    found = theory_of(law).reference
    return "none" if isinstance(found, NotSupported) else found
