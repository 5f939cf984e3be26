"""Senders that receive the signals of links some steps later (Zhang 2008, eq. 1-2 and 61-64).

Data of sender `i` arrives at link `j` after the forward delay from `i` to `j`. The signal of the link in that step
reaches the sender at the end of the round trip. The round trip has `D_i >= 1` steps; `D_i = 1` is undelayed feedback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.routes import Routes, crossing_matrix, read_crossings
from levelflow.theory.stability.equations import Past, iterate
from levelflow.theory.validate import explained, read_array, read_each, read_whole, whole

#: Function that returns the next rates. Arguments: last rates, rates one round trip ago, and the signal of each link as
#: received by each flow.
Sender = Callable[[Floats, Floats, Floats], Floats]
#: Function that returns the signals and the new state of links. Arguments: load of each flow at each link, and state of
#: links.
Router = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Paths:
    """Crossings of links by flows, and the delays between flows and links, in steps.

    Attributes:
        crossings: flows by links; number of times that the flow crosses the link.
        delays: round trip of each flow.
        forward: flows by links; delay from the sender to the link.
    """

    crossings: Floats
    delays: Ints
    forward: Ints

    @property
    def crosses(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Flows by links; True if the flow crosses the link."""
        return self.crossings > 0


class Run(NamedTuple):
    """Recorded run. The first axis of each array is time.

    Attributes:
        steps: numbers of the steps; the first is 0.
        rates: by step and flow.
        signals: by step and link, the link's signal at that step.
        memory: by step and link, the link's state.
    """

    steps: Floats
    rates: Floats
    signals: Floats
    memory: Floats


@explained
def paths(routes: Routes, links: int, delays: ArrayLike = 1, forward: ArrayLike = 0) -> Paths:
    """Returns paths, after checks.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        links: number of links.
        delays: round trip, steps, for all flows or per flow, at least 1.
        forward: delay in steps from the sender to the link, at least 0 and less than the round trip. Either one number,
            or an array of flows by links. Elements for links that a flow does not cross have no effect.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a delay is not a whole number, or out of range.
    """
    crossings = crossing_matrix(routes, links)
    around = read_whole("delay", read_each("delay", delays, len(routes), 1, closed=True), 1)
    there = read_array("forward delay", forward)
    if there.shape not in {(), crossings.shape}:
        raise ParameterError(f"forward delay of shape {there.shape} is not allowed; needs one, or {crossings.shape}")
    there = np.where(crossings > 0, there, 0.0)
    late = ~((there >= 0) & (there < around[:, None]))
    if late.any():
        i, j = np.argwhere(late)[0]
        raise ParameterError(
            f"flow {i}: forward delay {there[i, j]} to link {j} is not allowed; needs 0 to {around[i] - 1}"
        )
    return Paths(crossings, around, read_whole("forward delay", there))


@explained
def scattered(routes: Routes, links: int, longest: int, rng: np.random.Generator) -> Paths:
    """Returns random paths with round trips of 1 to `longest` steps, and uniformly distributed forward delays."""
    read_crossings(routes, links)
    whole(1, longest=longest)
    delays = rng.integers(1, longest + 1, len(routes))
    return paths(routes, links, delays, rng.integers(0, delays[:, None], (len(routes), links)))


def run(
    network: Paths,
    start: ArrayLike,
    steps: int,
    sender: Sender,
    router: Router,
    memory: ArrayLike = 0.0,
    every: int = 1,
) -> Run:
    """Iterates senders and links.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        sender: computes the next rates; signals of links that a flow does not cross must have no effect.
        router: computes the signals of links; flows that do not cross a link have a load of 0 there.
        memory: initial state of links, for all links or per link.
        every: number of steps between two recorded steps.

    Raises:
        ParameterError: if there is not one finite rate per flow, or a number or a delay is not allowed.
    """
    flows, links = network.crossings.shape
    first = read_each("start", start, flows, -np.inf, closed=True)
    rates, signals, kept = slice(0, flows), slice(flows, flows + links), slice(flows + links, None)
    crosses, at_once = network.crosses, network.forward == 0
    there = np.maximum(network.forward, 1).T
    back = np.where(crosses, network.delays[:, None] - network.forward, 1)
    # Lags of the values that a step needs: signals of links, rates one round trip ago, and arrivals at links.
    lags = np.concatenate((back.ravel(), network.delays, there.ravel()))
    elements = np.concatenate((np.tile(np.arange(flows, flows + links), flows), np.tile(np.arange(flows), 1 + links)))
    own = slice(back.size, back.size + flows)
    longest = int(network.delays.max(initial=1))
    if (lags < 0).any() or lags.max(initial=0) > longest:
        raise ParameterError(f"lags of {lags.min()} to {lags.max()} steps are not allowed; needs 0 to {longest}")

    def received(now: Floats, before: Floats) -> Floats:
        arriving: Floats = np.where(at_once, now[:, None], before) * network.crossings
        return np.where(crosses, arriving, 0.0)

    def update(n: int, past: Past) -> Floats:  # noqa: ARG001
        seen = past.elements(lags, elements)
        now = sender(past(1, of=rates), seen[own], seen[: own.start].reshape(back.shape))
        said, remembered = router(received(now, seen[own.stop :].reshape(there.shape).T), past(1, of=kept))
        return np.concatenate((now, said, remembered))

    with np.errstate(all="ignore"):
        said, remembered = router(received(first, first[:, None]), read_each("memory", memory, links, -np.inf))
        state = np.concatenate((first, said, remembered))
        went = iterate(update, state, steps, longest=longest, every=every)
    return Run(went.times, went.states[:, rates], went.states[:, signals], went.states[:, kept])
