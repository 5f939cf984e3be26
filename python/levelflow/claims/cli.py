"""The command ``levelflow reproduce``."""

from __future__ import annotations

import json as json_format
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from levelflow import _core
from levelflow.claims import model, report, runner
from levelflow.claims.model import Claim, ClaimError

if TYPE_CHECKING:
    from levelflow.claims.runner import FigureOutcome, Outcome
    from levelflow.claims.verdict import Verdict

BAD_INPUT = 2
INTERRUPTED = 130


def reproduce(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims or figures; all if none.")] = None,
    paper: Annotated[str | None, typer.Option(help="Only the figures of this paper.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every figure; the default.")] = False,
    full: Annotated[bool, typer.Option(help="Run the printed durations rather than the quick tier.")] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the verdicts to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Directory of the report.")] = Path("results/claims"),
    workers: Annotated[int | None, typer.Option(min=1, help="Runs side by side; one per processor.")] = None,
) -> None:
    """Measures what the papers claim and says what was reproduced."""
    try:
        if all_ and (ids or paper):
            raise ClaimError("--all cannot be combined with ids or --paper")
        claims = model.select(model.discover(papers_folder()), ids or [], paper)
        for target in (json, out / "report.html"):
            _writable(target)
    except ClaimError as error:
        typer.echo(f"levelflow: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    figures, interrupted = _measure(claims, json, full=full, workers=workers)
    page = out / "report.html"
    report.write(page, figures, _core.build())
    _print(figures, page)
    if interrupted:
        typer.echo(f"levelflow: interrupted; {len(figures)} of {len(claims)} figures were measured", err=True)
        raise typer.Exit(INTERRUPTED)
    failed = any(o.verdict in ("not reproduced", "error") for figure in figures for o in figure.outcomes)
    raise typer.Exit(1 if failed else 0)


def papers_folder() -> Path:
    """The folder ``papers/`` of the checkout that this package is part of, or of the working directory.

    Raises:
        ClaimError: when there is none.
    """
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / "papers").is_dir():
            return root / "papers"
    raise ClaimError("no folder papers/ here; run this in a checkout of Levelflow")


def _writable(target: Path | None) -> None:
    """Makes sure, by a file beside it, that ``target`` can be written; its folder need not exist yet."""
    if target is None:
        return
    try:
        if target.exists() and not target.is_file():
            raise ClaimError(f"{target}: cannot be written: not a file")
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        probe = report.part(folder / target.name)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ClaimError(f"{target}: cannot be written: {error.strerror}") from None


def _save(json: Path | None, figures: list[FigureOutcome]) -> None:
    if json is not None:
        report.replace(json, json_format.dumps(runner.scorecard(figures), indent=1, allow_nan=False) + "\n")


def _measure(
    claims: list[Claim], json: Path | None, *, full: bool, workers: int | None
) -> tuple[list[FigureOutcome], bool]:
    """Measures the figures, saving the verdicts after each; the second value says whether it was interrupted."""
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("figures", total=len(claims))
        try:
            for figure in runner.measure_all(claims, full=full, workers=workers):
                figures.append(figure)
                _save(json, figures)
                progress.update(task, advance=1, description=figure.claim.name)
        except KeyboardInterrupt:
            return figures, True
    return figures, False


def _print(figures: list[FigureOutcome], page: Path) -> None:
    console = Console()
    by_paper: dict[str, Counter[Verdict]] = {}
    for figure in sorted(figures, key=lambda figure: figure.claim.name):
        by_paper.setdefault(figure.claim.paper, Counter()).update(o.verdict for o in figure.outcomes)
        for outcome in figure.outcomes:
            if outcome.verdict in ("not reproduced", "error"):
                console.print(_line(outcome), markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None)
    table.add_column("paper")
    for verdict in report.VERDICTS:
        table.add_column(verdict, justify="right")
    for paper, count in by_paper.items():
        table.add_row(paper, *(str(count[verdict]) for verdict in report.VERDICTS))
    console.print(table)
    console.print(f"report: {page}", markup=False, highlight=False, soft_wrap=True)


def _line(outcome: Outcome) -> str:
    check = outcome.check
    at = f" ({check.at})" if check.at else ""
    measured = "" if outcome.measured is None else f", measured {outcome.measured}"
    line = f"{outcome.verdict}: {outcome.entry.id}[{outcome.index}] {check.metric}{at}"
    return f"{line} {report.expected(check)}{measured}" + (f"; {outcome.note}" if outcome.note else "")
