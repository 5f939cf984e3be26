"""Queue disciplines beside ns-3: TCP over the same dumbbells in both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.peers import tcp

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Pair:
    """A discipline here and in ns-3, with the attributes of ns-3 that make the two alike."""

    queue: str
    peer: str
    attributes: dict[str, object] = field(default_factory=dict)


#: There, the packet in service and the one before it, in the device, do not count: thresholds are two lower.
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
#: Laws of the flows, here and there.
LAWS = (
    tcp.Pair("newreno", "TcpNewReno"),
    tcp.Pair("cubic", "TcpCubic", theirs={"ns3::TcpCubic::HyStart": "false"}),
)
FLOWS = (2, 10)
#: Packets that can wait.
ROOM = 1000

Case = tuple[Pair, tcp.Pair, int]


def starts(flows: int) -> list[float]:
    """When flows start, s."""
    return [0.5 * i for i in range(flows)]


def ours(case: Case) -> tcp.Outcome:
    """Runs a case here."""
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
    """Jain's index of fairness."""
    return sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)


def table(cases: list[Case], here: list[tcp.Outcome], there: list[tcp.Outcome]) -> Iterator[str]:
    """Lines of a table in Markdown; differences above 10 % of the peer's value are set in bold."""
    yield "| queue | law | flows | packets/s | Jain's index | queueing delay, ms | dropped, % |"
    yield "|---|---|---|---|---|---|---|"
    for (pair, law, flows), a, b in zip(cases, here, there, strict=True):
        values = [(sum(o.flows), jain(o.flows), 1e3 * o.queue / sum(o.flows), 1e2 * o.loss) for o in (a, b)]
        cells = [tcp.cell(x, y, digits) for x, y, digits in zip(*values, (0, 3, 2, 3), strict=True)]
        yield f"| {pair.queue} | {law.law} | {flows} | {' | '.join(cells)} |"


def compare(python: str) -> Iterator[str]:
    """The table: every discipline under every law, with few flows and with more."""
    cases = [(pair, law, flows) for pair in PAIRS for law in LAWS for flows in FLOWS]
    return table(cases, [ours(case) for case in cases], list(theirs(python, cases)))
