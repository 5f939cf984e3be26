"""Compares queue disciplines with ns-3: TCP over the same dumbbells in Levelflow and ns-3."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.peers import tcp

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Pair:
    """A discipline in Levelflow and in ns-3, with the ns-3 attributes that make both equal."""

    queue: str
    peer: str
    attributes: dict[str, object] = field(default_factory=dict)


#: Thresholds are lower by 2 than in Levelflow, because ns-3 counts neither the packet in service nor the next packet,
#: which the device holds.
RED = {"MinTh": 3, "MaxTh": 13, "QW": 0.002, "LInterm": 10, "MeanPktSize": tcp.WIRE}
RED |= {"Wait": "false", "LinkBandwidth": f"{tcp.MBPS}Mbps"}
PAIRS = (
    Pair("red", tcp.RED, {f"{tcp.RED}::{name}": value for name, value in RED.items()}),
    Pair("codel", "ns3::CoDelQueueDisc"),
    Pair(
        "pie",
        "ns3::PieQueueDisc",
        {"ns3::PieQueueDisc::MaxBurstAllowance": "150ms", "ns3::PieQueueDisc::UseDerandomization": "true"},
    ),
    Pair("fq_codel", "ns3::FqCoDelQueueDisc"),
)
#: Laws of the flows, in Levelflow and in ns-3.
LAWS = (
    tcp.Pair("newreno", "TcpNewReno"),
    tcp.Pair("cubic", "TcpCubic", theirs={"ns3::TcpCubic::HyStart": "false"}),
)
FLOWS = (2, 10)
#: Limit on queued packets.
ROOM = 1000

Case = tuple[Pair, tcp.Pair, int]


def starts(flows: int) -> list[float]:
    """Returns the start times of flows, s."""
    return [0.5 * i for i in range(flows)]


def ours(case: Case) -> tcp.Outcome:
    """Runs a case in Levelflow."""
    pair, law, flows = case
    queue = {pair.queue: {"ecn": False}}
    return tcp.measured(tcp.dumbbell({law.law: {"initial_ssthresh": tcp.SSTHRESH}}, starts(flows), queue, ROOM))


def theirs(python: str, cases: list[Case]) -> Iterator[tcp.Outcome]:
    """Runs cases in ns-3."""
    return tcp.in_ns3(
        python,
        [
            {
                "type": law.peer,
                "attributes": law.theirs,
                "starts": starts(flows),
                "buffer": ROOM,
                "queue": {"type": pair.peer, "attributes": pair.attributes},
            }
            for pair, law, flows in cases
        ],
    )


def jain(rates: list[float]) -> float:
    """Returns Jain's index of fairness."""
    return sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)


def table(cases: list[Case], here: list[tcp.Outcome], there: list[tcp.Outcome]) -> Iterator[str]:
    """Yields the lines of a Markdown table. Values that differ by more than 10 % of the peer's value are bold."""
    yield "| queue | law | flows | packets/s | Jain's index | queueing delay, ms | dropped, % |"
    yield "|---|---|---|---|---|---|---|"
    for (pair, law, flows), a, b in zip(cases, here, there, strict=True):
        values = [(sum(o.flows), jain(o.flows), 1e3 * o.queue / sum(o.flows), 1e2 * o.loss) for o in (a, b)]
        cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (0, 3, 2, 3), strict=True)]
        yield f"| {pair.queue} | {law.law} | {flows} | {' | '.join(cells)} |"


def compare(python: str) -> Iterator[str]:
    """Returns the table of every discipline with every law, with few and with more flows."""
    cases = [(pair, law, flows) for pair in PAIRS for law in LAWS for flows in FLOWS]
    return table(cases, [ours(case) for case in cases], list(theirs(python, cases)))
