"""Types of the records that the engine returns as JSON, from their schemas; part of `reference.py`."""

from __future__ import annotations

import json
import keyword
import textwrap
from typing import TYPE_CHECKING, Any

from levelflow import _core
from tools import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = CHECKOUT / "python" / "levelflow" / "records.py"
OPENING = '''\
"""Records that the engine returns, from its schemas. Written by `make gen`; edit `crates/*/src`, not this file.

`Scenario.resolve` returns a `ScenarioRecord`, the lists of `levelflow.library` consist of `LawRecord` and others.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def text() -> str:
    """Returns the text of the generated module."""
    kinds = json.loads(_core.records())
    lines = [OPENING]
    for name, kind in kinds.items():
        if "properties" in kind:
            lines += ["", *_class(name, kind, kinds), ""]
    return "\n".join(lines)


def _class(name: str, record: dict[str, Any], kinds: dict[str, Any]) -> Iterator[str]:
    fields = {key: (_type(value, kinds), value) for key, value in record["properties"].items()}
    reserved = {key: kind for key, (kind, _) in fields.items() if keyword.iskeyword(key)}
    base = "TypedDict"
    if reserved:  # a class cannot have these keys
        base = f"_{name}"
        keys = ", ".join(f'"{key}": {kind}' for key, kind in reserved.items())
        yield f'{base} = TypedDict("{base}", {{{keys}}})\n\n'
    yield f"class {name}({base}):"
    yield textwrap.indent(_docstring(record["description"]), "    ") + "\n"
    for key, (kind, value) in fields.items():
        if key not in reserved:
            yield f"    {key}: {kind if key in record.get('required', ()) else f'NotRequired[{kind}]'}"
            if "description" in value:
                yield textwrap.indent(textwrap.fill(f'"""{value["description"]}"""', 112), "    ")


def _docstring(text: str) -> str:
    """Returns a docstring, with its first sentence in the first line."""
    summary, _, rest = " ".join(text.split()).partition(". ")
    return f'"""{summary}.\n\n{textwrap.fill(rest, 112)}\n"""' if rest else f'"""{summary}"""'


def _type(value: dict[str, Any], kinds: dict[str, Any]) -> str:
    """Returns the type of a part of a schema.

    >>> _type({"type": ["array", "null"], "items": {"type": "string"}}, {})
    'list[str] | None'
    """
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return name if "properties" in kinds[name] else _type(kinds[name], kinds)
    if choices := value.get("anyOf", value.get("oneOf")):
        return _union(_type(choice, kinds) for choice in choices)
    if "const" in value:
        return f'Literal["{value["const"]}"]'
    named = [value["type"]] if isinstance(value["type"], str) else value["type"]
    return _union(_plain(kind, value, kinds) for kind in named)


def _plain(kind: str, value: dict[str, Any], kinds: dict[str, Any]) -> str:
    if kind == "array":
        items = value.get("prefixItems") or [value["items"]]
        return f"list[{_union(_type(item, kinds) for item in items)}]"
    return f"dict[str, {_type(value['additionalProperties'], kinds)}]" if kind == "object" else PLAIN[kind]


def _union(kinds: Iterator[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))
