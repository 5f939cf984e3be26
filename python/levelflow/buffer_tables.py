"""Tables I, II and III of Zhang 2008, chapter VII, which the text lacks: rules, sizers, and the best buffer.

`python -m levelflow.buffer_tables` prints them: `--quick` some rows in a minute or two, `--full` all of them.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from levelflow.claims.metrics.sizing import Use, batches, half_width, use
from levelflow.claims.sized import LINK, LINUX_2_6_16, crowd, marking, one_link
from levelflow.sizing import Line, Targets, best_fixed, candidates, compare
from levelflow.theory.buffers import bscl_loss, bscl_utilisation, harmonic_rtt, pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from levelflow.results import Result
    from levelflow.scenario import Scenario

TARGETS = Targets(0.98, 0.02)
BEST, OURS = "best fixed", "abs_log"
#: Of table III, and of table II in Mb/s.
FLOWS, CAPACITY = 16, 10
#: From so many flows on, round trips with the queue last up to 10 s, and runs so many seconds: of rules, of sizers.
CROWD, CROWD_S = 256, (2000, 4000)


class Row(NamedTuple):
    """What a row of a table runs.

    Attributes:
        flows: NewReno, with round trips uniform from 30 to 30 + 2 `flows` ms.
        capacity: Mb/s.
        rules: seconds of runs with a fixed buffer.
        sizers: seconds of runs with a sizer.
    """

    flows: int
    capacity: float
    rules: float
    sizers: float


def second(full: bool) -> list[Row]:
    """Rows of table II: buffers against the number of flows."""
    counts = [2**i for i in range(1, 11)] if full else [2, 16, 64]
    seconds = (400, 1000) if full else (100, 400)
    return [Row(n, CAPACITY, *(CROWD_S if n >= CROWD else seconds)) for n in counts]


def third(full: bool) -> list[Row]:
    """Rows of table III: buffers against capacity; fast links settle in less time."""
    capacities = [2**i for i in range(11)] if full else [1, 16, 64]
    seconds = {64: (100, 300), 128: (100, 300), 256: (60, 250), 512: (50, 200), 1024: (50, 200)}
    return [Row(FLOWS, c, *seconds.get(c, (200 if full else 100, 400))) for c in capacities]


def ways(row: Row, gain: float | None = None) -> tuple[dict[str, object], dict[str, object]]:
    """Rules and sizers by their names, as values of a link's `buffer`; `gain` is that of `abs_log`."""
    room = pipe(row.capacity * 1e6, harmonic_rtt(0.03, 0.03 + 0.002 * row.flows))
    parts = {
        "BSCL, use (eq 9)": bscl_utilisation(room, row.flows),
        "BSCL, loss (eq 10)": bscl_loss(room, row.flows, TARGETS.loss),
    }
    common: dict[str, Any] = candidates(TARGETS)
    sizers: dict[str, Any] = {name: common.pop(name) for name in ("ABS as printed", OURS)}
    bscl = common.pop("BSCL")
    if gain is not None:
        sizers[OURS] = {"abs_log": {**sizers[OURS]["abs_log"], "gain": gain}}
    rules = common | {
        "Avrachenkov": {"avrachenkov": {}},
        "Enachescu": {"enachescu": {}},
        **{name: f"{max(int(packets), 1)} packets" for name, packets in parts.items()},
        "BSCL, both": bscl,
        "Eun and Wang, least": {"eun_wang": {}},
    }
    return rules, {"ADT": {"adt": {"utilisation": TARGETS.utilisation, "largest": "20000 packets"}}, **sizers}


def network(row: Row, seconds: float) -> Scenario:
    """The traffic of a row."""
    return crowd(one_link(row.capacity, "1 BDP", seconds), row.flows, (30, 30 + 2 * row.flows))


def measure(row: Row, runs: Callable[[Sequence[Scenario]], Sequence[Result]], gain: float | None = None) -> list[Line]:
    """Every way to size the buffer of a row; the best of fixed size is the last."""
    rules, sizers = ways(row, gain)
    lines = compare(network(row, row.rules), LINK, TARGETS, rules, runs)
    lines += compare(network(row, row.sizers), LINK, TARGETS, sizers, runs)
    return [*lines, best_fixed(network(row, row.rules), LINK, TARGETS, runs)]


