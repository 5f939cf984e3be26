"""What makes a law here: how senders move, what routers say, and how a path puts it together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.fluid.topology import Flow, FluidError, Parameters, Value, read_parameters
from levelflow.theory.validate import explained, positive

Column = TypeVar("Column")
#: What senders may ask to hear; see `Heard`.
WAITS, LOSSES, ACKS, BEFORE, SIGNALS = "waits", "losses", "acks", "before", "signals"


class Table:
    """Parameters of several flows or links, one array each."""

    def __init__(self, rows: Sequence[dict[str, Value]]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Floats:
        return np.array([row[name] for row in self._rows], dtype=np.float64)

    def flags(self, name: str) -> Bools:
        """Returns a switch per row."""
        return np.array([row[name] is True for row in self._rows])

    def are(self, name: str, word: str) -> Bools:
        """Tells for each row whether a parameter is some word."""
        return np.array([row[name] == word for row in self._rows])


class Parameter(Generic[Column]):
    """A parameter of a law or a queue: declared with its default, read as a column."""

    def __init__(self, read: Callable[[Table, str], Column], default: Value, name: str) -> None:
        self.read, self.default, self.name, self.attribute = read, default, name, name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute, self.name = attribute, self.name or attribute

    def __get__(self, of: Parametrised, owner: type) -> Column:
        column = of.__dict__[self.attribute] = self.read(of.parameters, self.name)
        return column


def number(default: float, name: str = "") -> Parameter[Floats]:
    """Declares a number; its name is that of the attribute, unless it is given."""
    return Parameter(Table.__getitem__, default, name)


def flag(default: bool, name: str = "") -> Parameter[Bools]:
    """Declares a switch."""
    return Parameter(Table.flags, default, name)


class Parametrised:
    """What has parameters: those that are declared, those of its base, and those that others read."""

    #: Parameters that the model has, and their defaults: those of the packet simulator.
    PARAMETERS: ClassVar[Parameters] = {}
    #: Values of others that it stands for.
    ONLY: ClassVar[Parameters] = {}
    parameters: Table

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared = {own.name: own.default for own in vars(cls).values() if isinstance(own, Parameter)}
        inherited: Parameters = super(cls, cls).PARAMETERS  # type: ignore[misc] # of the base
        cls.PARAMETERS = {**inherited, **vars(cls).get("PARAMETERS", {}), **declared}


@dataclass
class Crossings:
    """Where the flows of one law cross links; flows and crossings are numbered from 0 within the law.

    Attributes:
        flow: per crossing.
        link: per crossing.
        starts: where the crossings of each flow begin.
        runs: per crossing, whether a router half of the law is there.
    """

    flow: Ints
    link: Ints
    starts: Ints
    runs: Bools

    def total(self, values: Floats) -> Floats:
        """Returns the sum over each path; crossings without a router count nothing."""
        return np.add.reduceat(np.where(self.runs, values, 0.0), self.starts)

    def most(self, values: Floats) -> Floats:
        """Returns the largest of each path; crossings without a router count nothing."""
        return np.maximum.reduceat(np.where(self.runs, values, -np.inf), self.starts)

    def least(self, values: Floats) -> Floats:
        """Returns the smallest of each path; crossings without a router count nothing."""
        return np.minimum.reduceat(np.where(self.runs, values, np.inf), self.starts)


@dataclass
class Heard:
    """What the flows of one law know in the middle of a step; arrays over flows, those of a path over crossings.

    Attributes:
        now: s.
        step: s.
        age: since each flow began to send data, s.
        rtt: round trip, with the queues of now, s.
        waits: with `WAITS`: the round trip that ACKs show, s.
        lost, marked: with `LOSSES`: packets of its own that it hears of, per s.
        acked: with `ACKS`: packets acknowledged per second.
        before: with `BEFORE`: its own rates at the ages that `Law.lags` names, bit/s: (ages, flows).
        proposed: what it proposed at the first of these ages, bit/s.
        signals: with `SIGNALS`: what routers said; an array over crossings for each thing that they say.
        pace: with `SIGNALS`: how fast the time goes by at which they said it; below 1 while queues grow.
        path: which crossings these are.
    """

    now: float
    step: float
    age: Floats
    rtt: Floats
    waits: Floats
    lost: Floats
    marked: Floats
    acked: Floats
    before: Floats
    proposed: Floats
    signals: Floats
    pace: Floats
    path: Crossings


@dataclass
class Load:
    """What the routers of one law see during a step; arrays over all links, those of its own flows over crossings.

    Attributes:
        step: s.
        capacity: bit/s.
        rate: of everything that arrives, bit/s.
        queue: in the middle of the step, bits.
        own: rates at which the law's own flows arrive, by crossing, bit/s.
        proposed: what they propose to send instead, bit/s.
        senders: the law's other half: what packets tell of their senders.
        rtt: by flow, what packets tell of the round trip, s.
        path: which crossings these are.
    """

    step: float
    capacity: Floats
    rate: Floats
    queue: Floats
    own: Floats
    proposed: Floats
    senders: Law
    rtt: Floats
    path: Crossings

    def sum(self, values: Floats) -> Floats:
        """Adds values of crossings up by link."""
        return np.bincount(self.path.link, values, self.capacity.size).astype(np.float64, copy=False)

    def most(self, values: Floats) -> Floats:
        """Returns the largest value of the crossings of each link; 0 where there are none."""
        largest = np.zeros(self.capacity.size)
        np.maximum.at(largest, self.path.link, values)
        return largest


class Routers(ABC):
    """The router half of a law, at all links; has state of its own, which `advance` moves."""

    #: How many things a router says.
    SAYS: ClassVar[int] = 1

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        self.parameters = parameters
        self.capacity = capacity

    @abstractmethod
    def first(self) -> Floats:
        """Returns what routers say before anything has arrived: (things, links)."""

    @abstractmethod
    def advance(self, load: Load) -> Floats:
        """Goes one step on; returns what routers say during it: (things, links)."""


class Law(Parametrised, ABC):
    """The sender half of a law, of all flows that follow it.

    Its state is an array (components, flows). A step evaluates `rate` and `change` in its middle, moves the state along
    `change`, and lets `settle` do what happens at once.
    """

    #: Of `WAITS`, `LOSSES`, `ANSWERS`, `BEFORE` and `SIGNALS`, what `Heard` has to hold.
    HEARS: ClassVar[frozenset[str]] = frozenset()
    #: Whether flows open with a handshake, unless they say otherwise.
    HANDSHAKE: ClassVar[bool] = False
    ROUTERS: ClassVar[type[Routers] | None] = None
    #: Whether packets carry proposals: `rate` then leaves them in `proposals`, bit/s.
    PROPOSES: ClassVar[bool] = False

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        self.parameters = Table(
            [read_parameters(flow.name or flow.law, flow.parameters, self.PARAMETERS, self.ONLY) for flow in flows]
        )
        self.each_loss = each_loss
        self.base = np.array([flow.rtt for flow in flows])
        self.packet = np.array([8.0 * flow.packet for flow in flows])
        #: Whether packets of each flow may be marked instead of dropped.
        self.ecn = self.parameters.flags("ecn") if "ecn" in self.PARAMETERS else np.zeros(len(flows), dtype=bool)
        self.proposals = np.zeros(len(flows))

    def start(self) -> Floats:
        """Returns the state of flows that have not started."""
        return np.zeros((0, self.base.size))

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns for the longest router interval of each path, s, how old signals are, and what of itself a law needs.

        Returns:
            By how much signals are older than their way back, s, and for each line of `Heard.before` its age without
            queues, s.
        """
        return np.zeros(self.base.size), ()

    @abstractmethod
    def rate(self, state: Floats, heard: Heard) -> Floats:
        """Returns the rates, bit/s."""

    def change(self, state: Floats, heard: Heard) -> Floats:
        """Returns by how much the state changes per second."""
        return np.zeros_like(state)

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Returns the state after what happens at once; it may change the one it is given."""
        return state


def per_second(weight: Floats, events: Floats) -> Floats:
    """Returns the rate `r` of an average that takes each event with some weight: `e^-rt` is `(1 - w)^(events t)`."""
    return -np.log1p(-np.minimum(weight, 1 - 1e-12)) * events


@explained
def reached(rate: Floats, step: float) -> Floats:
    """Returns what part of its way a relaxation of some rate goes in a step, over the step: exact, however fast."""
    positive(step=step)
    return -np.expm1(-rate * step) / step


def need_routers(law: str, path: Crossings, names: Sequence[str]) -> None:
    """Raises FluidError if a flow of a law that needs routers crosses none."""
    alone = np.flatnonzero(~np.logical_or.reduceat(path.runs, path.starts))
    if alone.size:
        raise FluidError(f"{names[alone[0]]}: {law} needs a router on its path, and no link there runs one")
