"""Completion times of a result in the format of HPCC's `fct.txt`, for its `fct_analysis.py`.

Format: `third.cc` of alibaba-edu/High-Precision-Congestion-Control, lines 163-180: source and target address, source
and target port, bytes, start, completion time and completion time of the flow alone. Times are in ns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from levelflow._core import ScenarioError

if TYPE_CHECKING:
    from levelflow.keywords import Table
    from levelflow.results import Result

#: Address of node 0, and ports (`third.cc` 150, 857; `flow.txt`).
FIRST_ADDRESS, FIRST_PORT, TARGET_PORT = 0x0B000001, 10_000, 100
MOST_NODES = 1 << 16


def text(result: Result) -> str:
    """Returns the lines of the finished transfers, in order of their completion.

    Raises:
        ScenarioError: If the result has no finished transfer, or too many nodes for the addresses.
    """
    from levelflow.measure.transfers import finished

    ends = {flow["name"]: _ends(flow) for flow in result.manifest["raw"]["flow"]}
    numbers = _numbers(sorted({node for pair in ends.values() for node in pair}))
    done = finished(result.transfers)
    if done.is_empty():
        raise ScenarioError("the result has no finished transfer")
    ports: dict[tuple[str, str], int] = {}
    rows = []
    for name, size, start, fct, ideal in (
        done.sort("start_s", "flow", "member").select("flow", "bytes", "start_s", "fct_s", "ideal_s").iter_rows()
    ):
        pair = ends[name]
        ports[pair] = port = ports.get(pair, FIRST_PORT - 1) + 1
        a, b = (_address(numbers[node]) for node in pair)
        times = [round(seconds * 1e9) for seconds in (start, fct, ideal)]
        rows.append(
            (times[0] + times[1], f"{a:08x} {b:08x} {port} {TARGET_PORT} {size} {times[0]} {times[1]} {times[2]}\n")
        )
    return "".join(line for _, line in sorted(rows, key=lambda row: row[0]))


def _ends(flow: Table) -> tuple[str, str]:
    """Returns the first and the last node of a flow entry."""
    path = flow.get("path") or [flow.get("from"), flow.get("to")]
    return path[0], path[-1]


def _address(number: int) -> int:
    return FIRST_ADDRESS + (number // 256) * 0x10000 + (number % 256) * 0x100


def _numbers(nodes: list[str]) -> dict[str, int]:
    """Returns the number of each node: N of "hN" if all nodes have such names, otherwise its place in the list."""
    if len(nodes) > MOST_NODES:
        raise ScenarioError(f"the result has {len(nodes):,} hosts; allowed: {MOST_NODES:,}")
    found = [re.fullmatch(r"h(0|[1-9][0-9]{0,4})", node) for node in nodes]
    if all(found) and all(int(one[1]) < MOST_NODES for one in found if one):
        return {one[0]: int(one[1]) for one in found if one}
    return {node: number for number, node in enumerate(nodes)}
