"""Goodput of honest flows that share a link with a lying flow: `python -m experiments.liars`.

Runs every law that has a header, first with four flows on a link and then with a hundred. In both cases, one of the
flows lies. Prints a Markdown table for each case.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from levelflow import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLOWS = (4, 100)
"""Number of flows, one of which lies."""
SHARE = 5e6
"""Capacity of the link per flow, b/s."""
LIAR_SHARES = 50
"""Capacity of the liar's first link, which bounds the liar's rate, as a multiple of `SHARE`."""
DURATION, SETTLED = 20.0, 10.0
"""Duration of a run, and start of the measurement, s."""


@dataclass(frozen=True)
class Case:
    """A lie about the headers of a law."""

    law: str
    lie: str
    table: dict[str, Any]


def _sender(law: str, lie: str, **fields: Any) -> Case:
    return Case(law, f"sender: {lie}", {"sender": fields})


def _receiver(law: str, lie: str, **fields: Any) -> Case:
    return Case(law, f"receiver: {lie}", {"receiver": fields})


CASES = (
    _sender("jetmax", "gap x 1000", gap="* 1000"),
    _sender("jetmax", "virtual size x 1000", virtual_size="* 1000"),
    _sender("jetmax", "gap 0", gap=0),
    _receiver("jetmax", "share x 10", share="* 10"),
    _receiver("jetmax", "share 1e9, price -1", share=1e9, price=-1),
    _sender("level", "gap x 1000", gap="* 1000"),
    _sender("level", "proposal x 1000", proposal="* 1000"),
    _sender("level", "limits 0", lowest=0, second=0),
    _sender("level", "gap 0", gap=0),
    _receiver("level", "levels 1e9", new_lowest=1e9, new_second=1e9),
    _sender("sperc", "label new", label=0),
    _sender("sperc", "label finished", label=3),
    _sender("sperc", "elsewhere 0", elsewhere=0),
    _receiver("sperc", "limit 1e9", limit=1e9),
    _sender("rcp", "round trip 100 s", rtt=100),
    _sender("rcp", "round trip 1e-30 s", rtt=1e-30),
    _receiver("rcp", "rate x 10", rate="* 10"),
    _sender("rcp_weighted", "round trip 100 s", rtt=100),
    _receiver("rcp_weighted", "rate x 10", rate="* 10"),
    _sender("xcp", "gap x 10", gap="* 10"),
    _sender("xcp", "gap and round trip 100 s", gap=100, rtt=100),
    _receiver("xcp", "change 1e9 B/s", reverse_feedback=1e9),
    _sender("maxnet", "price 8 s", price=1 << 22),
    _receiver("maxnet", "price 2 us", echo=1),
    _sender("emkc", "price 0.9", price=0.9),
    _receiver("emkc", "price -1", price=-1),
    _sender("emkc_avq", "round trip 100 s", rtt=100),
    _receiver("emkc_avq", "price -1", price=-1),
    _sender("kelly", "price 1e9", price=1e9),
    _receiver("kelly", "price -1", price=-1),
    _sender("abc", "brake", brake=1),
    _receiver("abc", "accelerate", brake=0),
    _sender("slots", "request x 1000", request="* 1000"),
    _receiver("slots", "rate x 10", rate="* 10"),
)
"""Lies about the fields of each header."""


def network(law: str, flows: int, lie: dict[str, Any] | None) -> Scenario:
    """Returns a network of `flows` flows, the last of which lies."""
    capacity = SHARE * flows
    access = {"buffer": "50 packets", "duplex": True, "law": "none"}
    scenario = Scenario("liars", f"{DURATION} s")
    scenario.link("in", "sink", f"{capacity} b/s", "5 ms", buffer="1 BDP", duplex=True)
    scenario.link("honest", "in", f"{capacity} b/s", "0 s", **access)
    scenario.link("liar", "in", f"{SHARE * LIAR_SHARES} b/s", "0 s", **access)
    common = {"rtt": "20 ms", "start": {"uniform": ["0 s", "100 ms"]}}
    scenario.flow("honest", law, "honest", "sink", count=flows - 1, **common)
    scenario.flow("liar", law, "liar", "sink", **common, **({"lie": lie} if lie else {}))
    return scenario


def goodputs(law: str, flows: int, lie: dict[str, Any] | None) -> list[float]:
    """Returns the goodput per honest flow and the goodput of the liar after `SETTLED`, b/s."""
    table = network(law, flows, lie).run().flows
    settled = table.filter(table["t"] > SETTLED)
    rates = [settled.filter(settled["flow"] == name)["goodput_bps"].to_numpy().mean() for name in ("honest", "liar")]
    return [float(rates[0]) / (flows - 1), float(rates[1])]


@cache
def honest(law: str, flows: int) -> float:
    """Returns the goodput per flow if no flow lies, b/s."""
    return goodputs(law, flows, None)[0]


def rows(cases: Sequence[Case], flows: int) -> Iterator[str]:
    """Yields the rows of the table for this number of flows."""
    yield "| law | lie | honest flows keep | the liar has |"
    yield "|---|---|---|---|"
    for case in cases:
        base = honest(case.law, flows)
        kept, taken = (goodput / base for goodput in goodputs(case.law, flows, case.table))
        yield f"| {case.law} | {case.lie} | {100 * kept:.0f} % | {taken:.2f} |"


def main(arguments: Sequence[str]) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.liars", description=__doc__)
    parser.add_argument("--law", help="only this law")
    parser.add_argument("--flows", type=int, choices=FLOWS, help="only this number of flows")
    options = parser.parse_args(arguments)
    cases = [case for case in CASES if options.law in (None, case.law)]
    for flows in [options.flows] if options.flows else FLOWS:
        print(f"## One liar in {flows} flows\n")
        for row in rows(cases, flows):
            print(row, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
