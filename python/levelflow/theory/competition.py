"""What a resolved scenario asks of the models: who competes, over which links, for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import TheoryError
from levelflow.theory.units import base
from levelflow.theory.validate import explained

Flow = dict[str, Any]
Link = dict[str, Any]


class CompetitionError(TheoryError):
    """A scenario in which no flow competes, or a time that is none."""


@dataclass(frozen=True)
class Competition:
    """The flows that compete, and what there is for them.

    Attributes:
        entries: their entries in the scenario; one whose flows take several paths is there once for each.
        numbers: where these stand in the list of all.
        paths: per entry, which of its paths it is.
        counts: per entry, how many flows compete; a mean may be a fraction.
        routes: per entry, the indices of the links that it crosses.
        links: all links of the scenario.
        available: per link, what its routers aim at, or can serve, less what unresponsive senders take, bit/s.
    """

    entries: list[Flow]
    numbers: list[int]
    paths: list[int]
    counts: Floats
    routes: list[list[int]]
    links: list[Link]
    available: Floats


@explained
def competition(
    scenario: dict[str, Any], active: Sequence[float], sending: Mapping[int, float] | None = None
) -> Competition:
    """Returns who competes for what.

    Links offer what their routers aim at, and no more than a shaper or policer lets pass (`target_bps`), less what
    unresponsive senders take. Headers count, ACKs and what opens flows do not.

    Args:
        scenario: resolved.
        active: how many flows of each entry are under way.
        sending: what the flows of some entries together send, by their number, bit/s: they do not compete, as their
            applications have no more to send.
    """
    index = {link["name"]: number for number, link in enumerate(scenario["links"])}
    available = np.array([link["target_bps"] for link in scenario["links"]], dtype=np.float64)
    competing = []
    for number, flow in enumerate(scenario["flows"]):
        sent = (sending or {}).get(number)
        if flow["signal"] == "nothing" and sent is None:  # it sends at its rate whatever the others do
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


def paths_of(flow: Flow) -> list[tuple[list[str], float]]:
    """Returns each path of an entry at first, by names of links, and what share of its flows takes it."""
    if "plans" not in flow:
        return [(flow["path"], 1.0)]
    taken = flow["plans"][0]["path_of"]
    return [(path["path"], taken.count(number) / len(taken)) for number, path in enumerate(flow["paths"])]


def in_force(scenario: dict[str, Any], start: float, end: float | None = None) -> dict[str, Any]:
    """Returns a resolved scenario that does not change: links are as at a time, or as in the mean over a window.

    Routes are those at the time, or when the window begins.

    Args:
        scenario: resolved.
        start: when, or when the window begins, s.
        end: when the window ends, s; by default there is none.
    """
    if any(link.get("changes", ()) for link in scenario["links"]):
        scenario = scenario | {"links": [_in_force(link, start, end) for link in scenario["links"]]}
    if any("plans" in flow for flow in scenario["flows"]):
        scenario = scenario | {"flows": [_on_its_way(flow, start) for flow in scenario["flows"]]}
    return scenario


def _on_its_way(flow: Flow, now: float) -> Flow:
    if "plans" not in flow:
        return flow
    plan = [plan for plan in flow["plans"] if plan["from_s"] <= now][-1]
    return flow | flow["paths"][plan["path_of"][0]] | {"plans": [plan]}


def _in_force(link: Link, start: float, end: float | None) -> Link:
    keys = ("capacity_bps", "service_bps", "target_bps", "delay_s", "loss")
    states = [{key: link[key] for key in keys}, *link.get("changes", ())]
    times = np.array([-np.inf, *(state["at_s"] for state in link.get("changes", ())), np.inf])
    if end is None or end <= start:
        weights = (times[:-1] <= start) & (start < times[1:])
    else:
        weights = np.diff(np.clip(times, start, end)) / (end - start)
    mean = {key: float(np.dot([state[key] for state in states], weights)) for key in states[0] if key != "at_s"}
    return link | mean | {"changes": []}


@explained
def listed(scenario: dict[str, Any], at: float | None = None) -> list[float]:
    """Returns how many flows of each entry are under way.

    Flows that arrive at random count as none: how many there are depends on the law. Those whose start is drawn are
    there from the beginning.

    Args:
        scenario: resolved.
        at: when, s; by default all flows are, whenever they start and stop.

    Raises:
        CompetitionError: if none is.
    """
    active = []
    for flow in scenario["flows"]:
        start, stop = flow["start_s"] or 0.0, np.inf if flow["stop_s"] is None else flow["stop_s"]
        there = flow["count"] is not None and (at is None or start <= at < stop)
        active.append(float(flow["count"]) if there else 0.0)
    if not any(active):
        when = "" if at is None else f" at {at:g} s"
        raise CompetitionError(
            f"{scenario['name']}: no flow is under way{when}; needs flows that do not arrive at random"
        )
    return active


def of_flows(found: Competition, name: str) -> list[float]:
    """Returns a parameter of each entry."""
    return [base(flow["params"][name]) for flow in found.entries]


def round_trips(found: Competition) -> list[float] | None:
    """Returns the base round-trip time of each entry; None if one is drawn."""
    rtts = [flow["base_rtt_s"] for flow in found.entries]
    return rtts if all(rtts) else None


def packet_sizes(found: Competition) -> Floats:
    """Returns the size of the packets of each entry, bits."""
    return np.array([8.0 * flow["packet_bytes"] for flow in found.entries])


def delivered_shares(found: Competition) -> Floats:
    """Returns what share of the packets of each entry wires deliver."""
    return np.array([np.prod([1 - found.links[link]["loss"] for link in route]) for route in found.routes])
