"""Conditions under which a law of explicit rates loses nothing: `python -m experiments.no_loss [--out PICTURE]`.

The topologies are T1 to T5 of the dissertation (Zhang 2008, section VI.3). One condition changes at a time: the initial
rate, a simultaneous start, the size of packets at a low rate, or the buffer. Overshoot is the largest excess of a
link's load above its target, in samples of 100 ms.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from levelflow import Interrupted, Scenario
from levelflow.ending import interrupted
from levelflow.workers import Bar, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from levelflow.results import Result

LAWS = ("jetmax", "level")
T2_SPREAD, T2_FLOWS, T5_FLOWS = 1.0, 99, 50
MANY = 10_000
RED, GREEN = "#c44e52", "#dcefdc"

Condition = tuple[str, dict[str, object], float, bool]
#: Condition: name, law parameters, factor that multiplies the topology's buffer, and True for a simultaneous start.
CONDITIONS: tuple[Condition, ...] = (
    ("defaults", {}, 1.0, False),
    ("first rate 200 kb/s", {"initial_rate": "200 kb/s"}, 1.0, False),
    ("first rate 1 Mb/s", {"initial_rate": "1 Mb/s"}, 1.0, False),
    ("all start at once", {}, 1.0, True),
    ("3 packets per interval", {"packets_per_interval": 3}, 1.0, False),
    ("3 packets per interval, at once", {"packets_per_interval": 3}, 1.0, True),
    ("buffer of a tenth", {}, 0.1, False),
    ("buffer of a tenth, at once", {}, 0.1, True),
    ("gamma 0.95, first rate 1 Mb/s", {"gamma": 0.95, "initial_rate": "1 Mb/s"}, 1.0, False),
)


def t1(law: str, buffer: float, at_once: bool) -> Scenario:
    """Returns T1: a short and a long path share 10 Mb/s."""
    scenario = Scenario("T1", "30 s", profile="paper")
    scenario.link("R1", "R2", "10 Mb/s", "10 ms", buffer=f"{275 * buffer:g} kB", duplex=True)
    scenario.flow("x1", law, "R1", "R2", rtt="220 ms")
    return scenario.flow("x2", law, "R1", "R2", rtt="2020 ms", start="0 s" if at_once else "5 s")


def t2(law: str, buffer: float, at_once: bool) -> Scenario:
    """Returns T2: 99 flows on a short path and one on a long path, with packets of 200 B."""
    scenario = Scenario("T2", "30 s", profile="paper")
    scenario.link("R1", "R2", "10 Mb/s", "10 ms", buffer=f"{64 * buffer:g} kB", duplex=True)
    for number in range(T2_FLOWS):
        start = 0.0 if at_once else T2_SPREAD * number / T2_FLOWS
        scenario.flow(f"x{number + 1}", law, "R1", "R2", rtt="220 ms", packet="200 B", start=f"{start:.4f} s")
    last = "0 s" if at_once else "5 s"
    return scenario.flow("x100", law, "R1", "R2", rtt="2020 ms", packet="200 B", start=last)


def t3(law: str, buffer: float, at_once: bool) -> Scenario:
    """Returns T3: ACKs pass a queue that sometimes delays them by up to a second."""
    scenario = Scenario("T3", "30 s", profile="paper")
    scenario.link("R1", "R2", "10 Mb/s", "5 ms", buffer=f"{64 * buffer:g} kB", duplex=True)
    held = {"every": {"uniform": [5000, 10000]}, "hold": {"uniform": ["0.5 s", "1 s"]}, "spacing": "10 us"}
    scenario.flow("x1", law, "R1", "R2", rtt="20 ms", ack_delay=held)
    return scenario.flow("x2", law, "R1", "R2", rtt="20 ms", ack_delay=held, start="0 s" if at_once else "5 s")


def t4(law: str, buffer: float, at_once: bool) -> Scenario:
    """Returns T4: a square of routers. ACKs of the long paths share links with data."""
    scenario = Scenario("T4", "100 s", profile="paper")
    sides = (("R1", "R2", 20, 10), ("R2", "R4", 17, 990), ("R4", "R3", 20, 10), ("R3", "R1", 17, 990))
    for source, to, mbps, ms in sides:
        duplex = ms == 10
        scenario.link(source, to, f"{mbps} Mb/s", f"{ms} ms", buffer=f"{256 * buffer:g} kB", duplex=duplex)
    there, back = ["R1", "R2", "R4"], ["R4", "R3", "R1"]
    starts = ["0 s"] * 4 if at_once else ["0 s", "30 s", "30 s", "90 s"]
    scenario.flow("x1", law, "R1", "R4", path=there, reverse_path=back, start=starts[0])
    scenario.flow("x2", law, "R1", "R2", start=starts[1])
    scenario.flow("x3", law, "R4", "R1", path=back, reverse_path=there, start=starts[2])
    return scenario.flow("x4", law, "R4", "R3", start=starts[3])


def t5(law: str, buffer: float, at_once: bool) -> Scenario:
    """Returns T5: fifty flows join a flow that has 100 Mb/s, all at the same moment."""
    scenario = Scenario("T5", "30 s", profile="paper")
    scenario.link("R1", "R2", "100 Mb/s", "10 ms", buffer=f"{1250 * buffer:g} kB", duplex=True)
    scenario.flow("x1", law, "R1", "R2", rtt="100 ms")
    start = "0 s" if at_once else "20 s"
    for number in range(T5_FLOWS):
        scenario.flow(f"x{number + 2}", law, "R1", "R2", rtt="100 ms", start=start)
    return scenario


TOPOLOGIES: dict[str, Callable[[str, float, bool], Scenario]] = {"T1": t1, "T2": t2, "T3": t3, "T4": t4, "T5": t5}


def scenario(topology: str, law: str, condition: Condition) -> Scenario:
    """Returns the scenario of a topology with a law and a condition."""
    _, parameters, buffer, at_once = condition
    built = TOPOLOGIES[topology](law, buffer, at_once)
    built.raw["sample"] = "100 ms"
    return built.law(law, **parameters) if parameters else built


def outcome(run: Scenario, result: Result) -> tuple[int, float]:
    """Returns the number of dropped packets, and the largest overshoot over all links in percent."""
    links = {link["name"]: link["target_bps"] for link in run.resolve()["links"]}
    loads = result.links.select("link", "arrival_bps").iter_rows()
    most = max((load / links[str(name)] - 1 for name, load in loads if load is not None), default=0.0)
    return sum(link["dropped_packets"] for link in result.summary["links"]), max(100 * most, 0.0)


def cell(found: tuple[int, float]) -> str:
    """Returns drops and overshoot, in the format of the table."""
    drops, overshoot = found
    return f"{drops} / {overshoot:.1f} %"


def figure(found: dict[tuple[str, str, str], tuple[int, float]]) -> Figure:
    """Draws the table in colours: a row per condition, and a column per law and topology. Red means dropped packets."""
    from matplotlib.figure import Figure

    names, columns = [name for name, *_ in CONDITIONS], [(law, top) for law in LAWS for top in TOPOLOGIES]
    picture = Figure(figsize=(9, 4.2), layout="constrained")
    axes = picture.subplots()
    for y, name in enumerate(names):
        for x, (law, top) in enumerate(columns):
            drops, overshoot = found[law, top, name]
            place = x + (0.3 if x >= len(TOPOLOGIES) else 0.0)
            axes.barh(y, 0.94, 0.9, place - 0.47, color=RED if drops else GREEN)
            lost = f"{drops / 1000:.0f}k" if drops >= MANY else f"{drops:,}"
            text, colour = (f"{lost} lost", "white") if drops else (f"+{overshoot:.0f} %", "black")
            axes.text(place, y, text, ha="center", va="center", fontsize=8, color=colour)
    places = [x + (0.3 if x >= len(TOPOLOGIES) else 0.0) for x in range(len(columns))]
    axes.set_xticks(places, [f"{top}\n{law}" for law, top in columns], fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return picture


def main(words: Sequence[str] | None = None) -> int:
    """Runs the conditions and prints the table. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.no_loss", description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side (%(default)s)")
    parser.add_argument("--out", help="draws the table to this file")
    options = parser.parse_args(words)
    keys = [(law, top, one) for law in LAWS for top in TOPOLOGIES for one in CONDITIONS]
    try:
        with Bar("no loss") as bar, Workers(options.workers, bar) as workers:
            runs = [scenario(top, law, one) for law, top, one in keys]
            results = workers(runs)
    except (KeyboardInterrupt, Interrupted):
        return interrupted()
    outcomes = map(outcome, runs, results)
    found = {(law, top, one[0]): what for (law, top, one), what in zip(keys, outcomes, strict=True)}
    print(f"| dropped / overshoot | {' | '.join(f'{law} {top}' for law in LAWS for top in TOPOLOGIES)} |")
    print(f"|{' --- |' * (1 + len(LAWS) * len(TOPOLOGIES))}")
    for name, *_ in CONDITIONS:
        print(f"| {name} | {' | '.join(cell(found[law, top, name]) for law in LAWS for top in TOPOLOGIES)} |")
    if options.out:
        figure(found).savefig(options.out, dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
