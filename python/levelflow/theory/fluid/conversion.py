"""Networks of fluid models, built from scenarios of the packet simulator."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.fluid.disciplines import DISCIPLINES
from levelflow.theory.fluid.registry import model
from levelflow.theory.fluid.topology import Flow, FluidError, Link, Network, Parameters, Value
from levelflow.theory.units import base, room

if TYPE_CHECKING:
    from levelflow.records import FlowRecord, LinkRecord, ScenarioRecord


def from_scenario(scenario: ScenarioRecord) -> Network:
    """Returns the network of a resolved scenario: links and flows with the parameters of the run.

    The transmission times of a packet and of its ACK count as part of the round trip. A `[[flow]]` entry with a `count`
    becomes that number of flows, named `x#1`, `x#2` and so on. Not modelled: the capacity used by ACKs, and delayed
    ACKs.

    Args:
        scenario: resolved scenario, from `levelflow.Scenario.resolve` or from the `scenario` of a result.

    Raises:
        FluidError: if flows arrive at random, end by their size or use random values, or a law or queue has no model.
    """
    links = {link["name"]: link for link in scenario["links"]}
    numbers = {name: number for number, name in enumerate(links)}
    flows: list[Flow] = []
    for entry in scenario["flows"]:
        count = count_of(entry)
        flow = _flow(entry, links, numbers)
        names = [flow.name] if count == 1 else [f"{flow.name}#{n + 1}" for n in range(count)]
        flows += [dataclasses.replace(flow, name=name) for name in names]
    return Network([_link(link, scenario["flows"]) for link in scenario["links"]], flows)


def count_of(entry: FlowRecord) -> int:
    """Returns the number of flows that a `[[flow]]` entry represents."""
    name = f"flow {entry['name']}"
    if entry["count"] is None:
        raise FluidError(f"{name}: flows that arrive at random have no fluid model; needs a count")
    if entry["finite"]:
        raise FluidError(f"{name}: transfers and lifetimes have no fluid model; needs a flow without size and lifetime")
    return entry["count"]


def _known(entry: FlowRecord, what: str, value: float | None) -> float:
    """Returns a start time or a round-trip time, unless it is random."""
    if value is None:
        raise FluidError(f"flow {entry['name']}: a random {what} has no fluid model; needs a number")
    return value


def _flow(entry: FlowRecord, links: dict[str, LinkRecord], numbers: dict[str, int]) -> Flow:
    start, rtt = _known(entry, "start", entry["start_s"]), _known(entry, "rtt", entry["base_rtt_s"])
    there = sum(links[name]["delay_s"] for name in entry["path"])
    back = sum(links[name]["delay_s"] for name in entry["reverse_path"])
    sending = sum(8 * entry["packet_bytes"] / links[name]["capacity_bps"] for name in entry["path"])
    sending += sum(8 * entry["ack_bytes"] / links[name]["capacity_bps"] for name in entry["reverse_path"])
    rtt = max(rtt, there + back)
    return Flow(
        law=entry["law"],
        route=[numbers[name] for name in entry["path"]],
        rtt=rtt + sending,
        parameters=_of_law(entry["law"], entry["params"]),
        packet=entry["packet_bytes"],
        start=start,
        stop=np.inf if entry["stop_s"] is None else entry["stop_s"],
        access=min(max(rtt / 2 - there, 0.0), rtt - there - back),
        handshake=entry["handshake"],
        name=entry["name"],
    )


def _link(link: LinkRecord, flows: list[FlowRecord]) -> Link:
    if link["changes"]:
        raise FluidError(f"link {link['name']}: links that change have no fluid model; needs one without changes")
    ((queue, given),) = link["queue"].items()
    if queue not in DISCIPLINES:
        known = ", ".join(DISCIPLINES)
        raise FluidError(f"link {link['name']}: there is no fluid model of queue {queue}; there are: {known}")
    packet = max((flow["packet_bytes"] for flow in flows if link["name"] in flow["path"]), default=1000)
    return Link(
        capacity=link["capacity_bps"],
        delay=link["delay_s"],
        buffer=room(link["buffer"], packet),
        queue=queue,
        queue_parameters=_read(given, DISCIPLINES[queue].PARAMETERS, DISCIPLINES[queue].ONLY),
        routers={law: _of_law(law, own) for law, own in link["laws"].items()},
        loss=link["loss"],
        name=link["name"],
    )


def _of_law(law: str, given: dict[str, str]) -> Parameters:
    known = model(law)
    return _read(given, known.PARAMETERS, known.ONLY)


def _read(given: dict[str, str], defaults: Parameters, only: Parameters) -> Parameters:
    """Returns the given parameters that the model has. Other parameters do not change the model."""
    kinds = {**defaults, **only}
    return {name: _value(text, kinds[name]) for name, text in given.items() if name in kinds}


def _value(text: str, like: Value) -> Value:
    if isinstance(like, bool):
        return text == "true"
    return text if isinstance(like, str) else base(text)
