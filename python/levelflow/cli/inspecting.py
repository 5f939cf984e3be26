"""Commands that only tell: `schema`, `list`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

app = typer.Typer()


class Kind(StrEnum):
    """What `levelflow list` can list."""

    LAWS = "laws"
    QUEUES = "queues"
    BUFFERS = "buffers"
    TRAFFIC = "traffic"
    SCENARIOS = "scenarios"
    CLAIMS = "claims"
    STUDIES = "studies"


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from levelflow import _core

    typer.echo(_core.schema())


@app.command("list")
def list_(
    kind: Annotated[Kind, typer.Argument(help=f"What to list: {', '.join(Kind)}.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List what there is to choose from."""
    from levelflow import library
    from levelflow.cli.show import show_table

    if as_json:
        import json

        typer.echo(json.dumps(_plain(kind), indent=2))
        return
    if kind is Kind.LAWS:
        for law in library.laws():
            _show_parameters(f"{law['name']}: {law['title']}\n{_facts(law)}", law["params"])
        return
    if kind is Kind.QUEUES:
        queues = library.queues()
        rows = [[queue["name"], queue["title"], queue["source"]] for queue in queues]
        show_table("Queue disciplines of [[link]]", ["queue", "meaning", "source"], rows, numbers=False)
        for queue in queues:
            if queue["params"]:
                _show_parameters(f"Parameters of {queue['name']}", queue["params"])
    if kind is Kind.BUFFERS:
        for way in library.algorithms():
            _show_parameters(f"{way['name']}: {way['title']}\nSource: {way['source']}", way["params"])
        return
    title, head, rows = {
        Kind.QUEUES: library.buffers,
        Kind.TRAFFIC: library.traffic,
        Kind.SCENARIOS: library.scenarios,
        Kind.CLAIMS: library.claims,
        Kind.STUDIES: library.studies,
    }[kind]()
    show_table(title, head, rows, numbers=False)


def _plain(kind: Kind) -> list[dict[str, Any]]:
    """Returns a list as plain data: laws, queues and buffers with their parameters, the rest as in the table."""
    from levelflow import library

    if kind in {Kind.LAWS, Kind.QUEUES, Kind.BUFFERS}:
        return {Kind.LAWS: library.laws, Kind.QUEUES: library.queues, Kind.BUFFERS: library.algorithms}[kind]()
    _, head, rows = {
        Kind.TRAFFIC: library.traffic,
        Kind.SCENARIOS: library.scenarios,
        Kind.CLAIMS: library.claims,
        Kind.STUDIES: library.studies,
    }[kind]()
    return [dict(zip(head, row, strict=True)) for row in rows]


def _facts(law: dict[str, Any]) -> str:
    from levelflow.theory.references import model

    header = f"{law['header_bytes']} bytes" if law["header_bytes"] else "none"
    return (
        f"Source: {law['source']}\n"
        f"Signal: {law['signal']}. Header: {header}. A router's work per packet: {law['cost']}. "
        f"Equilibrium: {model(law['name'])}."
    )


def _show_parameters(title: str, table: list[dict[str, Any]]) -> None:
    from levelflow.cli.show import show_table
    from levelflow.library import allowed

    rows = [[row["name"], row["default"], allowed(row), row["doc"]] for row in table]
    show_table(title, ["parameter", "default", "allowed", "meaning"], rows, numbers=False)
