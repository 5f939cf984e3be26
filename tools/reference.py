"""Writes the program's own descriptions into `docs` and `python/levelflow`: `python -m tools.reference`.

Most pages of `docs/reference` are generated as a whole. In `docs/laws`, the wire format and the dissector, only the
text between two marks is generated.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow import _core
from levelflow.buffers import candidates
from levelflow.library import algorithms, allowed, laws, queues
from levelflow.measure.definitions import LABELS, MEASURES
from tools import CHECKOUT, errata, keywords, records, verdicts
from tools.check_words import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

REFERENCE = CHECKOUT / "docs" / "reference"
LAWS = CHECKOUT / "docs" / "laws"
DISSECTOR = CHECKOUT / "apps" / "net" / "wireshark" / "levelflow.lua"
ORIGIN = "<!-- Written by `make gen`; edit what it describes, not this file. -->"
MARKS = {
    ".md": ("<!-- Written by `make gen` from here, -->", "<!-- to here. -->"),
    ".lua": ("    -- Written by `make gen` from here,", "    -- to here."),
}

KINDS = {
    "LossChoice": "share, or table",
    "Share": "share",
    "Duration": "time",
    "Rate": "rate",
    "Bytes": "bytes",
    "Size": "size",
    "BufferSize": "buffer",
    "Frequency": "frequency",
    "Count": "whole number",
    "LawChoice": "law",
    "LawTables": "table by law",
    "Encapsulation": "text",
    "Profile": "text",
    "Routing": "text",
    "QueueChoice": "queue",
    "Changes": "list of changes, or a file of them",
    "Varying": "time or distribution",
    "Varying2": "size or distribution",
    "Varying3": "whole number or distribution",
}
PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
TABLES = (
    ("[[link]]", "Link"),
    ("reverse", "Reverse"),
    ("changes", "Change"),
    ("changes from a file", "Trace"),
    ("loss.gilbert_elliott", "Bursts"),
    ("[[memory]]", "Memory"),
    ("[[route]]", "NextHop"),
    ("[[flow]]", "Flow"),
    ("arrivals", "Arrivals"),
    ("session", "Session"),
    ("ack_delay", "AckDelay"),
)
QUANTITIES = ("Duration", "Rate", "Bytes", "Frequency")


def pages() -> dict[Path, str]:
    """Returns the text of every page that this program generates as a whole or in part, by path."""
    whole = {"scenario.md": _scenario(), "queues.md": _queues(), "buffers.md": _buffers(), "cli.md": _commands()}
    whole["measures.md"] = _measures()
    whole["invariants.md"] = _invariants()
    made = {REFERENCE / name: f"{ORIGIN}\n" + "\n".join(lines) + "\n" for name, lines in whole.items()}
    for name, lines in {"errata.md": errata.lines(), "not-reproduced.md": verdicts.lines()}.items():
        made[CHECKOUT / "docs" / name] = f"{ORIGIN}\n" + "\n".join(lines).rstrip() + "\n"
    made |= {keywords.PAGE: keywords.text(), records.PAGE: records.text()}
    partly = {LAWS / f"{law['name']}.md": _law(law) for law in laws()}
    partly |= {LAWS / "README.md": _index(), REFERENCE / "wire-format.md": _headers(), DISSECTOR: _dissector()}
    return made | {page: _filled(page, lines) for page, lines in partly.items()}


def invariants() -> Iterator[tuple[str, str, list[str]]]:
    """Yields the section, text and tests of each comment `**Invariant** (Section): text` above a test."""
    tests = [*CHECKOUT.glob("crates/**/*.rs"), *CHECKOUT.glob("apps/**/*.rs"), *CHECKOUT.glob("tests/**/*.py")]
    for path in sorted(tests):
        lines = path.read_text(encoding="utf-8").splitlines()
        for first in (i for i, line in enumerate(lines) if re.match(r" *(//|#) \*\*Invariant\*\* ", line)):
            comment = itertools.takewhile(lambda line: re.match(r" *(//|#) ", line), lines[first:])
            text = " ".join(re.sub(r"^ *(//|#) ", "", line) for line in comment)
            section, text = re.fullmatch(r"\*\*Invariant\*\* \((.*?)\): (.*)", text).groups()
            text, _, others = text.partition(" See `")
            named = (re.match(r" *(?:async )?(?:fn|def) (\w+)", line) for line in lines[first:])
            test = next(match[1] for match in named if match)
            yield section, text, [test, *re.findall(r"\w+", others)]


def _invariants() -> Iterator[str]:
    yield "# Invariants"
    yield "Each invariant holds for the whole code. The tests in its row verify it. The source of a row is the comment"
    yield "`**Invariant** (Section): text` above its first test."
    found = sorted(invariants())
    for section in dict.fromkeys(section for section, _, _ in found):
        yield f"\n## {section}"
        rows = [[text, ", ".join(f"`{test}`" for test in tests)] for own, text, tests in found if own == section]
        yield from _table(["invariant", "tests"], rows)


def main() -> None:
    """Writes the pages and prints their paths."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")


