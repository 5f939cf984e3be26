"""Compares XCP with the code of its draft's authors in ns-2, on topology T1 of Zhang's dissertation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from experiments.peers import ns2
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = 10
SECONDS = 300
FROM_S = 100
DATA, WIRE = 1000, 1050  # bytes of data in a packet, and of a packet with headers


@dataclass(frozen=True)
class Case:
    """A variant of `scenarios/t1-xcp.toml`, and the same variant in ns-2."""

    name: str
    changes: dict[str, Any]
    law: str  #: law of access links in ns-2
    delays: tuple[str, str]  #: delays of access links in ns-2


CASES = (
    Case("220 and 2020 ms", {}, "DropTail", ("100ms", "1s")),
    Case(
        "the same, XCP on the access links too",
        {"link.access1.law": {}, "link.access2.law": {}},
        "XCP",
        ("100ms", "1s"),
    ),
    Case("220 and 1020 ms", {"link.access2.delay": "500 ms"}, "DropTail", ("100ms", "500ms")),
)


@dataclass
class Outcome:
    """Result of one run. The throughput of data in Mb/s is averaged over each second.

    `means` and `deviations` have the mean and the standard deviation of these averages for each flow. `queue` is the
    largest queue in packets.
    """

    means: list[float]
    deviations: list[float]
    queue: float


def ours(case: Case) -> Outcome:
    """Runs a case in Levelflow."""
    scenario = Scenario.load("t1-xcp")
    for path, value in case.changes.items():
        scenario.set(path, value)
    result = scenario.run()
    late = result.flows.filter(pl.col("t") > FROM_S)
    rates = [late.filter(pl.col("flow") == x)["throughput_bps"].to_numpy() * DATA / WIRE / 1e6 for x in ("x1", "x2")]
    queue = result.links.filter(pl.col("link") == "R1->R2")["backlog_max_bytes"].max()
    return _outcome(rates, float(np.float64(queue)) / WIRE)


def read(text: str) -> Outcome:
    """Parses the output of the script."""
    table = np.array(ns2.numbers(text))
    rates = [np.diff(table[FROM_S - 1 :, flow]) * DATA * 8 / 1e6 for flow in (0, 1)]
    return _outcome(rates, float(table[:, 2].max()))


def _outcome(rates: list[np.ndarray], queue: float) -> Outcome:
    return Outcome([float(r.mean()) for r in rates], [float(r.std(ddof=1)) for r in rates], queue)


def compare(binary: str) -> Iterator[str]:
    """Yields the table of all cases. Values of ns-2 are means over seeds, with ranges in brackets."""
    yield "| case | | x1, Mb/s | x2, Mb/s | queue, packets |"
    yield "|---|---|---|---|---|"
    for case in CASES:
        yield f"| {case.name} | here | {_row([ours(case)])} |"
        peers = [
            read(ns2.run(binary, "xcp_ns2.tcl", seed, SECONDS, case.law, *case.delays)) for seed in range(1, SEEDS + 1)
        ]
        yield f"| | ns-2, {SEEDS} seeds | {_row(peers)} |"


def _row(outcomes: list[Outcome]) -> str:
    cells = []
    for flow in (0, 1):
        deviation = np.mean([o.deviations[flow] for o in outcomes])
        cells.append(f"{_spread([o.means[flow] for o in outcomes], 3)} ± {deviation:.3f}")
    return " | ".join([*cells, _spread([o.queue for o in outcomes], 0)])


def _spread(values: list[float], digits: int) -> str:
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"
