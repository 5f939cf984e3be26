"""Groups that load a command when it is asked for: `levelflow run` needs no module of the others."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

import click


class Late(UserDict[str, Any]):
    """Commands by name, found by places such as `levelflow.cli.running:run`."""

    def __getitem__(self, name: str) -> Any:
        """Returns a command; loads its module."""
        module, _, command = self.data[name].partition(":")
        return getattr(import_module(module), command)


class LateGroup(click.Group):
    """A group that lists its commands in the order in which they were given."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library gives it
        """Returns the names of the commands."""
        return list(self.commands)
