"""Instructions of a packet-hop by area, from callgrind: `python -m tools.profile`. Needs valgrind and a few minutes.

An instruction of an inlined function counts for the file of that function. An instruction of Rust's own library counts
for the function into which it was inlined. An exception is the loop over events, into which most functions are inlined:
there, an instruction of the library counts separately.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from levelflow import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

    from levelflow.scenario import Scenario

LAWS = ("jetmax", "rcp", "newreno")
#: Areas by pattern. A line belongs to the area of the first pattern that matches its path, or the function into which
#: the line was inlined.
AREAS = {
    "event list": r"sim/src/(events|winner_tree)|EventList|WinnerTree|binary_heap",
    "transport": r"crates/transport|levelflow_transport|scoreboard",
    "law": r"crates/laws|levelflow_laws",
    "records": r"crates/results|levelflow_results|sim/src/counters",
    "flows: sending, receiving, timers": r"sim/src/(engine/(flows|receiver)|alarm|overhead|pipe)"
    r"|::(send_data|receive|feedback|pump|fill_window)",
    "dispatch": r"sim/src/engine/mod",
    "links: queues, packets": r"crates/",
    "Rust's library: places in lists, minima": r"",
}
#: Simulated hardware: first-level cache of 32 kB, last-level cache of 1 MB, and callgrind's simple branch predictor.
SIMULATED = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64", "--branch-sim=yes"]
EVENTS = ("Ir", "D1mr", "D1mw", "DLmr", "DLmw", "Bcm", "Bim")
MISSES = ("misses of the first cache", "misses of the second", "branches mispredicted")
#: Matches event counts, a file and a function.
LINE = re.compile(r"\s*" + r"([\d,]+|\.)(?: \([^)]*\))?\s+" * len(EVENTS) + r"(\S[^:]*:\S.*)$")


def main() -> None:
    """Prints a table. As a child process, simulates a scenario and prints the number of packet-hops."""
    if sys.argv[1:]:
        _work(*sys.argv[1:])
        return
    if not shutil.which("valgrind"):
        sys.exit("profile: valgrind is not installed")
    columns = {case: _profile(scenario) for case, scenario in _cases()}
    print(f"| per packet-hop | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for row in ("instructions", *AREAS, *MISSES):
        name = row if row not in AREAS else f"… {row}"
        print(f"| {name} | {' | '.join(_shown(column[row]) for column in columns.values())} |")


def _cases() -> Iterator[tuple[str, Scenario]]:
    """Yields ten flows at 100 Mb/s; a hundred at 10 Gb/s, with data larger than a cache; few links; many links."""
    from tools.bench import around, dumbbell, in_a_row, wide

    for law in LAWS:
        yield f"S1 {law}", dumbbell(law, 100, 10, 1)
    for law in LAWS:
        yield f"S3 {law}", dumbbell(law, 10_000, 100, 0.4)
    yield "6 links", in_a_row(5)
    yield "24 links", around(2)
    yield "1,000 links", wide(0.5)


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _work(scenario: str) -> None:
    simulation = _core.Simulation(Path(scenario).read_text(encoding="utf-8"))
    simulation.advance(simulation.duration, sys.maxsize)
    print(simulation.packet_hops)


def _profile(scenario: Scenario) -> dict[str, float]:
    """Returns, per packet-hop, the instructions in total and by area, and the cache and branch misses."""
    with tempfile.TemporaryDirectory() as folder:
        out, file = Path(folder) / "callgrind.out", Path(folder) / "scenario.json"
        file.write_text(scenario.to_json(), encoding="utf-8")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *SIMULATED]
        command += ["--toggle-collect=*Simulation*__pymethod_advance__*", sys.executable, "-m", "tools.profile"]
        done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=True)
        shown = ["callgrind_annotate", "--threshold=100", "--auto=no", f"--show={','.join(EVENTS)}", str(out)]
        text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in filter(None, map(LINE.match, text.splitlines())):
        *counts, place = line.groups()
        instructions, *misses = (0 if count == "." else int(count.replace(",", "")) for count in counts)
        found["instructions"] += instructions
        found[next(area for area, pattern in AREAS.items() if re.search(pattern, place))] += instructions
        for row, pair in zip(MISSES, zip(misses[::2], misses[1::2], strict=True), strict=True):
            found[row] += sum(pair)
    hops = int(done.stdout.split()[-1])
    return {what: count / hops for what, count in found.items()}


if __name__ == "__main__":
    main()
