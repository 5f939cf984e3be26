"""The group `levelflow theory`, whose commands are loaded when one of them or their list is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import MutableMapping


class Late(TyperGroup):
    """A group that a help of all groups names without loading it: a dozen modules take a quarter of its time."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """The commands by name."""
        if not self._commands:
            from levelflow.cli.theory.commands import app as loaded

            group = typer.main.get_command(loaded)
            assert isinstance(group, TyperGroup)
            self._commands.update(group.commands)
        return self._commands

    @commands.setter
    def commands(self, commands: MutableMapping[str, Any]) -> None:
        self._commands = commands


app = typer.Typer(
    cls=Late,
    help="Find the equilibrium of flows and whether it is stable, without simulating.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
