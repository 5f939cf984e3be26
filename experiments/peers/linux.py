"""Compares TCP laws with the kernel's TCP. Each scenario is simulated, and run in network namespaces."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import astuple, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from experiments.peers import queues, tcp
from levelflow.results import Result
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

MBPS = 20
ROUND_TRIP_MS = 40
PACKET = 1500  # bytes
SECONDS, FROM_S = 40.0, 20.0
#: Buffers, in bandwidth-delay products.
BUFFERS = (0.5, 2.0)
FLOWS = (2, 6)
#: Number of seeds in the simulator, and number of runs over the kernel's TCP.
REPEATS = 3
KNOWN = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Pair:
    """A law in Levelflow and in the kernel, with settings that make both equal."""

    law: str
    peer: str
    ours: dict[str, Any] = field(default_factory=dict)


PAIRS = (
    Pair("newreno", "reno", {"delayed_ack": True}),
    Pair("cubic", "cubic", {"delayed_ack": True, "hystart": True}),
    Pair("bbr", "bbr"),
)

Case = tuple[Pair, int, float]


@dataclass
class Outcome:
    """Result of one run after `FROM_S`."""

    rate: float  #: Mb/s, all flows
    jain: float  #: Jain's index of the flows' rates
    wait: float  #: mean queueing delay, ms
    loss: float  #: percent of the packets that arrived at the queue


def scenario(law: dict[str, Any] | str, flows: int, buffer: float, seed: int = 1) -> Scenario:
    """Returns flows that start half a second apart over one link. The unit of `buffer` is a bandwidth-delay product."""
    size = buffer * MBPS * 1e6 / 8 * ROUND_TRIP_MS / 1e3
    made = Scenario("kernel-tcp", f"{SECONDS} s", sample="50 ms", seed=seed, encapsulation="none")
    made.link("R1", "R2", f"{MBPS} Mb/s", f"{ROUND_TRIP_MS / 4} ms", buffer=f"{size:.0f} B", duplex=True)
    for number, start in enumerate(queues.starts(flows)):
        rtt = f"{ROUND_TRIP_MS} ms"
        made.flow(f"x{number}", law, "R1", "R2", start=f"{start} s", rtt=rtt, packet=f"{PACKET} B")
    return made


def measured(result: Result) -> Outcome:
    """Returns the outcome of a result, simulated or measured."""
    late = pl.col("t") > FROM_S
    link = result.links.filter(late & (pl.col("link").cast(pl.String) == "R1->R2"))
    rates = result.flows.filter(late).group_by("flow").agg(pl.col("throughput_bps").mean())["throughput_bps"].to_list()
    sums = link.select(pl.col("dropped").sum(), pl.col("throughput_bps", "backlog_bytes").mean()).row(0, named=True)
    left = sums["throughput_bps"] * (SECONDS - FROM_S) / 8 / PACKET
    return Outcome(
        sums["throughput_bps"] / 1e6,
        queues.jain(rates),
        sums["backlog_bytes"] * 8 / (MBPS * 1e3),
        100 * sums["dropped"] / (sums["dropped"] + left),
    )


def ours(case: Case) -> list[Outcome]:
    """Runs a case in the simulator, with several seeds."""
    pair, flows, buffer = case
    return [measured(scenario({pair.law: pair.ours}, flows, buffer, seed).run()) for seed in range(1, REPEATS + 1)]


def theirs(program: str, case: Case) -> list[Outcome]:
    """Runs a case over the kernel's TCP several times."""
    pair, flows, buffer = case
    return [_once(program, scenario(pair.peer, flows, buffer)) for _ in range(REPEATS)]


def _once(program: str, case: Scenario) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "case.toml", Path(folder) / "out"
        file.write_text(case.to_toml(), encoding="utf-8")
        command = [program, "testbed", str(file), "--json", "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{program} testbed failed:\n{done.stderr}")
        return measured(Result.load(out))


def lacks(program: str) -> str | None:
    """Returns the missing requirement of a run over the kernel's TCP, as a clause; None if there is none."""
    if not os.access(program, os.X_OK):
        return f"no levelflow-net at {program or '--net'}: make net builds it"
    if os.geteuid() != 0:
        return "networks inside this machine need root"
    there = KNOWN.read_text(encoding="utf-8").split() if KNOWN.exists() else []
    missing = [pair.peer for pair in PAIRS if pair.peer not in there]
    return f"this kernel has no TCP {', '.join(missing)}: modprobe tcp_{missing[0]}" if missing else None


def row(case: Case, here: list[Outcome], there: list[Outcome]) -> str:
    """Returns a table row with medians, bold if they differ by more than 10 %, and with ranges if runs differ."""
    pair, flows, buffer = case
    cells = []
    columns = (zip(*map(astuple, runs), strict=True) for runs in (here, there))
    for a, b, digits in zip(*columns, (2, 3, 1, 3), strict=True):
        ranges = [f"{min(of):.{digits}f} to {max(of):.{digits}f}" for of in (a, b)]
        spread = f" ({ranges[0]}; {ranges[1]})" if len({*ranges[0].split(" to "), *ranges[1].split(" to ")}) > 1 else ""
        cells.append(tcp.cell(median(a), median(b), digits) + spread)
    return f"| {pair.law} | {pair.peer} | {flows} | {buffer:g} | {' | '.join(cells)} |"


def compare(program: str) -> Iterator[str]:
    """Yields the table: every pair with few and with more flows, over small and large buffers."""
    cases = [(pair, flows, buffer) for pair in PAIRS for flows in FLOWS for buffer in BUFFERS]
    yield f"{len(cases)} cases take {len(cases) * REPEATS * SECONDS / 60:.0f} minutes of real time.\n"
    yield "| law | kernel | flows | buffer, BDP | Mb/s | Jain's index | queueing delay, ms | dropped, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in cases:
        yield row(case, ours(case), theirs(program, case))
