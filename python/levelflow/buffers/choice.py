"""Comparison of all buffer rules and buffer-sizing algorithms on the traffic of a scenario, and recommendation."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from levelflow import library
from levelflow._core import ScenarioError
from levelflow.buffers.candidates import (
    ADT,
    BEST,
    BSCL,
    BUFFER_ALGORITHMS,
    OURS,
    SEARCH,
    TENTH,
    USUAL,
    Buffer,
    Line,
    Targets,
    best_fixed,
    buffer_of,
    candidates,
    compare,
    with_buffer,
)
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from levelflow.records import LinkRecord, ScenarioRecord
    from levelflow.scenario import Scenario
    from levelflow.workers import Workers

#: Name of the row with the scenario's own buffer.
WRITTEN = "as written"
#: Minimum number of samples per run, required for batch means.
SAMPLES = 400


@dataclass(frozen=True)
class Question:
    """Scenario, link and targets of a comparison of buffers.

    Attributes:
        scenario: Network and traffic.
        link: Name of the link in results, such as "A->B".
        targets: Targets of the buffer.
        seeds: Seeds of the runs.
        largest: Largest buffer that is tried, packets.
        known: `flows` and `rtt` for rules, in place of the values of the scenario.
    """

    scenario: Scenario
    link: str
    targets: Targets
    seeds: tuple[int, ...]
    largest: int
    known: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capacity(self) -> float:
        """Capacity of the link, bit/s."""
        return float(_link(self.scenario.resolve(), self.link)["capacity_bps"])

    @property
    def back(self) -> float | None:
        """Capacity of the reverse link between the same nodes, bit/s; None if there is no such link or several."""
        links = self.scenario.resolve()["links"]
        ends = _link(self.scenario.resolve(), self.link)
        found = [one["capacity_bps"] for one in links if (one["from"], one["to"]) == (ends["to"], ends["from"])]
        return float(found[0]) if len(found) == 1 else None

    @property
    def window(self) -> tuple[float, float]:
        """Measured window, s: the second half of a run."""
        end = float(self.scenario.resolve()["duration_s"])
        return end / 2, end

    def candidates(self) -> dict[str, Buffer]:
        """Returns all candidate values of the link's `buffer`, by name of the rule or algorithm."""
        rtt = self.known.get("rtt") or _round_trip(self.scenario.resolve(), self.link)
        rules = candidates(self.targets, self.largest, self.known, None if rtt is None else str(rtt))
        return rules | {WRITTEN: buffer_of(self.scenario, self.link)}


class Row(NamedTuple):
    """Result of one candidate, or the reason why it was not run.

    Attributes:
        name: Name of the rule or algorithm, or `BEST` or `WRITTEN`.
        buffer: Value of the link's `buffer`.
        line: Measurement; None if the candidate was not run.
        why: Reason why the candidate was not run.
    """

    name: str
    buffer: Buffer
    line: Line | None
    why: str = ""


def question(
    scenario: Scenario,
    targets: Targets,
    *,
    link: str | None = None,
    seeds: int = 1,
    largest: int = USUAL,
    known: Mapping[str, Any] | None = None,
) -> Question:
    """Validates the inputs of a comparison.

    Args:
        scenario: Network and traffic.
        targets: Targets; utilisation or loss is required.
        link: Link whose buffer is sized; optional if only one link carries data.
        seeds: Number of runs of each buffer. The first seed is the scenario's; each further seed is 1 larger.
        largest: Largest buffer that is tried, packets.
        known: `flows` and `rtt` for rules, in place of the values of the scenario.

    Raises:
        ScenarioError: If the scenario or a target is not allowed, or the link is ambiguous. The message has one line.
    """
    if not any(targets):
        raise ScenarioError("buffers: there is no target; needs --utilisation or --loss")
    most = library.number(library.of_algorithm("thumb", "flows"), "high")
    if not 1 <= (count := (known or {}).get("flows", 1)) <= most:
        raise ScenarioError(f"--flows {count:g}: is not allowed; needs 1 to {most:g}")
    for key, value in targets._asdict().items():
        most = library.number(library.of_algorithm(OURS, key), "high")
        if not 0 <= value <= most:
            hint = f"; did you mean {value:g}%?" if 0 < value / 100 <= most < 1 else ""
            raise ScenarioError(f"--{key} {value:g}: is not allowed; needs 0, for no such target, to {most:g}{hint}")
    if not (targets.utilisation or targets.loss):
        raise ScenarioError("buffers: a buffer of one packet meets --delay alone; needs --utilisation or --loss, too")
    resolved = scenario.resolve()
    name = _chosen(resolved, link)
    for memory in resolved["memories"]:
        if name in memory["links"]:
            raise ScenarioError(
                f"link {name}: is in a [[memory]], where rules are not allowed; remove it to compare buffers"
            )
    traffic = scenario.copy()
    if resolved["sample_s"] > resolved["duration_s"] / SAMPLES:
        traffic.set("sample", f"{resolved['duration_s'] / SAMPLES:.9f} s")
    first = int(resolved["seed"])
    return Question(traffic, name, targets, tuple(range(first, first + seeds)), largest, known or {})


