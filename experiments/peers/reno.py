"""Compares Reno and NewReno with ns-2: the dumbbells of the ns-3 comparison, and a transfer that overflows a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.peers import ns2, tcp
from experiments.peers.tcp import ACCESS_S, BUFFER, DELAY_S, FROM_S, MBPS, SAMPLE_S, SSTHRESH, STARTS, TO_S, WIRE
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = (
    tcp.Pair("reno", "Sack1"),
    tcp.Pair("reno", "Reno", ours={"sack": False}),
    tcp.Pair("newreno", "Newreno", ours={"sack": False}),
)
#: Receiver class for the packets of each sender class.
SINKS = {"Sack1": "Agent/TCPSink/Sack1", "Reno": "Agent/TCPSink", "Newreno": "Agent/TCPSink"}
#: Single transfer: Mb/s, one-way delay in s, buffer in packets, packet size in bytes, number of packets.
LONE_MBPS, LONE_DELAY_S, LONE_BUFFER, LONE_PACKET, LONE_PACKETS = LONE = (150, 0.05, 1875, 1000, 10_000)


def theirs(binary: str, pair: tcp.Pair, flows: int) -> tcp.Outcome:
    """Runs a case in ns-2."""
    link = (MBPS, DELAY_S, ACCESS_S, BUFFER, SSTHRESH, WIRE, FROM_S, TO_S, SAMPLE_S)
    text = ns2.run(binary, "tcp_ns2.tcl", f"Agent/TCP/{pair.peer}", SINKS[pair.peer], *link, *STARTS[:flows])
    return read(text)


def read(text: str) -> tcp.Outcome:
    """Parses the output of the script."""
    [(window, waiting, arrived, dropped, *delivered)] = ns2.numbers(text)
    rates = [packets / (TO_S - FROM_S) for packets in delivered]
    in_service = sum(rates) * WIRE * 8 / (MBPS * 1e6)
    return tcp.Outcome(rates, window, waiting + in_service, dropped / arrived, 0.0)


def transfer(law: str, **options: object) -> tuple[float, int]:
    """Returns the time at which the whole transfer is acknowledged, s, and the number of retransmissions."""
    scenario = Scenario("lone transfer", "100 s", sample="1 s", profile="paper")
    buffer = f"{LONE_BUFFER} packets"
    scenario.link("A", "B", f"{LONE_MBPS} Mb/s", f"{LONE_DELAY_S} s", buffer=buffer, duplex=True)
    scenario.flow("x", {law: options}, "A", "B", size=f"{LONE_PACKETS} packets", packet=f"{LONE_PACKET} B")
    row = scenario.run().completions.row(0, named=True)
    return row["fct_s"] + LONE_DELAY_S, row["retransmitted"]


def transfers(binary: str) -> Iterator[str]:
    """Yields the table of the single transfer."""
    yield "| law | peer | time, s | retransmitted, packets |"
    yield "|---|---|---|---|"
    for pair in PAIRS:
        text = ns2.run(binary, "transfer_ns2.tcl", f"Agent/TCP/{pair.peer}", SINKS[pair.peer], *LONE)
        values = zip(transfer(pair.law, **pair.ours), *ns2.numbers(text), (2, 0), strict=True)
        yield f"| {pair.name} | {pair.peer} | {' | '.join(tcp.cell(*value) for value in values)} |"


def compare(binary: str) -> Iterator[str]:
    """Yields the tables of each pair with one and with two flows, then the table of the single transfer."""
    cases = [(pair, flows) for pair in PAIRS for flows in (1, 2)]
    yield from tcp.table(cases, [tcp.ours(*case) for case in cases], [theirs(binary, *case) for case in cases])
    yield ""
    yield from transfers(binary)
