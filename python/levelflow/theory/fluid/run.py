"""Integration of a network of flows: one fixed step, and one evaluation of each law per step.

Feedback and arrivals are means over bins of time, looked up by age. States are stored at the ends of steps. Each step
extrapolates the states to the middle of the step along their last change. It evaluates the laws at this time, and then
moves the states by the changes that the laws compute. Errors therefore decrease with the square of the step, except at
jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.fluid.law import (
    ACKS,
    BEFORE,
    LOSSES,
    SIGNALS,
    WAITS,
    Crossings,
    Feedback,
    Law,
    Load,
    Routers,
    Table,
    need_routers,
)
from levelflow.theory.fluid.registry import model
from levelflow.theory.fluid.topology import FluidError, Network, Value, read_parameters
from levelflow.theory.fluid.transport import Lines, Links, Passed, Paths
from levelflow.theory.validate import explained, not_negative, positive, read_number

#: Default number of steps per shortest round trip.
STEPS_PER_RTT = 20
#: Limit of the queueing delay in the age of feedback: the larger of a time, s, and a multiple of the longest round
#: trip.
LONGEST_WAIT, LONGEST_WAIT_RTTS = 1.0, 2.0
MOST_STEPS = 20_000_000


@dataclass(frozen=True)
class FluidRun:
    """Result of a simulation.

    Attributes:
        flows, links: names of flows and links.
        times: end times of the samples, s; rates are means over samples.
        rates: sending rate of each flow, bit/s, as (times, flows).
        delivered: rate of data that leaves the path of each flow, bit/s, as (times, flows).
        queues: backlog at the end of each sample, bytes, as (times, links).
        loads: arrival rate, bit/s, as (times, links).
        losses: rate lost in queues, bit/s, as (times, links).
        signalled: fraction of arrivals that the discipline marked or dropped early, as (times, links).
        prices: per law, first signal of its routers (a price, or a rate in bit/s), as (times, links).
        sent, lost, queued, in_flight: data of each flow in bytes that were sent, were lost by links, are queued at the
            end, and are on wires at the end.
    """

    flows: list[str]
    links: list[str]
    times: Floats
    rates: Floats
    delivered: Floats
    queues: Floats
    loads: Floats
    losses: Floats
    signalled: Floats
    prices: dict[str, Floats]
    sent: Floats
    lost: Floats
    queued: Floats
    in_flight: Floats

    def mean(self, values: Floats, since: float, until: float = np.inf) -> Floats:
        """Returns the mean of one of these arrays over the samples that end within a period of time."""
        inside = (self.times > since) & (self.times <= until)
        if not inside.any():
            raise FluidError(f"no sample ends after {since} s and until {until} s")
        return values[inside].mean(axis=0)


class _Group:
    """The flows of one law, and the routers of this law."""

    def __init__(self, name: str, network: Network, order: Ints, paths: Paths, options: dict[str, bool]) -> None:
        self.name = name
        numbers = np.flatnonzero([network.flows[i].law == name for i in order])
        self.flows = slice(int(numbers[0]), int(numbers[-1]) + 1)
        flows = [network.flows[i] for i in order[self.flows]]
        self.law: Law = model(name)(flows, **options)
        self.crossings = slice(int(paths.starts[self.flows.start]), int(paths.last[self.flows.stop - 1]) + 1)
        link = paths.link[self.crossings]
        there = np.array([_runs(network, i, name) for i in range(len(network.links))])
        self.path = Crossings(
            flow=paths.flow[self.crossings] - self.flows.start,
            link=link,
            starts=paths.starts[self.flows] - self.crossings.start,
            runs=there[link],
        )
        handshake = [self.law.HANDSHAKE if flow.handshake is None else flow.handshake for flow in flows]
        self.begin = np.array([flow.start for flow in flows]) + handshake * self.law.base
        self.stop = np.array([flow.stop for flow in flows])
        self.routers: Routers | None = None
        intervals = np.zeros(len(flows))
        if self.law.ROUTERS is not None:
            need_routers(name, self.path, [flow.name or name for flow in flows])
            table = Table([_router_parameters(network, i, name) for i in range(len(network.links))])
            capacity = np.array([given.capacity for given in network.links])
            self.routers = self.law.ROUTERS(table, capacity)
            if "interval" in self.law.PARAMETERS:
                own = table["interval"][self.path.link] * self.path.runs
                intervals = np.maximum.reduceat(own, self.path.starts)
        self.late, self.before = self.law.lags(intervals)
        self.state = self.law.start()
        self.slope = np.zeros_like(self.state)

    def wants(self, what: str) -> bool:
        return what in self.law.FEEDBACK


def _runs(network: Network, link: int, law: str) -> bool:
    routers = network.links[link].routers
    return routers is None or law in routers


def _router_parameters(network: Network, link: int, law: str) -> dict[str, Value]:
    own = network.links[link]
    return read_parameters(
        own.name or f"link {link}", (own.routers or {}).get(law, {}), model(law).PARAMETERS, model(law).ONLY
    )


class _Columns:
    """Layout of the values stored per time bin, and the delay after which each group of flows receives each value."""

    def __init__(self, groups: list[_Group], paths: Paths, marks: bool, links: int) -> None:
        flows, crossings = paths.last.size, paths.link.size
        self.rates = slice(0, flows)
        self.left = slice(flows, flows + crossings)
        self.lost = slice(self.left.stop, self.left.stop + crossings)
        self.marked = slice(self.lost.stop, self.lost.stop + crossings * marks)
        self.waits = slice(self.marked.stop, self.marked.stop + links)
        self.wait_columns = np.arange(self.waits.start, self.waits.stop)
        self.width = self.waits.stop
        self.signals: list[slice] = []
        for group in groups:
            count = group.routers.SIGNAL_COUNT if group.routers else 0
            self.signals.append(slice(self.width, self.width + count * links))
            self.width += count * links
        self.proposals: list[slice] = []
        for group in groups:
            count = (group.flows.stop - group.flows.start) * group.law.PROPOSES
            self.proposals.append(slice(self.width, self.width + count))
            self.width += count
        first = np.arange(crossings) == paths.starts[paths.flow]
        self.upstream = np.where(first, paths.flow, self.left.start + np.arange(crossings) - 1)
        self._pieces: list[tuple[Ints, Floats, Ints]] = []
        self._size = 0
        self.feedback: list[dict[str, slice]] = []
        for number, group in enumerate(groups):
            self.feedback.append(self._ages(number, group, paths, links, marks))
        lags = [np.concatenate(parts) for parts in zip(*self._pieces, strict=True)]
        self.columns, self.lags, self.behind = (lags[0], lags[1], lags[2]) if lags else (np.zeros(0, int),) * 3

    def _add(self, columns: Ints, lags: Floats, behind: Ints) -> slice:
        """Adds columns of feedback. The queueing delay with index `behind[i]` is added to lag `i`."""
        self._pieces.append((columns, lags, behind))
        self._size += columns.size
        return slice(self._size - columns.size, self._size)

    def _ages(self, number: int, group: _Group, paths: Paths, links: int, marks: bool) -> dict[str, slice]:
        own = np.arange(group.crossings.start, group.crossings.stop)
        flows = np.arange(group.flows.start, group.flows.stop)
        link, back = paths.link[own], paths.back[own]
        late = back + group.late[group.path.flow]
        crossings = paths.link.size
        feedback = {}
        if group.wants(WAITS):
            feedback["waits"] = self._add(self.waits.start + link, back, own)
        if group.wants(LOSSES):
            feedback["lost"] = self._add(self.lost.start + own, back, own)
            if marks:
                feedback["marked"] = self._add(self.marked.start + own, back, own)
        if group.wants(ACKS):
            # Data that has left the last queue has no further queueing delay.
            nothing = np.full(flows.size, crossings + paths.last.size)
            feedback["acked"] = self._add(self.left.start + paths.last[flows], paths.home[flows], nothing)
        if group.wants(BEFORE):
            size = len(group.before)
            feedback["before"] = self._add(
                np.tile(flows, size), np.concatenate(group.before), np.tile(crossings + flows, size)
            )
        if group.law.PROPOSES:
            proposals = np.arange(self.proposals[number].start, self.proposals[number].stop)
            feedback["proposed"] = self._add(proposals, group.before[0], crossings + flows)
        if group.wants(SIGNALS):
            signals = self.signals[number]
            columns = [start + link for start in range(signals.start, signals.stop, links)]
            size = len(columns)
            feedback["signals"] = self._add(np.concatenate(columns), np.tile(late, size), np.tile(own, size))
        return feedback


@explained
def simulate(
    network: Network, duration: float, step: float | None = None, *, every: float | None = None, each_loss: bool = False
) -> FluidRun:
    """Integrates the fluid models of all laws in a network.

    Args:
        network: links and flows.
        duration: duration, s.
        step: step, s. By default a twentieth of the shortest round trip, reduced so that a sample has whole steps.
        every: time between samples, s, rounded to whole steps; by default, one step.
        each_loss: True if senders react to each loss or mark individually, for few flows over a full buffer (Bohacek et
            al. 2003). By default, senders follow the mean over many losses (Misra, Gong, Towsley 2000).

    Raises:
        FluidError: if a law or a discipline has no fluid model, or there are too many steps.
        ParameterError: if a number is out of range, or the step exceeds half of the shortest round trip.

    >>> from levelflow.theory.fluid import Flow, Link, Network
    >>> run = simulate(Network([Link(10e6)], [Flow("rcp", [0], 0.1), Flow("rcp", [0], 0.2)]), 20.0, every=1.0)
    >>> run.rates[-1].round(-3).tolist()
    [5000000.0, 5000000.0]
    """
    shortest = min(flow.rtt for flow in network.flows)
    not_negative(duration=duration)
    if every is not None:
        positive(every=every)
    if step is None:
        step = shortest / STEPS_PER_RTT
        step = step if every is None else every / np.ceil(every / step - 1e-9)
    read_number("step", step, high=shortest / 2)
    if duration / step > MOST_STEPS:
        raise FluidError(f"{duration / step:.0f} steps are too many; needs at most {MOST_STEPS}")
    return _Engine(network, step, each_loss).run(duration, every)


class _Engine:
    def __init__(self, network: Network, step: float, each_loss: bool) -> None:
        for law in sorted({flow.law for flow in network.flows}):
            model(law)  # raises an error if the law has no model
        self.network, self.step = network, step
        laws = list(dict.fromkeys(flow.law for flow in network.flows))
        #: Order of flows that groups them by law.
        self.order = np.argsort([laws.index(flow.law) for flow in network.flows], kind="stable")
        self.paths = paths = Paths.of(network, self.order, step)
        self.groups = [_Group(law, network, self.order, paths, {"each_loss": each_loss}) for law in laws]
        if paths.back.min() < step:
            raise FluidError(f"step {step:g} s is too long for the number of links on a path; needs a shorter step")
        packet = np.concatenate([group.law.packet for group in self.groups])
        ecn = np.concatenate([group.law.ecn for group in self.groups])
        self.base = np.concatenate([group.law.base for group in self.groups])
        self.begin = np.concatenate([group.begin for group in self.groups])
        self.stop = np.concatenate([group.stop for group in self.groups])
        self.links = Links(network, paths, packet, ecn, step)
        self.columns = _Columns(self.groups, paths, self.links.any_marks, len(network.links))
        self.lines = Lines(self._before(), step, self._longest())
        self.rates = np.zeros(self.base.size)
        #: Per link, the arrival bin of the data that now leaves the queue; ages of the last feedback, s.
        self.arrived = np.full(len(network.links), -1)
        self.lags = self.columns.lags

    def _before(self) -> Floats:
        first = np.zeros(self.columns.width)
        for group, where in zip(self.groups, self.columns.signals, strict=True):
            if group.routers:
                first[where] = group.routers.first().ravel()
        return first

    def _longest(self) -> float:
        """Returns the largest possible age of feedback, s."""
        links, paths = self.links, self.paths
        most = max(LONGEST_WAIT, LONGEST_WAIT_RTTS * self.base.max())
        _, waits = paths.waits(np.minimum(links.buffer / links.capacity, most))
        lags = self.columns.lags
        return float(max(lags.max(initial=0.0), self.base.max()) + min(waits.max(), most))

    def run(self, duration: float, every: float | None) -> FluidRun:
        steps = round(duration / self.step)
        chunk = 1 if every is None else max(1, round(every / self.step))
        books = _Books(self, steps // chunk, chunk)
        with np.errstate(all="ignore"):
            for number in range(steps // chunk * chunk):
                passed = self._advance(number)
                books.note(number, self, passed)
        return books.close(self)

    def _advance(self, number: int) -> Passed:
        """Advances one step; steps are numbered from 0."""
        paths, links, columns = self.paths, self.links, self.columns
        now = (number + 0.5) * self.step
        feedback, pace = self._news(number)
        waits = links.queue / links.capacity
        rtt = self.base + np.add.reduceat(waits[paths.link], paths.starts)
        active = (now >= self.begin) & (now < self.stop)
        views, row = [], self.lines.row(number)
        for group, where, proposals in zip(self.groups, columns.feedback, columns.proposals, strict=True):
            view = self._feedback(group, where, (feedback, pace), now, rtt)
            middle = group.state + self.step / 2 * group.slope
            self.rates[group.flows] = group.law.rate(middle, view)
            if group.law.PROPOSES:
                row[proposals] = group.law.proposals * active[group.flows]
            views.append((middle, view))
        self.rates *= active
        row[columns.rates] = self.rates
        passed = links.carry(self.lines.whole(number, paths.there, columns.upstream))
        row[columns.left], row[columns.lost] = passed.left, passed.lost
        if passed.marked is not None and self.links.any_marks:
            row[columns.marked] = passed.marked
        elif self.links.any_marks:
            row[columns.marked] = 0.0
        row[columns.waits] = passed.queue / links.capacity
        for group, (middle, view) in zip(self.groups, views, strict=True):
            if group.routers is not None:
                self._signal(number, group, passed)
            own = active[group.flows]
            group.slope = group.law.change(middle, view) * own
            group.state = np.where(own, group.law.settle(group.state + self.step * group.slope, view), group.state)
        return passed

    def _news(self, number: int) -> tuple[Floats, Floats]:
        """Returns the feedback in the middle of a step, and its pace.

        Feedback that arrives in one second was produced in `pace` seconds. The queueing delay adds to the age of
        feedback. While the delay grows, the pace is below 1, and at least 0.
        """
        links, columns = self.links, self.columns
        if links.queue.any() or self.arrived.min() < number - 2:
            waits = links.queue / links.capacity
            self.arrived, waited = self.lines.waited(number, self.arrived, waits, columns.wait_columns)
            behind = np.concatenate((*self.paths.waits(waited), (0.0,)))
            lags = np.minimum(columns.lags + behind[columns.behind], self.lags + self.step)
        else:
            self.arrived[:] = number - 1
            lags = columns.lags
        pace = 1 - (lags - self.lags) / self.step
        self.lags = lags
        return self.lines.at(number, lags, columns.columns), pace

    def _feedback(
        self, group: _Group, where: dict[str, slice], news: tuple[Floats, Floats], now: float, rtt: Floats
    ) -> Feedback:
        (feedback, pace), path, law = news, group.path, group.law
        rtt, none = rtt[group.flows], np.zeros(0)

        def packets(what: str) -> Floats:
            if what not in where:
                return np.zeros(law.base.size)
            return np.add.reduceat(feedback[where[what]] * pace[where[what]], path.starts) / law.packet

        return Feedback(
            now=now,
            step=self.step,
            age=now - group.begin,
            rtt=rtt,
            waits=law.base + np.add.reduceat(feedback[where["waits"]], path.starts) if "waits" in where else rtt,
            lost=packets("lost") if "lost" in where else none,
            marked=packets("marked") if "lost" in where else none,
            acked=feedback[where["acked"]] / law.packet if "acked" in where else none,
            before=feedback[where["before"]].reshape(-1, law.base.size) if "before" in where else none,
            proposed=feedback[where["proposed"]] if "proposed" in where else none,
            signals=feedback[where["signals"]].reshape(-1, path.link.size) if "signals" in where else none,
            pace=pace[where["signals"]][: path.link.size] if "signals" in where else none,
            path=path,
        )

    def _signal(self, number: int, group: _Group, passed: Passed) -> None:
        """Stores the signals that a law's routers compute in a step."""
        routers, position = group.routers, self.groups.index(group)
        assert routers is not None
        waits = passed.queue / self.links.capacity
        own = proposed = passed.arrived[group.crossings]
        if group.law.PROPOSES:
            until, flow = self.paths.until[group.crossings], group.path.flow
            sent = self.lines.whole(number, until, flow + group.flows.start)
            wanted = self.lines.whole(number, until, flow + self.columns.proposals[position].start)
            proposed = own + np.maximum(wanted - sent, 0.0)
        load = Load(
            step=self.step,
            capacity=self.links.capacity,
            rate=passed.load,
            queue=passed.queue,
            own=own,
            proposed=proposed,
            senders=group.law,
            rtt=group.law.base + np.add.reduceat(waits[group.path.link], group.path.starts),
            path=group.path,
        )
        self.lines.row(number)[self.columns.signals[position]] = routers.advance(load).ravel()


