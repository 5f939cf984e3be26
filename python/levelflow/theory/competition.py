"""What a resolved scenario asks of the models: who competes, over which links, for what."""

from __future__ import annotations

from collections.abc import Sequence
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
        entries: their entries in the scenario.
        numbers: where these stand in the list of all.
        counts: per entry, how many flows compete; a mean may be a fraction.
        routes: per entry, the indices of the links that it crosses.
        links: all links of the scenario.
        available: per link, what its routers aim at less what unresponsive senders take, bit/s.
    """

    entries: list[Flow]
    numbers: list[int]
    counts: Floats
    routes: list[list[int]]
    links: list[Link]
    available: Floats


@explained
def competition(scenario: dict[str, Any], active: Sequence[float]) -> Competition:
    """Returns who competes for what.

    Links offer what their routers aim at (`target_bps`), less what unresponsive senders take. Headers count, ACKs and
    what opens flows do not.

    Args:
        scenario: resolved.
        active: how many flows of each entry are under way.
    """
    index = {link["name"]: number for number, link in enumerate(scenario["links"])}
    routes = [[index[name] for name in flow["path"]] for flow in scenario["flows"]]
    available = np.array([link["target_bps"] for link in scenario["links"]], dtype=np.float64)
    competing = []
    for number, flow in enumerate(scenario["flows"]):
        if flow["signal"] == "nothing":  # it sends at its rate whatever the others do
            np.subtract.at(available, routes[number], active[number] * base(flow["params"]["rate"]))
        elif active[number] > 0:
            competing.append(number)
    return Competition(
        entries=[scenario["flows"][number] for number in competing],
        numbers=competing,
        counts=np.array([active[number] for number in competing], dtype=np.float64),
        routes=[routes[number] for number in competing],
        links=scenario["links"],
        available=np.maximum(available, 0.0),
    )


def in_force(scenario: dict[str, Any], start: float, end: float | None = None) -> dict[str, Any]:
    """Returns a resolved scenario whose links do not change: they are as at a time, or as in the mean over a window.

    Args:
        scenario: resolved.
        start: when, or when the window begins, s.
        end: when the window ends, s; by default there is none.
    """
    if not any(link.get("changes", ()) for link in scenario["links"]):
        return scenario
    return scenario | {"links": [_in_force(link, start, end) for link in scenario["links"]]}


def _in_force(link: Link, start: float, end: float | None) -> Link:
    states = [{key: link[key] for key in ("capacity_bps", "target_bps", "delay_s", "loss")}, *link.get("changes", ())]
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
