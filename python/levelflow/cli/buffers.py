"""The command `buffers`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import PATH, Whole, choose, scenario_argument, set_option, workers_option

if TYPE_CHECKING:
    from pathlib import Path

    from levelflow.buffers.choice import Question, Row
    from levelflow.buffers.queues import Discipline

EXAMPLE = "Example: levelflow buffers shared-line --utilisation 0.95 --loss 0.02"


@click.command(epilog=EXAMPLE)
@scenario_argument
@click.option("--link", metavar="NAME", help="The link, such as A->B [default: the one that carries data].")
@click.option(
    "--utilisation",
    metavar="SHARE",
    default="0",
    show_default=False,
    help="Target: smallest utilisation of the line, as in 0.95 or 95%.",
)
@click.option(
    "--loss",
    metavar="SHARE",
    default="0",
    show_default=False,
    help="Target: largest share of dropped bytes.",
)
@click.option("--delay", metavar="TIME", help='Additional target: longest mean queueing delay, as in "20 ms".')
@click.option("--seeds", type=Whole(1, 1000), default=5, help="Runs of each buffer, with different seeds.")
@click.option("--largest", type=Whole(1, 1_000_000), default=10_000, help="Largest buffer to try, packets.")
@click.option(
    "--flows", type=float, metavar="N", help="Number of flows, for buffer rules [default: that of the scenario]."
)
@click.option("--rtt", metavar="TIME", help="Round trip, for buffer rules and abs_log [default: that of the scenario].")
@set_option
@workers_option
@click.option("--json", type=PATH, metavar="FILE", help="Also write the rows to this file.")
@click.option("--out", type=PATH, metavar="FILE.png", help="Draw the rows into this file.")
def buffers(
    scenario: str,
    link: str | None,
    utilisation: str,
    loss: str,
    delay: str | None,
    seeds: int,
    largest: int,
    flows: float | None,
    rtt: str | None,
    changes: tuple[str, ...],
    workers: int | None,
    json: Path | None,
    out: Path | None,
) -> None:
    """Compare buffer rules, buffer-sizing algorithms, the best fixed buffer and queue disciplines on your traffic.

    Only the second half of each run is measured. Targets have a tolerance: one percentage point for utilisation, and a
    tenth for loss and delay. The output ends with the command that applies the recommended buffer to a live interface.
    It also contains settings of tc, cake and OpenWrt's SQM for a line of this capacity.
    """
    from levelflow.buffers.candidates import Targets
    from levelflow.buffers.choice import question
    from levelflow.theory.units import ratio, time

    targets = Targets(ratio(utilisation), ratio(loss), time(delay) if delay is not None else 0.0)
    known = _given(flows, rtt)
    asked = question(choose(scenario, changes), targets, link=link, seeds=seeds, largest=largest, known=known)
    if out is not None:
        _drawable(out)
    rows, found, complete = _compare(asked, workers, json)
    _show(asked, rows, found, complete)
    if out is not None:
        from levelflow.buffers.picture import picture
        from levelflow.cli.theory.shared import save

        save(picture(asked, rows), out)
    if not complete:
        from levelflow.ending import interrupted

        click.echo(f"levelflow: interrupted; {len(rows)} rows are complete", err=True)
        sys.exit(interrupted())


def _given(flows: float | None, rtt: str | None) -> dict[str, object]:
    """Returns the given `flows` and `rtt`. In buffer rules, they replace the values of the scenario."""
    from levelflow.theory.units import time

    known: dict[str, object] = {"flows": flows} if flows is not None else {}
    return known | ({"rtt": f"{1e3 * time(rtt):.9g} ms"} if rtt is not None else {})


def _drawable(target: Path) -> None:
    """Rejects a picture path that is not writable, before the runs start."""
    from matplotlib.figure import Figure

    from levelflow import ScenarioError

    allowed = sorted(Figure().canvas.get_supported_filetypes())
    if target.suffix[1:].lower() not in allowed:
        raise ScenarioError(
            f"--out {target}: no picture has the ending {target.suffix!r}; allowed: {', '.join(allowed)}"
        )
    if target.is_dir() or not target.parent.is_dir():
        raise ScenarioError(f"--out {target}: {'is a directory' if target.is_dir() else 'no such directory'}")


def _compare(asked: Question, workers: int | None, target: Path | None) -> tuple[list[Row], list[Discipline], bool]:
    """Measures buffers and queue disciplines. Saves each result. The third value is False after an interruption."""
    import os

    from levelflow.buffers.choice import chosen, compared
    from levelflow.buffers.queues import compared_queues, written
    from levelflow.workers import Bar, Workers

    rows: list[Row] = []
    found: list[Discipline] = []
    _save(target, asked, rows, found, complete=False)
    try:
        with Bar(asked.link) as bar, Workers(workers or os.cpu_count(), bar) as runs:
            for row in compared(asked, runs):
                rows.append(row)
                _save(target, asked, rows, found, complete=False)
            choice = chosen(rows, asked.targets)
            for one in compared_queues(asked, runs, [written(asked), *([choice] if choice else [])]):
                found.append(one)
                _save(target, asked, rows, found, complete=False)
    except KeyboardInterrupt:
        return rows, found, False
    _save(target, asked, rows, found, complete=True)
    return rows, found, True


def _save(target: Path | None, asked: Question, rows: list[Row], found: list[Discipline], *, complete: bool) -> None:
    import json

    from levelflow import ScenarioError
    from levelflow.buffers.advice import data
    from levelflow.files import replace

    if target is None:
        return
    if target.is_dir():
        raise ScenarioError(f"--json {target}: is a directory")
    try:
        replace(target, json.dumps(data(asked, rows, found, complete=complete), indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise ScenarioError(f"--json {target}: {(error.strerror or str(error)).lower()}") from None


def _show(asked: Question, rows: list[Row], found: list[Discipline], complete: bool) -> None:
    from levelflow.buffers.advice import advice, boxes, queue_table, shortest, table
    from levelflow.cli.show import show_table

    show_table(*table(asked, rows))
    if found:
        show_table(*queue_table(asked, found))
    if complete:
        for line in [*shortest(asked, found), *advice(asked, rows), "", *boxes(asked, rows)]:
            click.echo(line)
