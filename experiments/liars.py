"""Goodput of honest flows that share a link with a lying flow: `python -m experiments.liars`.

Runs every law that has a header, first with four flows on a link and then with a hundred, with and without policing.
In each case, one of the flows lies. Then runs liars who adapt to the policer. Prints a Markdown table for each
case.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field, replace
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
ATTACKED = 40.0
"""Duration of a run with a liar who adapts to the policer, s."""


@dataclass(frozen=True)
class Case:
    """A lie about the headers of a law."""

    law: str
    lie: str
    table: dict[str, Any]
    traffic: dict[str, Any] = field(default_factory=dict)
    """Other keys of the liar's flow."""


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


def _bursts(on: float, off: float) -> dict[str, Any]:
    """Returns the keys of a flow that sends as fast as it can for `on` seconds, and then pauses for `off` seconds."""
    rate = f"{SHARE * LIAR_SHARES} b/s"
    return {"application": {"on_off": {"rate": rate, "on": f"{on} s", "off": f"{off} s"}}}


ATTACKS: dict[str, dict[str, Any]] = {
    "always": {},
    "0.02 s, pause 0.2 s": _bursts(0.02, 0.2),
    "0.1 s, pause 1 s": _bursts(0.1, 1),
    "1 s, pause 3 s": _bursts(1, 3),
    "new flow each second": {"arrivals": {"interval": "1 s"}, "lifetime": "1 s", "start": "0 s"},
}
"""Times at which a liar who adapts to the policer lies."""
ATTACKERS = (
    _sender("jetmax", "gap x 1000", gap="* 1000"),
    _receiver("jetmax", "share 1e9, price -1", share=1e9, price=-1),
    _sender("level", "gap x 1000", gap="* 1000"),
    _receiver("level", "levels 1e9", new_lowest=1e9, new_second=1e9),
)
"""Lies of liars who adapt to the policer."""


def network(case: Case, flows: int, duration: float, *, lies: bool = True, police: bool = False) -> Scenario:
    """Returns a network of `flows` flows, the last of which lies if `lies` is true."""
    law, capacity = case.law, SHARE * flows
    access: dict[str, Any] = {"buffer": "50 packets", "duplex": True, "law": "none"}
    scenario = Scenario("liars", f"{duration} s")
    # The default exceeds the buffer, so routers of ABC would not signal before packets are lost.
    scenario.law("abc", delay_target="5 ms")
    scenario.link("in", "sink", f"{capacity} b/s", "5 ms", buffer="1 BDP", duplex=True, police=police)
    scenario.link("honest", "in", f"{capacity} b/s", "0 s", **access)
    scenario.link("liar", "in", f"{SHARE * LIAR_SHARES} b/s", "0 s", **access)
    common: dict[str, Any] = {"rtt": "20 ms", "start": {"uniform": ["0 s", "100 ms"]}}
    scenario.flow("honest", law, "honest", "sink", count=flows - 1, **common)
    more = {"lie": case.table, **case.traffic} if lies else {}
    scenario.flow("liar", law, "liar", "sink", **{**common, **more})
    return scenario


def goodputs(network: Scenario, flows: int) -> list[float]:
    """Returns the goodput per honest flow and the goodput of the liar after `SETTLED`, b/s."""
    table = network.run().flows
    settled = table.filter(table["t"] > SETTLED)
    rates = [settled.filter(settled["flow"] == name)["goodput_bps"].to_numpy().mean() for name in ("honest", "liar")]
    return [float(rates[0]) / (flows - 1), float(rates[1])]


@cache
def honest(law: str, flows: int) -> float:
    """Returns the goodput per flow if no flow lies, b/s."""
    return goodputs(network(Case(law, "", {}), flows, DURATION, lies=False), flows)[0]


def _cells(case: Case, flows: int, duration: float, *, police: bool) -> list[str]:
    """Returns the goodput of honest flows and of the liar, relative to a run without a lie."""
    base = honest(case.law, flows)
    rates = goodputs(network(case, flows, duration, police=police), flows)
    return [f"{100 * rates[0] / base:.0f} %", f"{rates[1] / base:.2f}"]


def rows(cases: Sequence[Case], flows: int) -> Iterator[str]:
    """Yields the rows of the table for this number of flows."""
    yield "| law | lie | honest flows keep | the liar has | policed: they keep | it has |"
    yield "|---|---|---|---|---|---|"
    for case in cases:
        cells = [cell for police in (False, True) for cell in _cells(case, flows, DURATION, police=police)]
        yield f"| {' | '.join([case.law, case.lie, *cells])} |"


def attacks(cases: Sequence[Case], flows: int) -> Iterator[str]:
    """Yields the rows of the table of liars who adapt to the policer."""
    yield "| law | lie | it lies | honest flows keep | the liar has |"
    yield "|---|---|---|---|---|"
    for case in cases:
        for name, traffic in ATTACKS.items():
            cells = _cells(replace(case, traffic=traffic), flows, ATTACKED, police=True)
            yield f"| {' | '.join([case.law, case.lie, name, *cells])} |"


def main(arguments: Sequence[str]) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.liars", description=__doc__)
    parser.add_argument("--law", help="only this law")
    parser.add_argument("--flows", type=int, choices=FLOWS, help="only this number of flows")
    options = parser.parse_args(arguments)
    for title, known, table in (
        ("One liar in {} flows", CASES, rows),
        ("Attacks on the policer, one liar in {} flows", ATTACKERS, attacks),
    ):
        cases = [case for case in known if options.law in (None, case.law)]
        for flows in [options.flows] if options.flows else FLOWS:
            print(f"## {title.format(flows)}\n")
            for row in table(cases, flows):
                print(row, flush=True)
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
