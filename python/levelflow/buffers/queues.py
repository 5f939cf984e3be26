"""Queue disciplines of a link beside each other: what they cost, and what a call beside the load feels."""

from __future__ import annotations

import copy
import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, NamedTuple

from levelflow import library
from levelflow.buffers.candidates import Line, buffer_of, distinct, entry_of, line, with_buffer
from levelflow.buffers.choice import WRITTEN, Question, Row
from levelflow.measure.intervals import interval
from levelflow.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from levelflow.results import Result
    from levelflow.scenario import Scenario
    from levelflow.workers import Workers

#: Room of a queue whose discipline keeps it short, packets: the default of Linux's codel and pie.
ROOM = 1000
#: A shaper is set to this share of a line, so that the queue is its own and not the modem's.
SHAPED = 0.95
#: Small flows: of a given rate, which is at most this share of the line.
SMALL = 0.1
#: The discipline of the buffers that the first table compares.
TAIL = "drop_tail"
#: What rules a full buffer alone, and so is as long as the buffer is: it has the scenario's own.
FULL = ("drop_front",)


class Felt(NamedTuple):
    """Queueing delay of packets over whole runs: means over runs, s; none where it is not known.

    Attributes:
        median: of the queueing delay.
        p99: of it.
        call: 99th percentile of the round trips of the small flows that cross the link; none without such a flow.
    """

    median: float | None
    p99: float | None
    call: float | None


class Discipline(NamedTuple):
    """What one queue discipline came to, or why it came to nothing.

    Attributes:
        name: of the discipline, or of a buffer under drop-tail.
        queue: as a value of a link's `queue`.
        buffer: as a value of its `buffer`.
        line: what was measured, in the second half of each run.
        felt: what packets waited.
        half: of the 95 % intervals of `felt`; none for a single run.
        why: it was not run.
    """

    name: str
    queue: Any
    buffer: Any
    line: Line | None = None
    felt: Felt | None = None
    half: Felt | None = None
    why: str = ""


def disciplines(capacity: float) -> dict[str, Any]:
    """Every discipline that a link may have beside drop-tail, with its defaults; what has a rate is set to 95 %.

    >>> list(disciplines(10e6))[:2], disciplines(10e6)["policer"]
    (['drop_front', 'red'], {'policer': {'rate': '9500000 b/s'}})
    """
    queues: dict[str, Any] = {}
    for table in library.queues():
        rated = any(item["name"] == "rate" for item in table["params"])
        words = {"rate": f"{SHAPED * capacity:.0f} b/s"} if rated else {}
        queues[table["name"]] = {table["name"]: words} if words else table["name"]
    queues.pop(TAIL)
    return queues


def with_queue(scenario: Scenario, link: str, queue: object, buffer: object, seed: int | None = None) -> Scenario:
    """A copy of a scenario in which a link has another queue discipline and buffer; its other direction keeps its own.

    Raises:
        ScenarioError: if there is no such link.
    """
    other = copy.deepcopy(with_buffer(scenario, link, buffer, seed))
    entry, forward = entry_of(other, link)
    if entry.get("duplex"):
        entry["reverse"].setdefault("queue", entry.get("queue", TAIL))
    (entry if forward else entry["reverse"])["queue"] = queue
    return other


def compared_queues(asked: Question, runs: Workers, rows: Sequence[Row]) -> Iterator[Discipline]:
    """Yields what each discipline came to, as soon as it is known, beside buffers of `rows` under drop-tail.

    Of those, the scenario's own and all that were chosen are run again, for what packets wait.
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
    """Returns the queueing delay at a link in a run, and the worst 99th percentile of the round trips of some flows."""
    found = next(item["queueing_delay_s"] for item in result.summary["links"] if item["name"] == link) or {}
    trips = [flow["rtt_s"]["p99"] for flow in result.summary["flows"] if flow["name"] in small and flow["rtt_s"]]
    return Felt(found.get("p50"), found.get("p99"), max(trips, default=None))


def small_flows(scenario: Scenario, link: str, result: Result) -> list[str]:
    """Names of the flows across a link that have a rate, constant or of an application: a tenth of the link at most."""
    resolved = scenario.resolve()
    capacity = next(item["capacity_bps"] for item in resolved["links"] if item["name"] == link)
    crossing = {flow["name"] for flow in resolved["flows"] if link in flow["path"]}
    rated = {flow.get("name") for flow in scenario.raw.get("flow", []) if _rated(flow)}
    most = SMALL * capacity * resolved["duration_s"] / 8
    sent = {flow["name"]: flow["sent_bytes"] for flow in result.summary["flows"]}
    return [name for name, total in sent.items() if name in crossing & rated and total <= most]


def _rated(flow: dict[str, Any]) -> bool:
    law = flow.get("law")
    constant = law == "cbr" or (isinstance(law, dict) and "cbr" in law)
    return constant or "rate" in (flow.get("application") or {})


def order(found: Sequence[Discipline]) -> list[Discipline]:
    """Buffers under drop-tail, then the disciplines in the order of the registry."""
    names = list(disciplines(1.0))
    return sorted(found, key=lambda one: (names.index(one.name) if one.name in names else -1, one.name != WRITTEN))


def written(asked: Question) -> Row:
    """The scenario's own buffer, which every table has for comparison."""
    return Row(WRITTEN, buffer_of(asked.scenario, asked.link), None)
