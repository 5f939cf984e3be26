"""What theory knows of one law: a record, which `theory/laws/<law>.py` fills in and calls `THEORY`."""

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
    """What stands where theory has no answer.

    Attributes:
        reason: why, as a line of an error says it.
    """

    reason: str


@dataclass(frozen=True)
class Plane:
    """The stable region in a plane of two gains.

    Attributes:
        region: finds it.
        options: which of `delays` (steps) and `delay` (s) it takes.
        settles: whether the fluid model settles, per first and second gain.
    """

    region: Callable[..., Region]
    options: tuple[str, ...] = ()
    settles: Callable[[ArrayLike, ArrayLike], ArrayLike] | None = None


@dataclass(frozen=True)
class Loops:
    """The open loop of a law on one link.

    Attributes:
        gains: their names, and the defaults of the paper.
        loop: takes gains and round-trip times, s; those that can average prices also take `averaged`.
        averages: whether receivers may average prices.
        delays: how many round-trip times there may be.
    """

    gains: dict[str, float]
    loop: Callable[..., Loop]
    averages: bool = False
    delays: float = 1


@dataclass(frozen=True)
class Pairs:
    """The rates of two flows on one link, in steps and without delay.

    Attributes:
        gains: their names, and what is assumed.
        highest: largest gain that is allowed, by name; capacities are 100.
        step: takes the rates, the capacity and the gains to the next rates.
    """

    gains: dict[str, float]
    highest: dict[str, float]
    step: Callable[[Floats, float, dict[str, float]], Floats]


@dataclass(frozen=True)
class Trajectories:
    """Where a fluid model goes from several starts.

    Attributes:
        axes: the two parts of the state.
        x: the first part, by time and start.
        y: the second part.
        equilibrium: of both.
        settles: per start.
        linear: whether the linear model is stable.
    """

    axes: tuple[str, str]
    x: Floats
    y: Floats
    equilibrium: tuple[float, float]
    settles: Sequence[bool]
    linear: bool


@dataclass(frozen=True)
class Portrait:
    """The rate of a law against its queue.

    Attributes:
        gains: their names, and what is assumed.
        run: takes gains and the duration in round trips.
    """

    gains: dict[str, float]
    run: Callable[[dict[str, float], float], Trajectories]


@dataclass(frozen=True)
class Theory:
    """All that theory knows of a law.

    Attributes:
        fluid: its model, as module of `theory.fluid` and class, `"windows:Reno"`.
        reference: the rates that a run is compared with, `MAX_MIN` or `UTILITY`.
        equilibrium: takes routes, capacities and the parameters of the law to the rates of its flows, with proof.
        in_scenario: takes the flows that compete in a scenario to the same; None where it is not known of these.
        signal: what its links signal: a rate, a price, or the queueing delay for a price.
        weight: the parameter that rates at a shared bottleneck are proportional to; None where they are equal.
        judge: says whether ports are stable.
        region: for which gains it is stable.
        nyquist: its open loop.
        phase: where it goes from several starts.
    """

    fluid: str | NotSupported = NotSupported("nobody has written one")
    reference: str | NotSupported = NotSupported("what its rates are is not known in closed form")
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

#: What theory can be asked of a law, and how errors call it.
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
    """Returns the record of a law without one: nothing is supported."""
    missing: dict[str, Any] = {
        field.name: NotSupported(f"theory has no record of {law}")
        for field in fields(Theory)
        if field.name in CAPABILITIES
    }
    return Theory(**missing)
