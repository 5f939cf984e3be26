"""Comparison of queue disciplines of a link: utilisation, loss, and delays of bulk traffic and of concurrent calls."""

from __future__ import annotations

import copy
import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

from levelflow import library
from levelflow.buffers.candidates import Buffer, Line, buffer_of, distinct, entry_of, line, with_buffer
from levelflow.buffers.choice import WRITTEN, Question, Row
from levelflow.measure.intervals import interval
from levelflow.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from levelflow.keywords import Table
    from levelflow.results import Result
    from levelflow.scenario import Scenario
    from levelflow.workers import Workers

#: Queue limit for disciplines that keep their queue short, packets. It is the default of Linux's codel and pie.
ROOM = 1000
#: Rate of a shaper as a fraction of the line rate. The queue then builds up at the shaper and not at the modem.
SHAPED = 0.95
#: Largest rate of a small flow, as a fraction of the line rate.
SMALL = 0.1
#: Discipline of the table that compares buffers.
TAIL = "drop_tail"
#: Disciplines that act only when the buffer is full. They run with the buffer of the scenario, because their queue
#: depends on the buffer size.
FULL = ("drop_front",)


class Felt(NamedTuple):
    """Packet delays over whole runs, averaged over runs, in seconds; None if unknown.

    Attributes:
        median: Median queueing delay.
        p99: 99th percentile of the queueing delay.
        call: Largest 99th percentile of the round trip of any small flow across the link; None without such a flow.
    """

    median: float | None
    p99: float | None
    call: float | None


class Discipline(NamedTuple):
    """Result of one queue discipline, or the reason why it was not run.

    Attributes:
        name: Name of the discipline, or of a buffer under drop-tail.
        queue: Value of the link's `queue`.
        buffer: Value of the link's `buffer`.
        line: Measurement over the second half of each run.
        felt: Delays of packets.
        half: Half widths of the 95 % intervals of `felt`; None for a single run.
        why: Reason why the discipline was not run.
    """

    name: str
    queue: str | Table
    buffer: Buffer
    line: Line | None = None
    felt: Felt | None = None
    half: Felt | None = None
    why: str = ""


def disciplines(capacity: float) -> dict[str, str | Table]:
    """Returns all disciplines except drop-tail with their defaults; rates are set to 95 % of the capacity.

    >>> list(disciplines(10e6))[:2], disciplines(10e6)["policer"]
    (['drop_front', 'red'], {'policer': {'rate': '9500000 b/s'}})
    """
    queues: dict[str, str | Table] = {}
    for table in library.queues():
        rated = any(item["name"] == "rate" for item in table["params"])
        words = {"rate": f"{SHAPED * capacity:.0f} b/s"} if rated else {}
        queues[table["name"]] = {table["name"]: words} if words else table["name"]
    queues.pop(TAIL)
    return queues


def with_queue(scenario: Scenario, link: str, queue: object, buffer: object, seed: int | None = None) -> Scenario:
    """Returns a copy of a scenario with another discipline and buffer of a link. The reverse direction is unchanged.

    Raises:
        ScenarioError: If the link does not exist.
    """
    other = copy.deepcopy(with_buffer(scenario, link, buffer, seed))
    entry, forward = entry_of(other, link)
    if entry.get("duplex"):
        entry["reverse"].setdefault("queue", entry.get("queue", TAIL))
    (entry if forward else entry["reverse"])["queue"] = queue
    return other


def compared_queues(asked: Question, runs: Workers, rows: Sequence[Row]) -> Iterator[Discipline]:
    """Yields the result of each discipline, and of each buffer in `rows` under drop-tail, in order of completion.

    The buffers are simulated again, because the table of buffers has no quantiles of packet delays.
    """
    room = f"{min(ROOM, asked.largest)} packets"
    ways = [Discipline(row.name, TAIL, row.buffer) for row in rows]
    own = buffer_of(asked.scenario, asked.link)
    for name, queue in disciplines(asked.capacity).items():
        ways.append(Discipline(name, queue, own if name in FULL else room))
    pool = ThreadPoolExecutor(len(ways))
    try:
        for done in as_completed([pool.submit(_run, asked, runs, way) for way in ways]):
            yield done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _run(asked: Question, runs: Workers, way: Discipline) -> Discipline:
    try:
        with_queue(asked.scenario, asked.link, way.queue, way.buffer).resolve()
    except ScenarioError as error:
        return way._replace(why=str(error).rpartition(": ")[2])
    results = runs([with_queue(asked.scenario, asked.link, way.queue, way.buffer, seed) for seed in asked.seeds])
    small = small_flows(asked.scenario, asked.link, results[0])
    each = [felt(result, asked.link, small) for result in distinct(results)]
    found = line(way.name, results, asked.link, asked.targets)
    calls = [one.call for one in each if one.call is not None]
    columns = ([_known(one.median) for one in each], [_known(one.p99) for one in each], calls)
    median, p99, call = map(interval, columns)
    mean = Felt(median.mean, p99.mean, call.mean if calls else None)
    if len(each) == 1:
        return way._replace(line=found, felt=mean)
    return way._replace(line=found, felt=mean, half=Felt(median.half, p99.half, call.half if len(calls) > 1 else None))


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def felt(result: Result, link: str, small: Sequence[str]) -> Felt:
    """Returns the queueing delay at a link, and the largest 99th percentile of the round trips of the small flows."""
    found = next(item["queueing_delay_s"] for item in result.summary["links"] if item["name"] == link)
    trips = [flow["rtt_s"]["p99"] for flow in result.summary["flows"] if flow["name"] in small and flow["rtt_s"]]
    return Felt(found and found["p50"], found and found["p99"], max(trips, default=None))


def small_flows(scenario: Scenario, link: str, result: Result) -> list[str]:
    """Returns the names of the small flows across a link.

    A small flow has a constant rate or an application with a rate, and sends at most `SMALL` of the capacity.
    """
    resolved = scenario.resolve()
    capacity = next(item["capacity_bps"] for item in resolved["links"] if item["name"] == link)
    crossing = {flow["name"] for flow in resolved["flows"] if link in flow["path"]}
    rated = {flow.get("name") for flow in scenario.raw.get("flow", []) if _rated(flow)}
    most = SMALL * capacity * resolved["duration_s"] / 8
    sent = {flow["name"]: flow["sent_bytes"] for flow in result.summary["flows"]}
    return [name for name, total in sent.items() if name in crossing & rated and total <= most]


def _rated(flow: Table) -> bool:
    law = flow.get("law")
    constant = law == "cbr" or (isinstance(law, dict) and "cbr" in law)
    return constant or "rate" in (flow.get("application") or {})


def order(found: Sequence[Discipline]) -> list[Discipline]:
    """Returns the results in table order: buffers under drop-tail, then disciplines in the order of the registry."""
    names = list(disciplines(1.0))
    return sorted(found, key=lambda one: (names.index(one.name) if one.name in names else -1, one.name != WRITTEN))


def written(asked: Question) -> Row:
    """Returns the row of the scenario's own buffer, which every table contains for comparison."""
    return Row(WRITTEN, buffer_of(asked.scenario, asked.link), None)
