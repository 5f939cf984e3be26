"""TCP laws beside the kernel's TCP: the same scenario simulated, and run in namespaces of this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from levelflow.results import Result
from levelflow.scenario import Scenario
from tools.peers import queues, tcp

if TYPE_CHECKING:
    from collections.abc import Iterator

MBPS = 20
ROUND_TRIP_MS = 40
PACKET = 1500  # bytes
SECONDS, FROM_S = 40.0, 20.0
#: Buffers, in bandwidth-delay products.
BUFFERS = (0.5, 2.0)
FLOWS = (2, 6)
REPEATS = 3


@dataclass(frozen=True)
class Pair:
    """A law here and in the kernel, with what makes the two alike."""

    law: str
    peer: str
    ours: dict[str, Any] = field(default_factory=dict)


PAIRS = (Pair("newreno", "reno"), Pair("cubic", "cubic", {"hystart": True}), Pair("bbr", "bbr"))

Case = tuple[Pair, int, float]


@dataclass
class Outcome:
    """What one run came to after `FROM_S`."""

    rate: float  #: Mb/s, all flows
    jain: float
    wait: float  #: mean queueing delay, ms
    loss: float  #: percent of the packets


def scenario(law: dict[str, Any] | str, flows: int, buffer: float) -> Scenario:
    """Flows that start half a second apart over one line; the buffer is in bandwidth-delay products."""
    size = buffer * MBPS * 1e6 / 8 * ROUND_TRIP_MS / 1e3
    made = Scenario("kernel-tcp", f"{SECONDS} s", sample="50 ms", seed=1)
    made.link("R1", "R2", f"{MBPS} Mb/s", f"{ROUND_TRIP_MS / 4} ms", buffer=f"{size:.0f} B", duplex=True)
    for number, start in enumerate(queues.starts(flows)):
        rtt = f"{ROUND_TRIP_MS} ms"
        made.flow(f"x{number}", law, "R1", "R2", start=f"{start} s", rtt=rtt, packet=f"{PACKET} B")
    return made


def measured(result: Result) -> Outcome:
    """What a result holds, simulated or of a network."""
    late = pl.col("t") > FROM_S
    link = result.links.filter(late & (pl.col("link").cast(pl.String) == "R1->R2"))
    rates = result.flows.filter(late).group_by("flow").agg(pl.col("delivered_bps").mean())["delivered_bps"].to_list()
    sums = link.select(pl.col("dropped").sum(), pl.col("throughput_bps", "queue_bytes").mean()).row(0, named=True)
    packets = sums["throughput_bps"] * (SECONDS - FROM_S) / 8 / PACKET
    return Outcome(
        sums["throughput_bps"] / 1e6,
        queues.jain(rates),
        sums["queue_bytes"] * 8 / (MBPS * 1e3),
        100 * sums["dropped"] / (sums["dropped"] + packets),
    )


def ours(case: Case) -> Outcome:
    """Runs a case in the simulator."""
    pair, flows, buffer = case
    return measured(scenario({pair.law: pair.ours}, flows, buffer).run())


def theirs(program: str, case: Case) -> Outcome:
    """Runs a case over the kernel's TCP; medians of several runs."""
    pair, flows, buffer = case
    runs = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder) / "case.toml", Path(folder) / "out"
            file.write_text(scenario(pair.peer, flows, buffer).to_toml(), encoding="utf-8")
            subprocess.run([program, "testbed", str(file), "--json", "--out", str(out)], check=True, capture_output=True)
            runs.append(measured(Result.load(out)))
    return Outcome(*(median(getattr(run, name) for run in runs) for name in ("rate", "jain", "wait", "loss")))


def lacks(program: str) -> str | None:
    """What is missing to run networks here, in half a sentence; None if nothing."""
    if not program:
        return "there is no levelflow-net: make net builds it, --net names it"
    return None if os.geteuid() == 0 else "networks inside this machine need root"


def table(cases: list[Case], here: list[Outcome], there: list[Outcome]) -> Iterator[str]:
    """Lines of a table in Markdown; differences above 10 % of the kernel's value are set in bold."""
    yield "| law | kernel | flows | buffer, BDP | Mb/s | Jain's index | queueing delay, ms | dropped, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for (pair, flows, buffer), a, b in zip(cases, here, there, strict=True):
        values = [(o.rate, o.jain, o.wait, o.loss) for o in (a, b)]
        cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (2, 3, 1, 3), strict=True)]
        yield f"| {pair.law} | {pair.peer} | {flows} | {buffer:g} | {' | '.join(cells)} |"


def compare(program: str) -> Iterator[str]:
    """The table: every pair with few flows and with more, over a short buffer and a long one."""
    cases = [(pair, flows, buffer) for pair in PAIRS for flows in FLOWS for buffer in BUFFERS]
    return table(cases, [ours(case) for case in cases], [theirs(program, case) for case in cases])
