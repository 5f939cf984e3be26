"""Listings of laws, queues, buffers, traffic, scenarios, studies and claims."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from levelflow import _core, cdf
from levelflow._core import ScenarioError
from levelflow.words import nearest

if TYPE_CHECKING:
    from levelflow.records import BufferRecord, LawRecord, ParameterRecord, QueueRecord

#: Folder of this package. In a checkout, its scenarios and papers are symbolic links to those of the repository root.
PACKAGE = Path(__file__).parent
PAPERS = (PACKAGE / "papers").resolve()
FOLDERS = (Path("scenarios"), (PACKAGE / "scenarios").resolve())

Listing = tuple[str, list[str], list[list[str]]]


def find(name: str) -> Path:
    """Returns the scenario file with this path or name.

    Raises:
        ScenarioError: If the name is unknown; the message contains the nearest one.
    """
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or _exists(path):
        return path
    return named(name, "file or scenario")


def named(name: str, kind: str = "scenario") -> Path:
    """Returns the file of a named scenario, from the folder `scenarios` of the working directory or of this package.

    Raises:
        ScenarioError: If the name is unknown; the message contains the nearest one.
    """
    known = _scenario_files()
    if name not in known:
        raise ScenarioError(f"{name}: no such {kind}; {nearest(str(name), list(known))}")
    return known[name]


def study(name: str) -> Path:
    """Returns the file of a study by path, or by name from this package.

    Raises:
        ScenarioError: If the name is unknown; the message contains the nearest one.
    """
    path = Path(name)
    if path.suffix or len(path.parts) > 1 or _exists(path):
        return path
    known = _study_files()
    if name not in known:
        raise ScenarioError(f"{name}: no such file or study; {nearest(name, list(known))}")
    return known[name]


def studies() -> Listing:
    """Returns the studies of this package."""
    rows = []
    for name, path in _study_files().items():
        comment = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        rows.append([name, comment, str(path)])
    return "Studies: levelflow study NAME", ["name", "what it shows", "file"], rows


def _study_files() -> dict[str, Path]:
    return {path.stem: path for path in sorted((PACKAGE / "studies").glob("*.toml"))}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # invalid file name
        return False


def names() -> list[str]:
    """Returns the names of scenarios that `find` accepts."""
    return list(_scenario_files())


def laws() -> list[LawRecord]:
    """Returns the control laws with their parameter tables."""
    tables: list[LawRecord] = json.loads(_core.laws())
    return tables


def queues() -> list[QueueRecord]:
    """Returns the queue disciplines with their parameter tables."""
    tables: list[QueueRecord] = json.loads(_core.queues())
    return tables


def algorithms() -> list[BufferRecord]:
    """Returns buffer rules and buffer-sizing algorithms with their parameter tables."""
    tables: list[BufferRecord] = json.loads(_core.buffer_algorithms())
    return tables


def of_algorithm(algorithm: str, name: str) -> ParameterRecord:
    """Returns the parameter-table row of a buffer rule or buffer-sizing algorithm."""
    params = next(entry["params"] for entry in algorithms() if entry["name"] == algorithm)
    return next(row for row in params if row["name"] == name)


def number(parameter: ParameterRecord, key: Literal["default", "low", "high"]) -> float:
    """Returns the `default`, `low` or `high` of a parameter: seconds, packets, or a number without a unit.

    >>> number(of_algorithm("abs_log", "rtt"), "low"), number(of_algorithm("abs_log", "initial"), "default")
    (1e-06, 100.0)
    """
    from levelflow.theory.units import time  # imports numpy, which `levelflow list` does not need

    text = parameter[key]
    return time(text) if parameter["kind"] == "time" else float(text.removesuffix("s").removesuffix(" packet"))


def allowed(parameter: ParameterRecord) -> str:
    """Returns the allowed values of a parameter of `laws` or `queues` as text."""
    words = ["true", "false"] if parameter["kind"] == "switch" else parameter["choices"]
    return ", ".join(words) if words else f"{parameter['low']} to {parameter['high']}"


def buffers() -> Listing:
    """Returns the listing of the forms of a link's `buffer`."""
    rows = [
        ['buffer = "unlimited"', "keeps every packet (default)"],
        ['buffer = "64 kB"', "drops a packet when an arrival does not fit into 64 kB"],
        ['buffer = "100 packets"', "drops a packet when one arrives while 100 are queued"],
        ['buffer = "1 BDP"', "in bytes: capacity times the round-trip time of the flows that cross the link"],
        [
            'buffer = { stanford = { flows = 16, rtt = "100 ms" } }',
            "size by a rule; levelflow list buffers prints the rules",
        ],
        [
            "buffer = { abs_log = { loss = 0.01 } }",
            "size by a buffer-sizing algorithm; levelflow list buffers prints the algorithms",
        ],
    ]
    return "Buffers of [[link]]", ["key", "meaning"], rows


def traffic() -> Listing:
    """Returns the kinds of traffic."""
    rows = [
        ['start = "5 s", stop = "60 s"', "one long flow"],
        ["count = 99", "99 equal flows"],
        ['size = "2 MB", reliable = true', "a transfer that ends, with retransmission"],
        ['lifetime = { uniform = ["1 s", "15 s"] }', "leaves after a random time"],
        ['arrivals = { poisson = "400 /s" }', "new flows at random times"],
        ['arrivals = { batches = { interval = "10 s", batch = 10 } }', "new flows in batches"],
        ['arrivals = { times = ["1 s", "4 s"] }', "new flows at listed times"],
        [
            'size = { pareto = { mean = "25 packets", shape = 1.2 } }',
            "random sizes; also exponential, uniform, lognormal, list",
        ],
        *(
            [f'size = {{ cdf = "{name}" }}', f"sizes of {path}; or the path of such a file"]
            for name, path in cdf.names().items()
        ),
        ['ack_delay = { every = 5000, hold = "1 s" }', "the receiver delays ACKs at random"],
    ]
    return "Traffic of [[flow]]", ["keys", "meaning"], rows


def scenarios() -> Listing:
    """Returns the scenarios in the folder `scenarios` of the working directory and those of this package."""
    rows = []
    for name, path in _scenario_files().items():
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        rows.append([name, str(text.get("description", "")), str(path)])
    return "Scenarios: levelflow run NAME", ["name", "what it shows", "file"], rows


def claims() -> Listing:
    """Returns the claims of papers that `levelflow reproduce` can verify."""
    rows = []
    for path in sorted(PAPERS.glob("*/*/claim.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["entry"]:
            rows.append([entry["id"], path.parts[-3], entry["title"]])
    return "Claims: levelflow reproduce ID", ["id", "paper", "title"], rows


def _scenario_files() -> dict[str, Path]:
    files: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.toml")):
            files.setdefault(path.stem, path)
    return files
