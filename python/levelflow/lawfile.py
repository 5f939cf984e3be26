"""Law files: Python files with congestion-control laws.

A scenario with law files contains their texts in the list `law_files`, so a result has the code that it was made with.
Scenario files in TOML cannot contain this key: a scenario file is data, and only its reader chooses the code to run.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import sys
import traceback
import types
import typing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from levelflow import _core, files
from levelflow._core import ScenarioError
from levelflow.law import Law
from levelflow.sources import impure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.keywords import Table

METHODS = ("on_ack", "on_loss", "on_timeout")
SIGNALS = ("loss", "delay", "marks")
#: Ranges of parameters without bounds of their own, by unit.
RANGES = {
    "number": (-1e300, 1e300),
    "time": (0.0, 1e6),
    "rate": (1.0, 1e18),
    "size": (0.0, 1e15),
    "packets": (0.0, 1e9),
}


class OwnLaw(NamedTuple):
    """Law of a law file.

    Attributes:
        name: Name in scenarios.
        file: Name of the law file.
        kind: Class of the law.
        engine: Law for the engine.
    """

    name: str
    file: str
    kind: type[Law]
    engine: _core.PythonLaw


def read(path: Path | str) -> Table:
    """Returns the entry of `law_files` for a file, after checking its laws.

    Raises:
        ScenarioError: If the file is unreadable or has no valid law. One line with file and line number.
    """
    path = Path(path)
    source = files.read(path)
    load(path.name, source)
    return {"name": path.name, "sha256": _digest(source), "source": source}


def laws_of(entries: Sequence[Table]) -> list[OwnLaw]:
    """Returns the laws of the entries of `law_files`.

    Raises:
        ScenarioError: If a law file is invalid, or two laws have the same name.
    """
    laws: list[OwnLaw] = []
    for entry in entries:
        if _digest(entry["source"]) != entry["sha256"]:
            raise ScenarioError(f"{entry['name']}: its text does not have the recorded SHA-256, {entry['sha256']}")
        for law in load(entry["name"], entry["source"]):
            if same := [other for other in laws if other.name == law.name]:
                raise ScenarioError(
                    f"{law.file}: {law.name} is also a law of {same[0].file}; rename one of the classes"
                )
            laws.append(law)
    return laws


@lru_cache(maxsize=64)
def load(name: str, source: str) -> tuple[OwnLaw, ...]:
    """Executes a law file and returns its laws.

    Raises:
        ScenarioError: If the code fails, is not deterministic, or has no valid law. One line with file and line number.
    """
    for number, problem in impure(source):
        raise ScenarioError(f"{name}, line {number}: {problem}")
    module = types.ModuleType(f"levelflow_law_{_digest(name + source)[:16]}")
    sys.modules[module.__name__] = module  # dataclasses look up their module
    try:
        exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        raise ScenarioError(f"{where(name, error)}: {shown(error)}") from error
    found = dict.fromkeys(kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Law))
    kinds = [kind for kind in found if kind.__module__ == module.__name__ and not kind.__name__.startswith("_")]
    if not kinds:
        raise ScenarioError(f"{name}: has no law; needs a class that inherits from levelflow.law.Law")
    return tuple(own(kind, name) for kind in kinds)


def own(kind: type[Law], file: str) -> OwnLaw:
    """Checks a class and returns its law.

    Raises:
        ScenarioError: If the class is not a valid law. One line with file and line number.
    """
    name = kind.__name__.lower()

    def wrong(problem: str) -> ScenarioError:
        return ScenarioError(f"{file}, class {kind.__name__}: {problem}")

    known = {law["name"] for law in json.loads(_core.laws())} | {"none"}
    if name in known:
        raise wrong(f"{name} is the name of a registered law; rename the class")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise wrong("needs a name of letters, digits and _")
    if missing := [method for method in METHODS if method in kind.__abstractmethods__]:
        raise wrong(f"has no {missing[0]}; needs {', '.join(METHODS)}")
    if kind.signal not in SIGNALS:
        raise wrong(f"signal is {kind.signal!r}; allowed: {', '.join(SIGNALS)}")
    try:
        rows, types_of = table(kind.Params)
        law = _law(kind, name, file, rows, types_of)
        kind(kind.Params(), _core.FlowStart())  # finds mistakes of `start` before a run
    except Exception as error:
        place = where(file, error)
        raise (wrong(shown(error)) if place == file else ScenarioError(f"{place}: {shown(error)}")) from error
    return law


def _law(kind: type[Law], name: str, file: str, rows: list[Table], types_of: dict[str, Any]) -> OwnLaw:
    def params(values: Sequence[float]) -> Any:
        try:
            return params_of(kind, rows, types_of, values)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        except Exception as error:
            raise ValueError(f"{where(file, error)}: {shown(error)}") from error

    def make(values: Sequence[float], flow: _core.FlowStart) -> Law:
        return kind(params(values), flow)

    description = {
        "name": name,
        "title": ((kind.__doc__ or name).strip().splitlines() or [name])[0],
        "source": file,
        "params": rows,
        **{key: getattr(kind, key) for key in ("signal", "handshake", "delayed_ack", "scalable", "draws")},
    }
    return OwnLaw(name, file, kind, _core.PythonLaw(json.dumps(description), params, make))


def table(params: type[Any]) -> tuple[list[Table], dict[str, Any]]:
    """Returns the parameter table of a dataclass, and the types of its fields."""
    if not dataclasses.is_dataclass(params):
        raise ValueError("Params must be a dataclass")
    types_of = typing.get_type_hints(params)
    rows = []
    for field in dataclasses.fields(params):
        kind, meta, default = types_of[field.name], field.metadata, field.default
        choices: tuple[Any, ...] = ()
        if kind is bool:
            unit, (low, high) = "switch", (0.0, 1.0)
        elif typing.get_origin(kind) is Literal:
            choices = typing.get_args(kind)
            unit, (low, high) = "choice", (0.0, len(choices) - 1.0)
            default = choices.index(default) if default in choices else default
        elif kind in (float, int):
            unit = meta.get("unit", "number")
            low, high = RANGES[unit]
        else:
            raise ValueError(f"Params.{field.name} is of type {kind}; allowed: float, int, bool, Literal of texts")
        low = low if meta.get("low") is None else float(meta["low"])
        high = high if meta.get("high") is None else float(meta["high"])
        if not isinstance(default, int | float) or not low <= default <= high:
            raise ValueError(f"Params.{field.name} needs a default from {low:g} to {high:g}; has {field.default!r}")
        row = {"name": field.name, "doc": meta.get("doc", ""), "unit": unit, "default": float(default)}
        rows.append(row | {"low": float(low), "high": float(high), "choices": [str(choice) for choice in choices]})
    return rows, types_of


def params_of(kind: type[Law], rows: Sequence[Table], types_of: dict[str, Any], values: Sequence[float]) -> Any:
    """Returns the parameters of a law from values in base units, in the order of its table."""
    pairs = zip(rows, values, strict=True)
    return kind.Params(**{row["name"]: typed(row, types_of[row["name"]], value) for row, value in pairs})


def typed(row: Table, kind: Any, value: float) -> Any:
    """Converts a value in base units to the type of its field."""
    if row["unit"] == "choice":
        return typing.get_args(kind)[int(value)]
    if kind is int and value != int(value):
        raise ValueError(f"{row['name']} is {value:g}; allowed: whole numbers")
    return kind(value)


def fault(error: _core.LawError, laws: Sequence[OwnLaw]) -> ScenarioError:
    """Returns the error for an exception in a law, in one line with file and line number."""
    name, method, now_s = error.args
    law = next(law for law in laws if law.name == name)
    cause = error.__cause__ or error
    place = where(law.file, cause)
    if place == law.file:  # a rate or a window that is not allowed
        code = getattr(getattr(law.kind, method), "__code__", None)
        if code is None or code.co_filename != law.file:
            place = f"{law.file}, after {method}"
        else:
            place = f"{law.file}, line {code.co_firstlineno}, after {method}"
    return ScenarioError(f"{place}: {shown(cause)} (at {now_s:.6g} s of the run)")


def where(file: str, error: BaseException) -> str:
    """Returns the last place in a law file that an exception passed; only the file if there is none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not frames:
        return file
    last = frames[-1]
    return f"{file}, line {last.lineno}" + ("" if last.name.startswith("<") else f", in {last.name}")


def shown(error: BaseException) -> str:
    """Returns the type and the text of an exception, in one line."""
    if isinstance(error, SyntaxError):
        return error.msg
    text = " ".join(str(error).split())
    return text if type(error) is ValueError and text else f"{type(error).__name__}: {text}".rstrip(": ")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
