"""Commands for a Linux host or an OpenWrt router at a line of a given capacity: tc, cake and SQM.

A discipline can keep a queue short only at the device where the queue builds up. The queue of a modem cannot be
configured. Therefore a shaper in front of the modem sends slightly below the line rate. The queue then builds up at the
shaper, and a discipline there keeps it short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

#: Rate of a shaper as a fraction of the line rate; 5 % are left for unknown overhead, such as headers of the modem.
SHARE = 0.95
#: Longest Ethernet frame without its checksum in bytes, and time in s in which the shaped rate fills a token bucket.
#: The size of the bucket is `max(2 * FRAME, TICK * rate / 8)`, where `rate` is the shaped rate in bit/s.
FRAME, TICK = 1514, 0.004
#: Default limit of a FIFO, packets.
FIFO = 50


class Command(NamedTuple):
    """Shell commands that set one discipline; DEVICE is the interface.

    Attributes:
        name: Name of the discipline.
        lines: Lines for a root shell.
    """

    name: str
    lines: tuple[str, ...]


def kbit(capacity: float) -> int:
    """Returns the shaped rate for a line of this capacity (bit/s), in kbit/s; at least 1.

    >>> kbit(10e6)
    9500
    """
    return max(math.floor(SHARE * capacity / 1e3), 1)


def tc(capacity: float, packets: int = FIFO) -> list[Command]:
    """Returns the commands for the queue of a line of this capacity, bit/s; `packets` is the limit of the FIFO.

    Sources: tc-cake(8), tc-fq_codel(8), tc-codel(8), tc-pie(8), tc-htb(8), tc-tbf(8).
    """
    rate = kbit(capacity)
    burst = max(2 * FRAME, math.ceil(rate * 1e3 / 8 * TICK))
    root = "tc qdisc replace dev DEVICE root"
    shaper = (
        f"{root} handle 1: htb default 10",
        f"tc class replace dev DEVICE parent 1: classid 1:10 htb rate {rate}kbit burst {burst} cburst {burst}",
    )
    inside = "tc qdisc replace dev DEVICE parent 1:10"
    return [
        Command("cake", (f"{root} cake bandwidth {rate}kbit",)),
        *(Command(name, (*shaper, f"{inside} {name}")) for name in ("fq_codel", "pie", "codel")),
        Command(
            "tbf and pfifo",
            (
                f"{root} handle 1: tbf rate {rate}kbit burst {burst} limit {burst + FRAME}",
                f"tc qdisc replace dev DEVICE parent 1:1 pfifo limit {max(packets, 1)}",
            ),
        ),
    ]


def sqm(up: float, down: float | None) -> Command:
    """Returns the settings of OpenWrt's SQM for a line of these capacities, bit/s. `down` is None for upload only.

    Source: sqm-scripts, `/etc/config/sqm`: rates in kbit/s, 0 disables shaping.
    """
    values = {
        "interface": "DEVICE",
        "upload": kbit(up),
        "download": kbit(down) if down is not None else 0,
        "qdisc": "cake",
        "script": "piece_of_cake.qos",
        "enabled": 1,
    }
    lines = ("uci set sqm.wan=queue", *(f"uci set sqm.wan.{key}='{value}'" for key, value in values.items()))
    return Command("OpenWrt SQM", (*lines, "uci commit sqm", "/etc/init.d/sqm restart"))


def commands(up: float, down: float | None = None, packets: int = FIFO) -> list[Command]:
    """Returns all commands for a line with these upload and download capacities, bit/s."""
    return [*tc(up, packets), sqm(up, down)]
