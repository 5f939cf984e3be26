"""Writes `docs/reference/*.md` from what the program says about itself: `python -m levelflow.reference`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from levelflow import _core
from levelflow.library import CHECKOUT, allowed, laws, queues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = CHECKOUT / "docs" / "reference"
ORIGIN = "<!-- Written by `make gen`; edit what it describes, not this file. -->"

KINDS = {
    "Duration": "time",
    "Rate": "rate",
    "Bytes": "bytes",
    "Size": "size",
    "BufferSize": "buffer",
    "Frequency": "frequency",
    "Count": "whole number",
    "LawChoice": "law",
    "LawTables": "table by law",
    "QueueChoice": "queue",
    "Varying": "time or distribution",
    "Varying2": "size or distribution",
    "Varying3": "whole number or distribution",
}
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
TABLES = (
    ("[[link]]", "Link"),
    ("reverse", "Reverse"),
    ("[[route]]", "NextHop"),
    ("[[flow]]", "Flow"),
    ("arrivals", "Arrivals"),
    ("ack_delay", "AckDelay"),
)
QUANTITIES = ("Duration", "Rate", "Bytes", "Frequency")


def pages() -> dict[str, str]:
    """Returns the text of every generated page by its file name."""
    made = {"scenario.md": _scenario(), "laws.md": _laws(), "queues.md": _queues(), "cli.md": _commands()}
    return {name: f"{ORIGIN}\n" + "\n".join(lines) + "\n" for name, lines in made.items()}


def main() -> None:
    """Writes the pages and prints their paths."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{FOLDER / name}\n")


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"


def _scenario() -> Iterator[str]:
    schema = json.loads(_core.schema())
    kinds = schema["$defs"]
    yield "# Scenario files"
    yield "Every key, from `levelflow schema`. The [guide](../guides/scenarios.md) shows them by example.\n"
    yield from _keys("Top level", schema)
    for title, name in TABLES:
        yield from _keys(f"`{title}`", kinds[name])
    yield "\n## Values"
    yield "A quantity is a text: a number and its unit. `law` is `levelflow list protocols`; see [laws](laws.md).\n"
    rows = [
        [KINDS[name], " ".join(_units(kinds[name]["pattern"])), f'`"{kinds[name]["examples"][0]}"`']
        for name in QUANTITIES
    ]
    rows += [
        [KINDS[name], "", kinds[name]["description"].removeprefix("needs a size with its unit, e.g. ")]
        for name in ("Size", "BufferSize")
    ]
    yield from _table(["value", "units", "for example"], rows)
    yield "\n## Distributions"
    yield "Where a distribution is allowed, a plain value means always the same. Times, sizes and whole numbers have"
    yield "the same distributions; this is how they are written for times.\n"
    yield from _table(["key", "value", "meaning"], _alternatives(kinds["Random"]))


def _units(pattern: str) -> list[str]:
    """Returns the units that a quantity's pattern ends with.

    >>> _units(r"^[0-9]+ *(ms|s)$")
    ['`ms`', '`s`']
    """
    return [f"`{unit}`" for unit in pattern[pattern.rindex("(") + 1 : -2].split("|")]


def _keys(title: str, table: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {title}"
    if "oneOf" in table:
        yield f"{table['description']} One of these:\n"
        yield from _table(["key", "value", "meaning"], _alternatives(table))
        return
    if title != "Top level":
        yield f"{table['description']}\n"
    required = table.get("required", [])
    rows = [
        [f"`{key}`", _kind(value), "required" if key in required else _default(value), value["description"]]
        for key, value in sorted(table["properties"].items(), key=lambda item: item[0] not in required)
    ]
    yield from _table(["key", "value", "default", "meaning"], rows)


def _alternatives(table: dict[str, Any]) -> list[list[str]]:
    return [
        [f"`{key}`", _kind(value), choice["description"]]
        for choice in table["oneOf"]
        for key, value in choice["properties"].items()
    ]


def _default(value: dict[str, Any]) -> str:
    return f"`{json.dumps(value['default'])}`" if value.get("default") not in (None, []) else ""


def _kind(value: dict[str, Any]) -> str:
    """Says in a few words what kind of value a part of the schema takes."""
    if "$ref" in value:
        return KINDS.get(value["$ref"].rpartition("/")[2], "table")
    if "anyOf" in value:
        return _kind(value["anyOf"][0])
    if "properties" in value:
        return "{ " + ", ".join(f"{key} = {_kind(inner)}" for key, inner in value["properties"].items()) + " }"
    kind = value["type"][0] if isinstance(value["type"], list) else value["type"]
    if kind != "array":
        return PLAIN[kind]
    if "prefixItems" in value:
        return "[" + ", ".join(_kind(inner) for inner in value["prefixItems"]) + "]"
    inner = _kind(value["items"])
    return f"[{inner}, {inner}]" if value.get("maxItems") == 2 else f"[{inner}, ...]"


def _laws() -> Iterator[str]:
    yield "# Laws"
    yield "Every law with its parameters, as `levelflow list protocols` shows them; see also"
    yield "[what they do](../concepts/laws.md)."
    yield "Parameters go into a scenario under `[law.NAME]`, or beside a link's or a flow's `law`."
    for law in laws():
        scale = "yes" if law["scale_invariant"] else "no"
        yield f"\n## `{law['name']}`"
        yield f"{law['title']}. Source: {law['source']}.\n"
        yield f"Signal: {law['signal']}. Header: {law['header_bytes']} bytes. Scale-invariant: {scale}.\n"
        yield from _parameters(law["params"])


def _queues() -> Iterator[str]:
    yield "# Queue disciplines"
    yield "Every discipline with its parameters, as `levelflow list queues` shows them; see also"
    yield "[what they do](../concepts/queues.md)."
    yield 'A link names its own: `queue = "red"`, or with parameters `queue = { red = { max_p = 0.02 } }`.'
    for queue in queues():
        yield f"\n## `{queue['name']}`"
        yield f"{queue['title']}. Source: {queue['source']}.\n"
        if queue["params"]:
            yield f"Its signal in results: {queue['signal']}.\n"
            yield from _parameters(queue["params"])


def _parameters(table: list[dict[str, Any]]) -> Iterator[str]:
    rows = [[f"`{row['name']}`", f"`{row['default']}`", allowed(row), row["doc"], row["source"]] for row in table]
    yield from _table(["parameter", "default", "allowed", "meaning", "source of the default"], rows)


def _commands() -> Iterator[str]:
    from levelflow.claims.cli import reproduce
    from levelflow.cli import app

    claims = typer.Typer(add_completion=False)
    claims.command()(reproduce)
    group: Any = typer.main.get_command(app)
    yield "# Command line"
    yield "Exit status: 0 done; 1 the work ran and a claim was not reproduced; 2 bad input, told in one line."
    for name, command in group.commands.items():
        described: Any = typer.main.get_command(claims) if name == "reproduce" else command
        arguments = [_metavar(p) for p in described.params if p.param_type_name == "argument"]
        yield f"\n## `{' '.join(['levelflow', name, *arguments])}`"
        yield f"{described.help.strip()}\n"
        rows = [[_spelling(p), p.help or "", _set(p)] for p in described.params]
        if rows:
            yield from _table(["", "meaning", "default"], rows)


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    value = "" if parameter.is_flag else f" {_metavar(parameter)}"
    return f"`{parameter.opts[0]}{value}`"


def _set(parameter: Any) -> str:
    default = parameter.default
    return f"`{default}`" if isinstance(default, str | int | Path) and not isinstance(default, bool) else ""


if __name__ == "__main__":
    main()
