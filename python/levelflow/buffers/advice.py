"""Output of `levelflow buffers`: tables, commands to apply the recommendation, and plain data for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from levelflow.buffers import queues
from levelflow.buffers.candidates import BEST, BUFFER_ALGORITHMS, USUAL, Line, Targets
from levelflow.buffers.choice import WRITTEN, Question, Row, chosen, order, packets_of
from levelflow.buffers.commands import FIFO, SHARE, Command, commands
from levelflow.measure.utilisation import Use
from levelflow.report.tables import percent, rate, time

if TYPE_CHECKING:
    from levelflow.buffers.queues import Discipline

#: Warning printed with the command that applies a buffer rule or a fixed size.
REPLACES = (
    "This command replaces the root queue of DEVICE, including a shaper such as tbf or htb. If a shaper limits the "
    "line, set a pfifo at its leaf instead (parent CLASS, not root), or let levelflow-net abs --qdisc CLASS size it."
)
#: JSON names of those fields of `Use` that have another name in the JSON output.
KEYS = {"buffer": "packets", "queue": "backlog_packets", "wait": "queueing_delay_mean_s"}


def snippet(row: Row) -> str:
    """Returns the scenario line that sets the buffer of a link.

    >>> snippet(Row("BSCL", {"bscl": {"loss": 0.02}}, None))
    'buffer = { bscl = { loss = 0.02 } }'
    """
    return f"buffer = {_toml(row.buffer)}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return f"{value:.9g}" if isinstance(value, float) else json.dumps(value)


def command(row: Row, targets: Targets) -> str:
    """Returns the command that applies the buffer to a live interface, DEVICE.

    >>> command(Row("abs_log", {"abs_log": {"rtt": "40 ms"}}, None), Targets(0.95))
    'levelflow-net abs --dev DEVICE --utilisation 0.95 --every "200 ms" --set "rtt=40 ms" --max "10000 packets"'
    """
    if row.name not in BUFFER_ALGORITHMS:
        # The simulator's limit includes the packet in transmission. The limit of a device at line rate does not.
        return f"tc qdisc replace dev DEVICE root pfifo limit {max(round(packets_of(row)) - 1, 1)}"
    assert isinstance(row.buffer, dict)  # an algorithm and its parameters
    ((algorithm, words),) = row.buffer.items()
    options = [f"--utilisation {targets.utilisation:g}"] if targets.utilisation else []
    options += [f"--loss {targets.loss:g}"] if targets.loss and algorithm != "adt" else []
    options += [f'--delay "{1e3 * targets.delay:g} ms"'] if targets.delay and algorithm == "abs_log" else []
    options += ['--every "200 ms"'] + ([] if algorithm == "abs_log" else [f"--algorithm {algorithm}"])
    options += [f'--set "rtt={words["rtt"]}"'] if "rtt" in words else []
    # The default limit is one second of data at line rate, which may be less than the largest candidate.
    options += [f'--max "{words.get("largest", f"{USUAL} packets")}"']
    return " ".join(["levelflow-net abs --dev DEVICE", *options])


def advice(asked: Question, rows: Sequence[Row]) -> list[str]:
    """Returns the next steps: a scenario line, and a command for a live interface."""
    choice = chosen(rows, asked.targets)
    untold = not {"flows", "rtt"} <= set(asked.known) and any(row.why.startswith(("flows", "rtt")) for row in rows)
    hint = ["Some rules need values that the scenario does not contain: set --flows and --rtt.", ""] if untold else []
    return hint + _next(asked, rows, choice)


def _next(asked: Question, rows: Sequence[Row], choice: Row | None) -> list[str]:
    if choice is None:
        return [_nothing(asked, {row.name: asked.targets.excess(row.line.used) for row in rows if row.line})]
    best = next(row for row in rows if row.name == BEST)
    times = packets_of(choice) / packets_of(best)
    of_best = f", {times:.2f} times the best of fixed size" if choice is not best else ""
    lines = [
        f"Chosen buffer: {choice.name}, {packets_of(choice):.0f} packets{of_best}.",
        f"In a scenario:        {snippet(choice)}",
        f"On a live interface:  {command(choice, asked.targets)}",
    ]
    return lines if choice.name in BUFFER_ALGORITHMS else [*lines, REPLACES]


def _nothing(asked: Question, excess: dict[str, float]) -> str:
    """Returns the reason why no buffer is recommended. `excess` has the largest `measured/allowed`, by row name."""
    if excess[WRITTEN] <= 1:
        largest = f"{asked.largest} packets"
        return f"Only the buffer {WRITTEN} meets the targets; no buffer up to {largest} does. Try a larger --largest."
    least = min(excess, key=lambda name: excess[name])
    times = math.ceil(100 * excess[least]) / 100  # rounded up, so a missed target never prints as 1
    name = f"the buffer {WRITTEN}" if least == WRITTEN else least
    return f"Nothing meets the targets; {name} comes closest, with {times:g} times the limit."


def table(asked: Question, rows: Sequence[Row]) -> tuple[str, list[str], list[list[str]]]:
    """Returns title, header and rows of the table of buffers."""
    targets, count = asked.targets, len(asked.seeds)
    wanted = [f"utilisation of {percent(targets.utilisation)}"] if targets.utilisation else []
    wanted += [f"loss of {percent(targets.loss)}"] if targets.loss else []
    wanted += [f"delay of {time(targets.delay)}"] if targets.delay else []
    seeds = f"{asked.seeds[0]} to {asked.seeds[-1]}"
    own = [len(row.line.each) for row in rows if row.line]
    how = (
        f"Student's t over {count} runs, seeds {seeds}" if max(own, default=count) > 1 else "batch means within one run"
    )
    begin, end = asked.window
    title = f"{asked.link}, {rate(asked.capacity)}: {', '.join(wanted)}"
    title += f"\n{begin:.4g} to {end:.4g} s of each run; ±: 95 % intervals, {how}"
    if (least := min(own, default=count)) < count:
        title += f"\n{count} seeds give {least} different run{'s' * (least > 1)} in some rows; equal runs count once"
    best = next((packets_of(row) for row in rows if row.name == BEST), math.nan)
    head = ["buffer by", "packets", "of best", "utilisation, %", "loss, %", "queueing delay, ms", "targets"]
    return title, head, [_cells(row, targets, best) for row in order(rows)]


def _cells(row: Row, targets: Targets, best: float) -> list[str]:
    if row.line is None:
        return [row.name, "-", "-", "-", "-", "-", row.why]
    used, half = row.line.used, row.line.half
    fits = _interval(used.buffer, half.buffer, 0) if half.buffer > 0 else f"{used.buffer:.0f}"
    return [
        row.name,
        str(row.buffer) if math.isnan(used.buffer) else fits,
        "-" if math.isnan(used.buffer / best) else f"{used.buffer / best:.2f}",
        _interval(100 * used.utilisation, 100 * half.utilisation, 1),
        _interval(100 * used.loss, 100 * half.loss, 2),
        _interval(1e3 * used.wait, 1e3 * half.wait, 1),
        _verdict(row.line, targets),
    ]


def _interval(mean: float, half: float, digits: int) -> str:
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def _verdict(line: Line, targets: Targets) -> str:
    """Returns the missed targets as text.

    A `?` follows if the missed targets differ at an end of the confidence intervals.
    """
    missed, used, half = targets.missed(line.used), line.used, line.half
    ends = (
        targets.missed(
            used._replace(
                utilisation=used.utilisation + sign * half.utilisation,
                loss=used.loss - sign * half.loss,
                wait=used.wait - sign * half.wait,
            )
        )
        for sign in (-1, 1)
    )
    words = f"misses {' and '.join(missed)}" if missed else "met"
    return words if all(end == missed for end in ends) else f"{words}?"


def queue_table(asked: Question, found: Sequence[Discipline]) -> tuple[str, list[str], list[list[str]]]:
    """Returns title, header and rows of the table of queue disciplines."""
    calls = any(one.felt and one.felt.call is not None for one in found)
    title = f"Queue disciplines of {asked.link}; queueing delay" + (" and call" if calls else "") + ": of whole runs"
    title += "\ncall: 99th percentile of the round trip of the most delayed small flow" if calls else ""
    head = ["queue", "utilisation, %", "loss, %", "delay p50, ms", "delay p99, ms"]
    head += (["call p99, ms"] if calls else []) + ["targets"]
    return title, head, [_felt_cells(one, asked.targets, calls) for one in queues.order(found)]


def _felt_cells(one: Discipline, targets: Targets, calls: bool) -> list[str]:
    name = one.name if one.queue != queues.TAIL else f"drop_tail, {one.name}"
    if one.line is None or one.felt is None:
        return [name, *["-"] * (5 if calls else 4), one.why]
    used, half = one.line.used, one.line.half

    def wait(mean: float | None, spread: float | None) -> str:
        if mean is None:
            return "-"
        return f"{1e3 * mean:.1f}" if spread is None else _interval(1e3 * mean, 1e3 * spread, 1)

    spread = one.half or queues.Felt(None, None, None)
    cells = [name, _interval(100 * used.utilisation, 100 * half.utilisation, 1)]
    cells += [_interval(100 * used.loss, 100 * half.loss, 2), wait(one.felt.median, spread.median)]
    cells += [wait(one.felt.p99, spread.p99)] + ([wait(one.felt.call, spread.call)] if calls else [])
    return [*cells, _verdict(one.line, targets)]


def shortest(asked: Question, found: Sequence[Discipline]) -> list[str]:
    """Returns a line with the shortest median delay of the disciplines that meet the targets; empty if none does."""
    meeting = [
        (one.felt.median, one.name)
        for one in found
        if one.queue != queues.TAIL and one.felt and one.felt.median is not None
        if one.line and not asked.targets.missed(one.line.used)
    ]
    if not meeting:
        return []
    median, name = min(meeting)
    return [f"Shortest median delay of the queue disciplines that meet the targets: {name}, {1e3 * median:.1f} ms."]


def boxes(asked: Question, rows: Sequence[Row]) -> list[str]:
    """Returns the Linux and OpenWrt commands for an access line with the capacity of the scenario's link."""
    share = f"{100 * SHARE:g} %"
    lines = [
        f"For DEVICE before a line of {rate(asked.capacity)}, shaped to {share} of it so that the queue is here.",
        "Measure the effect with levelflow-net probe:",
    ]
    for one in _boxes(asked, rows):
        lines += [f"# {one.name}", *one.lines]
    return lines


