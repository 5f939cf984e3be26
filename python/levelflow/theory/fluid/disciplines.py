"""Queue disciplines: fraction of arrivals that a queue marks or drops before its buffer is full.

Each discipline advances its own state. First-order filters use the exact solution, so no gain is too large for the
step. Sources: RED with its average as a first-order filter (Misra, Gong, Towsley 2000, eq 4; Hollot et al. 2001), REM
(Athuraliya, Li, Low, Yin 2001, eq 2-3), PI (Hollot, Misra, Towsley, Gong 2001), virtual queue and its adaptive level
(Kunniyur and Srikant 2001, eq 2; 2003, section V). Not modelled: the random choice of single packets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.fluid.law import Parametrised, Table, flag, number, per_second, reached
from levelflow.theory.fluid.topology import FluidError, Link, Parameters, read_parameters


class Discipline(Parametrised, ABC):
    """Queues of all links with one discipline; arrays over these links."""

    def __init__(self, parameters: Table, capacity: Floats, packet: Floats) -> None:
        """Stores link capacities in bit/s and typical packet sizes in bits."""
        self.parameters = parameters
        self.capacity = capacity
        self.packet = packet

    @abstractmethod
    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Advances one step with an arrival rate in bit/s and a queue in bits.

        Returns:
            Fraction of arrivals that carry a congestion signal.
        """


class DropTail(Discipline):
    """Drop-tail: no congestion signal until the buffer is full."""

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Returns 0."""
        return np.zeros_like(rate)


class DropFront(DropTail):
    """Drop-front: loses the same fraction as drop-tail. Senders detect losses earlier, by the queueing delay."""


class Red(Discipline):
    """Random early detection, gentle or not."""

    PARAMETERS: ClassVar[Parameters] = {"packet": 1000.0, "ecn": True}
    low = number(5.0, "min")
    high = number(15.0, "max")
    weight = number(0.002)
    most = number(0.1, "max_p")
    gentle = flag(True)

    def __init__(self, parameters: Table, capacity: Floats, packet: Floats) -> None:
        super().__init__(parameters, capacity, packet)
        self.idle = capacity / (8 * parameters["packet"])
        self.average = np.zeros_like(capacity)
        bad = np.flatnonzero(self.high < self.low)
        if bad.size:
            raise FluidError(f"red: max {self.high[bad[0]]} is below min {self.low[bad[0]]}")

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Returns the signalled fraction `2 p_b/(1 + p_b)`, since RED draws distances between signals uniformly."""
        samples = np.where(queue > 0, rate / self.packet, self.idle)
        moved = reached(per_second(self.weight, samples), step) * step
        self.average += moved * (queue / self.packet - self.average)
        above = self.average - self.high
        ramp = self.most * (self.average - self.low) / np.maximum(self.high - self.low, 1e-300)
        gentle = np.where(self.gentle & (self.high > self.low), self.most + (1 - self.most) * above / self.high, 1.0)
        chance = np.clip(np.where(above >= 0, gentle, ramp), 0.0, 1.0)
        chance = np.where(self.average < self.low, 0.0, chance)
        return 2 * chance / (1 + chance)


class Rem(Discipline):
    """Random exponential marking."""

    PARAMETERS: ClassVar[Parameters] = {"ecn": True}
    target = number(50.0)
    gamma = number(0.001)
    alpha = number(0.1)
    phi = number(1.001)
    interval = number(0.002)

    def __init__(self, parameters: Table, capacity: Floats, packet: Floats) -> None:
        super().__init__(parameters, capacity, packet)
        self.price, self.last = np.zeros_like(capacity), np.zeros_like(capacity)

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Advances the price by the sum of its changes in the intervals of the step."""
        waiting = queue / self.packet
        mismatch = self.alpha * (waiting - self.target) * step / self.interval + waiting - self.last
        self.price = np.maximum(self.price + self.gamma * mismatch, 0.0)
        self.last = waiting
        return 1 - self.phi**-self.price


class Pi(Discipline):
    """Proportional-integral controller."""

    PARAMETERS: ClassVar[Parameters] = {"ecn": True}
    target = number(50.0)
    a = number(0.00001822)
    b = number(0.00001816)
    interval = number(0.00625)

    def __init__(self, parameters: Table, capacity: Floats, packet: Floats) -> None:
        super().__init__(parameters, capacity, packet)
        self.chance, self.last = np.zeros_like(capacity), np.zeros_like(capacity)

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Advances the probability by the sum of its changes in the intervals of the step."""
        waiting = queue / self.packet
        integral = (self.a - self.b) * (waiting - self.target) * step / self.interval
        self.chance = np.clip(self.chance + integral + self.b * (waiting - self.last), 0.0, 1.0)
        self.last = waiting
        return self.chance


class VirtualQueue(Discipline):
    """Virtual queue: a counter that drains at less than the capacity. It marks arrivals for which it has no room."""

    PARAMETERS: ClassVar[Parameters] = {
        "level": 0.99,
        "buffer": 40000.0,
        "ecn": True,
        "adapt": "off",
        "gamma": 1.0,
        "step": 0.15,
        "every": 1000.0,
    }

    def __init__(self, parameters: Table, capacity: Floats, packet: Floats) -> None:
        super().__init__(parameters, capacity, packet)
        self.aim = parameters["gamma"] * capacity
        self.gain = np.where(parameters.are("adapt", "off"), 0.0, parameters["step"])
        self.level = parameters["level"] * capacity
        self.room = 8 * parameters["buffer"]
        self.queue = np.zeros_like(capacity)

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Returns the fraction of arrivals that overflows the virtual queue: `(y - C~)/y` once the queue is full."""
        filled = np.maximum(self.queue + step * (rate - self.level), 0.0)
        over = np.maximum(filled - self.room, 0.0)
        self.queue = filled - over
        if self.gain.any():
            moved = np.clip(self.level + step * self.gain * (self.aim - rate), 0.0, self.aim)
            self.level = np.where(self.gain > 0, moved, self.level)
        return np.minimum(np.divide(over, step * rate, out=np.zeros_like(rate), where=rate > 0), 1.0)


DISCIPLINES: dict[str, type[Discipline]] = {
    "drop_tail": DropTail,
    "drop_front": DropFront,
    "red": Red,
    "rem": Rem,
    "pi": Pi,
    "virtual_queue": VirtualQueue,
}


class Queues:
    """Disciplines of all links."""

    def __init__(self, links: Sequence[Link], capacity: Floats, packet: Floats) -> None:
        self.marks = np.zeros(len(links), dtype=bool)
        self.quiet = True
        self._groups: list[tuple[Ints, Discipline]] = []
        self._signalled = np.zeros(len(links))
        for name in dict.fromkeys(link.queue for link in links):
            if name not in DISCIPLINES:
                known = ", ".join(DISCIPLINES)
                raise FluidError(f"there is no fluid model of queue {name!r}; there are: {known}")
            of = DISCIPLINES[name]
            where = np.flatnonzero([link.queue == name for link in links])
            rows = [read_parameters(name, links[int(i)].queue_parameters, of.PARAMETERS, of.ONLY) for i in where]
            self.marks[where] = [row.get("ecn", False) is True for row in rows]
            if not issubclass(of, DropTail):
                self._groups.append((where, of(Table(rows), capacity[where], packet[where])))
                self.quiet = False

    def signalled(self, rate: Floats, queue: Floats, step: float) -> Floats:
        """Advances one step and returns the fraction of arrivals at each link that carry a congestion signal."""
        for where, discipline in self._groups:
            self._signalled[where] = discipline.signalled(rate[where], queue[where], step)
        return self._signalled
