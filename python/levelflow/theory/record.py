"""Record with the theory of one law; `theory/laws/<law>.py` defines it as `THEORY`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats
    from levelflow.theory.competition import Competition
    from levelflow.theory.networks.equilibrium import Equilibrium
    from levelflow.theory.region import Region
    from levelflow.theory.stability.loops import Loop
    from levelflow.theory.verdict import Port, Verdict

MAX_MIN = "max-min fair"
UTILITY = "utility-optimal"


@dataclass(frozen=True)
class NotSupported:
    """Placeholder for a missing part of the theory.

    Attributes:
        reason: reason for the absence, as a clause of an error message.
    """

    reason: str


@dataclass(frozen=True)
class Plane:
    """Stable region in a plane of two gains.

    Attributes:
        region: function that computes the region.
        options: supported options of `region`: `delays` (steps) and `delay` (s).
        settles: function that returns True if the fluid model converges with the two gains.
    """

    region: Callable[..., Region]
    options: tuple[str, ...] = ()
    settles: Callable[[ArrayLike, ArrayLike], ArrayLike] | None = None


@dataclass(frozen=True)
class Loops:
    """Open loop of a law on one link.

    Attributes:
        gains: names of the gains, with the defaults of the paper.
        loop: function of the gains and the round-trip times (s), and of `averaged` if `averages` is True.
        averages: True if receivers may average prices.
        delays: largest allowed number of round-trip times.
    """

    gains: dict[str, float]
    loop: Callable[..., Loop]
    averages: bool = False
    delays: float = 1


@dataclass(frozen=True)
class Pairs:
    """Rates of two flows on one link, stepped without delay.

    Attributes:
        gains: names and defaults of the gains.
        highest: largest allowed gain, by name, for a capacity of 100.
        step: maps the rates, the capacity and the gains to the next rates.
    """

    gains: dict[str, float]
    highest: dict[str, float]
    step: Callable[[Floats, float, dict[str, float]], Floats]


@dataclass(frozen=True)
class Trajectories:
    """Trajectories of a fluid model from several initial states.

    Attributes:
        axes: names of the two components of the state.
        x: first component, with a row per time and a column per initial state.
        y: second component, in the same layout.
        equilibrium: equilibrium values of both components.
        settles: True for initial states from which the model converges.
        linear: True if the linearised model is stable.
    """

    axes: tuple[str, str]
    x: Floats
    y: Floats
    equilibrium: tuple[float, float]
    settles: Sequence[bool]
    linear: bool


@dataclass(frozen=True)
class Portrait:
    """Phase portrait of a law: rate against queue.

    Attributes:
        gains: names and defaults of the gains.
        run: function of the gains and the duration in round trips.
    """

    gains: dict[str, float]
    run: Callable[[dict[str, float], float], Trajectories]


@dataclass(frozen=True)
class Theory:
    """Theory of a law. A part that is missing is `NotSupported`.

    Attributes:
        fluid: fluid model, as module of `theory.fluid` and class, such as `"windows:Reno"`.
        reference: kind of reference rates for comparisons with runs, `MAX_MIN` or `UTILITY`.
        equilibrium: maps routes, capacities and law parameters to the rates of the flows, with the residual as proof.
        in_scenario: maps the competing flows of a scenario to their equilibrium; None if it is unknown.
        signal: signal of the law's links, which is a rate, a price, or the queueing delay as a price.
        weight: parameter to which rates at a shared bottleneck are proportional; None if rates are equal.
        judge: maps ports (links with the flows that they limit) to stability verdicts.
        region: stable region in a plane of two gains.
        nyquist: open loop on one link.
        phase: phase portrait, with trajectories from several initial states.
    """

    fluid: str | NotSupported = NotSupported("it is not implemented")
    reference: str | NotSupported = NotSupported("its rates are not known in closed form")
    equilibrium: Callable[..., Equilibrium] | NotSupported = NotSupported("its rates are not known in closed form")
    in_scenario: Callable[[Competition], Equilibrium | None] | NotSupported = NotSupported(
        "its rates are not known in closed form"
    )
    signal: Literal["rate", "price", "delay"] = "price"
    weight: str | None = None
    judge: Callable[[list[Port]], list[Verdict]] | NotSupported = NotSupported(
        "no condition is known; `levelflow theory fluid` integrates its model"
    )
    region: Plane | NotSupported = NotSupported("no region is known")
    nyquist: Loops | NotSupported = NotSupported("no linear loop is known")
    phase: Pairs | Portrait | NotSupported = NotSupported("no model of two variables is known")


Capability = Literal["fluid", "reference", "equilibrium", "in_scenario", "judge", "region", "nyquist", "phase"]

#: Parts of a law's theory, and their names in error messages.
CAPABILITIES: dict[Capability, str] = {
    "fluid": "fluid model",
    "reference": "reference rates",
    "equilibrium": "equilibrium in closed form",
    "in_scenario": "equilibrium of scenarios",
    "judge": "stability condition",
    "region": "stable region",
    "nyquist": "open loop",
    "phase": "phase portrait",
}


def unknown(law: str) -> Theory:
    """Returns the record of a law without theory, which supports nothing."""
    missing: dict[str, Any] = {
        field.name: NotSupported(f"theory has no record of {law}")
        for field in fields(Theory)
        if field.name in CAPABILITIES
    }
    return Theory(**missing)
