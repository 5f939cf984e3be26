"""Commands that simulate: `run`, `reproduce`, `bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from levelflow.results import Result
    from levelflow.scenario import Scenario

app = typer.Typer()


@app.command()
def run(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or a name that `levelflow list scenarios` shows.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help='Change a value, as in flow.x1.start="3 s".'),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    out: Annotated[Path | None, typer.Option(help="Result directory [default: results/NAME-seedSEED].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Write no pictures.")] = False,
) -> None:
    """Simulate a scenario; print and draw what came out."""
    from levelflow.running import Interrupted

    chosen = _changed(scenario, changes or [], seed)
    resolved = chosen.resolve()
    target = out or Path("results") / f"{resolved['name']}-seed{resolved['seed']}"
    try:
        result = chosen.run(out=target, progress=True)
    except Interrupted as stopped:
        typer.echo(f"levelflow: {stopped}; {target} is complete up to then", err=True)
        raise typer.Exit(128 + stopped.signal) from None
    pictures = [] if no_plots else _draw(result)
    if as_json:
        import json

        typer.echo(json.dumps(result.summary, indent=2, sort_keys=True))
        return
    from levelflow.cli.show import show_result

    show_result(result, pictures)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def reproduce(context: typer.Context) -> None:
    """Check the numbers that the papers print."""
    from levelflow.claims.cli import reproduce as command

    claims = typer.Typer(add_completion=False, rich_markup_mode=None)
    claims.command()(command)
    claims(args=context.args, prog_name="levelflow reproduce")


@app.command()
def bench() -> None:
    """Measure the speed and size of the engine."""
    from levelflow.bench import main

    main()


def _changed(name: str, changes: list[str], seed: int | None) -> Scenario:
    from levelflow import Scenario, ScenarioError
    from levelflow.library import find
    from levelflow.scenario import value_of

    chosen = Scenario.load(find(name))
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise ScenarioError(f"--set {change}: needs PATH=VALUE, as in --set duration='10 s'")
        chosen.set(path.strip(), value_of(text.strip()))
    return chosen if seed is None else chosen.set("seed", seed)


def _draw(result: Result) -> list[Path]:
    from levelflow import plots

    return plots.write(result)
