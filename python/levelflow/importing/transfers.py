"""Flow entries whose transfers are in a file of another simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow._core import ScenarioError
from levelflow.importing import hpcc, htsim_matrix
from levelflow.importing.parts import host
from levelflow.importing.source import Source
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.importing.parts import Traffic, Transfer
    from levelflow.keywords import Table

#: Reader of each key of `transfers`.
READERS: dict[str, Callable[[Source], Traffic]] = {
    "htsim_ps": lambda source: htsim_matrix.read(source, "ps"),
    "htsim_us": lambda source: htsim_matrix.read(source, "us"),
    "hpcc": hpcc.read_flows,
}
#: Limit on the flow entries of a file: one per pair of hosts.
MOST_ENTRIES = 100_000
#: Keys of `[[flow]]` that the file determines.
DETERMINED = (
    "from",
    "to",
    "path",
    "reverse_path",
    "size",
    "start",
    "count",
    "arrivals",
    "session",
    "application",
    "limit",
)


def expand(raw: Table, folder: Path | None) -> Table:
    """Returns the scenario with one flow entry per pair of hosts in place of each entry with `transfers`.

    Args:
        raw: Scenario as written; it is not changed.
        folder: Directory to which relative paths refer; None to reject files.

    Raises:
        ScenarioError: If a file does not exist or is invalid.
    """
    flows = raw.get("flow")
    if not isinstance(flows, list) or not any(isinstance(flow, dict) and "transfers" in flow for flow in flows):
        return raw
    made: list[Any] = []
    for number, flow in enumerate(flows, 1):
        named = isinstance(flow, dict) and "transfers" in flow
        made += _expanded(flow, f"flow {number} ({flow.get('name')}), transfers", folder) if named else [flow]
    return raw | {"flow": made}


def _expanded(flow: Table, place: str, folder: Path | None) -> list[Table]:
    named = flow["transfers"]
    if not isinstance(named, dict) or len(named) != 1 or not isinstance(path := next(iter(named.values())), str):
        raise ScenarioError(f"{place}: needs a format and a path, as in {{ htsim_ps = 'incast.cm' }}")
    (kind,) = named
    if kind not in READERS:
        raise ScenarioError(f"{place}: unknown format {kind!r}; {nearest(kind, list(READERS))}")
    if folder is None:
        raise ScenarioError(f"{place}: files are not read here; write the transfers as flow entries")
    if wrong := [key for key in DETERMINED if key in flow]:
        raise ScenarioError(f"{place}: cannot go with {wrong[0]}, which the file determines")
    try:
        return entries(flow, READERS[kind](Source.read(folder / path, named=True)))
    except ScenarioError as error:
        raise ScenarioError(f"{place}: {error}") from None


def entries(flow: Table, traffic: Traffic) -> list[Table]:
    """Returns the flow entries of a file; `flow` has the name and the keys that all entries share.

    Raises:
        ScenarioError: If there are more than `MOST_ENTRIES`.
    """
    pairs: dict[tuple[int, int], list[Transfer]] = {}
    for one in traffic.transfers:
        pairs.setdefault((one.source, one.target), []).append(one)
    if len(pairs) > MOST_ENTRIES:
        traffic.source.fail(0, f"has transfers between {len(pairs):,} pairs of hosts; allowed: {MOST_ENTRIES:,}")
    shared = {key: value for key, value in flow.items() if key not in ("name", "transfers")}
    return [
        {
            "name": f"{flow.get('name')}: {host(a)}->{host(b)}",
            **shared,
            "from": host(a),
            "to": host(b),
            "arrivals": {"transfers": [[f"{one.start} ps", f"{one.size} B"] for one in all_of_pair]},
        }
        for (a, b), all_of_pair in pairs.items()
    ]
