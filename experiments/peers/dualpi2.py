"""Compares DualPI2 and Prague with Linux's queue and udp_prague's sender. A driver of Levelflow runs both."""

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
    from collections.abc import Iterator, Sequence

PACKET = 1500  # bytes
SECONDS, FROM_S, SAMPLE_MS = 80, 20, 10
MBPS = (10, 40, 100)
ROUND_TRIPS_MS = (10, 40)
#: Numbers of Prague and of CUBIC flows.
FLOWS = ((2, 0), (1, 1), (2, 2), (5, 5))
SEEDS = (1, 2, 3, 4, 5)
LEVEL = 0.99
SSTHRESH = 50  # packets at which CUBIC's slow start ends
NONE = float("nan")
PEER = Peer("dualpi2", ("queue.so", "prague.so"), "Linux's sch_dualpi2.c and github.com/L4STeam/udp_prague")

Flows = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A line, and the numbers of Prague flows and CUBIC flows that share it."""

    mbps: int
    round_trip_ms: int
    flows: Flows


@dataclass
class Outcome:
    """Result of one run after `FROM_S`. Values of CUBIC are NaN if there is no CUBIC flow."""

    rate: float  #: Mb/s of all flows
    ratio: float  #: rate of a flow of Prague divided by that of a flow of CUBIC
    jain: float  #: Jain's index of all flows' rates
    low: float  #: round-trip time of Prague minus the line's, ms: mean of samples
    low_most: float  #: same round-trip time, at `LEVEL` of the samples
    classic: float  #: same mean for CUBIC
    classic_most: float
    marked: float  #: marked packets of Prague, %
    dropped: float  #: dropped packets of CUBIC, %


DIGITS = (1, 2, 3, 2, 2, 1, 1, 2, 3)


def starts_ms(flows: Flows) -> Iterator[tuple[str, int]]:
    """Yields the law and the start time of each flow, ms."""
    for law, count, first in zip(("prague", "cubic"), flows, (0, 50), strict=True):
        yield from ((law, first + 100 * number) for number in range(count))


def outcome(case: Case, rates: Sequence[float], waits: Sequence[np.ndarray], marked: float, dropped: float) -> Outcome:
    """Returns an outcome.

    Arguments are the rate in Mb/s and the queueing delays in ms of each flow, and percentages of marked and dropped
    packets.
    """
    count, alone = case.flows[0], not case.flows[1]
    sides = [np.concatenate([[], *side]) for side in (waits[:count], waits[count:])]
    by_class = [
        value for side in sides for value in ((side.mean(), np.quantile(side, LEVEL)) if side.size else (NONE, NONE))
    ]
    ratio = NONE if alone else np.mean(rates[:count]) / np.mean(rates[count:])
    return Outcome(sum(rates), float(ratio), queues.jain(list(rates)), *map(float, by_class), marked, dropped)


def ours(case: Case, seed: int) -> Outcome:
    """Runs a case in Levelflow."""
    scenario = Scenario("dualpi2", f"{SECONDS} s", sample=f"{SAMPLE_MS} ms", profile="paper", seed=seed)
    half = f"{case.round_trip_ms * 500} us"
    scenario.link("A", "B", f"{case.mbps} Mb/s", half, buffer="unlimited", queue="dualpi2")
    scenario.link("B", "A", "1000 Gb/s", half, buffer="unlimited")
    for number, (law, start) in enumerate(starts_ms(case.flows)):
        own = {law: {"initial_ssthresh": SSTHRESH} if law == "cubic" else {}}
        scenario.flow(f"x{number}", own, "A", "B", start=f"{start} ms", packet=f"{PACKET} B")
    result = scenario.run()
    late = pl.col("t") > FROM_S
    flows = [rows.sort("t") for rows in result.flows.filter(late).partition_by("flow", maintain_order=True)]
    flows.sort(key=lambda rows: int(str(rows["flow"][0])[1:]))
    waits = [1e3 * rows["rtt_s"].drop_nans().to_numpy() - case.round_trip_ms for rows in flows]
    rates = [rows["throughput_bps"].mean() / 1e6 for rows in flows]
    count = case.flows[0]
    prague, cubic = (sum(side) * (SECONDS - FROM_S) * 1e6 / 8 / PACKET for side in (rates[:count], rates[count:]))
    marked = result.links.filter(late)["marked"].sum()
    dropped = sum(rows["lost"].sum() for rows in flows[count:])
    return outcome(case, rates, waits, 100 * marked / prague, 100 * dropped / (cubic + dropped) if cubic else NONE)


def theirs(program: Path, folder: str, case: Case, seed: int) -> Outcome:
    """Runs a case with the libraries."""
    numbers = (seed, 1000 * SECONDS, 1000 * FROM_S, SAMPLE_MS, case.mbps, case.round_trip_ms, *case.flows)
    return read(case, PEER.run(program, folder, numbers))


def read(case: Case, text: str) -> Outcome:
    """Parses the driver's output.

    Two lines have the numbers of packets sent, marked and dropped: of Prague, then of CUBIC. Each further line has
    bytes, ACKs and the sum of RTTs of a flow in a sample, in the order of samples.
    """
    prague, cubic, *samples = text.splitlines()
    (sent, marked, _), (cubic_sent, _, dropped) = (map(int, line.split()) for line in (prague, cubic))
    flows = np.array([line.split() for line in samples], dtype=float).reshape(-1, sum(case.flows), 3)
    waits = []
    for each in flows.transpose(1, 0, 2):
        _, acks, round_trips = each[each[:, 1] > 0].T
        waits.append(round_trips / acks / 1e3 - case.round_trip_ms)
    rates = flows[:, :, 0].sum(axis=0) * 8e-6 / (SECONDS - FROM_S)
    lost = 100 * dropped / (cubic_sent + dropped) if cubic_sent else NONE
    return outcome(case, rates.tolist(), waits, 100 * marked / sent, lost)


def row(case: Case, a: Outcome, b: Outcome) -> str:
    """Returns a table row in Markdown. Values that differ by more than 10 % of the libraries' value are bold."""
    cells = [
        "" if np.isnan(x) else tcp.cell(x, y, digits)
        for x, y, digits in zip(astuple(a), astuple(b), DIGITS, strict=True)
    ]
    return f"| {case.mbps} | {case.round_trip_ms} | {case.flows[0]}+{case.flows[1]} | {' | '.join(cells)} |"


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Returns the mean outcome of several runs."""
    return Outcome(*np.mean([astuple(each) for each in outcomes], axis=0).tolist())


def compare(folder: str) -> Iterator[str]:
    """Yields the table of all lines with all numbers of flows, as means over seeds."""
    waits = [f"{law} waits{what}, ms" for law in ("Prague", "CUBIC") for what in ("", f" p{100 * LEVEL:g}")]
    case_heads, rates = ("Mb/s", "round trip, ms", "flows"), ("rate, Mb/s", "Prague:CUBIC", "Jain's index")
    heads = (*case_heads, *rates, *waits, "marked, %", "dropped, %")
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    with tempfile.TemporaryDirectory() as work:
        program = PEER.compiled(Path(work))
        for mbps in MBPS:
            for round_trip in ROUND_TRIPS_MS:
                for flows in FLOWS:
                    case = Case(mbps, round_trip, flows)
                    here = mean([ours(case, seed) for seed in SEEDS])
                    yield row(case, here, mean([theirs(program, folder, case, seed) for seed in SEEDS]))
