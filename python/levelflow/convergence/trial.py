"""One law on one network: runs it and judges it.

A law *settles* if in the last fifth of the run each flow that stays keeps its throughput within 5 % of its reference
(`levelflow.theory.references`), in each mean over a step. It has settled after the last mean before that which is
further away. A *step* is the longest round trip of the network, or 100 ms if that is more. The mean of a slow flow is
over the time of 100 packets, if that is longer, so that no single packet decides. Time counts from the last arrival or
departure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow import library
from levelflow.convergence.network import SHORTEST_STEP_S
from levelflow.measure import fairness
from levelflow.measure.fairness import SETTLED_WITHIN
from levelflow.running import EVENTS_PER_STEP
from levelflow.theory.competition import competition
from levelflow.theory.references import equilibrium_of, model

if TYPE_CHECKING:
    from levelflow.results import Result
    from levelflow.scenario import Scenario

#: Laws that promise that no packet is dropped, as long as buffers take what begins unannounced.
LOSSLESS = ("jetmax", "level")
#: A run is stopped after so many events, and so many per packet and link that it should need.
EVENTS, EVENTS_PER_HOP = 2e6, 8


class RunawayError(Exception):
    """A run of many times the packets that rates near the reference would need."""


@dataclass(frozen=True)
class Outcome:
    """What a law came to; everything else is unknown of a run that was stopped.

    Attributes:
        step_s: what a step is, s.
        settling_s: when it settled, s; None if it did not.
        worst: the largest distance from the reference of any mean over a step of the last fifth.
        distance: that of the mean over the last fifth.
        distance_own: the same from the equilibrium of the law in its own equations, where that is known.
        drops: packets that buffers did not take.
        queue_ms: the longest queueing delay of a packet at a link.
        runaway: whether the run was stopped, as it took many times the packets that it should.
        warnings: of the run.
    """

    reference: str
    step_s: float
    settling_s: float | None = None
    worst: float | None = None
    distance: float | None = None
    distance_own: float | None = None
    drops: int | None = None
    queue_ms: float | None = None
    runaway: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def settles(self) -> bool:
        """Whether every flow comes to its rate and keeps it."""
        return self.settling_s is not None


def laws() -> list[str]:
    """Returns the laws whose routers write into headers: those that claim an allocation of rates."""
    return [law["name"] for law in library.laws() if law["header_bytes"]]


def failure(law: str, outcome: Outcome) -> str | None:
    """Says how a law fails, if it does.

    `rates`: a flow has another one than its reference, in the mean over the last fifth. `swings`: in single steps only.
    `drops`: packets are dropped, and the law promises that none is.
    """
    if outcome.settles:
        return "drops" if law in LOSSLESS and outcome.drops else None
    near = outcome.distance is not None and outcome.distance <= SETTLED_WITHIN
    return "swings" if near else "rates"


def attempt(scenario: Scenario, packet_hops: float, tell: Callable[[float], None] = lambda _: None) -> Outcome:
    """Runs a scenario and judges it.

    Args:
        scenario: all its flows are of one law.
        packet_hops: about how many packets should cross links.
        tell: receives the share that is done, and may raise to stop the run.
    """
    events = 0

    def watch(share: float) -> None:
        nonlocal events
        events += EVENTS_PER_STEP
        if events > EVENTS + EVENTS_PER_HOP * packet_hops:
            raise RunawayError
        tell(share)

    try:
        return judge(scenario.run(progress=watch))
    except RunawayError:
        resolved = scenario.resolve()
        return Outcome(model(resolved["flows"][0]["law"]), step(resolved), runaway=True)


def step(resolved: dict[str, Any]) -> float:
    """Returns the longest round trip of a resolved scenario, s, as far as it counts."""
    return max(SHORTEST_STEP_S, *(float(flow["base_rtt_s"]) for flow in resolved["flows"]))


def judge(result: Result) -> Outcome:
    """Says what a run came to."""
    summary, resolved = result.summary, result.scenario
    step_s, event_s, (window_s, _) = step(resolved), summary["last_event_s"], summary["window_s"]
    per_step = round(step_s / resolved["sample_s"])
    flows = result.flows.filter(result.flows["t"] > event_s).partition_by("flow", as_dict=True)
    away, worst = event_s, None
    for flow, row in zip(resolved["flows"], summary["flows"], strict=True):
        if row["distance"] is None:
            continue
        own = flows[(row["name"],)].sort("t")
        times, rates = own["t"].to_numpy(), own["throughput_bps"].to_numpy()
        late = int((times > window_s).sum())
        slow = fairness.samples_per_mean(row["share_bps"], flow["packet_bytes"], resolved["sample_s"], late)
        distances = fairness.forward_distances(rates, row["share_bps"], max(per_step, slow))
        away = fairness.last_away(times, distances, away)
        last = distances[times[: distances.size] > window_s]
        worst = max(worst or 0.0, float(last.max(initial=0.0)))
    settled = worst is not None and worst <= SETTLED_WITHIN
    waits = [link["queueing_delay_s"]["max"] for link in summary["links"] if link["queueing_delay_s"]]
    return Outcome(
        reference=summary["reference"],
        step_s=step_s,
        settling_s=away - event_s if settled else None,
        worst=worst,
        distance=summary["distance_max"],
        distance_own=_from_equilibrium(resolved, summary),
        drops=sum(link["dropped_packets"] for link in summary["links"]),
        queue_ms=1e3 * max(waits, default=0.0),
        warnings=tuple(summary["warnings"]),
    )


def _from_equilibrium(resolved: dict[str, Any], summary: dict[str, Any]) -> float | None:
    rows = summary["flows"]
    known = equilibrium_of(found := competition(resolved, [row["active"] for row in rows]))
    if known is None:
        return None
    rates = np.array([rows[number]["throughput_bps"] for number in found.numbers])
    return float(np.abs(rates / np.asarray(known.rates) - 1).max())
