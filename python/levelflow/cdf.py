"""Distributions of flow sizes from files.

Each line has a size and the fraction of flows of at most this size. Between two sizes, the distribution is linear.
Text after a `#` is a comment. The first line without a comment may be a header, `bytes,probability` or
`packets,probability`; the default unit is bytes. Columns are separated by commas or blanks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow import files
from levelflow._core import ScenarioError
from levelflow.words import nearest

if TYPE_CHECKING:
    from levelflow.keywords import Table

#: Folders of named files: in the working directory, and in the package.
FOLDERS = (Path("scenarios/traffic"), Path(__file__).parent / "traffic")
UNITS = {"bytes": "B", "packets": "packets"}

Point = tuple[str, float]


def expand(raw: Table, folder: Path | None) -> Table:
    """Returns the scenario with the points of the file in place of each `size = { cdf = ... }`.

    Args:
        raw: Scenario as written; it is not changed.
        folder: Directory to which relative paths refer; None to reject paths.

    Raises:
        ScenarioError: If a file does not exist or is not a distribution.
    """
    flows = raw.get("flow")
    if not isinstance(flows, list) or not any(map(_is_named, flows)):
        return raw
    return raw | {"flow": [_expanded(flow, number, folder) for number, flow in enumerate(flows, 1)]}


def names() -> dict[str, Path]:
    """Returns the paths of the named files by name."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.csv")):
            found.setdefault(path.stem, path)
    return found


def read(path: Path) -> list[Point]:
    """Reads the points of a file: sizes with their units, and probabilities.

    Raises:
        ScenarioError: If the file is unreadable or not a distribution; one line that begins with the path.
    """
    lines = files.read(path).splitlines()
    rows = [(number, text) for number, line in enumerate(lines, 1) if (text := line.partition("#")[0].strip())]
    unit = UNITS["bytes"]
    if rows and (head := re.fullmatch(r"(\w+)[,\s]+probability", rows[0][1])):
        if head[1] not in UNITS:
            raise ScenarioError(f"{path}, line {rows[0][0]}: unknown unit of sizes; allowed: {', '.join(UNITS)}")
        unit = UNITS[head[1]]
        del rows[0]
    points = [(0, 0.0)]
    for number, text in rows:
        try:
            points.append(_point(text, *points[-1]))
        except ValueError as error:
            raise ScenarioError(f"{path}, line {number}: {error}") from None
    size, probability = points[-1]
    if probability != 1 or size == 0:
        raise ScenarioError(f"{path}: ends at {size} with probability {probability:g}; needs 1, at a size above 0")
    return [(f"{size} {unit}", probability) for size, probability in points[1:]]


def _is_named(flow: Any) -> bool:
    return isinstance(flow, dict) and isinstance(flow.get("size"), dict) and list(flow["size"]) == ["cdf"]


def _expanded(flow: Any, number: int, folder: Path | None) -> Any:
    if not _is_named(flow):
        return flow
    place = f"flow {number} ({flow.get('name')}), size"
    name = flow["size"]["cdf"]
    if not isinstance(name, str):
        raise ScenarioError(f"{place}: cdf is {name!r}; needs the name or the path of a file")
    try:
        return flow | {"size": {"empirical": [list(point) for point in read(_find(name, folder))]}}
    except ScenarioError as error:
        raise ScenarioError(f"{place}: {error}") from None


def _find(name: str, folder: Path | None) -> Path:
    path = Path(name)
    if path.suffix or len(path.parts) != 1:
        if folder is None:
            raise ScenarioError("files are not read here; write the name of a distribution, or a list of sizes")
        return folder / path
    known = names()
    if name not in known:
        looked = " and ".join(str(folder) for folder in FOLDERS)
        raise ScenarioError(f"no distribution {name!r} in {looked}; {nearest(name, [*known])}, or the path of a file")
    return known[name]


def _point(text: str, least: int, share: float) -> tuple[int, float]:
    """Parses a line; `least` and `share` are the size and the probability of the previous line."""
    try:
        first, second = re.split(r"\s*,\s*|\s+", text)
        size, probability = float(first), float(second)
    except ValueError:
        raise ValueError("needs a size and a probability") from None
    if not size.is_integer() or size < least:
        raise ValueError(f"size {first} is not allowed; needs a whole number, at least {least} as in the line before")
    if not (share <= probability <= 1):
        raise ValueError(f"probability {second} is not allowed; needs {share:g} as in the line before, up to 1")
    return int(size), probability
