"""The command `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A result directory, such as one of `levelflow run`.")],
    second: Annotated[Path, typer.Argument(help="Another, such as one of `levelflow-net testbed`.")],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write [default: compare.png in the second directory].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON and nothing else.")] = False,
) -> None:
    """Put two results of the same flows beside each other, such as a simulation and a real network."""
    from levelflow import Result, ScenarioError
    from levelflow.report import compare as comparing
    from levelflow.report.plots import save

    try:
        results = [Result.load(path) for path in (first, second)]
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    both = comparing.pair(*results)
    target = out or second / "compare.png"
    try:
        save(comparing.picture(both), target)
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
    show_table("All together", *comparing.totals_table(both))
    typer.echo(str(target))
