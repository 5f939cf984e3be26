"""Command groups that import a command on first use: `levelflow run` imports no module of other commands."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

import click


class Late(UserDict[str, Any]):
    """Commands by name, imported from locations such as `levelflow.cli.running:run`."""

    def __getitem__(self, name: str) -> Any:
        """Imports the module of a command and returns the command."""
        module, _, command = self.data[name].partition(":")
        return getattr(import_module(module), command)


class LateGroup(click.Group):
    """Group that lists its commands in the given order."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns a command; option values are named as in the reference: `--out OUT`, not `--out PATH`."""
        command = super().get_command(ctx, cmd_name)
        nested = command.commands.values() if type(command) is click.Group else ()
        for one in (command, *nested) if command else ():
            for option in one.params:
                named = option.metavar or isinstance(option.type, click.Choice)
                if isinstance(option, click.Option) and not option.is_flag and not named and option.name:
                    option.metavar = option.name.upper()
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click passes it
        """Returns the names of the commands."""
        return list(self.commands)
