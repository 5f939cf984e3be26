"""The command `buffers`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelflow.cli.choosing import Changes, ScenarioName, choose

if TYPE_CHECKING:
    from levelflow.buffers.choice import Question, Row
    from levelflow.buffers.queues import Discipline

app = typer.Typer()
EXAMPLE = "Example: levelflow buffers shared-line --utilisation 0.95 --loss 0.02"


@app.command(epilog=EXAMPLE)
def buffers(  # noqa: PLR0913, PLR0917 - options of the command line
    scenario: ScenarioName,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link, such as A->B [default: the one that carries data].")
    ] = None,
    utilisation: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Target: utilisation of the line, at least, as in 0.95 or 95%.", show_default=False
        ),
    ] = "0",
    loss: Annotated[
        str,
        typer.Option(metavar="SHARE", help="Target: share of the bytes that may be dropped.", show_default=False),
    ] = "0",
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Target beside one of these: longest mean queueing delay, as in "20 ms".'),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each buffer, which differ in their seed.")] = 5,
    largest: Annotated[int, typer.Option(min=1, max=1_000_000, help="Largest buffer to try, packets.")] = 10_000,
    flows: Annotated[
        float | None, typer.Option(metavar="N", help="Flows, for rules [default: those of the scenario].")
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Their round trip, for abs_log too [default: that of the scenario]."),
    ] = None,
    changes: Changes = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs side by side; one per processor.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the rows to this file.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw them into this file.")] = None,
) -> None:
    """Compare buffer rules, buffer-sizing algorithms, the best fixed buffer and queue disciplines on your traffic.

    What counts is the second half of each run. A target is met if it is missed by at most a point of utilisation, or
    a tenth of the loss or delay. It ends with what to type to run the chosen one on a live interface, and with
    settings of tc, cake and OpenWrt's SQM for a line of this capacity.
    """
    from levelflow.buffers.candidates import Targets
    from levelflow.buffers.choice import question
    from levelflow.theory.units import ratio, time

    targets = Targets(ratio(utilisation), ratio(loss), time(delay) if delay is not None else 0.0)
    told = _told(flows, rtt)
    asked = question(choose(scenario, changes), targets, link=link, seeds=seeds, largest=largest, known=told)
    if out is not None:
        _drawable(out)
    rows, found, complete = _compare(asked, workers, json)
    _show(asked, rows, found, complete)
    if out is not None:
        from levelflow.buffers.picture import picture
        from levelflow.cli.theory.asking import save

        save(picture(asked, rows), out)
    if not complete:
        from levelflow.status import INTERRUPTED

        typer.echo(f"levelflow: interrupted; {len(rows)} rows are whole", err=True)
        raise typer.Exit(INTERRUPTED)


def _told(flows: float | None, rtt: str | None) -> dict[str, object]:
    """What rules take from the command line instead of from the scenario."""
    from levelflow.theory.units import time

    told: dict[str, object] = {"flows": flows} if flows is not None else {}
    return told | ({"rtt": f"{1e3 * time(rtt):.9g} ms"} if rtt is not None else {})


def _drawable(target: Path) -> None:
    """Refuses a picture that could not be written, before the work begins."""
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
    """Rows and queue disciplines as they come, saved after each; the last value says whether they are all."""
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
    from levelflow.report.files import replace

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
            typer.echo(line)
