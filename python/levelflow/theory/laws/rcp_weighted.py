"""Weighted RCP: rates divided by their weights are max-min fair (Kelly, Raina, Voice 2008)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from numpy.typing import ArrayLike

from levelflow.theory.competition import Competition, of_flows
from levelflow.theory.laws import rcp
from levelflow.theory.laws.shared import explicit
from levelflow.theory.networks.equilibrium import Equilibrium
from levelflow.theory.networks.routes import Routes
from levelflow.theory.record import MAX_MIN, Theory
from levelflow.theory.validate import explained, read_each


@explained
def equilibrium(
    routes: Routes, capacities: ArrayLike, *, weights: ArrayLike = 1.0, counts: ArrayLike = 1.0
) -> Equilibrium:
    """Returns the equilibrium for weights of at least 1. RCP's routers react to a flow of weight `w` as to `w` flows.

    >>> equilibrium([[0], [0]], [8.0], weights=[1.0, 3.0]).rates.tolist()
    [2.0, 6.0]
    """
    each = read_each("weight", weights, len(routes))
    offered = rcp.equilibrium(routes, capacities, counts=each * read_each("count", counts, len(routes)))
    return replace(offered, rates=offered.rates * each)


def _in_scenario(found: Competition) -> Equilibrium:
    return equilibrium(found.routes, found.available, weights=of_flows(found, "weight"), counts=found.counts)


THEORY = Theory(
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    weight="weight",
    judge=partial(explicit.verdicts, relative=True),
)
