"""Compares the CAKE-like shaper with CAKE, compiled from Linux's code, with the same senders in both."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from tools import CHECKOUT

from experiments.peers import queues, tcp
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS, FROM_S = 120, 20
APART_S = 0.5  # s between starts, and largest random additional delay of a start
REPEATS = 3  # repetitions with other starts
PACKET = 1500  # bytes
ROUND_TRIP_MS = 40
LINE = "1 Gb/s"  # capacity of the line behind the shaper
SOURCE = Path("net") / "sched" / "sch_cake.c"
#: Isolation names in scenarios, and the flow modes of `linux/pkt_sched.h`.
ISOLATION = {"flows": 4, "sources": 5, "destinations": 6, "triple": 7}


@dataclass(frozen=True)
class Group:
    """Flows with equal properties."""

    law: str
    count: int = 1
    source: str = "A"  #: the source host of every flow
    destination: str = "Z"  #: the destination host of every flow; "*" means a host for each flow
    ecn: bool = False
    round_trip_ms: float = ROUND_TRIP_MS
    rate: float = 0.0  #: Mb/s of constant flows
    packet: int = PACKET  #: bytes

    @property
    def name(self) -> str:
        """Name of the group in the table."""
        what = f"{self.law} {self.rate:g} Mb/s" if self.rate else self.law
        far = "" if self.round_trip_ms == ROUND_TRIP_MS else f", {self.round_trip_ms:g} ms"
        return f"{self.count} {what}{far}{', ECN' if self.ecn else ''}"


@dataclass(frozen=True)
class Case:
    """Groups of flows that share a shaper."""

    what: str
    mbps: float
    groups: tuple[Group, ...]
    isolation: str = "triple"

    def flows(self, seed: int) -> list[tuple[Group, str, str, float]]:
        """Returns the group, the hosts and the start time in s of each flow."""
        flows = [(group, number) for group in self.groups for number in range(group.count)]
        starts = APART_S * (np.arange(len(flows)) + np.random.default_rng(seed).uniform(size=len(flows)))
        return [
            (group, group.source, f"{group.source}{number}" if group.destination == "*" else group.destination, start)
            for (group, number), start in zip(flows, starts.round(3).tolist(), strict=True)
        ]


CALL = Group("cbr", source="C", rate=0.097, packet=250)
HOSTS = (Group("cubic", 8, "A", "*"), Group("cubic", 1, "B", "*"))
ONE_END = (Group("cubic", 8, "A"), Group("cubic", 1, "B"))
CASES = (
    *(Case(law, 20, (Group(law, count),)) for law in ("newreno", "cubic") for count in (1, 2, 10)),
    *(Case("marks", 20, (Group("cubic", count, ecn=True),)) for count in (2, 10)),
    Case("round trips", 20, (Group("cubic", 2, round_trip_ms=20), Group("cubic", 2, round_trip_ms=80))),
    Case("slow", 2, (Group("cubic", 2), CALL)),
    Case("fast", 100, (Group("cubic", 10), CALL)),
    Case("hosts", 20, HOSTS),
    Case("one destination", 20, ONE_END),
    Case("sources alone", 20, ONE_END, "sources"),
    Case("below the rate", 20, tuple(Group("cbr", rate=rate) for rate in (1, 3, 6, 9))),
    Case("above the rate", 20, tuple(Group("cbr", rate=rate) for rate in (1, 3, 9, 15))),
    Case("flood", 20, (Group("cubic", 2), Group("cbr", source="C", rate=30), CALL)),
)


@dataclass
class Outcome:
    """Result of one group after `FROM_S`."""

    rate: float  #: Mb/s, all flows
    jain: float  #: Jain's index of the flows' rates
    wait: float  #: round-trip time minus the base one, ms: mean of the means of 10 ms
    late: float  #: 99th percentile of these means, ms
    lost: float  #: percent of the packets that were dropped or marked


def scenario(case: Case, seed: int = 1) -> Scenario:
    """Returns a line of 1 Gb/s behind the shaper, and a link for each host."""
    made = Scenario("cake", f"{SECONDS} s", sample="10 ms", seed=seed, profile="paper")
    queue = {"cake": {"rate": f"{case.mbps} Mb/s", "isolation": case.isolation}}
    made.link("R", "S", LINE, "1 ms", buffer="unlimited", queue=queue)
    made.link("S", "R", LINE, "1 ms", buffer="unlimited")
    flows = case.flows(seed)
    for host, router in sorted({(source, "R") for _, source, _, _ in flows} | {(to, "S") for _, _, to, _ in flows}):
        made.link(host, router, "100 Gb/s", "1 ms", buffer="unlimited", duplex=True)
    for number, (group, source, to, start) in enumerate(flows):
        rtt, packet = f"{group.round_trip_ms} ms", f"{group.packet} B"
        made.flow(f"x{number}", _law(group), source, to, start=f"{start} s", rtt=rtt, packet=packet)
    return made


def ours(case: Case, seed: int = 1) -> list[Outcome]:
    """Runs a case in Levelflow."""
    result = scenario(case, seed).run()
    late = result.flows.filter(pl.col("t") > FROM_S).with_columns(pl.col("flow").cast(pl.String))
    link = result.links.filter((pl.col("t") > FROM_S) & (pl.col("link").cast(pl.String) == "R->S"))
    groups = [group for group in case.groups for _ in range(group.count)]
    own = [late.filter(pl.col("flow") == f"x{number}") for number in range(len(groups))]
    pairs = list(zip(own, groups, strict=True))
    left = [rows["throughput_bps"].to_numpy().mean() * (SECONDS - FROM_S) / 8 / each.packet for rows, each in pairs]
    waits = [1e3 * rows["rtt_s"].drop_nans().to_numpy() - each.round_trip_ms for rows, each in pairs]
    dropped = np.array([rows["lost"].sum() for rows in own])
    marked = link["marked"].sum() / sum(left) * np.array(left)  # the flow of a mark is not recorded
    return _outcomes(case, left, dropped, marked, waits)


def _law(group: Group) -> dict[str, Any]:
    if group.law == "cbr":
        return {"cbr": {"rate": f"{group.rate} Mb/s", "acks": True}}
    return {group.law: {"initial_window": 10, "ecn": group.ecn}}


def _outcomes(
    case: Case, left: list[float], dropped: np.ndarray, marked: np.ndarray, waits: list[np.ndarray]
) -> list[Outcome]:
    """Returns the outcome of each group. Arguments are per flow: packets that left, drops, marks, queueing delays."""
    outcomes, first = [], 0
    for group in case.groups:
        which = slice(first, first + group.count)
        first += group.count
        rates = [8e-6 * group.packet * packets / (SECONDS - FROM_S) for packets in left[which]]
        late = np.concatenate(waits[which])
        lost = 100 * (dropped[which] + marked[which]).sum() / (sum(left[which]) + dropped[which].sum())
        level = float(np.quantile(late, 0.99))
        outcomes.append(Outcome(sum(rates), queues.jain(rates), float(late.mean()), level, float(lost)))
    return outcomes


def theirs(program: Path, case: Case, seed: int = 1) -> list[Outcome]:
    """Runs a case with Linux's code."""
    hosts: dict[str, int] = {}
    words = []
    for group, source, to, start in case.flows(seed):
        ends = ",".join(str(hosts.setdefault(host, len(hosts))) for host in (source, to))
        numbers = f"{group.round_trip_ms:g},{1e3 * start:.0f},{group.packet},{int(group.ecn)},{1e6 * group.rate:.0f}"
        words.append(f"{group.law},{ends},{numbers}")
    options = (case.mbps * 1e6, ISOLATION[case.isolation], SECONDS, FROM_S, seed)
    command = [str(program), *(f"{option:.0f}" for option in options), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{case.what}: {done.stderr.strip()}")
    return read(case, done.stdout)


def read(case: Case, text: str) -> list[Outcome]:
    """Parses the driver's output.

    The first lines have the numbers of packets that left, were dropped and were marked, one line per flow. Each further
    line has a flow and a queueing delay in ns.
    """
    lines = text.splitlines()
    count = sum(group.count for group in case.groups)
    left, dropped, marked = np.array([[float(word) for word in line.split()] for line in lines[:count]]).T
    flow, wait = np.array([[int(word) for word in line.split()] for line in lines[count:]]).T
    waits = [wait[flow == number] / 1e6 for number in range(count)]
    return _outcomes(case, list(left), dropped, marked, waits)


def lacks(folder: str) -> str | None:
    """Returns the missing requirement for compiling Linux's code, as a clause; None if there is none."""
    if not folder:
        return "--linux names no copy of the source of Linux, of which net/sched/sch_cake.c is needed"
    if not (Path(folder) / SOURCE).is_file():
        return f"{Path(folder) / SOURCE} is missing: --linux names a copy of the source of Linux"
    return None if shutil.which("cc") else "there is no cc to compile it"


def compiled(folder: str, into: Path, patches: tuple[tuple[str, str], ...] = ()) -> Path:
    """Compiles Linux's code with a driver. `cake_kernel.h` replaces the includes, and `patches` replace other text."""
    text = (Path(folder) / SOURCE).read_text(encoding="utf-8")
    for old, new in patches:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is {text.count(old)} times in {SOURCE}")
        text = text.replace(old, new)
    (into / SOURCE.name).write_text(re.sub(r"^#include .*$", "", text, flags=re.MULTILINE), encoding="utf-8")
    driver, program = CHECKOUT / "benches" / "peers" / "cake_linux.c", into / "cake"
    command = ["cc", "-O2", "-w", f"-I{driver.parent}", f"-I{into}", str(driver), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(folder) / SOURCE} does not compile:\n{done.stderr}")
    return program


def row(case: Case, group: Group, here: list[Outcome], there: list[Outcome]) -> str:
    """Returns a table row in Markdown with medians of runs. Differences of more than 10 % of Linux's value are bold."""
    values = (np.median([astuple(outcome) for outcome in runs], axis=0) for runs in (here, there))
    cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (2, 3, 2, 2, 3), strict=True)]
    if group.count == 1:
        cells[1] = ""
    return f"| {case.what} | {case.mbps:g} | {group.name} | {' | '.join(cells)} |"


def table(program: Path, cases: tuple[Case, ...] = CASES) -> Iterator[str]:
    """Yields lines of the table, with a row for each group of each case."""
    yield "| case | rate, Mb/s | flows | Mb/s | Jain's index | wait, ms | wait p99, ms | dropped or marked, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in cases:
        seeds = range(1, REPEATS + 1)
        here, there = [ours(case, seed) for seed in seeds], [theirs(program, case, seed) for seed in seeds]
        for number, group in enumerate(case.groups):
            yield row(case, group, *([run[number] for run in runs] for runs in (here, there)))


def compare(folder: str) -> Iterator[str]:
    """Yields the table of all cases."""
    with tempfile.TemporaryDirectory() as work:
        yield from table(compiled(folder, Path(work)))