class _Books:
    """Sums over samples, and sums over the whole run."""

    def __init__(self, engine: _Engine, samples: int, chunk: int) -> None:
        flows, links = engine.base.size, engine.links.capacity.size
        self.samples, self.chunk = samples, chunk
        self.rates, self.delivered = np.zeros((samples, flows)), np.zeros((samples, flows))
        self.queues, self.loads, self.losses, self.signalled = (np.zeros((samples, links)) for _ in range(4))
        self.prices = {group.name: np.zeros((samples, links)) for group in engine.groups if group.routers is not None}
        self.lost = np.zeros(engine.paths.link.size)

    def note(self, number: int, engine: _Engine, passed: Passed) -> None:
        at, last = number // self.chunk, number % self.chunk == self.chunk - 1
        self.rates[at] += engine.rates
        self.delivered[at] += passed.left[engine.paths.last]
        self.loads[at] += passed.load
        self.losses[at] += passed.dropped
        self.signalled[at] += passed.signalled * passed.load
        self.lost += passed.lost
        if last:
            self.queues[at] = engine.links.queue / 8
            self.signalled[at] /= np.maximum(self.loads[at], 1e-300)
            row, links = engine.lines.row(number), engine.links.capacity.size
            for group, columns in zip(engine.groups, engine.columns.signals, strict=True):
                if group.name in self.prices:
                    self.prices[group.name][at] = row[columns.start : columns.start + links]

    def close(self, engine: _Engine) -> FluidRun:
        back = np.argsort(engine.order)
        network, paths, step, steps = engine.network, engine.paths, engine.step, self.samples * self.chunk
        sent = self.rates.sum(axis=0) * step / 8
        queued = np.add.reduceat(engine.links.waiting, paths.starts) / 8
        return FluidRun(
            flows=[flow.name or f"flow {i}" for i, flow in enumerate(network.flows)],
            links=[link.name or f"link {i}" for i, link in enumerate(network.links)],
            times=np.arange(1.0, self.samples + 1) * (self.chunk * step),
            rates=self.rates[:, back] / self.chunk,
            delivered=self.delivered[:, back] / self.chunk,
            queues=self.queues,
            loads=self.loads / self.chunk,
            losses=self.losses / self.chunk,
            signalled=self.signalled,
            prices=self.prices,
            sent=sent[back],
            lost=(np.add.reduceat(self.lost, paths.starts) * step / 8)[back],
            queued=queued[back],
            in_flight=(self._on_wires(engine, steps) * step / 8)[back],
        )

    def _on_wires(self, engine: _Engine, steps: int) -> Floats:
        """Returns the data on wires at the end, which has left a sender or queue but not reached the next queue."""
        paths, total = engine.paths, np.zeros(engine.base.size)
        for lag in range(1, int(paths.there.max(initial=0)) + 1):
            far = paths.there >= lag
            if steps >= lag:
                bins = engine.lines.row(steps - lag)[engine.columns.upstream[far]]
                total += np.bincount(paths.flow[far], weights=bins, minlength=total.size)
        return total
