"""Scenarios, loaded from a file or built in code."""

from __future__ import annotations

import copy
import inspect
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from levelflow import _core, files
from levelflow._core import ScenarioError
from levelflow.keywords import FlowKeys, LinkKeys, ScenarioKeys
from levelflow.law import LAW_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.capture import Capture
    from levelflow.keywords import Law, Table
    from levelflow.lawfile import OwnLaw
    from levelflow.records import ScenarioRecord
    from levelflow.results import Result
    from levelflow.running import Input

__all__ = ["Scenario", "ScenarioError"]

Method = TypeVar("Method", bound="Callable[..., Any]")


def _spelled(keys: type) -> Callable[[Method], Method]:
    """Adds `keys` to the signature of a method as keyword arguments, which notebooks use for completion."""

    def spell(method: Method) -> Method:
        signature = inspect.signature(method)
        *others, _ = signature.parameters.values()
        named = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=kind.__forward_arg__)
            for key, kind in keys.__annotations__.items()
        ]
        method.__signature__ = signature.replace(parameters=[*others, *named])  # type: ignore[attr-defined]
        return method

    return spell


class Scenario:
    """Network with its traffic and control laws; quantities are texts with units, as in a scenario file.

    >>> scenario = Scenario("two flows", "70 s").link("R1", "R2", "10 Mb/s", "10 ms")
    >>> scenario.flow("x1", "jetmax", "R1", "R2", rtt="220 ms").set("flow.x1.start", "3 s").raw["flow"]
    [{'name': 'x1', 'law': 'jetmax', 'from': 'R1', 'to': 'R2', 'rtt': '220 ms', 'start': '3 s'}]
    """

    @_spelled(ScenarioKeys)
    def __init__(self, name: str, duration: str, **options: Unpack[ScenarioKeys]) -> None:
        """Creates an empty network; `options` are the other top-level keys, such as `seed` and `sample`."""
        self.raw: Table = {"name": name, "duration": duration, **options}
        self.origin: str | None = None
        self.reads_files = True  # False if another program, such as a web page, supplied the scenario
        self._file = ""  # text of the file from which the scenario was loaded

    def __repr__(self) -> str:
        links, flows = (len(self.raw.get(key, [])) for key in ("link", "flow"))
        what = f"{self.raw.get('duration')}, {links} {'link' if links == 1 else 'links'}"
        return f"<Scenario {self.raw.get('name')!r}: {what}, {flows} {'flow entry' if flows == 1 else 'flow entries'}>"

    def __eq__(self, other: object) -> bool:
        """Returns True if both scenarios have equal contents, even if their files differ."""
        return self.raw == other.raw if isinstance(other, Scenario) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # scenarios are mutable

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a scenario from a TOML file, or an example by its name, such as `t1-jetmax`.

        Raises:
            ScenarioError: If the file is unreadable or is not TOML; one line that begins with the path.
        """
        from levelflow.library import find

        path = find(str(path))
        text = files.read(path, any_file=True)
        scenario = cls.__new__(cls)
        scenario.origin, scenario._file, scenario.reads_files = str(path), "", True
        scenario.raw = json.loads(scenario._checked(_core.parse, text))
        scenario._file = text
        if LAW_FILES in scenario.raw:
            raise scenario._error(f"{LAW_FILES}: a scenario file cannot name code; use --law-file FILE")
        return scenario

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Returns the scenario of a run, with the contents of its files and the texts of its law files.

        Running it repeats the result bit for bit, on the same build. It executes the recorded law files.
        """
        scenario = cls("", "")
        scenario.raw = copy.deepcopy(result.manifest["raw"])
        return scenario

    @classmethod
    def named(cls, name: str) -> Self:
        """Reads an example, such as `t1-jetmax`, or a file of the folder `scenarios` of the working directory.

        Raises:
            ScenarioError: If the name is unknown; the message contains the nearest one.
        """
        from levelflow.library import named

        return cls.load(named(name))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        name: str,
        duration: str = "10 s",
        *,
        capacity: str = "1 Gb/s",
        delay: str = "1 ms",
        attributes: tuple[str, str, str] = ("capacity", "delay", "weight"),
        **options: Unpack[ScenarioKeys],
    ) -> Self:
        """Returns a scenario with the links of a networkx graph; see `levelflow.topology.links.entries`.

        Implausible values issue a `UserWarning`. `options` are the other top-level keys, such as `routing`.

        Raises:
            ScenarioError: If an edge has an invalid value, or the graph has no edges.
        """
        from levelflow.topology.links import entries

        made = cls(name, duration, **options)
        made.raw["link"], notes = entries(graph, name, capacity=capacity, delay=delay, attributes=attributes)
        for note in notes:
            kind, _, text = note.partition(": ")
            if kind == "warning":
                warnings.warn(f"{name}: {text}", stacklevel=2)
        return made

    @_spelled(LinkKeys)
    def link(self, source: str, to: str, capacity: str, delay: str, **options: Unpack[LinkKeys]) -> Self:
        """Adds a link; `options` are the other keys of `[[link]]`, such as `buffer` and `duplex`."""
        return self._add("link", {"from": source, "to": to, "capacity": capacity, "delay": delay, **options})

    @_spelled(FlowKeys)
    def flow(self, name: str, law: Law | str | Table, source: str, to: str, **options: Unpack[FlowKeys]) -> Self:
        """Adds a flow or a family of flows; `options` are the other keys of `[[flow]]`, such as `rtt` and `start`."""
        return self._add("flow", {"name": name, "law": law, "from": source, "to": to, **options})

    def route(self, at: str, to: str, via: str) -> Self:
        """Adds a static route: packets at node `at` for node `to` go to its neighbour `via`."""
        return self._add("route", {"at": at, "to": to, "via": via})

    def memory(self, total: str, *links: str) -> Self:
        """Adds a memory of size `total` that links with buffer-sizing algorithms share.

        `total` is such as `"500 packets"`.
        """
        return self._add("memory", {"total": total, "links": list(links)})

    def law(self, name: Law | str, **parameters: Any) -> Self:
        """Changes the default parameters of a law for all links and flows."""
        self.raw.setdefault("law", {}).setdefault(name, {}).update(parameters)
        return self

    def law_file(self, path: Path | str) -> Self:
        """Adds the laws of a Python file, which flows name like the registered laws; see `levelflow.law`.

        The scenario contains the text of the file from then on, and so does the result of a run.

        Raises:
            ScenarioError: If the file is unreadable or has no valid law. One line with file and line number.
        """
        from levelflow.lawfile import read

        self.raw.setdefault(LAW_FILES, []).append(read(path))
        return self

    def set(self, path: str, value: Any) -> Self:
        """Changes one value, such as `flow.x1.start`, `link.1.capacity` or `law.jetmax.tau`.

        Entries of a list are selected by name or by number from 1. Links and flows are also selected by their ends,
        `R1->R2` or `R1:R2`. `*` selects all entries, as in `flow.*.law`.

        Raises:
            ScenarioError: If the entry does not exist; the message contains the nearest one.
        """
        if not isinstance(path, str):
            raise ScenarioError(f"set: {path!r} is no path; write one, such as 'flow.x1.start'")
        head, star, rest = path.partition(".*.")
        if star:
            entries = self.raw.get(head)
            if not isinstance(entries, list):
                raise ScenarioError(f"{path}: * selects all entries of a list, as in flow.*.law or link.*.capacity")
            for number in range(1, len(entries) + 1):
                self.set(f"{head}.{number}.{rest}", value)
            return self
        *steps, last = json.loads(self._checked(_core.locate, self._text(self.raw), path))
        place: Any = self.raw
        for step in steps:
            if isinstance(place, dict) and not isinstance(place.get(step), (dict, list)):
                place[step] = {}  # a table for parameters replaces a plain value, such as the name of a law
            place = place[step]
        place[last] = value
        return self

    def resolve(self) -> ScenarioRecord:
        """Validates the scenario and returns it with numbers in base units, routes and all parameters.

        Raises:
            ScenarioError: If the scenario is invalid; one line per mistake, with its place and the allowed values.
        """
        return self.input().resolved

    def input(self) -> Input:
        """Returns the input of a run.

        Raises:
            ScenarioError: If the scenario or a law file is invalid, or the scenario of another program has law files.
        """
        from levelflow.running import Input, law_error

        text = network = self.to_json()
        laws: list[OwnLaw] = []
        if LAW_FILES in self.raw:
            if not self.reads_files:
                raise ScenarioError(f"{LAW_FILES}: code of another program does not run here")
            from levelflow.lawfile import laws_of

            raw = json.loads(text)
            laws = laws_of(raw.pop(LAW_FILES))
            network = self._text(raw)
        try:
            resolved: ScenarioRecord = json.loads(self._checked(_core.resolve, network, [law.engine for law in laws]))
        except _core.LawError as error:
            raise law_error(error, laws) from error
        return Input(text, network, laws, resolved, self.origin)

    def run(
        self,
        out: Path | str | None = None,
        progress: bool | Callable[[float], None] = False,
        capture: Capture | None = None,
        threads: int | None = 1,
    ) -> Result:
        """Simulates the scenario.

        Args:
            out: Result directory; None keeps the result in memory.
            progress: True to show a bar, or a function that receives the finished fraction, 0 to 1. An exception of
                this function stops the run.
            capture: Capture of packets; requires a single thread.
            threads: Number of threads, if the network can be divided into that number of parts; None for the fastest
                number. Results are bit-identical.

        Raises:
            ScenarioError: If the scenario is invalid, or a law of a law file fails; no result is written.
            Interrupted: On Ctrl-C or SIGTERM, after the files were completed up to that point.
        """
        from levelflow.running import run

        return run(self.input(), out, progress, capture, threads)

    def complete(self) -> Table:
        """Returns the scenario as written, with the contents of files in place of their names.

        Files are `cdf` sizes, `transfers` and link traces.

        Raises:
            ScenarioError: If a file does not exist, or is not a distribution, a list of transfers or a trace.
        """
        from levelflow import cdf
        from levelflow.importing import transfers

        beside = Path(self.origin or "").parent
        folder = beside if self.reads_files else None
        raw: Table = self._allowed(cdf.expand, self.raw, folder)
        raw = self._allowed(transfers.expand, raw, folder)
        links = raw.get("link")
        if isinstance(links, list) and any(map(_names_a_trace, links)):
            if not self.reads_files:
                raise ScenarioError("link, changes: files are not read here; write a list of changes")
            raw = json.loads(self._allowed(_core.read_traces, self._text(raw), str(beside)))
        return raw

    def _allowed(self, read: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except ScenarioError as error:
            raise self._error(str(error)) from None

    def copy(self) -> Self:
        """Returns an independent copy."""
        return copy.deepcopy(self)

    def to_json(self) -> str:
        """Returns the scenario as canonical JSON: equal scenarios give equal texts."""
        return self._text(self.complete())

    def to_toml(self) -> str:
        """Returns the text of a scenario file; it does not contain the law files."""
        import tomli_w

        network = {key: value for key, value in self.raw.items() if key != LAW_FILES}
        return tomli_w.dumps(json.loads(self._text(network, sort_keys=False)))

    def _add(self, kind: str, entry: Table) -> Self:
        self.raw.setdefault(kind, []).append(entry)
        return self

    def _text(self, raw: Table, sort_keys: bool = True) -> str:
        try:
            return json.dumps(raw, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False, default=_plain)
        except TypeError as error:
            raise self._error(f"a scenario holds texts, numbers, lists and tables: {error}") from None
        except ValueError:
            raise self._error(
                "a scenario cannot contain nan, infinity, or a list or table that contains itself"
            ) from None

    def _checked(self, call: Callable[..., str], *arguments: Any) -> str:
        try:
            return call(*arguments)
        except ScenarioError as error:
            raise self._error(str(error)) from None

    def _error(self, lines: str) -> ScenarioError:
        as_written = bool(self._file) and json.loads(_core.parse(self._file)) == self.raw
        mistakes = self._located(lines.splitlines(), as_written)
        error = ScenarioError("\n".join(mistakes))
        error.mistakes = mistakes
        return error

    def _located(self, lines: list[str], as_written: bool) -> list[str]:
        numbers = _core.lines(self._file, lines) if as_written else [None] * len(lines)
        where = [f"line {number}, " if number else "" for number in numbers]
        return [f"{self.origin}: {at}{line}" if self.origin else line for at, line in zip(where, lines, strict=True)]


def _names_a_trace(link: Any) -> bool:
    ends = (link, link.get("reverse")) if isinstance(link, dict) else ()
    return any(isinstance(end, dict) and isinstance(end.get("changes"), dict) for end in ends)


def _plain(value: Any) -> Any:
    """Converts a NumPy number or array, or a path, to a type that scenarios support."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is none of these")
