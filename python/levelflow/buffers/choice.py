"""Every way to size the buffer of a link, on traffic of your own, and what to type to run the one that is chosen."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from levelflow import library
from levelflow.buffers.candidates import (
    ADT,
    BEST,
    BSCL,
    BUFFER_ALGORITHMS,
    OURS,
    SEARCH,
    TENTH,
    USUAL,
    Line,
    Targets,
    best_fixed,
    buffer_of,
    candidates,
    compare,
    with_buffer,
)
from levelflow.scenario import ScenarioError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from levelflow.scenario import Scenario
    from levelflow.workers import Workers

#: The buffer that the scenario has.
WRITTEN = "as written"
#: Least number of samples of a run, so that its parts can be compared.
SAMPLES = 400


@dataclass(frozen=True)
class Question:
    """What is asked: a scenario, the link whose buffer is to be sized, and what for.

    Attributes:
        scenario: the network and its traffic.
        link: name of the link in results, such as "A->B".
        targets: of the buffer.
        seeds: of the runs.
        largest: buffer that is tried, packets.
        known: `flows` and `rtt` for rules, in place of what the scenario tells.
    """

    scenario: Scenario
    link: str
    targets: Targets
    seeds: tuple[int, ...]
    largest: int
    known: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capacity(self) -> float:
        """Of the link, bit/s."""
        return float(_link(self.scenario.resolve(), self.link)["capacity_bps"])

    @property
    def back(self) -> float | None:
        """Capacity of a link the other way between the same nodes, bit/s; none if there is not exactly one."""
        links = self.scenario.resolve()["links"]
        ends = _link(self.scenario.resolve(), self.link)
        found = [one["capacity_bps"] for one in links if (one["from"], one["to"]) == (ends["to"], ends["from"])]
        return float(found[0]) if len(found) == 1 else None

    @property
    def window(self) -> tuple[float, float]:
        """The second half of a run, s, which is what counts."""
        end = float(self.scenario.resolve()["duration_s"])
        return end / 2, end

    def ways(self) -> dict[str, Any]:
        """Values of the link's `buffer` by what sizes it."""
        rtt = self.known.get("rtt") or _round_trip(self.scenario.resolve(), self.link)
        rules = candidates(self.targets, self.largest, self.known, None if rtt is None else str(rtt))
        return rules | {WRITTEN: buffer_of(self.scenario, self.link)}


class Row(NamedTuple):
    """What one way came to, or why it came to nothing.

    Attributes:
        name: of the rule or algorithm, or `BEST` or `WRITTEN`.
        buffer: as a value of a link's `buffer`.
        line: what was measured.
        why: it was not run.
    """

    name: str
    buffer: Any
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
    """Checks what is asked.

    Args:
        scenario: the network and its traffic.
        targets: of utilisation or loss at least.
        link: whose buffer is to be sized; may be left out if only one carries data.
        seeds: so many runs of each buffer, whose seeds count up from that of the scenario.
        largest: buffer that is tried, packets.
        known: `flows` and `rtt` for rules, in place of what the scenario tells.

    Raises:
        ScenarioError: if the scenario is not allowed, or does not say which link is meant; in one line.
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
        raise ScenarioError("buffers: --delay alone is met by one packet; needs --utilisation or --loss with it")
    resolved = scenario.resolve()
    name = _chosen(resolved, link)
    for memory in resolved["memories"]:
        if name in memory["links"]:
            raise ScenarioError(
                f"link {name}: is in a [[memory]], which takes no rules; leave that out to compare them"
            )
    traffic = scenario.copy()
    if resolved["sample_s"] > resolved["duration_s"] / SAMPLES:
        traffic.set("sample", f"{resolved['duration_s'] / SAMPLES:.9f} s")
    first = int(resolved["seed"])
    return Question(traffic, name, targets, tuple(range(first, first + seeds)), largest, known or {})


def compared(asked: Question, runs: Workers) -> Iterator[Row]:
    """Yields what each way came to as soon as it is known; those that the scenario refuses come first."""
    ways, refused = asked.ways(), []
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


def _row(asked: Question, runs: Workers, name: str, buffer: Any) -> Row:
    (found,) = compare(asked.scenario, asked.link, asked.targets, {name: buffer}, runs, asked.seeds)
    return Row(name, buffer, found)


def _best(asked: Question, runs: Workers) -> Row:
    found = best_fixed(asked.scenario, asked.link, asked.targets, runs, asked.seeds, asked.largest)
    return Row(BEST, f"{found.used.buffer:.0f} packets", found)


def order(rows: Sequence[Row]) -> list[Row]:
    """Rows in the order of the tables: rules, algorithms, the scenario's own, the best."""
    names = [*candidates(Targets(0.5)), WRITTEN, BEST]
    return sorted(rows, key=lambda row: names.index(row.name))


def chosen(rows: Sequence[Row], targets: Targets) -> Row | None:
    """The recommended row: the smallest algorithm that meets the targets, else the smallest rule, else the best buffer.

    Algorithms need no knowledge of the traffic. Buffers fluctuate: of algorithms within a tenth of the smallest, the
    choice is the last, `abs_log` before the others.
    """
    meeting = {row.name: row for row in rows if row.line and not targets.missed(row.line.used)}
    algorithms = [meeting[name] for name in BUFFER_ALGORITHMS if name in meeting]
    if algorithms:
        least = min(map(packets_of, algorithms))
        return [row for row in algorithms if packets_of(row) <= (1 + TENTH) * least][-1]
    rules = [row for name, row in meeting.items() if name not in {WRITTEN, BEST}]
    return min(rules, key=packets_of) if rules else meeting.get(BEST)


def packets_of(row: Row) -> float:
    """Its mean buffer; infinite if it was not measured."""
    return row.line.used.buffer if row.line else math.inf


def _lacks(name: str, targets: Targets) -> str:
    """The target that a rule or algorithm lacks; nothing if it has all."""
    needs = {BSCL: ("loss", targets.loss), ADT: ("utilisation", targets.utilisation)}
    target, value = needs.get(name, ("", 1.0))
    return "" if value else f"needs a target of {target}"


def _reason(error: str, buffer: Any) -> str:
    """The scenario's error for a rule or algorithm, without its place."""
    name: str = next(iter(buffer)) if isinstance(buffer, dict) else "buffer"
    return error.rpartition(f", {name}")[2].lstrip(",: ")


def _chosen(resolved: dict[str, Any], link: str | None) -> str:
    """The name of the link that is meant."""
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


def _link(resolved: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in resolved["links"] if item["name"] == name)


def _round_trip(resolved: dict[str, Any], link: str) -> str | None:
    """The harmonic mean of the round trips of the flows on a link, where all are given."""
    crossing = [flow for flow in resolved["flows"] if link in flow["path"]]
    if not crossing or any(not flow["base_rtt_s"] for flow in crossing):
        return None
    counts = [flow["count"] or 1 for flow in crossing]
    inverse = sum(count / flow["base_rtt_s"] for count, flow in zip(counts, crossing, strict=True))
    return f"{1e3 * sum(counts) / inverse:.4g} ms"
