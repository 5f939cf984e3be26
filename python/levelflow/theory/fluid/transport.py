"""Transport of bits: through queues, over wires, and back to senders as feedback.

A step is a bin of time. Rates are means over a bin. Bits that leave a sender or queue in a bin arrive at the next queue
in a later bin, so wires conserve bits. A queue is well mixed: a flow has the same fraction of the departures and of the
backlog. The model conserves bits exactly, but the order of bits only on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.fluid.disciplines import Queues
from levelflow.theory.fluid.topology import Network

#: Smallest number of bits that is treated as positive.
NOTHING = 1e-300


@dataclass
class Paths:
    """Crossings of links by flows, sorted by flow and hop.

    Attributes:
        flow, link: flow and link of each crossing.
        starts: first crossing of each flow.
        last: last crossing of each flow.
        there: steps from the previous link, or from the sender, to this link.
        until: steps from the sender to this link.
        back: delay from this link to the sender, without queueing, s.
        home: delay from the end of the last queue to the sender, per flow, s.
    """

    flow: Ints
    link: Ints
    starts: Ints
    last: Ints
    there: Ints
    until: Ints
    back: Floats
    home: Floats

    @classmethod
    def of(cls, network: Network, order: Ints, step: float) -> Paths:
        """Returns the paths of the flows of a network, in the given order of flows.

        A hop takes a whole number of steps, at least one step between links. The reverse path compensates for the
        rounding, so the round trip is exact. The split of the delay between forward and reverse path does not affect
        stability.
        """
        flow, link, there, untils, back, home, lengths = [], [], [], [], [], [], []
        for number, index in enumerate(order):
            own = network.flows[index]
            delays = [own.access, *(network.links[hop].delay for hop in own.route)]
            gone, exact = 0, 0.0
            for position, hop in enumerate(own.route):
                exact += delays[position]
                until = max(round(exact / step), gone + (position > 0))
                flow.append(number)
                link.append(hop)
                there.append(until - gone)
                untils.append(until)
                back.append(own.rtt - until * step)
                gone = until
            home.append(back[-1])
            lengths.append(len(own.route))
        ends = np.cumsum(lengths)
        return cls(
            flow=np.array(flow),
            link=np.array(link),
            starts=ends - np.array(lengths),
            last=ends - 1,
            there=np.array(there),
            until=np.array(untils),
            back=np.array(back),
            home=np.array(home),
        )

    def waits(self, delay: Floats) -> tuple[Floats, Floats]:
        """Returns the sum of link delays from each crossing to the end of its path, and over each whole path."""
        summed = np.cumsum(delay[self.link])
        before = summed[self.starts] - delay[self.link[self.starts]]
        ahead = summed[self.last][self.flow] - summed + delay[self.link]
        return ahead, summed[self.last] - before


@dataclass
class Passed:
    """Traffic at the links in one step; rates in bit/s, by crossing unless stated otherwise.

    Attributes:
        arrived: arrival rate.
        left: rate that continues to the next hop.
        lost: rate lost by overflow, by early drops, or on the wire.
        marked: rate of departures that were marked on arrival.
        load: arrival rate, by link.
        queue: backlog in the middle of the step, by link, bits.
        signalled: fraction of arrivals that the discipline marked or dropped early, by link.
        dropped: rate lost in queues, by link.
    """

    arrived: Floats
    left: Floats
    lost: Floats
    marked: Floats | None
    load: Floats
    queue: Floats
    signalled: Floats
    dropped: Floats


class Links:
    """All links of a network, with their backlogs."""

    def __init__(self, network: Network, paths: Paths, packet: Floats, ecn: Bools, step: float) -> None:
        """`packet` is the packet size of each flow in bits. `ecn` is True for flows that support ECN."""
        self.paths, self.step = paths, step
        self.capacity = np.array([link.capacity for link in network.links])
        self.buffer = 8 * np.array([link.buffer for link in network.links])
        self.waiting = np.zeros(paths.link.size)
        self.queue = np.zeros(self.capacity.size)
        count, sizes = self._by_link(np.ones(paths.link.size)), self._by_link(packet[paths.flow])
        typical = np.divide(sizes, count, out=np.full_like(sizes, 8000.0), where=count > 0)
        self.queues = Queues(network.links, self.capacity, typical)
        self.marks = self.queues.marks[paths.link] & ecn[paths.flow]
        self.any_marks = bool(self.marks.any())
        kept = 1 - np.array([link.loss for link in network.links])[paths.link]
        self.kept = None if (kept == 1).all() else kept

    def _by_link(self, values: Floats) -> Floats:
        return np.bincount(self.paths.link, values, self.capacity.size).astype(np.float64, copy=False)

    def carry(self, arrived: Floats) -> Passed:
        """Advances one step with the given arrival rates, by crossing."""
        link, step = self.paths.link, self.step
        load = self._by_link(arrived)
        lost = np.zeros_like(arrived)
        marked = None
        admitted = arrived
        signalled = self.queues.signalled(load, self.queue, step) if not self.queues.quiet else np.zeros_like(load)
        if signalled.any():
            early = arrived * signalled[link]
            marked = np.where(self.marks, early, 0.0)
            lost += early - marked
            admitted = arrived - lost
        elif self.any_marks:
            marked = lost
        waiting = self.waiting + step * admitted
        total = self._by_link(waiting)
        share = np.minimum(step * self.capacity / np.maximum(total, NOTHING), 1.0)
        left = waiting * share[link]
        waiting = waiting - left
        queue = total * (1 - share)
        over = queue - self.buffer
        if (over > 0).any():
            over = np.maximum(over, 0.0)
            entered = step * self._by_link(admitted)
            part = over / np.maximum(entered, NOTHING)
            spilt = step * admitted * part[link]
            waiting = np.maximum(waiting - spilt, 0.0)
            marked = marked if marked is None else marked * (1 - part[link])
            lost = lost + spilt / step
            queue = np.minimum(queue, self.buffer)
        middle = (self.queue + queue) / 2
        dropped = self._by_link(lost)
        left = left / step
        if self.kept is not None:
            lost = lost + left * (1 - self.kept)
            left = left * self.kept
        self.waiting, self.queue = waiting, queue
        return Passed(arrived, left, lost, marked, load, middle, signalled, dropped)


class Lines:
    """History of the last bins, with look-up by age."""

    def __init__(self, first: Floats, step: float, longest: float) -> None:
        """Stores the initial values. `longest` is the largest age for look-up, in s."""
        kept = 1 << int(np.ceil(np.log2(longest / step + 3)))
        self.step, self.width, self.oldest = step, first.size, kept - 2
        self._mask = kept - 1
        self._rows = np.tile(first, (kept, 1))
        self._flat = self._rows.ravel()

    def row(self, number: int) -> Floats:
        """Returns the bin of a step, to read or write."""
        return self._rows[number & self._mask]

    def whole(self, number: int, steps: Ints, columns: Ints) -> Floats:
        """Returns columns. Element `i` is from the bin of step `number - steps[i]`."""
        return self._flat.take(((number - steps) & self._mask) * self.width + columns)

    def waited(self, number: int, arrived: Ints, waits: Floats, columns: Ints) -> tuple[Ints, Floats]:
        """Returns the bins whose arrivals leave the queues in the middle of a step, and their queueing delays in s.

        Arrivals of bin `a` with a queueing delay of `w` steps leave at `a + w`. This time never decreases with `a`.

        Args:
            number: number of the step.
            arrived: bins found in the previous step.
            waits: queueing delay of current arrivals, s.
            columns: columns of the queueing delays.
        """
        leaves = number + waits / self.step

        def when(bins: Ints) -> Floats:
            return bins + self._flat.take((bins & self._mask) * self.width + columns) / self.step

        arrived = np.maximum(arrived, number - self.oldest)
        while True:
            later = np.where(arrived + 1 < number, when(arrived + 1), leaves)
            on = (later <= number) & (arrived + 1 < number)
            if not on.any():
                break
            arrived = arrived + on
        now = when(arrived)
        part = np.minimum(np.maximum((number - now) / np.maximum(later - now, 1e-9), 0.0), 1.0)
        return arrived, np.maximum(number - arrived - part, 0.0) * self.step

    def at(self, number: int, lags: Floats, columns: Ints) -> Floats:
        """Returns columns at ages before the middle of a step, interpolated between bins.

        Ages are at least one step.
        """
        back = np.minimum(np.maximum(lags / self.step, 1.0), self.oldest)
        whole = np.ceil(back)
        part = whole - back
        bins = number - whole.astype(np.int64)
        older = self._flat.take((bins & self._mask) * self.width + columns)
        newer = self._flat.take(((bins + 1) & self._mask) * self.width + columns)
        return older + part * (newer - older)
