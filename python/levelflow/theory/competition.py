"""Competition in a resolved scenario: competing flows, their links, and the capacity available to these flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import TheoryError
from levelflow.theory.units import base
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    from levelflow.records import FlowRecord, LinkRecord, ScenarioRecord


class CompetitionError(TheoryError):
    """A scenario without competing flows, or an invalid time."""


@dataclass(frozen=True)
class Competition:
    """Competing flows, and the capacity available to them.

    Attributes:
        entries: `[[flow]]` entries of the scenario. An entry whose flows take several paths appears once per path.
        numbers: index of each entry in the scenario.
        paths: index of the path of each entry.
        counts: number of competing flows of each entry; may be fractional, as a mean.
        routes: indices of the links that each entry crosses.
        links: all links of the scenario.
        available: capacity of each link for the competing flows, bit/s. It is the router target or the service rate,
            minus unresponsive traffic.
    """

    entries: list[FlowRecord]
    numbers: list[int]
    paths: list[int]
    counts: Floats
    routes: list[list[int]]
    links: list[LinkRecord]
    available: Floats


@explained
def competition(
    scenario: ScenarioRecord, active: Sequence[float], sending: Mapping[int, float] | None = None
) -> Competition:
    """Returns the competing flows, and the capacity available to them.

    A link offers the target rate of its routers, at most the rate of its shaper or policer (`target_bps`). Unresponsive
    traffic is subtracted. Headers count as traffic; ACKs and handshakes do not.

    Args:
        scenario: resolved scenario.
        active: number of active flows of each `[[flow]]` entry.
        sending: total rate of application-limited flow entries, by index of the entry, bit/s; these entries do not
            compete.
    """
    index = {link["name"]: number for number, link in enumerate(scenario["links"])}
    available = np.array([link["target_bps"] for link in scenario["links"]], dtype=np.float64)
    competing = []
    for number, flow in enumerate(scenario["flows"]):
        sent = (sending or {}).get(number)
        if flow["signal"] == "nothing" and sent is None:  # an unresponsive flow always sends at its rate
            sent = active[number] * base(flow["params"]["rate"])
        for path, (names, share) in enumerate(paths_of(flow)):
            route = [index[name] for name in names]
            if sent is not None:
                np.subtract.at(available, route, share * sent)
            elif active[number] * share > 0:
                competing.append((number, path, active[number] * share, route))
    return Competition(
        entries=[scenario["flows"][number] for number, *_ in competing],
        numbers=[number for number, *_ in competing],
        paths=[path for _, path, *_ in competing],
        counts=np.array([count for *_, count, _ in competing], dtype=np.float64),
        routes=[route for *_, route in competing],
        links=scenario["links"],
        available=np.maximum(available, 0.0),
    )


def paths_of(flow: FlowRecord) -> list[tuple[list[str], float]]:
    """Returns the initial paths of a `[[flow]]` entry, as link names, and the fraction of its flows on each path."""
    if "plans" not in flow:
        return [(flow["path"], 1.0)]
    taken = flow["plans"][0]["path_of"]
    return [(path["path"], taken.count(number) / len(taken)) for number, path in enumerate(flow["paths"])]


def in_force(scenario: ScenarioRecord, start: float, end: float | None = None) -> ScenarioRecord:
    """Returns a scenario with constant links. They have their values at one time, or averages over a window.

    Routes are those at time `start`.

    Args:
        scenario: resolved scenario.
        start: time, or start of the averaging window, s.
        end: end of the averaging window, s; by default nothing is averaged.
    """
    if any(link["changes"] for link in scenario["links"]):
        scenario = {**scenario, "links": [_in_force(link, start, end) for link in scenario["links"]]}
    if any("plans" in flow for flow in scenario["flows"]):
        scenario = {**scenario, "flows": [_on_its_way(flow, start) for flow in scenario["flows"]]}
    return scenario


def _on_its_way(flow: FlowRecord, now: float) -> FlowRecord:
    if "plans" not in flow:
        return flow
    plan = [plan for plan in flow["plans"] if plan["from_s"] <= now][-1]
    return {**flow, **flow["paths"][plan["path_of"][0]], "plans": [plan]}


def _in_force(link: LinkRecord, start: float, end: float | None) -> LinkRecord:
    times = np.array([-np.inf, *(state["at_s"] for state in link["changes"]), np.inf])
    if end is None or end <= start:
        weights = (times[:-1] <= start) & (start < times[1:])
    else:
        weights = np.diff(np.clip(times, start, end)) / (end - start)

    def mean(key: Literal["capacity_bps", "service_bps", "target_bps", "delay_s", "loss"]) -> float:
        return float(np.dot([link[key], *(state[key] for state in link["changes"])], weights))

    return {
        **link,
        "capacity_bps": mean("capacity_bps"),
        "service_bps": mean("service_bps"),
        "target_bps": mean("target_bps"),
        "delay_s": mean("delay_s"),
        "loss": mean("loss"),
        "changes": [],
    }


@explained
def listed(scenario: ScenarioRecord, at: float | None = None) -> list[float]:
    """Returns the number of active flows of each `[[flow]]` entry.

    Flows that arrive at random count as 0, since their number depends on the law. Flows with random start times count
    as active from time 0.

    Args:
        scenario: resolved scenario.
        at: time in s; by default all flows count as active, regardless of start and stop.

    Raises:
        CompetitionError: if no flow is active.
    """
    active = []
    for flow in scenario["flows"]:
        start, stop = flow["start_s"] or 0.0, np.inf if flow["stop_s"] is None else flow["stop_s"]
        there = at is None or start <= at < stop
        active.append(float(flow["count"] or 0) if there else 0.0)
    if not any(active):
        when = "" if at is None else f" at {at:g} s"
        raise CompetitionError(f"{scenario['name']}: no flow is active{when}; needs flows that do not arrive at random")
    return active


def of_flows(found: Competition, name: str) -> list[float]:
    """Returns the value of a law parameter for each flow entry."""
    return [base(flow["params"][name]) for flow in found.entries]


def round_trips(found: Competition) -> list[float] | None:
    """Returns the base round-trip time of each flow entry; None if one of these times is random."""
    rtts = [rtt for flow in found.entries if (rtt := flow["base_rtt_s"])]
    return rtts if len(rtts) == len(found.entries) else None


def packet_sizes(found: Competition) -> Floats:
    """Returns the packet size of each flow entry, bits."""
    return np.array([8.0 * flow["packet_bytes"] for flow in found.entries])


def delivered_shares(found: Competition) -> Floats:
    """Returns, for each flow entry, the fraction of packets that the wires of its route deliver."""
    return np.array([np.prod([1 - found.links[link]["loss"] for link in route]) for route in found.routes])
