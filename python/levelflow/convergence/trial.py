"""Run of one law on one network, and its evaluation.

A law *settles* if the throughput of each permanent flow stays within 5 % of its reference in the last fifth of the run.
References are those of `levelflow.theory.references`. A *step* is the longest round-trip time of the network, at least
100 ms. Throughput is averaged over a step. For slow flows, it is averaged over the time of 100 packets if this time is
longer than a step. Single packets then have no effect. The settling time begins at the last arrival or departure. It
ends at the start of the last average that differs from its reference by more than 5 %. Its resolution is one sample.
The last sample of a run may be shorter than the others. A sample of less than 90 % of the sample time is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from levelflow import library
from levelflow._core import ScenarioError
from levelflow.convergence.network import MIN_STEP_S
from levelflow.measure import fairness, samples
from levelflow.measure.fairness import SETTLED_WITHIN
from levelflow.running import EVENTS_PER_STEP
from levelflow.theory.competition import competition
from levelflow.theory.references import equilibrium_of, model

if TYPE_CHECKING:
    from levelflow.records import ScenarioRecord
    from levelflow.results import Result
    from levelflow.scenario import Scenario
    from levelflow.summary import Summary

#: Laws that cause no drops if buffers have space for the first packets of new flows.
LOSSLESS = ("jetmax", "level")
#: Limit on the number of events of a run: a constant, and events per expected link crossing of a packet.
BASE_EVENTS, EVENTS_PER_HOP = 2e6, 8
#: Shortest sample that is evaluated, as a fraction of the sample time.
SHORTEST_SAMPLE = 0.9


class RunawayError(Exception):
    """Signals that a run exceeds its event limit, because flows send far more packets than at their reference rates."""


@dataclass(frozen=True)
class Outcome:
    """Evaluation of a run. If the run was stopped, only `reference`, `step_s` and `runaway` have values.

    Attributes:
        reference: Name of the reference.
        step_s: Duration of a step, s.
        settling_s: Settling time, s; None if the rates did not settle.
        worst: Largest relative error of a step average in the last fifth of the run, compared with the reference.
        distance: Largest relative error of a mean over the last fifth of the run, compared with the reference.
        distance_own: Largest relative error of these means, compared with the equilibrium of the law's equations, if
            known.
        drops: Packets dropped at buffers.
        queue_ms: Longest queueing delay of a packet at a link, ms.
        runaway: True if the run was stopped at the event limit.
        warnings: Warnings of the run.
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
        """True if every flow reaches its reference and stays there."""
        return self.settling_s is not None


def laws() -> list[str]:
    """Returns the laws whose routers write packet headers. These laws define an allocation of rates."""
    return [law["name"] for law in library.laws() if law["header_bytes"]]


def failure(law: str, outcome: Outcome) -> str | None:
    """Returns the kind of failure of a run; None if the run did not fail.

    `rates`: the mean rate of a flow over the last fifth differs by more than 5 % from its reference.
    `swings`: only averages over single steps differ by more than 5 %.
    `drops`: a lossless law drops packets.
    """
    if outcome.settles:
        return "drops" if law in LOSSLESS and outcome.drops else None
    near = outcome.distance is not None and outcome.distance <= SETTLED_WITHIN
    return "swings" if near else "rates"


def attempt(scenario: Scenario, packet_hops: float, progress: Callable[[float], None] = lambda _: None) -> Outcome:
    """Runs a scenario and evaluates it.

    Args:
        scenario: Scenario whose flows all use one law.
        packet_hops: Expected number of link crossings of packets.
        progress: Callback with the finished fraction of the run. An exception in the callback stops the run.
    """
    events = 0

    def watch(share: float) -> None:
        nonlocal events
        events += EVENTS_PER_STEP
        if events > BASE_EVENTS + EVENTS_PER_HOP * packet_hops:
            raise RunawayError
        progress(share)

    try:
        return judge(scenario.run(progress=watch))
    except RunawayError:
        resolved = scenario.resolve()
        return Outcome(model(resolved["flows"][0]["law"]), step(resolved), runaway=True)


def step(resolved: ScenarioRecord) -> float:
    """Returns the duration of a step of a resolved scenario, s.

    Raises:
        ScenarioError: If a round-trip time is random, so that a step has no fixed duration.
    """
    rtts = []
    for flow in resolved["flows"]:
        if flow["base_rtt_s"] is None:
            raise ScenarioError(f"flow {flow['name']}, rtt: is random; allowed: one value, which sets the step")
        rtts.append(flow["base_rtt_s"])
    return max(MIN_STEP_S, *rtts)


def judge(result: Result) -> Outcome:
    """Returns the evaluation of a run."""
    summary, resolved = result.summary, result.scenario
    step_s, event_s, (window_s, _) = step(resolved), summary["last_event_s"], summary["window_s"]
    per_step = round(step_s / resolved["sample_s"])
    whole = samples.lengths(result.flows) > SHORTEST_SAMPLE * resolved["sample_s"]
    flows = result.flows.filter(whole, result.flows["t"] > event_s).partition_by("flow", as_dict=True)
    away, worst = event_s, None
    for flow, row in zip(resolved["flows"], summary["flows"], strict=True):
        if row["distance"] is None:
            continue
        share = row["share_bps"]
        assert share is not None  # there is a distance, and it is relative to the share
        own = flows[(row["name"],)].sort("t")
        times, rates = own["t"].to_numpy(), own["throughput_bps"].to_numpy()
        late = int((times > window_s).sum())
        slow = fairness.samples_per_mean(share, flow["packet_bytes"], resolved["sample_s"], late)
        distances = fairness.forward_distances(rates, share, max(per_step, slow))
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


def _from_equilibrium(resolved: ScenarioRecord, summary: Summary) -> float | None:
    rows = summary["flows"]
    known = equilibrium_of(found := competition(resolved, [row["active"] for row in rows]))
    if known is None:
        return None
    rates = np.array([rows[number]["throughput_bps"] for number in found.numbers])
    return float(np.abs(rates / np.asarray(known.rates) - 1).max())
