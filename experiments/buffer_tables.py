"""Tables I, II and III of Zhang 2008, chapter VII: rules, algorithms, and the best buffer.

Our copy of the dissertation's text lacks these tables.

`python -m experiments.buffer_tables` prints them. `--quick` runs some rows in a minute or two, and `--full` every row.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from levelflow import library
from levelflow.buffers.candidates import BEST, OURS, SEARCH, line
from levelflow.ending import interrupted
from levelflow.topology.bottleneck import LINK
from levelflow.workers import Bar, Workers
from zhang_models import buffer_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from levelflow.buffers.candidates import Line
    from levelflow.scenario import Scenario
    from zhang_models.buffer_rows import Row

#: Rows that `--quick` runs.
QUICK_FLOWS, QUICK_CAPACITIES = (2, 16, 64), (1, 16, 64)
QUICK_SEEDS, FULL_SEEDS = 3, 5


class Table(NamedTuple):
    """Table II or III: title, quantity that varies by row, and rows by this quantity."""

    title: str
    key: str
    rows: Mapping[int, Row]


def tables(full: bool) -> dict[str, Table]:
    """Returns tables II and III by their numbers."""
    flows = {row.flows: row for row in buffer_rows.second() if full or row.flows in QUICK_FLOWS}
    capacities = {row.capacity: row for row in buffer_rows.third() if full or row.capacity in QUICK_CAPACITIES}
    return {
        "II": Table(f"Table II: {buffer_rows.CAPACITY} Mb/s", "flows", flows),
        "III": Table(f"Table III: {buffer_rows.FLOWS} flows", "Mb/s", capacities),
    }


def work(scenario: Scenario) -> float:
    """Returns the data that the first link can carry in a run, Mb. The run time is proportional to these data."""
    resolved = scenario.resolve()
    return float(resolved["duration_s"] * resolved["links"][0]["capacity_bps"] / 1e6)


def work_of_row(row: Row) -> float:
    """Returns the data that the links can carry in all runs of a row with one seed, Mb."""
    rules, algorithms = buffer_rows.ways()
    return row.capacity * ((len(rules) + SEARCH) * row.rules + len(algorithms) * row.algorithms)


def work_of_rem() -> float:
    """Returns the data that the links can carry in all runs of table I, Mb."""
    runs = len(buffer_rows.REM_BUFFERS) * len(buffer_rows.REM_VARIANTS)
    return runs * buffer_rows.REM_SECONDS * buffer_rows.REM_CAPACITY


def how(seeds: Sequence[int]) -> str:
    """Returns a sentence that explains the values and intervals in the tables."""
    if len(seeds) == 1:
        return "one run, with seed 1; ±: 95 % intervals by batch means within the run, not across runs"
    return f"means over {len(seeds)} runs, with seeds 1 to {len(seeds)}; ±: 95 % intervals by Student's t over the runs"


def cells(item: Line, best: Line) -> str:
    """Returns buffer, utilisation, loss rate and queueing delay of a measurement, as cells of a Markdown row."""
    used, half = item.used, item.half
    buffer = f"{used.buffer:.0f}" + (f" ± {half.buffer:.0f}" if half.buffer > 0 else "")
    use = f"{100 * used.utilisation:.1f} ± {100 * half.utilisation:.1f}"
    loss = f"{100 * used.loss:.2f} ± {100 * half.loss:.2f}"
    wait = f"{1e3 * used.wait:.0f} ± {1e3 * half.wait:.0f}"
    return f"{buffer} | {used.buffer / best.used.buffer:.2f} | {use} | {loss} | {wait}"


def judged(possible: Mapping[int, Mapping[str, Line]]) -> Iterator[str]:
    """Yields, as text, the number of rows in which each algorithm met its targets.

    A row counts only if a fixed buffer can meet the targets in it.
    """
    if not possible:
        yield "No fixed buffer meets the targets in any row: nothing was judged."
        return
    single = [buffer_rows.meets(used) for lines in possible.values() for used in lines[OURS].each]
    met = {
        name: sum(buffer_rows.meets(lines[name].used) for lines in possible.values())
        for name in next(iter(possible.values()))
        if name != BEST
    }
    yield (
        f"{OURS} met its targets in {met.pop(OURS)} of {len(possible)} rows that a fixed buffer can meet, "
        f"by means, and in {sum(single)} of {len(single)} single runs."
    )
    if met:
        yield f"Of these rows the others met: {', '.join(f'{name} {count}' for name, count in met.items())}."


def show(table: Table, bar: Bar, workers: Workers, seeds: Sequence[int], gain: float | None) -> bool:
    """Prints a table in Markdown, row by row.

    Returns:
        True if `abs_log` met its targets in each row in which a fixed buffer can meet them.
    """
    bar.print(f"\n{table.title}; {how(seeds)}\n")
    bar.print(
        f"| {table.key} | buffer by | packets | of best | use, % | loss, % | wait, ms |",
        "|---|---|---|---|---|---|---|",
    )
    possible: dict[int, dict[str, Line]] = {}
    for value, row in table.rows.items():
        lines = buffer_rows.measure(row, workers, seeds, gain=gain)
        rows = (f"| {value} | {item.name} | {cells(item, lines[BEST])} |" for item in lines.values())
        bar.print(*rows)
        workers.settle(len(seeds) * work_of_row(row))
        if lines[BEST].miss == 0:
            possible[value] = lines
    missed = [f"{value} {table.key}" for value, lines in possible.items() if not buffer_rows.meets(lines[OURS].used)]
    bar.print("", *judged(possible), *([f"{OURS} missed them with {', '.join(missed)}."] if missed else []))
    return bool(possible) and not missed


def show_rem(bar: Bar, workers: Workers, seeds: Sequence[int]) -> None:
    """Prints table I: REM with a buffer above its target and with a buffer below it."""
    aim = f"REM aims at {buffer_rows.REM_TARGET} packets"
    bar.print(f"\nTable I: {aim}; {buffer_rows.REM_FLOWS} flows, {buffer_rows.REM_CAPACITY} Mb/s; {how(seeds)}\n")
    bar.print("| buffer | TCP | queue, packets | use, % | loss, % |", "|---|---|---|---|---|")
    for buffer in buffer_rows.REM_BUFFERS:
        for name in buffer_rows.REM_VARIANTS:
            results = workers([buffer_rows.rem(buffer, name).set("seed", seed) for seed in seeds])
            _, used, half, *_ = line(name, results, LINK, buffer_rows.TARGETS)
            bar.print(
                f"| {buffer} | {name} | {used.queue:.1f} ± {half.queue:.1f} | "
                f"{100 * used.utilisation:.1f} ± {100 * half.utilisation:.1f} | "
                f"{100 * used.loss:.2f} ± {100 * half.loss:.2f} |"
            )
            workers.settle(len(seeds) * buffer_rows.REM_SECONDS * buffer_rows.REM_CAPACITY)


def main(arguments: list[str] | None = None) -> int:
    """Runs and prints the tables. Returns 1 if `abs_log` missed targets or no target can be met, 130 if interrupted."""
    options = _options(arguments)
    seeds = range(1, (options.seeds or (FULL_SEEDS if options.full else QUICK_SEEDS)) + 1)
    wanted = options.table or ["I", "II", "III"]
    chosen = [table for name, table in tables(options.full).items() if name in wanted]
    all_rows = sum(work_of_row(row) for table in chosen for row in table.rows.values())
    try:
        with Bar("tables") as bar, Workers(os.cpu_count(), bar, work) as workers:
            workers.expect(len(seeds) * (all_rows + ("I" in wanted) * work_of_rem()))
            if "I" in wanted:
                show_rem(bar, workers, seeds)
            met = [show(table, bar, workers, seeds, options.gain) for table in chosen]
    except KeyboardInterrupt:
        print("experiments.buffer_tables: interrupted; the rows above are whole", file=sys.stderr)
        return interrupted()
    return 0 if all(met) else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.buffer_tables",
        description=f"{__doc__.splitlines()[0]} Exits with 1 if {OURS} misses its targets in a row, or if no row can "
        "meet them.",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="full", action="store_false", help="three rows of tables II and III (default)")
    size.add_argument("--full", action="store_true", help="every row")
    many = f"runs of each, with seeds 1 to N (default {QUICK_SEEDS}; with --full {FULL_SEEDS})"
    parser.add_argument("--seeds", type=_count, metavar="N", help=many)
    parser.add_argument("--table", action="append", choices=("I", "II", "III"), help="only this one")
    parser.add_argument("--gain", type=_gain, help=f"of {OURS}, instead of its default")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 1000")
    return int(text)


def _gain(text: str) -> float:
    row = library.of_algorithm(OURS, "gain")
    try:
        if library.number(row, "low") <= float(text) <= library.number(row, "high"):
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not allowed; needs a number, {library.allowed(row)}")


if __name__ == "__main__":
    raise SystemExit(main())
