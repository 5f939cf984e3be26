"""The command ``levelflow reproduce``."""

from __future__ import annotations

import json as json_format
import shutil
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import PATH, Whole, read_changes, set_option, workers_option

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from levelflow.reproduce.outcome import Outcome
    from levelflow.reproduce.runner import FigureOutcome


#: Minimum width of the table of verdicts, in columns, so that narrow terminals do not truncate it.
WIDTH = 110
#: Switch interval of Python's threads, s. The default of 5 ms would delay parallel runs by a third, because each run
#: waits for the interpreter at every progress report.
SWITCH_S = 0.5e-3


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...", help="Claims or figures [default: all].")
@click.option("--paper", help="Only figures of this paper.")
@click.option("--all", "all_", is_flag=True, help="Every figure; the default.")
@click.option(
    "--full/--no-full", help="Also run the durations that the papers print. The worse of both verdicts counts."
)
@click.option("--resume/--no-resume", help="Resume an interrupted run in the same directory.")
@click.option("--json", type=PATH, help="Also write the verdicts to this file.")
@click.option("--out", type=PATH, default="results/claims", help="Directory of the report.")
@workers_option
@set_option
@click.option(
    "--testbed/--no-testbed",
    help="Also run figures that the papers measured on Linux, on a real network inside this machine; needs root.",
)
@click.option("--repeats", type=Whole(1), default=3, help="Runs of each figure on the real network.")
def reproduce(
    ids: tuple[str, ...],
    paper: str | None,
    all_: bool,
    full: bool,
    resume: bool,
    json: Path | None,
    out: Path,
    workers: int | None,
    changes: tuple[str, ...],
    testbed: bool,
    repeats: int,
) -> None:
    """Verify the numbers that the papers print.

    Measures the claims of the papers and reports which are reproduced.
    """
    from levelflow import ScenarioError, _core, dataplane, library
    from levelflow.ending import BAD_INPUT, interrupted
    from levelflow.reproduce import model, outcome, report, runner
    from levelflow.reproduce import testbed as testbed_runs
    from levelflow.reproduce.kept import Figures
    from levelflow.reproduce.verdict import FAILED
    from levelflow.study.task import engine

    try:
        if all_ and (ids or paper):
            raise model.ClaimError("--all cannot be combined with ids or --paper")
        other = read_changes(changes)
        claims = model.select(model.discover(library.PAPERS), ids, paper)
        real, simulated = testbed_runs.split(claims) if testbed else ([], claims)
        program = dataplane.usable() if real else None
        for target in (json, out / "report.html"):
            _writable(target)
        _hold(out)
        made = f"{_core.build()} {other}"
        kept, runs = Figures(out / "figures", made, full), out / f".runs-{outcome.FULL if full else outcome.QUICK}"
        if not resume:
            kept.forget()
            shutil.rmtree(runs, ignore_errors=True)
        folder = runs / engine()  # figures share runs, and all results together do not fit into memory
        measured = runner.measure_all(simulated, full=full, workers=workers, kept=kept, changes=other, folder=folder)
        if program:
            on_network = Figures(out / "figures", f"{made}, {repeats} on a network", full)
            networks = testbed_runs.measure_all(real, program, repeats, kept=on_network, changes=other)
            measured = _in_turn(measured, networks)
        figures, was_interrupted = _measure(measured, len(claims), json)
        page = out / "report.html"
        report.write(page, figures, " · ".join([_core.build(), *(f"with {change}" for change in changes)]))
    except (model.ClaimError, ScenarioError, dataplane.DataPlaneError, OSError) as error:
        click.echo(f"levelflow: {_said(error, out)}", err=True)
        sys.exit(BAD_INPUT)
    if real:
        _print_beside([figure for figure in figures if figure.claim in real])
    _print(figures, page)
    if was_interrupted:
        sys.exit(interrupted())
    if not (resume and (ids or paper)):  # figures that are not selected may still need these runs to resume
        shutil.rmtree(runs, ignore_errors=True)
    sys.exit(int(any(one.verdict in FAILED for figure in figures for one in figure.outcomes)))


def _in_turn(*parts: Generator[FigureOutcome, None, None]) -> Generator[FigureOutcome, None, None]:
    """Chains generators like ``itertools.chain``, but closing the chain closes the current generator."""
    for one in parts:
        yield from one


