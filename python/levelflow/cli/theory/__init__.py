"""The group `levelflow theory`: one file per command, which imports what it needs when it runs."""

from __future__ import annotations

import click

from levelflow.cli.late import Late, LateGroup

COMMANDS = (
    "check",
    "maxmin",
    "num",
    "bottlenecks",
    "fluid",
    "stability",
    "region",
    "nyquist",
    "phase",
    "laws",
    "norms",
)


@click.group(cls=LateGroup, commands=Late({name: f"{__name__}.{name}:{name}" for name in COMMANDS}))
def theory() -> None:
    """Find the equilibrium of flows and whether it is stable, without simulating."""
