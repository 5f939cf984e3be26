"""The command `replay`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import PATH

if TYPE_CHECKING:
    from pathlib import Path

    from levelflow.records import Replay


@click.command()
@click.argument("log", type=PATH, help="A log that `levelflow-net --journal` wrote.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def replay(log: Path, as_json: bool) -> None:
    """Replay a law's inputs from a real network in the simulator's law, and compare headers and states bit by bit.

    If there is a difference, prints the first record that differs, with both values, and exits with status 1.
    """
    import json

    from levelflow import ScenarioError, _core

    try:
        logged = log.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{log}: {error.strerror}; allowed: a file that `levelflow-net --journal` wrote") from None
    try:
        text = _core.replay(logged)
    except ValueError as error:
        raise ScenarioError(f"{log}: {error}") from None
    done: Replay = json.loads(text)
    if as_json:
        click.echo(json.dumps(done, indent=2))
    else:
        _show(done)
    if done["difference"]:
        sys.exit(1)


def _show(done: Replay) -> None:
    from levelflow.cli.show import show_table

    laws = {(one["law"], tuple(one["params"].items())) for one in done["instances"]}
    for law, params in sorted(pair for pair in laws if pair[1]):
        click.echo(f"{law}: " + ", ".join(f"{name} {value}" for name, value in params) + "\n")
    head = ["instance", "law", "start", "calls", "s", "headers alike", "states alike", "state at the end"]
    rows = [
        [
            f"{one['instance']} {one['role']}",
            one["law"],
            one["start"],
            str(one["calls"]),
            f"{one['span_s']:.6g}",
            str(one["headers"]),
            str(one["states"]),
            one["state"],
        ]
        for one in done["instances"]
    ]
    show_table(f"{done['records']} records", head, rows, numbers=False)
    if done["truncated_at"] is not None:
        click.echo(f"The log ends within a record, at byte {done['truncated_at']}: the records before it are complete.")
    differs = done["difference"]
    if differs is None:
        click.echo("Every header and every state is as logged." if rows else "The log is empty.")
        return
    click.echo(
        f"Record {differs['record']}, instance {differs['instance']}: different {differs['what']}.\n"
        f"  logged:   {differs['logged']}\n"
        f"  replayed: {differs['replayed']}"
    )