def _boxes(asked: Question, rows: Sequence[Row]) -> list[Command]:
    fixed = next((packets_of(row) for row in rows if row.name == BEST), math.inf)
    packets = round(fixed) if math.isfinite(fixed) else FIFO
    return commands(asked.capacity, asked.back, packets)


def data(
    asked: Question, rows: Sequence[Row], found: Sequence[Discipline] = (), *, complete: bool
) -> dict[str, object]:
    """Returns the contents of the tables as plain data for programs; times are in seconds, and rates in bit/s."""
    choice = chosen(rows, asked.targets) if complete else None
    return {
        "scenario": asked.scenario.resolve()["name"],
        "link": asked.link,
        "capacity_bps": asked.capacity,
        "targets": asked.targets._asdict(),
        "seeds": list(asked.seeds),
        "window_s": list(asked.window),
        "complete": complete,
        "rows": [_plain(row, asked.targets) for row in order(rows)],
        "queues": [_plain_queue(one, asked.targets) for one in queues.order(found)],
        "commands": {one.name: list(one.lines) for one in _boxes(asked, rows)} if complete else {},
        "chosen": choice and {"name": choice.name, "scenario": snippet(choice), "live": command(choice, asked.targets)},
    }


def _plain(row: Row, targets: Targets) -> dict[str, object]:
    plain: dict[str, object] = {"name": row.name, "buffer": row.buffer}
    if row.line is None:
        return plain | {"why": row.why}
    names = [KEYS.get(key, key) for key in Use._fields]
    means = {key: _finite(value) for key, value in zip(names, row.line.used, strict=True)}
    halves = {f"{key}_half": _finite(value) for key, value in zip(names, row.line.half, strict=True)}
    return plain | means | halves | {"miss": row.line.miss, "missed": targets.missed(row.line.used)}


def _plain_queue(one: Discipline, targets: Targets) -> dict[str, object]:
    plain: dict[str, object] = {"name": one.name, "queue": one.queue, "buffer": one.buffer}
    if one.line is None or one.felt is None:
        return plain | {"why": one.why}
    measured = _plain(Row(one.name, one.buffer, one.line), targets)
    names = {"median": "queueing_delay_p50_s", "p99": "queueing_delay_p99_s", "call": "call_p99_s"}
    waits = {names[key]: value for key, value in one.felt._asdict().items()}
    halves = one.half._asdict() if one.half else {}
    return measured | plain | waits | {f"{names[key]}_half": value for key, value in halves.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