def _filled(page: Path, lines: Iterable[str]) -> str:
    """Returns the text of a page with `lines` between its marks."""
    begin, end = MARKS[page.suffix]
    if not page.exists():
        raise FileNotFoundError(f"{page.relative_to(CHECKOUT)}: write this page (CONTRIBUTING.md), then run `make gen`")
    before, rest = page.read_text(encoding="utf-8").split(begin)
    return before + "\n".join([begin, *lines, end]) + rest.split(end)[1]


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"


def _scenario() -> Iterator[str]:
    schema = json.loads(_core.schema())
    kinds = schema["$defs"]
    yield "# Scenario files"
    yield "This page lists every key, as in `levelflow schema`. The [guide](../guides/scenarios.md) has examples.\n"
    yield from _keys("Top level", schema)
    for title, name in TABLES:
        yield from _keys(f"`{title}`", kinds[name])
    yield "\n## Values"
    yield "A quantity is a text: a number and its unit. `law` is one of [the laws](../laws/README.md).\n"
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
    yield "If a distribution is allowed, a plain value is a constant. The same kinds of distribution are available for"
    yield "times, sizes and whole numbers. The table shows them for times.\n"
    yield from _table(["key", "value", "meaning"], _alternatives(kinds["Random"]))


def _units(pattern: str) -> list[str]:
    """Returns the units that a pattern of quantities accepts.

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
    """Returns a short description of the values that a part of the schema accepts."""
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


def _index() -> Iterator[str]:
    """Yields one item per law. A table of six columns would be unreadable on a phone."""
    for law in laws():
        name = law["name"]
        page = (LAWS / f"{name}.md").read_text(encoding="utf-8")
        header = f"header of {law['header_bytes']} B" if law["header_bytes"] else "no header"
        cost = f"Router operations per packet: {law['cost']}."
        facts = f"**[`{name}`]({name}.md)**. Feedback: {law['signal']}; {header}. {cost}"
        choice, equilibrium = _opening(page, "When to choose it"), _opening(page, "Equilibrium")
        yield _item(f"{facts} *When to choose it:* {choice} *Equilibrium:* {equilibrium}")


def _item(text: str) -> str:
    """Returns an item of a list, wrapped between words. Code stays on one line, as a line must not begin with `+`."""
    kept = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), text)
    wrapped = textwrap.wrap(
        kept, 118, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapped).replace("\0", " ")


def _opening(page: str, title: str) -> str:
    r"""Returns the first paragraph below a title.

    >>> _opening("## Then\nOne,\ntwo.\n\nThree.", "Then")
    'One, two.'
    """
    below = re.search(rf"^## {title}\n+(.*?)(\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    if below is None:
        raise ValueError(f"the page of a law has a section '## {title}'")
    return " ".join(below[1].split())


def _law(law: dict[str, Any]) -> Iterator[str]:
    shared = law["number"] and law["signalling"] != law["name"]
    whose = f", that of [{law['signalling']}]({law['signalling']}.md)" if shared else ""
    yield f"Feedback that senders use: {law['signal']}. Header: {law['header_bytes']} bytes{whose}."
    yield f"Operations of a router per packet: {law['cost']}."
    yield f"Rates scale with capacities: {'yes' if law['scale_invariant'] else 'no'}."
    yield f"Source: {law['source']}.\n"
    yield from _parameters(law["params"])


def on_the_wire() -> list[dict[str, Any]]:
    """Returns the laws with their own signalling, in the order of its number."""
    return sorted((law for law in laws() if law["signalling"] == law["name"]), key=lambda law: int(law["number"]))


def _headers() -> Iterator[str]:
    for law in on_the_wire():
        yield f"## {law['title'].split(':')[0]}: signalling {law['number']}, {law['header_bytes']} bytes"
        about = f"{law['header_doc']} Source of [the law](../laws/{law['name']}.md): {law['source']}."
        yield textwrap.fill(about, 110, break_on_hyphens=False) + "\n"
        rows, at = [], 0
        for row in law["header"]:
            bits = [f"{_places(bits['mask'])}: {bits['doc']}" for bits in row.get("bits", [])]
            kind = ["float"] if "range" in row else []
            doc = "; ".join([row["doc"], *kind, *bits])
            rows.append([str(at), str(row["bytes"]), f"`{row['name']}`", doc, row["writer"], row["allowed"]])
            at += row["bytes"]
        yield from _table(["offset", "bytes", "field", "value", "written by", "allowed"], rows)
        if law["zero_together"]:
            yield "\n`{}` and `{}` are either both 0 or both not 0.".format(*law["zero_together"])
        yield ""
    kernel = ", ".join(f"`{law['name']}`" for law in on_the_wire() if law["kernel_router"])
    yield f"`levelflow-net router --dev` supports {kernel}. The relay, the simulator and"
    yield "[its captures](#captures-of-the-simulator) support all signallings."


def _places(mask: int) -> str:
    """Returns the positions of the bits of a mask, as text.

    >>> _places(0x80), _places(0x0f)
    ('bit 7', 'bits 3 to 0')
    """
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    return f"bit {low}" if low == high else f"bits {high} to {low}"


def _dissector() -> Iterator[str]:
    for law in on_the_wire():
        yield f"    [{law['number']}] = {{"
        yield f'        name = "{law["name"]}",'
        if law["zero_together"]:
            yield "        zero_together = {{ {} }},".format(", ".join(map(json.dumps, law["zero_together"])))
        yield "        fields = {"
        for row in law["header"]:
            known = {"name": row["name"], "doc": _plain(row["doc"]), "bytes": row["bytes"], "writer": row["writer"]}
            if "range" in row:
                low, high = row["range"]
                known |= {"low": -math.inf if low is None else low, "high": math.inf if high is None else high}
            known |= {"only": row["only"]} if "only" in row else {}
            bits = row.get("bits", [])
            yield f"            {{ {_lua(known)}{', bits = {' if bits else ' },'}"
            for group in bits:
                part = {"name": group["name"], "mask": group["mask"], "doc": _plain(group["doc"])}
                yield f"                {{ {_lua(part)} }},"
            if bits:
                yield "            } },"
        yield "        },"
        yield "    },"


def _defaults(row: dict[str, Any]) -> str:
    """Returns the default of a parameter, and the default in the profile `paper` if the two differ."""
    paper = row.get("paper")
    return f"`{row['default']}`" + (f"; `paper`: `{paper}`" if paper is not None else "")


def _plain(doc: str) -> str:
    """Returns a line of text without Markdown marks.

    >>> _plain("`R_p`: smallest rate")
    'R_p: smallest rate'
    """
    return doc.replace("`", "")


def _lua(table: dict[str, Any]) -> str:
    """Returns a dictionary as the inside of a Lua table.

    >>> _lua({"name": "rate", "bytes": 4, "low": 0.0, "high": math.inf})
    'name = "rate", bytes = 4, low = 0.0, high = math.huge'
    """
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()).replace("Infinity", "math.huge")


def _queues() -> Iterator[str]:
    yield "# Queue disciplines"
    yield "This page lists every discipline with its parameters, like `levelflow list queues`. [Queues and"
    yield 'AQM](../concepts/queues.md) explains the disciplines. A link names its discipline: `queue = "red"`, or'
    yield "with parameters `queue = { red = { max_p = 0.02 } }`. A [buffer-sizing algorithm](buffers.md) does not"
    yield "count drops that a discipline decides before the buffer is full."
    for queue in queues():
        yield f"\n## `{queue['name']}`"
        yield f"{queue['title']}."
        yield f"Source: {queue['source']}.\n"
        if queue["params"]:
            yield f"Its signal in results: {queue['signal']}.\n"
            yield from _parameters(queue["params"])


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, LONGEST_LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _measures() -> Iterator[str]:
    yield "# Measures"
    yield "This page defines every number that a run prints. It names the sampling point of the number, and the"
    yield "columns and keys that contain it. Simulator, testbed, tables, pictures, studies and comparisons use only"
    yield "these measures. A test verifies each measure against a closed form, or against every packet of a capture.\n"
    for measure in MEASURES:
        yield f"\n## {measure.name[0].upper()}{measure.name[1:]}"
        unit = f" Unit: {measure.unit}." if measure.unit else ""
        yield from _wrapped(f"{measure.definition[0].upper()}{measure.definition[1:]}.{unit}")
        yield from _wrapped(f"Sampled: {measure.sampled}.")
        yield ""
        yield from _wrapped(f"- in {', '.join(f'`{place}`' for place in measure.places)}", indent="  ")
        file, _, name = measure.oracle.partition("::")
        yield from _wrapped(f"- tested by `{name}` in `{file}`", indent="  ")
    yield "\n## Names that are no measures"
    yield from _wrapped(f"{', '.join(f'`{label}`' for label in LABELS)}.")


def _buffers() -> Iterator[str]:
    yield "# Buffers"
    yield 'The buffer of a link is a size, such as `buffer = "100 packets"`, a rule, or a buffer-sizing algorithm. A'
    yield "rule is evaluated before the run. An algorithm adapts the buffer during the run. `levelflow list buffers`"
    yield "lists rules and algorithms. A link names its rule or algorithm: `buffer = { bscl = {} }`, or with"
    yield "parameters `buffer = { abs_log = { loss = 0.01 } }`. The buffer includes the packet in service. A rule"
    yield "gives at least 1 packet. If its formula gives more than 1000000000, the scenario is rejected.\n"
    yield "A buffer-sizing algorithm counts drops at both ends of a full queue as losses. It does not count drops"
    yield "that a queue discipline decides, because no buffer prevents them. These drops are in addition to the loss"
    yield "target. Lowering a limit drops no queued packet. Until the queue fits, each arrival is dropped, or a"
    yield "packet at the front in its place. The delay target is for a mean over time, not over packets.\n"
    yield "When a shared [memory](scenario.md#memory) is short, `abs_log` requests at most four times its"
    yield "allocation. `abs` and `adt` are implemented as printed, and ignore their allocation. They may grow to"
    yield "`largest`, and then take as long to shrink."
    for algorithm in algorithms():
        yield f"\n## `{algorithm['name']}`"
        kind = "A buffer-sizing algorithm" if algorithm["adapts"] else "A rule"
        yield f"{algorithm['title']}. {kind}."
        yield f"Source: {algorithm['source']}.\n"
        yield from _parameters(algorithm["params"])
    yield "\n## Comparison"
    yield "`levelflow buffers` compares rules and algorithms on the traffic of a scenario"
    yield "([guide](../guides/size-a-buffer.md)). In Python, `levelflow.buffers.candidates` has these classes and"
    yield "functions:\n"
    yield from _table(["", "meaning"], _module(candidates))


def _module(module: ModuleType) -> Iterator[list[str]]:
    """Yields each public class and function of a module, with the first line of its docstring."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_"):
            takes = f"({', '.join(inspect.signature(value).parameters)})"
            yield [f"`{name}{takes}`", str(inspect.getdoc(value)).split("\n", maxsplit=1)[0]]


