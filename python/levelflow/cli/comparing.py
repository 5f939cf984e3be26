"""The command `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelflow.cli import drawing
from levelflow.cli.choosing import Width

app = typer.Typer()


@app.command()
def compare(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Result directories of `levelflow run` or `levelflow-net testbed`."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write [default: compare.png in the last directory].")
    ] = None,
    width: Annotated[
        Width, typer.Option(help="For a screen, or for a column (3.4 in) or a page (7 in) of a paper.")
    ] = Width.SCREEN,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON and nothing else.")] = False,
) -> None:
    """Put results beside each other: a simulation and a real network, laws, seeds, values of a parameter."""
    if len(results) < 2:
        raise typer.BadParameter("needs at least two result directories", param_hint="RESULT")
    drawing.load()
    from levelflow import Result, ScenarioError
    from levelflow.report import compare as comparing
    from levelflow.report.plots import save

    try:
        loaded = [Result.load(path) for path in results]
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    both = comparing.beside(loaded)
    target = out or results[-1] / "compare.png"
    try:
        save(comparing.picture(both, width.value), target)
    except OSError as error:
        raise ScenarioError(f"--out {target}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise ScenarioError(f"--out {target}: {error}") from None
    if as_json:
        import json

        typer.echo(json.dumps(comparing.data(both), indent=2, sort_keys=True))
        return
    from levelflow.cli.show import show_table

    show_table("Flows: in the steady window of each", *comparing.flow_table(both))
    show_table("Links: over the whole of each run", *comparing.link_table(both))
    show_table(f"All together; fairness: {comparing.fairness(both)}", *comparing.totals_table(both))
    typer.echo(str(target))
