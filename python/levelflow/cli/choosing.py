"""Arguments and options that several commands have, and which scenario they choose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.scenario import Scenario


def _names(_context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    """Returns the names of scenarios that a shell offers."""
    from levelflow.library import names

    return [name for name in names() if name.startswith(begun)]


class Whole(click.IntRange):
    """A whole number within limits; the library would call it an integer range."""

    name = "integer"


#: Kinds of pictures.
KINDS = ("png", "pdf", "svg")


def _kinds(_context: click.Context, _option: click.Parameter, text: str) -> list[str]:
    """Reads kinds of pictures, such as `pdf,svg`."""
    kinds = [kind.strip() for kind in text.split(",")]
    for kind in kinds:
        if kind not in KINDS:
            raise click.BadParameter(f"{kind!r} is not one of {', '.join(KINDS)}")
    return kinds


#: A file or a directory, which a command looks at itself.
PATH = click.Path(readable=False, path_type=Path)

scenario_argument = click.argument(
    "scenario", help="A scenario file, or a name that `levelflow list scenarios` shows.", shell_complete=_names
)
set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    help='Change a value, as in flow.x1.start="3 s" or flow.*.law=rcp.',
)
width_option = click.option(
    "--width",
    type=click.Choice(["screen", "column", "page"]),
    default="screen",
    help="For a screen, or for a column (3.4 in) or a page (7 in) of a paper.",
)
format_option = click.option(
    "--format",
    "kinds",
    metavar="KINDS",
    default="png",
    callback=_kinds,
    help="Kinds of pictures: png, pdf, svg, or several, as in pdf,svg.",
)
workers_option = click.option("--workers", type=Whole(1), help="Runs side by side; one per processor.")


def choose(name: str, changes: Sequence[str], seed: int | None = None) -> Scenario:
    """Returns the scenario of that name or file, with these changes.

    Raises:
        ScenarioError: if there is none, or a change is not allowed.
    """
    from levelflow import Scenario

    chosen = Scenario.load(name)
    for path, value in read_changes(changes):
        chosen.set(path, value)
    return chosen if seed is None else chosen.set("seed", seed)


def read_changes(changes: Sequence[str]) -> list[tuple[str, Any]]:
    """Returns paths and values.

    Raises:
        ScenarioError: if a change has no value.
    """
    from levelflow import ScenarioError
    from levelflow.scenario import value_of

    read = []
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise ScenarioError(f"--set {change}: needs PATH=VALUE, as in --set duration='10 s'")
        read.append((path.strip(), value_of(text.strip())))
    return read