def compared(asked: Question, runs: Workers) -> Iterator[Row]:
    """Yields the row of each candidate when it is measured. Rejected candidates come first."""
    ways, refused = asked.candidates(), []
    for name, buffer in list(ways.items()):
        try:
            with_buffer(asked.scenario, asked.link, buffer).resolve()
        except ScenarioError as error:
            refused.append(Row(name, ways.pop(name), None, _lacks(name, asked.targets) or _reason(str(error), buffer)))
    yield from refused
    runs.expect((len(ways) + SEARCH) * len(asked.seeds))
    pool = ThreadPoolExecutor(len(ways) + 1)
    try:
        rows = [pool.submit(_best, asked, runs), *(pool.submit(_row, asked, runs, *way) for way in ways.items())]
        for done in as_completed(rows):
            if done is rows[0]:
                runs.expect(0)
            yield done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _row(asked: Question, runs: Workers, name: str, buffer: Buffer) -> Row:
    (found,) = compare(asked.scenario, asked.link, asked.targets, {name: buffer}, runs, asked.seeds)
    return Row(name, buffer, found)


def _best(asked: Question, runs: Workers) -> Row:
    found = best_fixed(asked.scenario, asked.link, asked.targets, runs, asked.seeds, asked.largest)
    return Row(BEST, f"{found.used.buffer:.0f} packets", found)


def order(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows in table order: rules, algorithms, the scenario's own buffer, the best fixed size."""
    names = [*candidates(Targets(0.5)), WRITTEN, BEST]
    return sorted(rows, key=lambda row: names.index(row.name))


def chosen(rows: Sequence[Row], targets: Targets) -> Row | None:
    """Returns the recommended row: an algorithm or else a rule that meets the targets, otherwise `BEST`.

    Algorithms have priority, because they need no knowledge of the traffic. Among rules, the one with the smallest mean
    buffer is chosen. Mean buffers of algorithms fluctuate. Algorithms within a tenth of the smallest mean buffer are
    therefore considered equal. The last of these in table order is chosen, so `abs_log` is preferred.
    """
    meeting = {row.name: row for row in rows if row.line and not targets.missed(row.line.used)}
    algorithms = [meeting[name] for name in BUFFER_ALGORITHMS if name in meeting]
    if algorithms:
        least = min(map(packets_of, algorithms))
        return [row for row in algorithms if packets_of(row) <= (1 + TENTH) * least][-1]
    rules = [row for name, row in meeting.items() if name not in {WRITTEN, BEST}]
    return min(rules, key=packets_of) if rules else meeting.get(BEST)


def packets_of(row: Row) -> float:
    """Returns the mean buffer of a row, packets; infinite if the row was not measured."""
    return row.line.used.buffer if row.line else math.inf


def _lacks(name: str, targets: Targets) -> str:
    """Returns the missing target of a rule or algorithm; empty if no target is missing."""
    needs = {BSCL: ("loss", targets.loss), ADT: ("utilisation", targets.utilisation)}
    target, value = needs.get(name, ("", 1.0))
    return "" if value else f"needs a target of {target}"


def _reason(error: str, buffer: Buffer) -> str:
    """Returns the scenario's error for a rule or algorithm, without the location of the error."""
    name: str = next(iter(buffer)) if isinstance(buffer, dict) else "buffer"
    return error.rpartition(f", {name}")[2].lstrip(",: ")


def _chosen(resolved: ScenarioRecord, link: str | None) -> str:
    """Returns the name of the given link, or of the only link that carries data."""
    names = [item["name"] for item in resolved["links"]]
    if link is not None:
        if link not in names:
            raise ScenarioError(f"--link {link}: no such link; {nearest(link, names)}")
        return link
    busy: list[str] = [name for name in names if any(name in flow["path"] for flow in resolved["flows"])]
    if len(busy) != 1:
        listed = ", ".join(busy) or "none"
        raise ScenarioError(f"buffers: needs --link, as these links carry data: {listed}")
    return busy[0]


def _link(resolved: ScenarioRecord, name: str) -> LinkRecord:
    return next(item for item in resolved["links"] if item["name"] == name)


def _round_trip(resolved: ScenarioRecord, link: str) -> str | None:
    """Returns the harmonic mean of the round trips of the flows on a link; None if a round trip is unknown."""
    crossing = [(flow["count"] or 1, flow["base_rtt_s"]) for flow in resolved["flows"] if link in flow["path"]]
    known = [(count, rtt) for count, rtt in crossing if rtt]
    if not known or len(known) < len(crossing):
        return None
    inverse = sum(count / rtt for count, rtt in known)
    return f"{1e3 * sum(count for count, _ in known) / inverse:.4g} ms"
