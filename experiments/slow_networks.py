"""Convergence of laws on slow networks: `python -m experiments.slow_networks [LAW]... [--set PATH=VALUE]`.

Networks are those of `levelflow convergence run`, with capacities of 50 to 300 kb/s per flow. Runs are five times as
long, because control intervals are longer on slow links. The table also has 100 and 1000 flows that start at once on
one link, with fair shares below one packet per 100 ms.
"""

from __future__ import annotations

import argparse
import functools
from itertools import count, islice
from typing import TYPE_CHECKING
from unittest import mock

from levelflow import Scenario
from levelflow.convergence import families, trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.convergence.trial import Outcome

MBPS_PER_FLOW = (0.05, 0.3)
#: Longer runs, as a factor, and limit on the expected number of link crossings in an original run.
LONGER, MAX_PACKET_HOPS = 5.0, 2e5
#: Number of flows, capacity, and buffer.
CROWDS = ((100, "0.5 Mb/s", "30 packets"), (1000, "5 Mb/s", "300 packets"))


def outcomes(law: str, family: str, networks: int, changes: Sequence[str] = ()) -> list[Outcome]:
    """Returns the outcomes of a law on the first networks of a family whose runs are short enough."""
    with mock.patch.object(families, "MBPS_PER_FLOW", MBPS_PER_FLOW):
        drawn = (families.network(family, seed)[1] for seed in count())
        found = list(islice((one for one in drawn if one.packet_hops < MAX_PACKET_HOPS), networks))
    attempts = []
    for one in found:
        scenario = one.scenario("slow", law, 1).set("duration", f"{LONGER * one.duration_s:.6f} s")
        for change in changes:
            scenario.set(*change.split("=", 1))
        attempts.append(trial.attempt(scenario, 4 * LONGER * one.packet_hops))
    return attempts


def crowd(law: str, flows: int, capacity: str, buffer: str) -> Scenario:
    """Returns a scenario of flows that start at once on one link. An ACK is larger than the smallest packet."""
    scenario = Scenario("crowd", "60 s")
    scenario.link("A", "B", capacity, "10 ms", buffer=buffer).link("B", "A", "10 Mb/s", "10 ms")
    return scenario.flow("x", law, "A", "B", count=flows)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("laws", nargs="*", default=["level"], metavar="LAW")
    parser.add_argument("--networks", type=int, default=12, metavar="N", help="networks of each family")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change of each network")
    given = parser.parse_args()
    show = functools.partial(print, flush=True)
    show("| law | family | settled | largest mean error | networks with drops |\n| --- | --- | --- | --- | --- |")
    for law in given.laws:
        for family in families.FAMILIES:
            found = outcomes(law, family, given.networks, given.set)
            worst = max((one.distance for one in found if one.distance is not None), default=0.0)
            settled, drops = sum(one.settles for one in found), sum(bool(one.drops) for one in found)
            show(f"| {law} | {family} | {settled} of {len(found)} | {100 * worst:.1f} % | {drops} |")
    show("\n| law | flows | link | drops in the last fifth | largest mean error |\n| --- | --- | --- | --- | --- |")
    for law in given.laws:
        for flows, capacity, buffer in CROWDS:
            result = crowd(law, flows, capacity, buffer).run()
            start = result.summary["window_s"][0]
            late = int(result.links.filter(result.links["t"] > start)["dropped"].sum())
            show(f"| {law} | {flows} | {capacity} | {late} | {100 * (result.summary['distance_max'] or 0):.1f} % |")


if __name__ == "__main__":
    main()
