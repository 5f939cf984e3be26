"""Reno and NewReno beside ns-2, over the dumbbells of the comparison with ns-3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.peers import ns2, tcp
from tools.peers.tcp import ACCESS_S, BUFFER, DELAY_S, FROM_S, MBPS, SAMPLE_S, SSTHRESH, STARTS, TO_S, WIRE

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = (tcp.Pair("reno", "Sack1"), tcp.Pair("newreno", "Newreno"))
SINKS = {"Sack1": "Agent/TCPSink/Sack1", "Newreno": "Agent/TCPSink"}


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


def compare(binary: str) -> Iterator[str]:
    """The table: each pair with one flow and with two."""
    cases = [(pair, flows) for pair in PAIRS for flows in (1, 2)]
    return tcp.table(cases, [tcp.ours(*case) for case in cases], [theirs(binary, *case) for case in cases])
