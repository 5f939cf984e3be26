"""What to type at a Linux box or an OpenWrt router for a line of this capacity: tc, cake and SQM.

The queue can only be kept short where it is. A modem's queue cannot be reached, so a shaper in front of it sends
a little less than the line carries, and the queue moves to where a discipline keeps it short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

#: Share of the line that a shaper sends; 5 % are left for what it cannot know, such as headers of the modem.
SHARE = 0.95
#: Longest frame of Ethernet without its checksum, bytes; a bucket holds two, or what a line sends in 4 ms.
FRAME, TICK = 1514, 0.004
#: Packets of the simulator's typical size, for a queue of a fixed size where nothing is said.
FIFO = 50


class Command(NamedTuple):
    """Lines for a shell that set one discipline; DEVICE stands for the interface.

    Attributes:
        name: what is set.
        lines: for a shell of root.
    """

    name: str
    lines: tuple[str, ...]


def kbit(capacity: float) -> int:
    """What a shaper is set to on a line of this capacity (bit/s), kbit/s; at least 1.

    >>> kbit(10e6)
    9500
    """
    return max(math.floor(SHARE * capacity / 1e3), 1)


def tc(capacity: float, packets: int = FIFO) -> list[Command]:
    """Commands for the queue towards a line of this capacity, bit/s; `packets` is the room of the plain queue.

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
    """Settings of OpenWrt's SQM for a line of these capacities, bit/s; without one down, only what is sent is shaped.

    Source: sqm-scripts, `/etc/config/sqm`: rates in kbit/s, 0 shapes nothing.
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
    """All of them for a line that carries `up` bit/s from here, and `down` back."""
    return [*tc(up, packets), sqm(up, down)]
