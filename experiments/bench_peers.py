"""Runs equal work in Levelflow and in other simulators: `make bench-peers`, or `python -m experiments.bench_peers`.

Prints ratios of CPU time per packet-hop with their ranges. Also prints the memory, and whether the results agree. The
peers are ns-2, ns-3, and any PROGRAM that a user names with --peer NAME=PROGRAM. A PROGRAM's arguments are the words of
a case, `dumbbell MBPS FLOWS SECONDS SSTHRESH` or `fat-tree K MBPS SECONDS`.

The PROGRAM prints four numbers. The first is the number of packet-hops: the links crossed by each packet, summed over
packets. The second is the number of packets that left the bottleneck, or in a fat tree the number of packets received.
The third is the number of packets dropped. The fourth is the mean queue of the bottleneck in bytes, or 0 in a fat tree.
A PROGRAM exits with status 2 if it does not support the case.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from tools import CHECKOUT
from tools.bench import dumbbell

from experiments.peers import ns2, tcp
from levelflow import _core
from levelflow.running import EVENTS_PER_STEP
from levelflow.scenario import Scenario
from levelflow.topology import graphs, traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


PEERS = CHECKOUT / "benches" / "peers"
#: Two runs do equal work if their numbers of delivered packets differ by at most this fraction.
AGREES = 0.03
NO_SUCH_CASE = 2
#: Runs a program as a child of a small process. The measured peak memory includes the parent's memory at the start. At
#: the end, prints the exit status, CPU time and wall time in seconds, and peak memory in KiB.
SPAWN = """
import json, os, sys, time
begin = time.perf_counter()
_, status, used = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
cost = used.ru_utime + used.ru_stime, time.perf_counter() - begin, used.ru_maxrss
print(json.dumps([os.waitstatus_to_exitcode(status), *cost]))
"""
#: Marking threshold of DCTCP in the fat tree: 65 packets of 1000 bytes, the value in its paper for 10 Gb/s.
STEP = {"red": {"min": "65 packets", "max": "65 packets", "weight": 1.0, "ecn": True}}
CASES = {
    # Slow start ends at a flow's share of the bandwidth-delay product. Otherwise bursts of losses would change the
    # amount of work.
    "S1": "dumbbell 100 10 30 62",
    "S2": "dumbbell 1000 20 10 312",
    "S3": "dumbbell 10000 100 2 625",
    "fat tree": "fat-tree 8 10000 0.005",
}


@dataclass(frozen=True)
class Run:
    """Result and cost of a run. The CPU time is the simulation's if the program prints it, else that of the process."""

    hops: float
    delivered: float
    dropped: float
    queue_bytes: float
    cpu_s: float
    wall_s: float
    peak_bytes: int

    @property
    def ns_per_hop(self) -> float:
        """CPU time per packet-hop, ns."""
        return self.cpu_s / self.hops * 1e9


def scenario(words: Sequence[str]) -> Scenario:
    """Returns the Levelflow scenario of a case: NewReno on a dumbbell, DCTCP on a fat tree with links of 1 us.

    Raises:
        ValueError: if the case does not exist.
    """
    kind, size, *more = words
    if kind == "dumbbell":
        long = dumbbell("newreno", int(size), int(more[0]), float(more[1]))
        return long.set("flow.*.law", {"newreno": {"initial_ssthresh": int(more[2])}})
    if kind != "fat-tree":
        raise ValueError(f"no case {kind}")
    graph = graphs.generate(f"fat-tree:{size}")
    capacity, seconds = f"{more[0]} Mb/s", f"{more[1]} s"
    found = Scenario.from_networkx(graph, "fat tree", seconds, capacity=capacity, delay="1 us")
    found.set("encapsulation", "none")  # as in the other simulators
    for link in found.raw["link"]:
        link.update(buffer="250 packets", queue=STEP)
    return traffic.add(found.set("routing", "ecmp"), traffic.pairs(graph, "permutation"), "dctcp")


def own(words: Sequence[str], threads: int | None) -> str:
    """Runs a case in Levelflow. Returns the output of a PROGRAM, with the CPU time of the simulation alone."""
    text = scenario(words).to_json()
    begin = time.process_time()
    simulation = _core.Simulation(text, None, threads)
    while not simulation.advance(simulation.duration, EVENTS_PER_STEP):
        simulation.take()
    summary = json.loads(simulation.summary())
    cpu = time.process_time() - begin
    dropped = sum(link["dropped_packets"] for link in summary["links"])
    delivered, queue = sum(flow["delivered_packets"] for flow in summary["flows"]), 0.0
    if words[0] == "dumbbell":
        bottleneck = next(link for link in summary["links"] if link["name"] == "R0->R1")
        delivered, queue = bottleneck["delivered_packets"], bottleneck["backlog_bytes"]["mean"]
    return f"{summary['packet_hops']} {delivered} {dropped} {queue} {cpu}"


def run(command: Sequence[str], stdin: str = "") -> tuple[str, Run] | None:
    """Runs a program. Returns its output and the process's cost, or None if the program does not support the case.

    Raises:
        RuntimeError: if the program fails.
    """
    small = [sys.executable, "-IS", "-c", SPAWN, *command]
    done = subprocess.run(small, input=stdin, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT, check=True)
    *text, last = done.stdout.splitlines()
    status, cpu_s, wall_s, peak_kib = json.loads(last)
    if status == NO_SUCH_CASE:
        return None
    if status:
        raise RuntimeError(f"{shlex.join(command)} ended with status {status}")
    return "\n".join(text), Run(0, 0, 0, 0, cpu_s, wall_s, 1024 * peak_kib)


