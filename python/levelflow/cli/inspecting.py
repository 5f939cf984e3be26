"""Commands that only tell: `schema`, `list`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer()


class Kind(StrEnum):
    """What `levelflow list` can list."""

    PROTOCOLS = "protocols"
    QUEUES = "queues"
    TRAFFIC = "traffic"
    SCENARIOS = "scenarios"
    CLAIMS = "claims"


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from levelflow import _core

    typer.echo(_core.schema())


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help=f"What to list: {', '.join(Kind)}.")]) -> None:
    """List what there is to choose from."""
    from levelflow import library
    from levelflow.cli.show import show_table

    if kind is Kind.PROTOCOLS:
        for law in library.laws():
            title = f"{law['name']}: {law['title']} ({law['source']}), {law['header_bytes']}-byte header"
            rows = [[row["name"], row["default"], library.allowed(row), row["doc"]] for row in law["params"]]
            show_table(title, ["parameter", "default", "allowed", "meaning"], rows, numbers=False)
        return
    title, head, rows = {
        Kind.QUEUES: library.queues,
        Kind.TRAFFIC: library.traffic,
        Kind.SCENARIOS: library.scenarios,
        Kind.CLAIMS: library.claims,
    }[kind]()
    show_table(title, head, rows, numbers=False)