def _parameters(table: list[dict[str, Any]]) -> Iterator[str]:
    rows = [[f"`{row['name']}`", _defaults(row), allowed(row), row["doc"], row["source"]] for row in table]
    head = ["parameter", "default", "allowed", "meaning", "source of the default"]
    if any("routers" in row.get("read_by", "") for row in table):
        head.append("read by")
        rows = [[*row, own["read_by"]] for row, own in zip(rows, table, strict=True)]
    yield from _table(head, rows)


def _commands() -> Iterator[str]:
    from levelflow.cli import app

    yield "# Command line"
    yield (
        "Exit status: 0 success; 1 a claim was not reproduced; 2 bad input, reported in one line; 130 stopped by\n"
        "Ctrl-C. After Ctrl-C, completed work is kept."
    )
    for name, command in _leaves("levelflow", app):
        arguments = [_metavar(p) for p in command.params if p.param_type_name == "argument"]
        yield f"\n## `{' '.join([name, *arguments])}`"
        yield f"{inspect.cleandoc(command.help)}\n"
        if command.epilog:
            yield f"{command.epilog.replace('Example: ', 'Example: `')}`\n"
        rows = [[_spelling(p), p.help or "", _set(p)] for p in command.params]
        if rows:
            yield from _table(["", "meaning", "default"], rows)


def _leaves(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Yields each command of a group, including nested groups, by its full name."""
    for own, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(f"{name} {own}", command)
        else:
            yield f"{name} {own}", command


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
