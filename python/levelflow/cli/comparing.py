"""The command `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli import drawing
from levelflow.cli.choosing import PATH, width_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument(
    "results",
    type=PATH,
    nargs=-1,
    required=True,
    metavar="RESULT...",
    help="Result directories of `levelflow run` or `levelflow-net testbed`.",
)
@click.option("--out", type=PATH, help="Picture to write [default: compare.png in the last directory].")
@width_option
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON and nothing else.")
def compare(results: tuple[Path, ...], out: Path | None, width: str, as_json: bool) -> None:
    """Compare results, for example of a simulation and a real network, or of laws, seeds or parameter values."""
    if len(results) < 2:
        raise click.BadParameter("needs at least two result directories", param_hint="RESULT")
    drawing.load()
    from levelflow import Result, ScenarioError
    from levelflow.report import compare as comparing
    from levelflow.report.plots import save
    from levelflow.report.warned import tally

    try:
        loaded = [Result.load(path) for path in results]
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    both = comparing.beside(loaded)
    target = out or results[-1] / "compare.png"
    try:
        save(comparing.picture(both, width), target)
    except OSError as error:
        raise ScenarioError(f"--out {target}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise ScenarioError(f"--out {target}: {error}") from None
    if as_json:
        import json

        click.echo(json.dumps(comparing.data(both), indent=2, sort_keys=True))
        return
    from levelflow.cli.show import show_table

    show_table("Flows: in the steady window of each run", *comparing.flow_table(both))
    show_table("Links: over each whole run", *comparing.link_table(both))
    if transfers := comparing.transfer_table(both):
        show_table("Transfers: completion times of those that finished", *transfers)
    if sizes := comparing.size_table(both):
        show_table("Transfers by size", *sizes)
    show_table(f"Whole runs; fairness: {comparing.fairness(both)}", *comparing.totals_table(both))
    for line in tally(result.summary.get("warnings", []) for result in loaded):
        click.echo(f"levelflow: warning: {line}", err=True)
    click.echo(str(target))
