"""ABC beside the queue of its authors, which is compiled from their code, on traces of their Mahimahi."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.scenario import Scenario
from tools import CHECKOUT
from tools.peers import tcp

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKET = 1504  # bytes: what an opportunity of Mahimahi carries
ROUND_TRIP_MS = 100
SECONDS = 120
APART_S = 10  # between starts
LEVELS = (0.5, 0.99)
#: Traces that come with the authors' code.
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
#: How routers here know the capacity.
KNOWN = {"told": False, "measured": True}
SOURCES = ("cellular_packet_queue.cc", "dropping_packet_queue.cc")


@dataclass
class Outcome:
    """What one run came to."""

    rate: float  #: packets/s, all flows
    jain: float  #: of the rates of flows
    waits: list[float]  #: ms, at `LEVELS`


def starts(flows: int) -> list[int]:
    """When flows start, s."""
    return [APART_S * number for number in range(flows)]


def ours(trace: Path, flows: int, *, measured: bool) -> Outcome:
    """Runs a case here."""
    scenario = Scenario("abc", f"{SECONDS} s", sample="100 ms", overhead="0 s")
    changes = {"mahimahi": str(trace)}
    half = f"{ROUND_TRIP_MS / 2} ms"
    scenario.link("A", "B", "12 Mb/s", half, buffer="unlimited", changes=changes, measured=measured)
    scenario.link("B", "A", "10 Gb/s", half, buffer="unlimited")
    for start in starts(flows):
        scenario.flow(f"x{start}", "abc", "A", "B", start=f"{start} s", packet=f"{PACKET} B")
    result = scenario.run()
    waits = result.summary["links"][0]["queue_ms"]
    each = [flow["delivered_packets"] for flow in result.summary["flows"]]
    return _outcome(each, [waits[f"p{100 * level:g}"] for level in LEVELS])


def theirs(program: Path, trace: Path, flows: int) -> Outcome:
    """Runs a case through the authors' queue."""
    words: list[Any] = [program, trace, 1000 * SECONDS, ROUND_TRIP_MS, *(1000 * start for start in starts(flows))]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return read(done.stdout)


def read(text: str) -> Outcome:
    """What the program wrote: packets by flow, then a line for each wait in ms with its packets."""
    first, *rest = text.splitlines()
    waits, packets = np.array([[int(word) for word in line.split()] for line in rest]).T
    below = np.cumsum(packets) / packets.sum()
    return _outcome([int(word) for word in first.split()], [float(waits[below >= level][0]) for level in LEVELS])


def _outcome(each: list[int], waits: list[float]) -> Outcome:
    rates = [packets / SECONDS for packets in each]
    return Outcome(sum(rates), sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates), waits)


def lacks(folder: str) -> str | None:
    """What is missing to compile the authors' queue, in half a sentence; None if nothing."""
    if not all((_mahimahi(folder) / "packet" / name).is_file() for name in SOURCES):
        return f"no code of ABC's authors in {folder or '--abc'}: a copy of github.com/prateshg/ABC-NSDI2020"
    return None if shutil.which("c++") else "there is no c++ to compile the authors' queue"


def _mahimahi(folder: str) -> Path:
    return Path(folder or "/nonexistent") / "mahimahi" / "src"


def compiled(folder: str, into: Path) -> Path:
    """Compiles the authors' queue with a driver of ours."""
    source, program = _mahimahi(folder), into / "abc"
    files = [CHECKOUT / "benches" / "peers" / "abc_mahimahi.cc", *(source / "packet" / name for name in SOURCES)]
    options = ["-O2", "-w", f"-I{source / 'packet'}", f"-I{source / 'util'}"]
    subprocess.run(["c++", *options, *map(str, files), "-o", str(program)], check=True)
    return program


def table(cases: list[tuple[str, int, str]], here: list[Outcome], there: list[Outcome]) -> Iterator[str]:
    """Lines of a table in Markdown; differences above 10 % of the peer's value are set in bold."""
    waits = " | ".join(f"p{100 * level:g}, ms" for level in LEVELS)
    yield f"| trace | flows | capacity | packets/s | Jain's index | {waits} |"
    yield f"|---|---|---|---|---|{'---|' * len(LEVELS)}"
    for (trace, flows, known), a, b in zip(cases, here, there, strict=True):
        values = [(o.rate, o.jain, *o.waits) for o in (a, b)]
        cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (0, 3, 0, 0), strict=True)]
        yield f"| {trace} | {flows} | {known} | {' | '.join(cells)} |"


def compare(folder: str) -> Iterator[str]:
    """The table: every trace that is there, with one flow and with four, the capacity told and measured."""
    paths = {name: Path(folder) / "mahimahi" / "traces" / name for name in TRACES}
    cases = [(name, flows, known) for name in TRACES if paths[name].is_file() for flows in FLOWS for known in KNOWN]
    with tempfile.TemporaryDirectory() as work:
        program = compiled(folder, Path(work))
        there = [theirs(program, paths[name], flows) for name, flows, _ in cases]
    here = [ours(paths[name], flows, measured=KNOWN[known]) for name, flows, known in cases]
    return table(cases, here, there)
