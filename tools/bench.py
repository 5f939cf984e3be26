"""Cost of a packet-hop (one packet that crosses one link), including recording and conservation checks."""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from levelflow import _core
from levelflow.cli.show import show_table
from levelflow.library import laws
from levelflow.running import EVENTS_PER_STEP
from levelflow.scenario import Scenario
from levelflow.topology import traffic
from levelflow.topology.bottleneck import identical_flows, single_bottleneck
from levelflow.topology.graphs import generate
from tools import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

LAWS = ("jetmax", "emkc", "rcp")
ROUNDS = 3
S1 = (100, 10, 30)  # Mb/s, flows, simulated seconds
S2 = (1000, 20, 10)
#: Size of the case that runs for every law: Mb/s, flows and simulated seconds.
ALL = (100, 10, 10)
#: Buffers of equal size. Only the work of the buffer-sizing algorithm differs.
BUFFERS: dict[str, object] = {
    "fixed": "300 packets",
    "abs": {"abs": {"initial": "300 packets", "gain": 1}},
    "abs_log": {"abs_log": {"initial": "300 packets", "gain": 1e-6}},
}
#: Groups whose cases grow in size. The first case of each group is the smallest.
GROWING = {"links", "scale"}
#: Queue discipline for laws that react to marks.
MARKS = {"red": {"ecn": True}}


@dataclass
class Cost:
    """Cost of one run."""

    hops: int
    cpu_s: float
    flow_bytes: float | None = None

    @property
    def ns_per_hop(self) -> float:
        """CPU time per packet-hop, ns."""
        return self.cpu_s / max(self.hops, 1) * 1e9


def dumbbell(law: str, mbps: int, flows: int, seconds: float) -> Scenario:
    """Returns `flows` flows over one bottleneck, each with a host pair and access links; base round trip 50 ms."""
    scenario = Scenario(f"{law}, {flows} flows", f"{seconds} s", profile="paper")
    queue = MARKS if _listens_to_marks(law) else "drop_tail"
    scenario.link("R0", "R1", f"{mbps} Mb/s", "15 ms", buffer="1 BDP", duplex=True, queue=queue)
    for i in range(flows):
        scenario.link(f"s{i}", "R0", f"{10 * mbps} Mb/s", "5 ms", duplex=True, law="none")
        scenario.link("R1", f"d{i}", f"{10 * mbps} Mb/s", "5 ms", duplex=True, law="none")
        scenario.flow(f"x{i}", law, f"s{i}", f"d{i}", start=f"{10_000 + 100_000 * i // flows} us")
    return scenario


def _listens_to_marks(law: str) -> bool:
    return any(row["name"] == law and row["signal"] == "marks" for row in laws())


def shared(flows: int, seconds: float) -> Scenario:
    """Returns JetMax flows of full-size packets over three links in a row, at 10 Gb/s; base round trip 50 ms."""
    scenario = Scenario(f"{flows} flows", f"{seconds} s", sample="1 s", profile="paper")
    scenario.raw["law"] = {"jetmax": {"packets_per_interval": 0, "initial_rate": "80 kb/s"}}
    scenario.link("R0", "R1", "10 Gb/s", "15 ms", buffer="1 BDP", duplex=True)
    scenario.link("s", "R0", "100 Gb/s", "5 ms", duplex=True, law="none")
    scenario.link("R1", "d", "100 Gb/s", "5 ms", duplex=True, law="none")
    return scenario.flow("x", "jetmax", "s", "d", count=flows, start={"uniform": ["0 s", "100 ms"]})


def poisson(seconds: float) -> Scenario:
    """Returns RCP at 2.4 Gb/s and load 0.9, with Pareto flows of 25 packets on average; round trip 100 ms."""
    scenario = Scenario("RCP, Poisson arrivals", f"{seconds} s", profile="paper")
    scenario.link("R0", "R1", "2.4 Gb/s", "5 ms", buffer="1 BDP", duplex=True)
    size = {"pareto": {"mean": "25 packets", "shape": 1.2}}
    return scenario.flow("x", "rcp", "R0", "R1", rtt="100 ms", arrivals={"poisson": "10800 /s"}, size=size)


def wide(seconds: float) -> Scenario:
    """Returns 1000 JetMax flows between routers with four links each: 1,000 links, 50 Mb/s, 2 ms, mean of 4.4 hops."""
    graph = generate("random-regular:250x4")
    scenario = Scenario.from_networkx(graph, "wide", f"{seconds} s", capacity="50 Mb/s", delay="2 ms")
    return traffic.add(scenario, traffic.pairs(graph, "random", 1000), "jetmax")


def in_a_row(seconds: float) -> Scenario:
    """Returns twenty JetMax flows over three links in a row, with the capacity and delay of `wide`."""
    scenario = Scenario("row", f"{seconds} s", profile="paper")
    for i in range(3):
        scenario.link(f"n{i}", f"n{i + 1}", "50 Mb/s", "2 ms", duplex=True)
    return scenario.flow("x", "jetmax", "n0", "n3", count=20)


def around(seconds: float) -> Scenario:
    """Returns two flows from each of twelve routers in a ring, over four links in each direction; 24 links in all."""
    scenario = Scenario("ring", f"{seconds} s", profile="paper")
    for i in range(12):
        scenario.link(f"n{i}", f"n{(i + 1) % 12}", "50 Mb/s", "2 ms", duplex=True)
    for i in range(12):
        for way in (4, -4):
            scenario.flow(f"x{i}{way:+}", "jetmax", f"n{i}", f"n{(i + way) % 12}")
    return scenario


