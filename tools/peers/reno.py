"""Reno and NewReno beside ns-2: dumbbells of the comparison with ns-3, and a lone transfer that overflows a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from levelflow.scenario import Scenario
from tools.peers import ns2, tcp
from tools.peers.tcp import ACCESS_S, BUFFER, DELAY_S, FROM_S, MBPS, SAMPLE_S, SSTHRESH, STARTS, TO_S, WIRE

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = (
    tcp.Pair("reno", "Sack1"),
    tcp.Pair("reno", "Reno", ours={"sack": False}),
    tcp.Pair("newreno", "Newreno", ours={"sack": False}),
)
#: What acknowledges the packets of an agent.
SINKS = {"Sack1": "Agent/TCPSink/Sack1", "Reno": "Agent/TCPSink", "Newreno": "Agent/TCPSink"}
#: The lone transfer: Mb/s, s one way, packets of room, bytes, packets.
LONE_MBPS, LONE_DELAY_S, LONE_BUFFER, LONE_PACKET, LONE_PACKETS = LONE = (150, 0.05, 1875, 1000, 10_000)


def theirs(binary: str, pair: tcp.Pair, flows: int) -> tcp.Outcome:
    """Runs a case in ns-2."""
    link = (MBPS, DELAY_S, ACCESS_S, BUFFER, SSTHRESH, WIRE, FROM_S, TO_S, SAMPLE_S)
    text = ns2.run(binary, "tcp_ns2.tcl", f"Agent/TCP/{pair.peer}", SINKS[pair.peer], *link, *STARTS[:flows])
    return read(text)


def read(text: str) -> tcp.Outcome:
    """What the script printed."""
    [(window, waiting, arrived, dropped, *delivered)] = ns2.numbers(text)
    rates = [packets / (TO_S - FROM_S) for packets in delivered]
    in_service = sum(rates) * WIRE * 8 / (MBPS * 1e6)
    return tcp.Outcome(rates, window, waiting + in_service, dropped / arrived, 0.0)


def transfer(law: str, **options: object) -> tuple[float, int]:
    """When the sender of the lone transfer has heard that everything arrived, s, and the packets that it sent again."""
    scenario = Scenario("lone transfer", "100 s", sample="1 s", profile="paper")
    buffer = f"{LONE_BUFFER} packets"
    scenario.link("A", "B", f"{LONE_MBPS} Mb/s", f"{LONE_DELAY_S} s", buffer=buffer, duplex=True)
    scenario.flow("x", {law: options}, "A", "B", size=f"{LONE_PACKETS} packets", packet=f"{LONE_PACKET} B")
    row = scenario.run().completions.row(0, named=True)
    return row["fct_s"] + LONE_DELAY_S, row["retransmitted"]


def transfers(binary: str) -> Iterator[str]:
    """The table of the lone transfer."""
    yield "| law | peer | time, s | sent again, packets |"
    yield "|---|---|---|---|"
    for pair in PAIRS:
        text = ns2.run(binary, "transfer_ns2.tcl", f"Agent/TCP/{pair.peer}", SINKS[pair.peer], *LONE)
        values = zip(transfer(pair.law, **pair.ours), *ns2.numbers(text), (2, 0), strict=True)
        yield f"| {pair.name} | {pair.peer} | {' | '.join(tcp.cell(*value) for value in values)} |"


def compare(binary: str) -> Iterator[str]:
    """The tables: each pair with one flow and with two, and alone."""
    cases = [(pair, flows) for pair in PAIRS for flows in (1, 2)]
    yield from tcp.table(cases, [tcp.ours(*case) for case in cases], [theirs(binary, *case) for case in cases])
    yield ""
    yield from transfers(binary)
