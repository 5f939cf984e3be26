"""Where the instructions of a packet-hop go, by callgrind: `python -m tools.profile`. Needs valgrind; a few minutes.

An instruction of an inlined function counts where that function stands; one of Rust's own library, where it was called.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from levelflow import _core
from tools.bench import EVENTS_PER_STEP, dumbbell

LAWS = ("jetmax", "rcp", "newreno")
CASES = {"S1: 10 flows at 100 Mb/s": (100, 10, 1.0), "S3: 100 flows at 10 Gb/s": (10_000, 100, 0.1)}
#: The first whose pattern is in the path of a line, or in the name of the function that it was inlined into.
AREAS = {
    "event list": r"sim/src/events|EventList|binary_heap",
    "transport": r"crates/transport|levelflow_transport|scoreboard",
    "law": r"crates/laws|levelflow_laws",
    "records": r"crates/results|levelflow_results|sim/src/counters",
    "flows: sending, receiving, timers": r"sim/src/(engine/(flows|receiver)|alarm|overhead|pipe)"
    r"|::(send_data|receive|feedback|pump|fill_window)",
    "dispatch": r"sim/src/engine/mod|::advance",
    "links: queues, packets": r"",
}
#: A second cache of 1 MB, behind a first one of 32 kB.
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"]
EVENTS = ("Ir", "D1mr", "D1mw", "DLmr", "DLmw")
#: Counts of events, a file and a function.
LINE = re.compile(r"\s*" + r"([\d,]+|\.)(?: \([^)]*\))?\s+" * len(EVENTS) + r"(\S[^:]*:\S.*)$")


def main() -> None:
    """Prints a table, or, as the child of this program, simulates and prints packet-hops."""
    if sys.argv[1:]:
        _work(*sys.argv[1:])
        return
    if not shutil.which("valgrind"):
        sys.exit("profile: valgrind is not installed")
    for case, (mbps, flows, seconds) in CASES.items():
        columns = {law: _profile(law, mbps, flows, seconds) for law in LAWS}
        print(f"\n| {case}, per packet-hop | {' | '.join(LAWS)} |\n|---|{'---|' * len(LAWS)}")
        rows = ["instructions", *AREAS, "misses of the first cache", "misses of the second"]
        for row in rows:
            name = row if row not in AREAS else f"… {row}"
            print(f"| {name} | {' | '.join(_shown(column[row]) for column in columns.values())} |", flush=True)


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _work(law: str, mbps: str, flows: str, seconds: str) -> None:
    simulation = _core.Simulation(dumbbell(law, int(mbps), int(flows), float(seconds)).to_json())
    while not simulation.advance(simulation.duration, EVENTS_PER_STEP):
        simulation.take()
    print(simulation.packet_hops)


def _profile(law: str, mbps: int, flows: int, seconds: float) -> dict[str, float]:
    """Instructions in all and by area, and misses, per packet-hop."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *CACHES]
        command += ["--toggle-collect=*Simulation*__pymethod_advance__*", sys.executable, "-m", "tools.profile"]
        words = [law, str(mbps), str(flows), str(seconds)]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
        shown = ["callgrind_annotate", "--threshold=100", "--auto=no", f"--show={','.join(EVENTS)}", str(out)]
        text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in filter(None, map(LINE.match, text.splitlines())):
        *counts, place = line.groups()
        instructions, *misses = (0 if count == "." else int(count.replace(",", "")) for count in counts)
        found["instructions"] += instructions
        found[next(area for area, pattern in AREAS.items() if re.search(pattern, place))] += instructions
        found["misses of the first cache"] += misses[0] + misses[1]
        found["misses of the second"] += misses[2] + misses[3]
    hops = int(done.stdout.split()[-1])
    return {what: count / hops for what, count in found.items()}


if __name__ == "__main__":
    main()