def by_program(command: Sequence[str], words: Sequence[str]) -> Run | None:
    """Runs a PROGRAM on a case."""
    if (done := run([*command, *words])) is None:
        return None
    text, cost = done
    hops, delivered, dropped, queue, *alone = map(float, text.split())
    return Run(hops, delivered, dropped, queue, *(alone or [cost.cpu_s]), cost.wall_s, cost.peak_bytes)


def by_ns2(binary: str, words: Sequence[str]) -> Run | None:
    """Runs a dumbbell in ns-2, with SACK."""
    if words[0] != "dumbbell":
        return None
    return by_program([binary, str(PEERS / "dumbbell.tcl")], [*words[1:4], "sack", words[4]])


def by_ns3(python: str, words: Sequence[str]) -> Run | None:
    """Runs S1 in ns-3. Subtracts the CPU time of a run with 1 % of the duration, which includes the import of ns-3."""
    if " ".join(words) != CASES["S1"]:
        return None
    mbps, flows, seconds, ssthresh = (float(word) for word in words[1:])
    mbps *= 1.042  # ns-3 adds headers of 42 bytes to a packet of 1000 bytes
    bdp = round(mbps * 1e6 * 0.05 / 8336)
    case = {"type": "TcpNewReno", "attributes": {"ns3::TcpSocketBase::Sack": "true"}, "ssthresh": int(ssthresh)}
    case |= {"mbps": mbps, "delay_s": 0.015, "access_s": 0.005, "buffer": bdp, "queue": None}
    case |= {"starts": [0.01 + 0.1 * i / flows for i in range(int(flows))], "sample_s": 0.01}
    costs = []
    for end in (0.01 * seconds, seconds):
        line = json.dumps({**case, "from_s": 0.0, "to_s": end})
        done = run([python, str(PEERS / "tcp_ns3.py")], line)
        assert done
        costs.append(done)
    (_, short), (text, cost) = costs
    found = json.loads(text)
    delivered = sum(found["flows"]) * seconds
    dropped = found["loss"] * delivered / (1 - found["loss"])
    cpu = cost.cpu_s - short.cpu_s
    return Run(6 * delivered, delivered, dropped, 1000 * found["queue"], cpu, cost.wall_s, cost.peak_bytes)


def table(case: str, here: list[Run], there: dict[str, list[Run]]) -> Iterator[str]:
    """Yields the Markdown rows of a case: Levelflow, then each peer with its relative cost over the rounds."""
    for name, runs in {"Levelflow": here, **there}.items():
        middle = {key: statistics.median(getattr(one, key) for one in runs) for key in Run.__annotations__}
        ratios = [theirs.ns_per_hop / ours.ns_per_hop for ours, theirs in zip(here, runs, strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        off = middle["delivered"] / statistics.median(one.delivered for one in here) - 1
        offered = middle["delivered"] + middle["dropped"]
        cells = [
            case,
            name,
            f"{middle['hops'] / 1e6:.2f} M",
            f"{statistics.median(one.ns_per_hop for one in runs):.0f}",
            "1" if runs is here else ratio,
            f"{middle['wall_s']:.2f}",
            f"{middle['peak_bytes'] / 1e6:.0f}",
            "" if runs is here else f"{off:+.1%}" + ("" if abs(off) <= AGREES else ": not the same work"),
            f"{middle['dropped'] / offered:.2%}",
            f"{middle['backlog_bytes'] / 1e3:.0f}",
        ]
        yield f"| {' | '.join(cells)} |"


HEAD = (
    "case",
    "simulator",
    "packet-hops",
    "CPU ns/hop",
    "CPU/hop over ours",
    "wall, s",
    "peak MB",
    "delivered",
    "dropped",
    "mean queue, kB",
)


def main(arguments: list[str] | None = None) -> int:
    """Runs all cases in all installed simulators, in rounds, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench_peers", description=__doc__)
    parser.add_argument("--ns2", default=shutil.which("ns") or "", metavar="BINARY", help="ns-2; Debian's package ns2")
    parser.add_argument("--ns3", default="", metavar="PYTHON", help="interpreter with ns-3, `pip install ns3`")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help="another; may be repeated")
    parser.add_argument("--case", action="append", choices=list(CASES), help="one of the cases; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--own", nargs="+", metavar="WORD", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help="of Levelflow; 0 for the fastest number")
    options = parser.parse_args(arguments)
    if options.own:
        print(own(options.own, options.threads or None))
        return 0
    peers: dict[str, Callable[[Sequence[str]], Run | None]] = {}
    for name, program, lacks, runs in (
        ("ns-2", options.ns2, ns2.lacks("Agent/TCP/Sack1"), by_ns2),
        ("ns-3", options.ns3, tcp.lacks, by_ns3),
    ):
        why = lacks(program) if program else f"no --{name.replace('-', '')}"
        if why:
            print(f"{name}: skipped, {why}", file=sys.stderr)
        else:
            peers[name] = partial(runs, program)
    for named in options.peer:
        name, _, program = named.partition("=")
        if not program:
            parser.error(f"--peer {named}: write NAME=PROGRAM")
        peers[name] = partial(by_program, shlex.split(program))
    ours = [sys.executable, "-m", "experiments.bench_peers", "--threads", str(options.threads), "--own"]
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for case in options.case or CASES:
        words = CASES[case].split()
        here, there = [], {name: [] for name in peers}
        with Console(stderr=True).status("") as status:
            for turn in range(options.rounds):
                status.update(f"{case}: round {turn + 1} of {options.rounds}, Levelflow")
                here.append(by_program(ours, words))
                for name, peer in peers.items():
                    status.update(f"{case}: round {turn + 1} of {options.rounds}, {name}")
                    there[name].append(peer(words))
        for line in table(case, here, {name: runs for name, runs in there.items() if None not in runs}):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
