"""Parser of STUDY.toml; reports all mistakes of a file at once."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from levelflow import _core, files
from levelflow._core import ScenarioError
from levelflow.scenario import Scenario
from levelflow.study.design import KINDS, Axis, Design, Label, check
from levelflow.study.plan import Mistakes, Plan, Replications
from levelflow.study.task import METRICS
from levelflow.theory.errors import TheoryError
from levelflow.theory.units import base
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Table = Mapping[str, object]

T = TypeVar("T")

TOP = "top level"
KEYS = {
    TOP: ["study", "axis", "design", "measure"],
    "study": ["name", "scenario", "seed", "replications"],
    "axis": ["name", "path", "values", "set", "from", "to", "steps", "scale"],
    "design": ["kind", "points", "seed"],
    "measure": ["metrics", "warm_up"],
    "replications": ["at_least", "at_most", "until"],
    "until": ["metric", "width"],
}
MAX_VALUES = 1_000_000


def read(path: Path, law_files: Iterable[Path | str] = ()) -> Plan:
    """Reads a study; flows may name the laws of `law_files`.

    Raises:
        ScenarioError: If the file is unreadable or invalid. The message has one line per mistake, each with the path.
    """
    text = ""
    try:
        text = files.read(path, any_file=True)
        return plan(tomllib.loads(text), path.parent, path.stem, law_files)
    except ScenarioError as error:
        if not text:
            raise
        lines = str(error).splitlines()
        found = zip(_core.lines(text, lines), lines, strict=True)
        mistakes = Mistakes(f"{path}: line {line}, {what}" if line else f"{path}: {what}" for line, what in found)
        raise mistakes.error() from None
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: is not valid TOML: {error}") from None


def plan(raw: Table, folder: Path, name: str, law_files: Iterable[Path | str] = ()) -> Plan:
    """Returns the plan from the tables of a STUDY.toml. Names of scenario files are relative to `folder`.

    Names of law files are relative to the working directory.

    Raises:
        ScenarioError: If the tables are invalid. The message has one line per mistake, but at most one per axis.
    """
    if "link" in raw and "study" not in raw:
        raise ScenarioError("is a scenario, not a study; use levelflow run, or name the file as `scenario` in [study]")
    wrong = Mistakes()
    wrong.of(_keys, TOP, raw)
    tables = [wrong.of(_table, raw, key) for key in ("study", "design", "measure")]
    study, drawn, measure = (table or {} for table in tables)
    for key, table in (("study", study), ("design", drawn), ("measure", measure)):
        wrong.of(_keys, key, table)
    # A missing key is not reported if an unknown key may be its misspelling.
    unknown = study.keys() - KEYS["study"] if "study" in raw else raw.keys() - KEYS[TOP]
    scenarios = (
        wrong.of(_scenarios, study, folder) if "scenario" in study or not (unknown or tables[0] is None) else None
    )
    for scenario in (scenarios or {}).values():
        for file in law_files:
            scenario.law_file(file)
    replications = wrong.of(_replications, study.get("replications", 1))
    seed = wrong.of(_whole, study, "study", "seed", 0, 2**53, 1)
    listed = wrong.of(_list, measure, "metrics", "measure") or []
    metrics = [wrong.of(_metric, "measure, metrics", one) for one in listed]
    warm_up = wrong.of(_warm_up, measure)
    axes = [wrong.of(_axis, axis, number) for number, axis in enumerate(wrong.of(_list, raw, "axis", "") or [], 1)]
    wrong.of(_distinct, axes)
    kind = wrong.of(_kind, drawn)
    points = wrong.of(_whole, drawn, "design", "points", 1, MAX_VALUES, 1)
    draw = wrong.of(_whole, drawn, "design", "seed", 0, 2**53, 1)
    wrong.of(_core.check_name, "study, name", str(study.get("name", name)))
    wrong.raise_if_any()
    assert not any(one is None for one in (seed, points, draw))  # None marks a mistake, and mistakes were raised above
    assert scenarios is not None
    assert kind is not None
    assert replications is not None
    assert warm_up is not None
    varied = tuple(axis for axis in axes if axis)
    if len(scenarios) > 1:
        varied = (Axis("scenario", tuple(scenarios), tuple({"scenario": each} for each in scenarios)), *varied)
    design = Design(varied, kind, int(points or 0), int(draw or 0))
    check(design, replications.most, 1 - (len(scenarios) > 1))
    shown = tuple(metric for metric in metrics if metric)
    found = Plan(str(study.get("name", name)), scenarios, design, replications, int(seed or 0), shown, warm_up)
    found.validate()
    return found


def _kind(drawn: Table) -> str:
    kind = drawn.get("kind", "grid")
    if kind not in KINDS:
        raise ScenarioError(f"design, kind: no kind {kind!r}; {nearest(str(kind), list(KINDS))}")
    if "points" in drawn and kind in ("grid", "list"):
        raise ScenarioError(f"design, points: remove it; a {kind} has no drawn points")
    return str(kind)


def _distinct(axes: list[Axis | None]) -> None:
    names = [axis.name if axis else "" for axis in axes]
    for number, name in enumerate(names, 1):
        if name and name in names[: number - 1]:
            raise ScenarioError(f"axis {number}: the name {name!r} is not unique; give each axis its own name")


def _scenarios(study: Table, folder: Path) -> dict[str, Scenario]:
    named = study.get("scenario")
    names = _instances(str, named)
    if not names:
        raise ScenarioError(
            f"study, scenario: is {named!r}; needs the name or the path of a scenario, or a list of them"
        )
    found = {}
    for name in names:
        path = folder / name
        try:
            found[Path(name).stem] = Scenario.load(path if path.is_file() else name)
        except OSError as error:
            raise ScenarioError(f"study, scenario: {name!r}: {(error.strerror or str(error)).lower()}") from None
    if len(found) < len(names):
        raise ScenarioError("study, scenario: two scenarios have the same name")
    return found


def _axis(raw: object, number: int) -> Axis:
    where = f"axis {number}"
    if not isinstance(raw, dict):
        raise ScenarioError(f"{where}: is {raw!r}; needs a table, as in [[axis]]")
    _keys("axis", raw, where)
    kinds = [key for key in ("values", "set", "from") if key in raw]
    if len(kinds) != 1:
        raise ScenarioError(f"{where}: needs one of values, set, or from and to; has {', '.join(kinds) or 'none'}")
    if kinds == ["set"]:
        changes = _instances(dict, _list(raw, "set", where))
        if not changes or "name" not in raw:
            raise ScenarioError(
                f'{where}, set: needs a name and tables of paths, as in set = [{{ "flow.*.law" = "rcp" }}]'
            )
        for one in changes:
            _no_scenario(one, where)
        labels = tuple(", ".join(map(_label, one.values())) for one in changes)
        return Axis(str(raw["name"]), labels, tuple(changes))
    paths = tuple(_instances(str, raw.get("path")))
    if not paths:
        raise ScenarioError(f'{where}: needs a path, as in path = "flow.*.law"')
    _no_scenario(paths, where)
    name = str(raw.get("name", paths[0].rpartition(".")[2]))
    values = _list(raw, "values", where) if "values" in raw else None
    ends = None if values is not None else _ends(raw, where)
    log = _log(raw, where, ends)
    if ends and "steps" not in raw:
        return Axis(name, paths=paths, ends=ends, log=log)
    if ends:
        steps = _whole(raw, where, "steps", 2, MAX_VALUES, 2)
        ranged = Axis(name, paths=paths, ends=ends, log=log)
        pairs = [ranged.drawn(step / (steps - 1)) for step in range(steps)]
        return Axis(name, tuple(label for label, _ in pairs), tuple(own for _, own in pairs))
    if not values:
        raise ScenarioError(f"{where}, values: is empty; needs at least one value")
    return Axis(name, _labels(values), tuple(dict.fromkeys(paths, value) for value in values))


def _instances(kind: type[T], raw: object) -> list[T]:
    """Returns the values as a list. The list is empty if one of them is not an instance of `kind`."""
    values: list[object] = raw if isinstance(raw, list) else [raw]
    found = [value for value in values if isinstance(value, kind)]
    return found if len(found) == len(values) else []


def _no_scenario(paths: Iterable[str], where: str) -> None:
    if "scenario" in paths:
        raise ScenarioError(
            f'{where}: scenario is not a path; write several scenarios as [study] scenario = ["a", "b"]'
        )


def _ends(raw: Table, where: str) -> tuple[float, float, str]:
    ends = []
    for key in ("from", "to"):
        text = str(raw.get(key))
        number, _, unit = text.strip().partition(" ")
        try:
            base(text.strip())
            ends.append((float(number), unit))
        except (TheoryError, ValueError):
            raise ScenarioError(f"{where}, {key}: is {text!r}; needs a number with its unit, as in '2 ms'") from None
    (low, unit), (high, other) = ends
    if unit != other or not -math.inf < low < high < math.inf:
        raise ScenarioError(
            f"{where}, from: {raw['from']} to {raw['to']} is not a range; needs the same unit twice, lower value first"
        )
    return low, high, unit


def _log(raw: Table, where: str, ends: tuple[float, float, str] | None) -> bool:
    scale = raw.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise ScenarioError(f"{where}, scale: is {scale!r}; allowed: linear, log")
    if scale == "log" and ends and ends[0] <= 0:
        raise ScenarioError(f"{where}, from: {ends[0]:g} is not allowed with scale = 'log'; needs a number above 0")
    return bool(scale == "log")


def _labels(values: list[object]) -> tuple[Label, ...]:
    """Returns the labels of axis values: numbers in base units if all values are quantities, otherwise text."""
    try:
        return tuple(base(str(value)) for value in values)
    except (TheoryError, ValueError):
        return tuple(map(_label, values))


def _label(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _replications(raw: object) -> Replications:
    where = "study, replications"
    if not isinstance(raw, dict):
        count = _whole({"replications": raw}, "study", "replications", 1, MAX_VALUES, 1)
        return Replications(count, count)
    _keys("replications", raw, where)
    least = _whole(raw, where, "at_least", 2, MAX_VALUES, 5)
    most = _whole(raw, where, "at_most", least, MAX_VALUES, max(least, 100))
    until = _table(raw, "until", f"{where}, ")
    _keys("until", until, f"{where}, until")
    metric, width = _metric(f"{where}, until", until.get("metric")), str(until.get("width"))
    relative = width.endswith("%")
    try:
        half = float(width.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        half = 0.0
    if not 0 < half < math.inf:
        raise ScenarioError(
            f"{where}, until, width: is {width}; needs a number above 0, or a percentage of the mean, as in '2 %'"
        )
    return Replications(least, most, metric, half, relative)


def _warm_up(measure: Table) -> str | float:
    value = measure.get("warm_up", "0 %")
    if value == "auto":
        return "auto"
    try:
        share = float(str(value).removesuffix("%")) / 100 if str(value).endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise ScenarioError(f"measure, warm_up: is {value!r}; needs a percentage of the run, as in '20 %', or 'auto'")
    return share


def _metric(where: str, name: object) -> str:
    if not isinstance(name, str) or name not in METRICS:
        raise ScenarioError(f"{where}: no metric {name!r}; {nearest(str(name), list(METRICS))}")
    return name


def _keys(table: str, raw: Table, where: str = "") -> None:
    wrong = Mistakes(
        f"{where or table}: {json.dumps(key)} is not known here; {nearest(key, KEYS[table])}"
        for key in raw
        if key not in KEYS[table]
    )
    wrong.raise_if_any()


def _table(raw: Table, key: str, where: str = "") -> Table:
    table = raw.get(key, {})
    if not isinstance(table, dict):
        raise ScenarioError(f"{where}{key}: is {table!r}; needs a table")
    return table


def _list(raw: Table, key: str, where: str) -> list[object]:
    values = raw.get(key, [])
    if not isinstance(values, list):
        raise ScenarioError(f"{where}{', ' if where else ''}{key}: is {values!r}; needs a list")
    return values


def _whole(raw: Table, where: str, key: str, least: int, most: int, usual: int) -> int:
    value = raw.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScenarioError(f"{where}, {key}: is {value!r}; needs a whole number, {least} to {most}")
    return value
