"""Parts of a fluid law: rates of senders, signals of routers, and the paths between them."""

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
#: Kinds of feedback that a law may need.
WAITS, LOSSES, ACKS, BEFORE, SIGNALS = "waits", "losses", "acks", "before", "signals"


class Table:
    """Parameters of several flows or links, as one array per parameter."""

    def __init__(self, rows: Sequence[dict[str, Value]]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Floats:
        return np.array([row[name] for row in self._rows], dtype=np.float64)

    def flags(self, name: str) -> Bools:
        """Returns a switch as an array of bool, one per row."""
        return np.array([row[name] is True for row in self._rows])

    def are(self, name: str, word: str) -> Bools:
        """Returns True for each row whose parameter equals a word."""
        return np.array([row[name] == word for row in self._rows])


class Parameter(Generic[Column]):
    """Parameter of a law or queue. It is declared with its default, and read as an array over flows or links."""

    def __init__(self, read: Callable[[Table, str], Column], default: Value, name: str) -> None:
        self.read, self.default, self.name, self.attribute = read, default, name, name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute, self.name = attribute, self.name or attribute

    def __get__(self, of: Parametrised, owner: type) -> Column:
        column = of.__dict__[self.attribute] = self.read(of.parameters, self.name)
        return column


def number(default: float, name: str = "") -> Parameter[Floats]:
    """Declares a numeric parameter. Its default name is the name of the attribute."""
    return Parameter(Table.__getitem__, default, name)


def flag(default: bool, name: str = "") -> Parameter[Bools]:
    """Declares a switch. Its default name is the name of the attribute."""
    return Parameter(Table.flags, default, name)


class Parametrised:
    """Class with parameters: those declared as attributes, those of the base class, and those in `PARAMETERS`."""

    #: Parameters of the model with their defaults. The defaults are those of the packet simulator.
    PARAMETERS: ClassVar[Parameters] = {}
    #: Parameters for which the model supports only one value, and this value.
    ONLY: ClassVar[Parameters] = {}
    parameters: Table

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared = {own.name: own.default for own in vars(cls).values() if isinstance(own, Parameter)}
        inherited: Parameters = super(cls, cls).PARAMETERS  # type: ignore[misc] # of the base
        cls.PARAMETERS = {**inherited, **vars(cls).get("PARAMETERS", {}), **declared}


@dataclass
class Crossings:
    """Crossings of links by the flows of one law; flows and crossings are numbered from 0 within the law.

    Attributes:
        flow: flow of each crossing.
        link: link of each crossing.
        starts: first crossing of each flow.
        runs: True for crossings of links that run the router half of this law.
    """

    flow: Ints
    link: Ints
    starts: Ints
    runs: Bools

    def total(self, values: Floats) -> Floats:
        """Returns the sum over each path, without links that do not run the law."""
        return np.add.reduceat(np.where(self.runs, values, 0.0), self.starts)

    def most(self, values: Floats) -> Floats:
        """Returns the maximum over each path, without links that do not run the law."""
        return np.maximum.reduceat(np.where(self.runs, values, -np.inf), self.starts)

    def least(self, values: Floats) -> Floats:
        """Returns the minimum over each path, without links that do not run the law."""
        return np.minimum.reduceat(np.where(self.runs, values, np.inf), self.starts)


@dataclass
class Feedback:
    """Feedback to the flows of one law in the middle of a step; arrays over flows or over crossings.

    Attributes:
        now: time, s.
        step: length of the step, s.
        age: time since each flow began to send data, s.
        rtt: round trip with the current queues, s.
        waits: round trip measured from ACKs, s; needs `WAITS`.
        lost, marked: losses and marks that the sender detects, packets/s; needs `LOSSES`.
        acked: rate of acknowledged packets, packets/s; needs `ACKS`.
        before: past rates of each flow at the ages of `Law.lags`, bit/s, as (ages, flows); needs `BEFORE`.
        proposed: proposed rate of each flow at the first of these ages, bit/s.
        signals: signals of routers, one array over crossings for each kind of signal; needs `SIGNALS`.
        pace: router time in s whose signals arrive in one second of sender time; below 1 while queues grow. Needs
            `SIGNALS`.
        path: crossings of the flows.
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
    """Load at the routers of one law in a step; arrays over all links, or over crossings for the law's flows.

    Attributes:
        step: length of the step, s.
        capacity: capacity of each link, bit/s.
        rate: arrival rate of all traffic at each link, bit/s.
        queue: backlog of each link in the middle of the step, bits.
        own: arrival rate of the law's flows, by crossing, bit/s.
        proposed: proposed rate of the law's flows, by crossing, bit/s.
        senders: sender half of the law, as source of fields that packets carry.
        rtt: round trip in packet headers, by flow, s.
        path: crossings of the flows.
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
        """Returns the sum over the crossings of each link."""
        return np.bincount(self.path.link, values, self.capacity.size).astype(np.float64, copy=False)

    def most(self, values: Floats) -> Floats:
        """Returns the largest value over the crossings of each link; 0 for links without crossings."""
        largest = np.zeros(self.capacity.size)
        np.maximum.at(largest, self.path.link, values)
        return largest


class Routers(ABC):
    """Router half of a law, at all links. `advance` updates the state."""

    #: Number of signals computed per router.
    SIGNAL_COUNT: ClassVar[int] = 1

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        self.parameters = parameters
        self.capacity = capacity

    @abstractmethod
    def first(self) -> Floats:
        """Returns the signals before the first arrival, an array of shape (signals, links)."""

    @abstractmethod
    def advance(self, load: Load) -> Floats:
        """Advances one step and returns the signals during this step, an array of shape (signals, links)."""


class Law(Parametrised, ABC):
    """Sender half of a law, for all flows that use this law.

    The state is an array (components, flows). A step evaluates `rate` and `change` in the middle of the step, and moves
    the state by `change`. Then `settle` applies all immediate changes.
    """

    #: Feedback that the law needs: a subset of `WAITS`, `LOSSES`, `ACKS`, `BEFORE` and `SIGNALS`.
    FEEDBACK: ClassVar[frozenset[str]] = frozenset()
    #: True if flows start with a handshake by default.
    HANDSHAKE: ClassVar[bool] = False
    ROUTERS: ClassVar[type[Routers] | None] = None
    #: True if packets carry proposals. In this case, `rate` writes the proposals to `proposals`, bit/s.
    PROPOSES: ClassVar[bool] = False

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        self.parameters = Table(
            [read_parameters(flow.name or flow.law, flow.parameters, self.PARAMETERS, self.ONLY) for flow in flows]
        )
        self.each_loss = each_loss
        self.base = np.array([flow.rtt for flow in flows])
        self.packet = np.array([8.0 * flow.packet for flow in flows])
        #: True for flows whose packets may be marked instead of dropped.
        self.ecn = self.parameters.flags("ecn") if "ecn" in self.PARAMETERS else np.zeros(len(flows), dtype=bool)
        self.proposals = np.zeros(len(flows))

    def start(self) -> Floats:
        """Returns the initial state, for flows that have not started."""
        return np.zeros((0, self.base.size))

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns the age of signals, and the ages at which the law needs its past rates.

        Args:
            intervals: longest router interval on each path, s.

        Returns:
            Age of signals in addition to the delay of the reverse path, s, and age of each row of the past rates,
            without queueing, s.
        """
        return np.zeros(self.base.size), ()

    @abstractmethod
    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rates, bit/s."""

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change of the state per second."""
        return np.zeros_like(state)

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state after all changes that take no time (jumps); may modify its argument."""
        return state


def per_second(weight: Floats, events: Floats) -> Floats:
    """Returns the decay rate of a moving average, 1/s, from the weight of an event and the number of events per second.

    The decay is the same: `e^(-rate t) = (1 - weight)^(events t)`.
    """
    return -np.log1p(-np.minimum(weight, 1 - 1e-12)) * events


@explained
def reached(rate: Floats, step: float) -> Floats:
    """Returns `(1 - e^(-rate step))/step`, the mean slope of a decay from distance 1 over a step, 1/s."""
    positive(step=step)
    return -np.expm1(-rate * step) / step


def need_routers(law: str, path: Crossings, names: Sequence[str]) -> None:
    """Raises FluidError if the law needs routers and the path of a flow has none."""
    alone = np.flatnonzero(~np.logical_or.reduceat(path.runs, path.starts))
    if alone.size:
        raise FluidError(f"{names[alone[0]]}: {law} needs a router on its path, but no link of the path runs one")
