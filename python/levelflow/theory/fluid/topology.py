"""Links and flows of fluid models, and checks of their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from levelflow.theory.errors import ParameterError, TheoryError
from levelflow.theory.validate import not_negative, positive

#: Parameter value: a number in base units (bit/s, s, bytes, packets), a switch, or a word.
Value = float | bool | str
Parameters = Mapping[str, Value]


class FluidError(TheoryError):
    """An invalid network, or a network without a fluid model."""


@dataclass(frozen=True)
class Link:
    """One direction of a link: queue, transmitter and wire.

    Attributes:
        capacity: capacity, bit/s.
        delay: delay from the end of the queue to the end of the wire, s.
        buffer: largest backlog, bytes; infinite by default.
        queue: name of the queue discipline.
        queue_parameters: discipline parameters that differ from the defaults; in s, bytes and packets.
        routers: router parameters that differ from the defaults, by law; None if every law has routers at this link.
        loss: fraction of the data that the wire loses.
        name: name in error messages and results.
    """

    capacity: float
    delay: float = 0.0
    buffer: float = np.inf
    queue: str = "drop_tail"
    queue_parameters: Parameters = field(default_factory=dict)
    routers: Mapping[str, Parameters] | None = None
    loss: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Flow:
    """One flow with unlimited data.

    Attributes:
        law: name of the law, as printed by `levelflow list laws`.
        route: links that the flow's data crosses, in order.
        rtt: round trip with empty queues, s. The delay of the reverse path is this time minus the delays of access and
            links.
        parameters: law parameters that differ from the defaults; rates in bit/s, times in s, windows in packets.
        packet: packet size, bytes.
        start: start time, s. A law with a handshake sends data one round trip later.
        stop: stop time, s.
        access: delay between the sender and the first link, s.
        handshake: True if the flow starts with a handshake; None for the default of the law.
        name: name in error messages and results.
    """

    law: str
    route: Sequence[int]
    rtt: float
    parameters: Parameters = field(default_factory=dict)
    packet: float = 1000.0
    start: float = 0.0
    stop: float = np.inf
    access: float = 0.0
    handshake: bool | None = None
    name: str = ""


@dataclass(frozen=True)
class Network:
    """Flows over links.

    Raises:
        ParameterError: if a number is not in its range.
        FluidError: if a route uses a link that does not exist, or a round trip is shorter than the forward path.
    """

    links: Sequence[Link]
    flows: Sequence[Flow]

    def __post_init__(self) -> None:
        if not self.links or not self.flows:
            raise FluidError("a network needs at least one link and one flow")
        for number, link in enumerate(self.links):
            _check_link(link, link.name or f"link {number}")
        for number, flow in enumerate(self.flows):
            self._check_flow(flow, flow.name or f"flow {number}")

    def _check_flow(self, flow: Flow, name: str) -> None:
        if not len(flow.route):
            raise FluidError(f"{name}: crosses no link, so nothing limits it")
        for link in flow.route:
            if not 0 <= link < len(self.links):
                raise FluidError(f"{name}: there is no link {link}; links are 0 to {len(self.links) - 1}")
        if len(set(flow.route)) < len(flow.route):
            raise FluidError(f"{name}: crosses a link twice; a route may cross each link once")
        positive(**{f"{name}: round trip": flow.rtt, f"{name}: packet": flow.packet})
        not_negative(**{f"{name}: start": flow.start, f"{name}: access delay": flow.access})
        _need(name, "stop", flow.stop, flow.stop >= flow.start, "a time not before its start")
        there = flow.access + sum(self.links[link].delay for link in flow.route)
        if there > flow.rtt * (1 + 1e-9):
            raise FluidError(f"{name}: a round trip of {flow.rtt:g} s is shorter than the forward path, {there:g} s")


def _check_link(link: Link, name: str) -> None:
    positive(**{f"{name}: capacity": link.capacity})
    not_negative(**{f"{name}: delay": link.delay})
    _need(name, "buffer", link.buffer, link.buffer >= 0, "a number >= 0")
    _need(name, "loss", link.loss, 0 <= link.loss < 1, "a share from 0 to below 1")


def _need(name: str, what: str, value: float, ok: bool, allowed: str) -> None:
    if not ok:
        raise ParameterError(f"{name}: {what} {value} is not allowed; needs {allowed}")


def read_parameters(name: str, given: Parameters, defaults: Parameters, only: Parameters) -> dict[str, Value]:
    """Returns every parameter of a model.

    Args:
        name: owner of the parameters, for error messages.
        given: parameters that differ from the defaults.
        defaults: default values of the parameters that may be changed.
        only: single supported value, by parameter.

    Raises:
        FluidError: if a parameter does not exist, or the model does not support its value.
        ParameterError: if a number is not in its range.
    """
    for key, value in given.items():
        if key in only:
            if value != only[key]:
                raise FluidError(f"{name}: {key} = {value} has no fluid model here; needs {only[key]}")
        elif key not in defaults:
            known = ", ".join(sorted({**defaults, **only})) or "none"
            raise FluidError(f"{name}: there is no parameter {key} in the fluid model; there are: {known}")
        elif isinstance(defaults[key], str | bool):
            if type(value) is not type(defaults[key]):
                raise FluidError(f"{name}: {key} = {value!r} is not allowed; needs something like {defaults[key]!r}")
        else:
            not_negative(**{f"{name}: {key}": value})
    return {**defaults, **given}
