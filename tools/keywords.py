"""Types of the keywords of `Scenario.link`, `Scenario.flow` and others, from the schema, for `tools.reference`."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from levelflow import _core
from levelflow.library import laws, queues
from tools import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = CHECKOUT / "python" / "levelflow" / "keywords.py"
OPENING = '''\
"""Keywords of scenarios and what they take, from `levelflow schema`. Written by `make gen`; edit that, not this file.

A law, a queue or a buffer is its name, or `{name: {parameter: value}}`.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict

Whole = int | SupportsIndex
Number = float | SupportsFloat
Table = dict[str, Any]
'''
#: Classes, their tables in the schema, and the keys that are separate arguments of the function.
TABLES = (
    ("ReverseKeys", "Reverse", ()),
    ("AckDelayKeys", "AckDelay", ()),
    ("SessionKeys", "Session", ()),
    ("LinkKeys", "Link", ("from", "to", "capacity", "delay")),
    ("FlowKeys", "Flow", ("name", "law", "from", "to")),
    ("ScenarioKeys", "", ("name", "duration")),
)
NAMES = {"LawChoice": 'Law | Literal["none"] | Table', "QueueChoice": "Queue | Table"}
NAMES |= {table: name for name, table, _ in TABLES}
PLAIN = {"string": "str", "integer": "Whole", "number": "Number", "boolean": "bool", "object": "Table"}


def text() -> str:
    """Returns the text of the generated module."""
    schema = json.loads(_core.schema())
    lines = [OPENING]
    for name, known in (("Law", laws()), ("Queue", queues())):
        lines += [f"{name} = Literal[", *(f'    "{entry["name"]}",' for entry in known), "]"]
    for name, kind, positional in TABLES:
        lines += ["", "", *_class(name, schema["$defs"].get(kind, schema), positional, schema["$defs"])]
    return "\n".join(lines) + "\n"


def _class(name: str, table: dict[str, Any], positional: tuple[str, ...], kinds: dict[str, Any]) -> Iterator[str]:
    yield f"class {name}(TypedDict, total=False):"
    yield f'    """{table["description"].split(": ")[0].rstrip(".")}."""\n'
    for key, value in table["properties"].items():
        if key not in positional:
            yield f"    {key}: {' | '.join(dict.fromkeys(_types(value, kinds)))}"
            yield textwrap.indent(textwrap.fill(f'"""{value["description"]}"""', 112), "    ")


def _types(value: dict[str, Any], kinds: dict[str, Any]) -> Iterator[str]:
    """Yields the types that a part of the schema allows. A missing key means null."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        if name in NAMES:
            yield NAMES[name]
        else:
            yield from _types(kinds[name], kinds)
    elif choices := value.get("anyOf", value.get("oneOf")):
        for choice in choices:
            yield from _types(choice, kinds)
    elif "const" in value:
        yield f'Literal["{value["const"]}"]'
    elif "items" in value:
        yield f"list[{' | '.join(dict.fromkeys(_types(value['items'], kinds)))}]"
    elif "type" in value:
        named = [value["type"]] if isinstance(value["type"], str) else value["type"]
        yield from (PLAIN[kind] for kind in named if kind != "null")
    else:
        yield "Table"