def _writable(target: Path | None) -> None:
    """Verifies with a temporary file that ``target`` is writable; its folder need not exist yet."""
    from levelflow.reproduce.model import ClaimError

    if target is None:
        return
    try:
        if target.exists() and not target.is_file():
            raise ClaimError(f"{target}: cannot be written: not a file")
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        probe = folder / f".{target.name}.part"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ClaimError(f"{target}: cannot be written: {error.strerror}") from None


def _said(error: Exception, out: Path) -> str:
    """Returns the message of an error; for an OSError, with the file that is not writable."""
    return f"{error.filename or out}: cannot be written: {error.strerror}" if isinstance(error, OSError) else str(error)


def _hold(folder: Path) -> None:
    """Locks a folder against other processes until the command ends."""
    from levelflow.files import lock
    from levelflow.reproduce.model import ClaimError

    try:
        click.get_current_context().call_on_close(lock(folder).close)
    except BlockingIOError:
        raise ClaimError(f"{folder}: another process measures into it; --out names another directory") from None
    except OSError as error:
        raise ClaimError(f"{folder}: cannot be written: {error.strerror}") from None


def _save(json: Path | None, figures: list[FigureOutcome]) -> None:
    from levelflow.files import replace
    from levelflow.reproduce import runner

    if json is not None:
        replace(json, json_format.dumps(runner.scorecard(figures), indent=1, allow_nan=False) + "\n")


def _measure(
    measured: Generator[FigureOutcome, None, None], count: int, json: Path | None
) -> tuple[list[FigureOutcome], bool]:
    """Measures the figures, and saves the verdicts after each. The second value is True after an interruption."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    sys.setswitchinterval(SWITCH_S)
    figures: list[FigureOutcome] = []
    _save(json, figures)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    interrupted = False
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("figures", total=count)
        try:
            with closing(measured):  # cancels the current runs after an interruption
                for figure in measured:
                    figures.append(figure)
                    _save(json, figures)
                    progress.update(task, advance=1, description=figure.claim.name)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:  # printed before the report is written, which a second Ctrl-C may prevent
        click.echo(f"levelflow: interrupted; {len(figures)} of {count} figures were measured", err=True)
    return figures, interrupted


def _print(figures: list[FigureOutcome], page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from levelflow.reproduce import report
    from levelflow.reproduce.verdict import FAILED

    console = Console()
    figures = sorted(figures, key=lambda figure: figure.claim.name)
    for figure in figures:
        for outcome in figure.outcomes:
            if outcome.verdict in FAILED:
                console.print(_line(outcome), markup=False, highlight=False, soft_wrap=True)
    tables = report.counted(figures)
    verdicts = report.occurring(tables)
    table = Table(box=None)
    for head in ("checks", *verdicts):
        table.add_column(head, justify="left" if head == "checks" else "right", no_wrap=True)
    for head, counts in tables.items():
        table.add_row(head, style="dim")
        for label, count in counts.items():
            table.add_row(f"  {label}", *(str(count[verdict]) for verdict in verdicts))
    Console(width=max(console.width, WIDTH)).print(table)
    console.print(f"report: {page}", markup=False, highlight=False, soft_wrap=True)


def _print_beside(figures: list[FigureOutcome]) -> None:
    """Prints results of a real network next to those of the simulator at the same scale, in the units of the paper."""
    from rich.console import Console
    from rich.table import Table

    from levelflow.reproduce import wording

    table = Table(box=None)
    for head in ("check", "expected", "network", "", "simulator", ""):
        table.add_column(head, overflow="fold")
    for figure in figures:
        for outcome in figure.outcomes:
            unit = wording.unit_of(outcome)
            row = [
                f"{outcome.entry.id}[{outcome.index}] {outcome.check.metric}",
                wording.expected(outcome.check, unit),
            ]
            for side in (outcome, outcome.beside):
                row += [wording.measured(side, unit)[0], side.verdict] if side else ["", ""]
            table.add_row(*row)
    Console().print(table, markup=False, highlight=False)


def _line(outcome: Outcome) -> str:
    from levelflow.reproduce import wording

    check, unit = outcome.check, wording.unit_of(outcome)
    at = f" ({check.at})" if check.at else ""
    value, seeds = wording.measured(outcome, unit)
    measured = f", measured {'; '.join(filter(None, (value, seeds)))}" if value else ""
    line = f"{outcome.verdict}: {outcome.entry.id}[{outcome.index}] {check.metric}{at}"
    return f"{line} {wording.expected(check, unit)}{measured}" + (f"; {outcome.note}" if outcome.note else "")