def sized(buffer: object) -> Scenario:
    """Returns 16 NewReno flows at 100 Mb/s that share a drop-tail buffer."""
    return identical_flows(single_bottleneck(100, buffer, 20), 16, (30, 62))


def measure(scenario: Scenario, flows: int | None = None) -> Cost:
    """Runs a scenario without writing files."""
    simulation = _core.Simulation(scenario.to_json())
    begin = time.process_time()
    while not simulation.advance(simulation.duration, EVENTS_PER_STEP):
        simulation.take()
    simulation.summary()
    cpu = time.process_time() - begin
    return Cost(simulation.packet_hops, cpu, simulation.memory / flows if flows else None)


def measure_ns2(agent: str, mbps: int, flows: int, seconds: int) -> Cost:
    """Runs the dumbbell in ns-2."""
    script = CHECKOUT / "benches" / "peers" / "dumbbell.tcl"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["ns", str(script), str(mbps), str(flows), str(seconds), agent]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(int(done.stdout.split()[0]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def cases() -> Iterator[tuple[str, str, Scenario, int | None]]:
    """Yields group, name, scenario and number of flows of each case."""
    for group, (mbps, flows, seconds) in (("S1", S1), ("S2", S2)):
        for law in LAWS:
            yield group, law, dumbbell(law, mbps, flows, seconds), flows
    for row in laws():
        yield "law", row["name"], dumbbell(row["name"], *ALL), ALL[1]
    for name, buffer in BUFFERS.items():
        yield "buffer", name, sized(buffer), None
    yield "10 Gb/s", "100 JetMax flows", dumbbell("jetmax", 10_000, 100, 2), 100
    yield "2.4 Gb/s", "RCP, Poisson arrivals", poisson(5), None
    yield "links", "6, 20 JetMax flows", in_a_row(20), None
    yield "links", "24 in a ring, 24 JetMax flows", around(5), None
    yield "links", "1,000, 1,000 JetMax flows", wide(0.5), None
    for flows in (10, 1000, 100_000, 1_000_000):
        yield "scale", f"{flows:,} JetMax flows", shared(flows, 2), flows


def start_up() -> dict[str, float]:
    """Returns the fastest of five wall times, ms: of an empty run in the engine, and of `levelflow --help`."""

    def fastest(work: list[str] | None) -> float:
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            if work is None:
                empty = Scenario("empty", "1 s", profile="paper").link("a", "b", "1 Mb/s", "1 ms")
                _core.Simulation(empty.to_json()).advance(1.0, EVENTS_PER_STEP)
            else:
                subprocess.run(work, capture_output=True, check=True)
            times.append((time.perf_counter() - begin) * 1e3)
        return min(times)

    return {
        "empty run": fastest(None),
        "levelflow --help": fastest([str(Path(sys.executable).with_name("levelflow")), "--help"]),
    }


def main() -> None:
    """Measures all cases in rounds and prints medians. A slow phase of the machine then affects all cases."""
    console = Console()
    peers = [(g, a, s) for g, s in (("S1", S1), ("S2", S2)) for a in ("sack", "xcp")] if shutil.which("ns") else []
    costs: dict[tuple[str, str], list[Cost]] = {}
    with console.status("measuring") as status:
        for turn in range(ROUNDS):
            for group, name, scenario, flows in cases():
                status.update(f"round {turn + 1} of {ROUNDS}: {group}, {name}")
                costs.setdefault((group, name), []).append(measure(scenario, flows))
            for group, agent, setting in peers:
                status.update(f"round {turn + 1} of {ROUNDS}: {group}, ns-2 {agent}")
                costs.setdefault((group, f"ns-2 {agent}"), []).append(measure_ns2(agent, *setting))
    _show(costs)
    if not peers:
        console.print("ns-2 is not installed (Debian package ns2): no peer to compare with", style="yellow")
    for what, ms in start_up().items():
        console.print(f"{what}: {ms:.1f} ms")


def _show(costs: dict[tuple[str, str], list[Cost]]) -> None:
    median = {key: statistics.median(c.ns_per_hop for c in runs) for key, runs in costs.items()}
    jetmax = median["law", "jetmax"]
    fixed = median["buffer", "fixed"]
    few = {group: ns for (group, _), ns in reversed(median.items()) if group in GROWING}
    rows = []
    for (group, name), ns in median.items():
        run = costs[group, name][0]
        peer = median.get((group, "ns-2 sack"))
        speed = "" if peer is None else f"{peer / ns:.2f}"
        cost = f"{ns / few[group]:.2f}" if group in GROWING else ""
        beside = f"{ns / jetmax:.2f}" if group == "law" else ""
        algorithm = f"{ns / fixed:.2f}" if group == "buffer" else ""
        size = "" if run.flow_bytes is None else f"{run.flow_bytes:,.0f}"
        rows.append(
            [f"{group}: {name}", f"{run.hops:,}", f"{ns:.1f}", f"{1e3 / ns:.2f}", size, speed, beside, cost, algorithm]
        )
    head = ["case", "hops", "ns/hop", "M hops/s", "B/flow", "x ns-2", "x JetMax", "x first", "x fixed"]
    show_table(f"Cost of a packet-hop: CPU time, median of {ROUNDS} rounds ({_core.build()})", head, rows)


if __name__ == "__main__":
    main()