def meets(used: Use, targets: Targets = TARGETS) -> bool:
    """Whether use is within a point and loss within a tenth of a target, neither falls short, and one of both binds.

    >>> [meets(Use(u, p, 0, 0, 0)) for u, p in ((0.975, 0.004), (1.0, 0.021), (1.0, 0.01), (0.96, 0.02))]
    [True, True, False, False]
    """
    idle, lost = used.utilisation - targets.utilisation, used.loss / targets.loss - 1
    return idle >= -0.01 and lost <= 0.1 and (idle <= 0.01 or lost >= -0.1)


def show(title: str, key: str, rows: list[Row], found: list[list[Line]]) -> Iterator[str]:
    """Lines of a table in Markdown, and how `abs_log` fared."""
    yield f"\n{title}; 95 % intervals by batch means over the second half of a run\n"
    yield f"| {key} | buffer by | packets | of best | use, % | loss, % | wait, ms |"
    yield "|---|---|---|---|---|---|---|"
    met = possible = 0
    for row, lines in zip(rows, found, strict=True):
        value = row.flows if key == "flows" else row.capacity
        for item in lines:
            used, half = item.used, item.half
            yield (
                f"| {value} | {item.name} | {used.buffer:.0f} | {used.buffer / lines[-1].used.buffer:.2f} | "
                f"{100 * used.utilisation:.1f} ± {100 * half.utilisation:.1f} | "
                f"{100 * used.loss:.2f} ± {100 * half.loss:.2f} | {1e3 * used.wait:.0f} |"
            )
        possible += lines[-1].miss == 0
        met += lines[-1].miss == 0 and any(item.name == OURS and meets(item.used) for item in lines)
    yield f"\n{OURS} met its targets in {met} of {possible} rows that a fixed buffer can meet."


def first(full: bool, runs: Callable[[Sequence[Scenario]], Sequence[Result]]) -> Iterator[str]:
    """Table I: REM, which aims at 50 packets, in buffers of 100 and of 10."""
    yield "\nTable I: REM aims at 50 packets; 20 flows, 10 Mb/s\n"
    yield "| buffer | TCP | queue, packets | use, % | loss, % |"
    yield "|---|---|---|---|---|"
    end = 200.0 if full else 60.0
    cases = [(buffer, name) for buffer in (100, 10) for name in LINUX_2_6_16 if name != "TCP-LP"]
    for (buffer, name), result in zip(cases, runs([_rem(name, buffer, end) for buffer, name in cases]), strict=True):
        window = (end / 2, end)
        used = use(result.links, LINK, 1e7, window)
        parts = batches(result.links, LINK, 1e7, window)
        half = Use(*(half_width([part[i] for part in parts]) for i in range(len(Use._fields))))
        yield (
            f"| {buffer} | {name} | {used.queue:.1f} ± {half.queue:.1f} | "
            f"{100 * used.utilisation:.1f} ± {100 * half.utilisation:.1f} | "
            f"{100 * used.loss:.2f} ± {100 * half.loss:.2f} |"
        )


def _rem(name: str, buffer: int, end: float) -> Scenario:
    scenario = one_link(10, f"{buffer} packets", end, "20 ms").set("link.1.queue", {"rem": {"target": "50 packets"}})
    rtt = {"uniform": ["30 ms", "50 ms"]}
    law = marking(LINUX_2_6_16[name])
    return scenario.flow("x", law, "A", "B", count=20, packet="1000 B", rtt=rtt)


def main(arguments: list[str] | None = None) -> int:
    """Runs the tables and prints them."""
    parser = argparse.ArgumentParser(prog="python -m levelflow.buffer_tables", description=__doc__.split("\n")[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="full", action="store_false", help="three rows of each, shorter runs (default)")
    size.add_argument("--full", action="store_true", help="every row")
    parser.add_argument("--table", action="append", choices=("I", "II", "III"), help="only this one")
    parser.add_argument("--gain", type=float, help="of abs_log, instead of its default")
    options = parser.parse_args(arguments)
    wanted = options.table or ["I", "II", "III"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def runs(scenarios: Sequence[Scenario]) -> list[Result]:
            return list(pool.map(lambda scenario: scenario.run(), scenarios))

        def measured(rows: list[Row]) -> list[list[Line]]:
            return [measure(row, runs, options.gain) for row in rows]

        if "I" in wanted:
            print(*first(options.full, runs), sep="\n", flush=True)
        if "II" in wanted:
            rows = second(options.full)
            print(*show("Table II: 10 Mb/s", "flows", rows, measured(rows)), sep="\n", flush=True)
        if "III" in wanted:
            rows = third(options.full)
            print(*show("Table III: 16 flows", "Mb/s", rows, measured(rows)), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
