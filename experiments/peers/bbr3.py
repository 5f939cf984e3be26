"""Compares BBRv3 with Linux's BBRv3 over the same bottlenecks. A driver of Levelflow runs Linux's code as a library."""

from __future__ import annotations

import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from experiments.peers import queues, tcp
from experiments.peers.libraries import Peer
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS, FROM_S = 90, 30
SAMPLE_MS = 10
PACKET = 1500  # bytes
APART_S = 0.5  # s between starts, and largest random additional delay of a start
REPEATS = 9  # repetitions with other starts and random numbers
PEER = Peer("bbr3", ("bbr3.so",), "tcp_bbr.c and tcp_rate.c of github.com/google/bbr, branch v3")


@dataclass(frozen=True)
class Case:
    """Flows over one bottleneck."""

    mbps: float
    round_trip_ms: int
    buffer: float  #: bandwidth-delay products
    flows: int
    loss: float = 0.0  #: fraction of the packets that the wire loses

    @property
    def room(self) -> int:
        """Size of the buffer in bytes, including the packet in service."""
        return round(self.buffer * self.mbps * 1e3 / 8 * self.round_trip_ms) + PACKET

    def starts(self, seed: int) -> list[float]:
        """Returns the start times of flows, s."""
        late = np.random.default_rng(seed).uniform(size=self.flows)
        return (APART_S * (np.arange(self.flows) + late)).round(3).tolist()


LINES = ((10, 20), (10, 80), (50, 20), (50, 80))
CASES = (
    *(Case(*line, buffer, flows) for line in LINES for buffer in (0.5, 1.0, 4.0) for flows in (1, 2, 6)),
    *(Case(*line, 1.0, 2, loss) for line in LINES for loss in (0.005, 0.03)),
)


@dataclass
class Outcome:
    """Result of one run after `FROM_S`."""

    rate: float  #: Mb/s that arrived, all flows
    jain: float  #: Jain's index of the flows' rates
    wait: float  #: mean queueing delay, ms
    late: float  #: 99th percentile of the queueing delay, ms
    dropped: float  #: percent of the packets that arrived at the queue


def scenario(case: Case, seed: int = 1) -> Scenario:
    """Returns the scenario of a case in Levelflow."""
    made = Scenario("bbr3", f"{SECONDS} s", sample=f"{SAMPLE_MS} ms", seed=seed, encapsulation="none")
    half = f"{case.round_trip_ms / 2} ms"
    made.link("R1", "R2", f"{case.mbps} Mb/s", half, buffer=f"{case.room} B", loss=case.loss)
    made.link("R2", "R1", "10 Gb/s", half)
    for number, start in enumerate(case.starts(seed)):
        made.flow(f"x{number}", "bbr3", "R1", "R2", start=f"{start} s", packet=f"{PACKET} B")
    return made


def ours(case: Case, seed: int = 1) -> Outcome:
    """Runs a case in Levelflow."""
    result = scenario(case, seed).run()
    late = result.flows.filter(pl.col("t") > FROM_S).group_by("flow").agg(pl.col("throughput_bps").mean())
    link = result.links.filter((pl.col("t") > FROM_S) & (pl.col("link").cast(pl.String) == "R1->R2"))
    came = link["arrival_bps"].sum() * SAMPLE_MS / 8e3 / PACKET
    dropped = link["dropped"].sum() / came
    return _outcome(case, late["throughput_bps"].to_list(), link["backlog_bytes"].to_numpy(), dropped)


def _outcome(case: Case, rates: list[float], backlog: np.ndarray, dropped: float) -> Outcome:
    waits = backlog * 8 / (case.mbps * 1e3)
    level = float(np.quantile(waits, 0.99))
    return Outcome(sum(rates) / 1e6, queues.jain(rates), float(waits.mean()), level, 100 * dropped)


def theirs(program: Path, folder: str, case: Case, seed: int = 1) -> Outcome:
    """Runs a case with the library."""
    line = (f"{1e6 * case.mbps:.0f}", f"{1000 * case.round_trip_ms}", str(case.room), str(case.loss), str(PACKET))
    times = (f"{1e6 * seconds:.0f}" for seconds in (SECONDS, FROM_S))
    starts = (f"{1e6 * start:.0f}" for start in case.starts(seed))
    return read(case, PEER.run(program, folder, (*line, *times, seed, *starts)))


def read(case: Case, text: str) -> Outcome:
    """Parses the driver's output. The first line has the numbers of arrived and of dropped packets.

    Further lines have the bytes of each flow, and then samples of the queued bytes.
    """
    first, *rest = text.splitlines()
    came, dropped = (int(word) for word in first.split())
    numbers = [int(word) for word in rest]
    rates = [8 * size / (SECONDS - FROM_S) for size in numbers[: case.flows]]
    return _outcome(case, rates, np.array(numbers[case.flows :]), dropped / came)


def row(case: Case, here: list[Outcome], there: list[Outcome]) -> str:
    """Returns a table row in Markdown with medians of runs. Differences of more than 10 % of Linux's value are bold."""
    values = (np.median([astuple(outcome) for outcome in runs], axis=0) for runs in (here, there))
    cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (2, 3, 1, 1, 2), strict=True)]
    if case.flows == 1:
        cells[1] = ""
    loss = f"{100 * case.loss:g}" if case.loss else ""
    return f"| {case.mbps:g} | {case.round_trip_ms} | {case.buffer:g} | {loss} | {case.flows} | {' | '.join(cells)} |"


def compare(folder: str) -> Iterator[str]:
    """Yields the table of all cases."""
    yield (
        "| Mb/s | round trip, ms | buffer, BDP | lost, % | flows | Mb/s | Jain's index | queueing delay, ms | p99, ms "
        "| dropped, % |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    seeds = range(1, REPEATS + 1)
    with tempfile.TemporaryDirectory() as work:
        program = PEER.compiled(Path(work))
        for case in CASES:
            there = [theirs(program, folder, case, seed) for seed in seeds]
            yield row(case, [ours(case, seed) for seed in seeds], there)
