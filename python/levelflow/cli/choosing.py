"""Arguments and options that several commands share, and the choice of scenarios."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.scenario import Scenario


def _names(_context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    """Returns the names of scenarios for completion in a shell."""
    from levelflow.library import names

    return [name for name in names() if name.startswith(begun)]


class Choice(click.Choice[str]):
    """Choice among words. The error message contains the nearest allowed word."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Returns the error message with the allowed words and the nearest word."""
        close = difflib.get_close_matches(str(value), list(self.choices), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return super().get_invalid_choice_message(value, ctx).rstrip(".") + hint


class Whole(click.IntRange):
    """Whole number within limits; Click would call it an integer range."""

    name = "integer"


#: File formats of pictures.
KINDS = ("png", "pdf", "svg")


def _kinds(_context: click.Context, _option: click.Parameter, text: str) -> list[str]:
    """Parses a list of file formats, such as `pdf,svg`."""
    kinds = [kind.strip() for kind in text.split(",")]
    for kind in kinds:
        if kind not in KINDS:
            raise click.BadParameter(f"{kind!r} is not one of {', '.join(KINDS)}")
    return kinds


#: Limit on the number of printed mistakes or warnings.
MAX_LINES = 20

#: File or directory, which the command validates itself.
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
law_file_option = click.option(
    "--law-file",
    "law_files",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Python file with laws of your own, which flows name; may be repeated.",
)
width_option = click.option(
    "--width",
    type=Choice(["screen", "column", "page"]),
    default="screen",
    help="For a screen, or for a column (3.4 in) or a page (7 in) of a paper.",
)
format_option = click.option(
    "--format",
    "kinds",
    metavar="KINDS",
    default="png",
    callback=_kinds,
    help="File formats of pictures: png, pdf, svg, or several, as in pdf,svg.",
)
workers_option = click.option("--workers", type=Whole(1), help="Parallel runs [default: one per processor].")


def shortened(lines: Sequence[str], kind: str) -> list[str]:
    """Returns the first `MAX_LINES` lines, and a line with the number of the others."""
    more = len(lines) - MAX_LINES
    return [*lines[:MAX_LINES], f"and {more} more {kind}"] if more > 0 else [*lines]


def choose(name: str, changes: Sequence[str], seed: int | None = None, law_files: Sequence[Path] = ()) -> Scenario:
    """Returns the scenario with this name or path, after adding law files and applying the changes.

    Raises:
        ScenarioError: If the scenario does not exist, or a change is not allowed.
    """
    from levelflow import Scenario

    chosen = Scenario.load(name)
    for file in law_files:
        chosen.law_file(file)
    for path, value in read_changes(changes):
        chosen.set(path, value)
    return chosen if seed is None else chosen.set("seed", seed)


def read_changes(changes: Sequence[str]) -> list[tuple[str, Any]]:
    """Parses `PATH=VALUE` and returns pairs of path and value.

    Raises:
        ScenarioError: If a change has no value.
    """
    from levelflow import ScenarioError
    from levelflow.words import value_of

    read = []
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            shell = "; if the shell took > as a redirection, quote it, as in --set 'link.R1->R2.delay=1 ms', "
            hint = f"{shell}or write link.R1:R2" if change.endswith("-") else ""
            raise ScenarioError(f"--set {change}: needs PATH=VALUE, as in --set duration='10 s'{hint}")
        read.append((path.strip(), value_of(text.strip())))
    return read
