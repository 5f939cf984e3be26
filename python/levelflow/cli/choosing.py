"""Which scenario a command is about, and what its pictures are for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from levelflow.scenario import Scenario


def _names(begun: str) -> list[str]:
    """Returns the names of scenarios that a shell offers."""
    from levelflow.library import names

    return [name for name in names() if name.startswith(begun)]


ScenarioName = Annotated[
    str,
    typer.Argument(
        help="A scenario file, or a name that `levelflow list scenarios` shows.",
        show_default=False,
        autocompletion=_names,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help='Change a value, as in flow.x1.start="3 s" or flow.*.law=rcp.'),
]


class Width(StrEnum):
    """What a picture is drawn for."""

    SCREEN = "screen"
    COLUMN = "column"
    PAGE = "page"


def choose(name: str, changes: list[str] | None, seed: int | None = None) -> Scenario:
    """Returns the scenario of that name or file, with these changes.

    Raises:
        ScenarioError: if there is none, or a change is not allowed.
    """
    from levelflow import Scenario

    chosen = Scenario.load(name)
    for path, value in read_changes(changes):
        chosen.set(path, value)
    return chosen if seed is None else chosen.set("seed", seed)


def read_changes(changes: list[str] | None) -> list[tuple[str, Any]]:
    """Returns paths and values.

    Raises:
        ScenarioError: if a change has no value.
    """
    from levelflow import ScenarioError
    from levelflow.scenario import value_of

    read = []
    for change in changes or []:
        path, equals, text = change.partition("=")
        if not equals:
            raise ScenarioError(f"--set {change}: needs PATH=VALUE, as in --set duration='10 s'")
        read.append((path.strip(), value_of(text.strip())))
    return read
