"""The command `levelflow`: one function per command; what they need is imported when they run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from levelflow.cli.inspecting import app as inspecting
from levelflow.cli.running import app as running
from levelflow.cli.theory import app as theory

BAD_INPUT = 2

app = typer.Typer(
    help="Explicit-rate congestion control that you can prove, simulate and deploy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts three times as fast
)
app.add_typer(running)
app.add_typer(inspecting)
app.add_typer(theory, name="theory")


def _version(wanted: bool) -> None:
    if wanted:
        from levelflow import _core

        typer.echo(_core.build())
        raise typer.Exit


@app.callback()
def levelflow(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print version and build.")
    ] = False,
) -> None:
    """Explicit-rate congestion control that you can prove, simulate and deploy."""


def main() -> None:
    """Runs the command line; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except ValueError as error:
        from levelflow import ScenarioError
        from levelflow.theory.errors import TheoryError

        if not isinstance(error, ScenarioError | TheoryError):
            raise
        print(f"levelflow: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
