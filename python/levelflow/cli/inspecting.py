"""Commands that only print: `schema`, `list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from levelflow.records import LawRecord, ParameterRecord

#: Kinds of `levelflow list`.
KINDS = ("laws", "queues", "buffers", "traffic", "scenarios", "claims", "studies")


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from levelflow import _core

    click.echo(_core.schema())


@click.command("list")
@click.argument("kind", type=Choice(KINDS), metavar="KIND", help=f"What to list: {', '.join(KINDS)}.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(kind: str, as_json: bool) -> None:
    """List laws, queues, buffers, traffic, scenarios, claims or studies."""
    from levelflow import library
    from levelflow.cli.show import show_table

    if as_json:
        import json

        click.echo(json.dumps(_plain(kind), indent=2))
        return
    if kind == "laws":
        for law in library.laws():
            _show_parameters(f"{law['name']}: {law['title']}\n{_facts(law)}", law["params"])
        return
    if kind == "queues":
        queues = library.queues()
        rows = [[queue["name"], queue["title"], queue["source"]] for queue in queues]
        show_table("Queue disciplines of [[link]]", ["queue", "meaning", "source"], rows, numbers=False)
        for queue in queues:
            if queue["params"]:
                _show_parameters(f"Parameters of {queue['name']}", queue["params"])
    if kind == "buffers":
        for way in library.algorithms():
            _show_parameters(f"{way['name']}: {way['title']}\nSource: {way['source']}", way["params"])
        return
    title, head, rows = {
        "queues": library.buffers,
        "traffic": library.traffic,
        "scenarios": library.scenarios,
        "claims": library.claims,
        "studies": library.studies,
    }[kind]()
    show_table(title, head, rows, numbers=False)


def _plain(kind: str) -> Sequence[Mapping[str, object]]:
    """Returns a list as plain data: laws, queues and buffers with parameters, other kinds as in the table."""
    from levelflow import library

    records: dict[str, Callable[[], Sequence[Mapping[str, object]]]] = {
        "laws": library.laws,
        "queues": library.queues,
        "buffers": library.algorithms,
    }
    if kind in records:
        return records[kind]()
    _, head, rows = {
        "traffic": library.traffic,
        "scenarios": library.scenarios,
        "claims": library.claims,
        "studies": library.studies,
    }[kind]()
    return [dict(zip(head, row, strict=True)) for row in rows]


def _facts(law: LawRecord) -> str:
    from levelflow.theory.references import model

    header = f"{law['header_bytes']} bytes" if law["header_bytes"] else "none"
    return (
        f"Source: {law['source']}\n"
        f"Signal: {law['signal']}. Signalling: {law['signalling']}. Header: {header}. "
        f"Operations of a router per packet: {law['cost']}. "
        f"Equilibrium: {model(law['name'])}."
    )


def _show_parameters(title: str, table: list[ParameterRecord]) -> None:
    from levelflow.cli.show import show_table
    from levelflow.library import allowed

    rows = [[row["name"], row["default"], allowed(row), row["doc"]] for row in table]
    head = ["parameter", "default", "allowed", "meaning"]
    if any("routers" in row.get("read_by", "") for row in table):
        head.append("read by")
        rows = [[*row, own["read_by"]] for row, own in zip(rows, table, strict=True)]
    show_table(title, head, rows, numbers=False)
