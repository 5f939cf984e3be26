"""Compares ABC with its authors' queue on traces of their Mahimahi. A driver of Levelflow runs this queue."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from experiments.peers import queues, tcp
from experiments.peers.libraries import Peer
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKET = 1504  # bytes that a delivery opportunity of Mahimahi carries
ROUND_TRIP_MS = 100
SECONDS, FROM_S = 120, 40
APART_S = 10  # s between starts
LEVELS = (0.5, 0.99)
#: Traces of the authors' Mahimahi.
TRACES = (
    "bw12.mahi",
    "bw48.mahi",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
    "TMobile-LTE-short.down",
    "ATT-LTE-driving-2016.down",
    "TMobile-UMTS-driving.down",
)
FLOWS = (1, 4)
PEER = Peer("abc", ("queue.so",), "github.com/prateshg/ABC-NSDI2020")


@dataclass
class Outcome:
    """Result of one run."""

    rate: float  #: packets/s of all flows after `FROM_S`
    jain: float  #: Jain's index of the flows' rates after `FROM_S`
    waits: list[float]  #: round-trip time minus `ROUND_TRIP_MS`, ms, at `LEVELS`: whole run, mean of the flows


def starts(flows: int) -> list[int]:
    """Returns the start times of flows, s."""
    return [APART_S * number for number in range(flows)]


def ours(trace: Path, flows: int) -> Outcome:
    """Runs a case in Levelflow."""
    scenario = Scenario("abc", f"{SECONDS} s", sample="100 ms", profile="paper")
    changes = {"mahimahi": str(trace)}
    half = f"{ROUND_TRIP_MS / 2} ms"
    scenario.link("A", "B", "12 Mb/s", half, buffer="unlimited", changes=changes)
    scenario.link("B", "A", "10 Gb/s", half, buffer="unlimited")
    for start in starts(flows):
        scenario.flow(f"x{start}", "abc", "A", "B", start=f"{start} s", packet=f"{PACKET} B")
    result = scenario.run()
    late = result.flows.filter(pl.col("t") > FROM_S).group_by("flow").agg(pl.col("throughput_bps").mean())
    round_trips = [flow["rtt_s"] for flow in result.summary["flows"]]
    waits = [[1e3 * times[f"p{100 * level:g}"] - ROUND_TRIP_MS for times in round_trips] for level in LEVELS]
    return _outcome((late["throughput_bps"] / 8 / PACKET).to_list(), waits)


def theirs(program: Path, folder: str, trace: str, flows: int) -> Outcome:
    """Runs a case with the library."""
    times = (SECONDS, FROM_S, ROUND_TRIP_MS / 1000, *starts(flows))
    return read(PEER.run(program, folder, (_path(folder, trace), *(f"{1000 * seconds:.0f}" for seconds in times))))


def read(text: str) -> Outcome:
    """Parses the driver's output. The first line has the number of packets of each flow.

    Each further line has a flow, a queueing delay in ms, and the number of packets with this delay.
    """
    first, *rest = text.splitlines()
    flow, wait, packets = np.array([[int(word) for word in line.split()] for line in rest]).T
    rates = [int(word) / (SECONDS - FROM_S) for word in first.split()]
    own = [flow == number for number in range(len(rates))]
    return _outcome(rates, [[_level(wait[which], packets[which], level) for which in own] for level in LEVELS])


def _level(waits: np.ndarray, packets: np.ndarray, level: float) -> float:
    return float(waits[np.cumsum(packets) >= level * packets.sum()][0])


def _outcome(rates: list[float], waits: list[list[float]]) -> Outcome:
    return Outcome(sum(rates), queues.jain(rates), [float(np.mean(each)) for each in waits])


def lacks(folder: str) -> str | None:
    """Returns the missing requirement of a run of the library on the traces, as a clause; None if there is none."""
    if lack := PEER.lacks(folder):
        return lack
    missing = [path for path in (_path(folder, trace) for trace in TRACES) if not path.is_file()]
    return f"{missing[0]} is missing: it is in mahimahi/traces of {PEER.code}" if missing else None


def _path(folder: str, trace: str) -> Path:
    return (Path(folder) / "traces" / trace).resolve()


def row(trace: str, flows: int, a: Outcome, b: Outcome) -> str:
    """Returns a table row in Markdown. Values that differ by more than 10 % of the authors' value are bold."""
    values: list[tuple[Any, ...]] = [(o.rate, o.jain, *o.waits) for o in (a, b)]
    cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (0, 3, 1, 1), strict=True)]
    if flows == 1:
        cells[1] = ""
    return f"| {trace} | {flows} | {' | '.join(cells)} |"


def compare(folder: str) -> Iterator[str]:
    """Yields the table: every trace with one and with four flows."""
    waits = " | ".join(f"wait p{100 * level:g}, ms" for level in LEVELS)
    yield f"| trace | flows | packets/s | Jain's index | {waits} |"
    yield f"|---|---|---|---|{'---|' * len(LEVELS)}"
    with tempfile.TemporaryDirectory() as work:
        program = PEER.compiled(Path(work))
        for trace in TRACES:
            for flows in FLOWS:
                yield row(trace, flows, ours(_path(folder, trace), flows), theirs(program, folder, trace, flows))
