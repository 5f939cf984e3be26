"""Compares TCP laws with ns-3. Tables have the results of both on the same dumbbells, and their differences."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
from tools import CHECKOUT

from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MBPS = 10
DELAY_S = 0.02
ACCESS_S = 0.005  # delay of an access link; with four of them, the base round trip is 60 ms, or 71 packets
WIRE = 1042  # bytes: 1000 of data and the headers of ns-3
BUFFER = 36  # queued packets, half a bandwidth-delay product
STEP = 20  # marking threshold of DCTCP's queue, packets
ROOMY = 1000  # buffer of the marking queue, packets
SSTHRESH = 50  # packets at which slow start ends, before it overflows the queue
STARTS = (0.0, 5.0)
FROM_S, TO_S, SAMPLE_S = 20.0, 100.0, 0.01
NOTICEABLE = 0.1
RED = "ns3::RedQueueDisc"


@dataclass(frozen=True)
class Pair:
    """A law in Levelflow and in ns-3, with the settings that remove the differences between their defaults."""

    law: str
    peer: str
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    marks: bool = False

    @property
    def name(self) -> str:
        """Name of the law in tables."""
        return self.law if self.ours.get("sack", True) else f"{self.law} without SACK"


PAIRS = (
    Pair("reno", "TcpNewReno"),
    Pair("newreno", "TcpNewReno"),
    Pair("cubic", "TcpCubic", theirs={"ns3::TcpCubic::HyStart": "false"}),
    Pair("bic", "TcpBic", ours={"search": 4, "s_max": 16, "s_min": 0.8, "cut": 0.2}),
    Pair("highspeed", "TcpHighSpeed"),
    Pair("htcp", "TcpHtcp"),
    Pair("scalable", "TcpScalable", ours={"step": 0.02, "low_window": 1, "reno_floor": True}),
    Pair("westwood", "TcpWestwoodPlus"),
    Pair("lp", "TcpLp", theirs={"ns3::TcpSocketBase::Timestamp": "true"}),
    Pair("vegas", "TcpVegas"),
    Pair("dctcp", "TcpDctcp", marks=True),
)


@dataclass
class Outcome:
    """Result of one run between `FROM_S` and `TO_S`."""

    flows: list[float]  #: packets delivered per second, by flow
    window: float  #: mean sum of the windows, packets
    queue: float  #: mean packets waiting or in service
    loss: float  #: part of the packets dropped
    marked: float  #: part of the packets marked


def dumbbell(law: dict[str, Any], starts: Sequence[float], queue: Any, room: int) -> Scenario:
    """Returns a dumbbell with a flow per start time. The bottleneck has a queue of `room` packets."""
    scenario = Scenario("dumbbell", f"{TO_S} s", sample=f"{SAMPLE_S * 1e3} ms", seed=1, profile="paper")
    delay, access = (f"{seconds * 1e3} ms" for seconds in (DELAY_S, ACCESS_S))
    buffer = f"{room + 1} packets"  # the packet in service also counts here
    scenario.link("R0", "R1", f"{MBPS} Mb/s", delay, buffer=buffer, queue=queue, duplex=True)
    for i, start in enumerate(starts):
        scenario.link(f"s{i}", "R0", f"{10 * MBPS} Mb/s", access, duplex=True)
        scenario.link("R1", f"d{i}", f"{10 * MBPS} Mb/s", access, duplex=True)
        scenario.flow(f"x{i}", law, f"s{i}", f"d{i}", start=f"{start} s", packet=f"{WIRE} B")
    return scenario


def measured(scenario: Scenario) -> Outcome:
    """Runs a dumbbell in Levelflow."""
    result = scenario.run()
    late = pl.col("t") > FROM_S
    links = result.links.filter(late & (pl.col("link").cast(pl.String) == "R0->R1"))
    rows = result.flows.filter(late)
    by_flow = rows.group_by("flow", maintain_order=True).agg(
        pl.col("throughput_bps").mean() / 8 / WIRE, pl.col("window_packets").mean()
    )
    totals = links.select(pl.col("dropped", "marked").sum(), pl.col("backlog_packets", "throughput_bps").mean())
    sums = totals.row(0, named=True)
    arrived = sums["dropped"] + sums["throughput_bps"] * (TO_S - FROM_S) / 8 / WIRE
    return Outcome(
        by_flow["throughput_bps"].to_list(),
        float(by_flow["window_packets"].sum()),
        sums["backlog_packets"],
        sums["dropped"] / arrived,
        sums["marked"] / arrived,
    )


def ours(pair: Pair, flows: int) -> Outcome:
    """Runs a case in Levelflow."""
    marks = {"red": {"min": f"{STEP} packets", "max": f"{STEP} packets", "weight": 1.0, "ecn": True}}
    law = {pair.law: {"initial_ssthresh": SSTHRESH, **pair.ours}}
    room, queue = (ROOMY, marks) if pair.marks else (BUFFER, "drop_tail")
    return measured(dumbbell(law, STARTS[:flows], queue, room))


def theirs(python: str, cases: list[tuple[Pair, int]]) -> Iterator[Outcome]:
    """Runs cases in ns-3."""
    # ns-3 counts neither the packet in service nor the next packet, which the device holds.
    step = {"MinTh": STEP - 2, "MaxTh": STEP - 2 + 0.001, "QW": 1, "LInterm": 1}
    step |= {"Gentle": "false", "UseEcn": "true", "UseHardDrop": "false"}
    marks = {"type": RED, "attributes": {f"{RED}::{name}": value for name, value in step.items()}}
    return in_ns3(
        python,
        [
            {
                "type": pair.peer,
                "attributes": pair.theirs,
                "starts": STARTS[:flows],
                "buffer": ROOMY if pair.marks else BUFFER,
                "queue": marks if pair.marks else None,
            }
            for pair, flows in cases
        ],
    )


def in_ns3(python: str, cases: list[dict[str, Any]]) -> Iterator[Outcome]:
    """Runs dumbbells in ns-3.

    The keys of a case are `type` and `attributes` of TCP, `starts`, `buffer`, and the discipline `queue`.
    """
    common = {"mbps": MBPS, "delay_s": DELAY_S, "access_s": ACCESS_S, "ssthresh": SSTHRESH}
    times = {"from_s": FROM_S, "to_s": TO_S, "sample_s": SAMPLE_S}
    command = [python, str(CHECKOUT / "benches" / "peers" / "tcp_ns3.py")]
    text = "".join(json.dumps({**common, **times, **case}) + "\n" for case in cases)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[1]} failed:\n{done.stderr}")
    for line in done.stdout.splitlines():
        outcome = Outcome(**json.loads(line))
        outcome.queue += sum(outcome.flows) * WIRE * 8 / (MBPS * 1e6)
        yield outcome


def lacks(python: str) -> str | None:
    """Returns the missing ns-3 module of this interpreter, as a clause; None if there is none."""
    find = "import importlib.util as u; raise SystemExit(not (u.find_spec('ns') and u.find_spec('cppyy')))"
    try:
        found = subprocess.run([python, "-c", find], capture_output=True, check=False).returncode == 0
    except OSError:
        found = False
    hint = "`python3 -m venv ns3 && ns3/bin/pip install ns3`, then --ns3 ns3/bin/python"
    return None if found else f"{python} has no ns-3: {hint}"


def table(cases: list[tuple[Pair, int]], here: list[Outcome], there: list[Outcome]) -> Iterator[str]:
    """Yields the lines of a Markdown table. Values that differ by more than 10 % of the peer's value are bold."""
    yield "| law | peer | flows | packets/s | share of the first | window | queue | dropped or marked, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for (pair, flows), a, b in zip(cases, here, there, strict=True):
        values = [
            (sum(o.flows), o.flows[0] / sum(o.flows), o.window, o.queue, 1e2 * (o.loss + o.marked)) for o in (a, b)
        ]
        cells = [cell(x, y, digits) for x, y, digits in zip(*values, (0, 3, 1, 1, 3), strict=True)]
        if flows == 1:
            cells[1] = ""
        yield f"| {pair.name} | {pair.peer} | {flows} | {' | '.join(cells)} |"


def cell(here: float, there: float, digits: int) -> str:
    """Returns the text of two values and their relative difference."""
    apart = (here - there) / there if there else 0.0
    difference = f"{apart:+.0%}"
    if abs(apart) > NOTICEABLE:
        difference = f"**{difference}**"
    return f"{here:.{digits}f}, {there:.{digits}f}, {difference}"


def compare(python: str) -> Iterator[str]:
    """Returns the table of every pair with one and with two flows."""
    cases = [(pair, flows) for pair in PAIRS for flows in (1, 2)]
    return table(cases, [ours(*case) for case in cases], list(theirs(python, cases)))
