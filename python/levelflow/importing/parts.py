"""Parts of an experiment: a fabric of hosts and switches, and the traffic between its hosts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from levelflow.importing.source import Source

PS_PER_US = 1_000_000
PS_PER_S = 10**12


class Wire(NamedTuple):
    """Duplex link of a fabric; nodes that are hosts have names from `host`.

    Attributes:
        a: Node nearer to the hosts.
        b: Node farther from the hosts.
        gbps: Capacity of each direction, Gb/s.
        up_ns: Delay from a to b, ns.
        down_ns: Delay from b to a, ns.
        number: Number among parallel links, from 1.
        up_bytes: Buffer from a to b; None for an unlimited buffer.
        down_bytes: Buffer from b to a; None for an unlimited buffer.
        loss: Probability of loss per packet.
    """

    a: str
    b: str
    gbps: float
    up_ns: float
    down_ns: float
    number: int = 1
    up_bytes: int | None = None
    down_bytes: int | None = None
    loss: float = 0.0

    @property
    def name(self) -> str:
        """Name of the direction from a to b."""
        return f"{self.a}->{self.b}" + (f" #{self.number}" if self.number > 1 else "")


class Marks(NamedTuple):
    """Thresholds of ECN marks: linear from 0 at `low` to `most` at `high`, and 1 above, bytes."""

    low: int
    high: int
    most: float


@dataclass
class Fabric:
    """Hosts, switches and links.

    Attributes:
        source: File.
        hosts: Names of the hosts, in order of their numbers.
        wires: Links.
        packet: Largest packet of the experiment, headers included, bytes.
        marks: ECN thresholds by capacity in Gb/s; the key None holds for all other capacities.
        timeout_us: Floor of the retransmission timeout, us; None if the source has none.
        notes: Lines about values that are assumed or not carried over.
    """

    source: Source
    hosts: list[str]
    wires: list[Wire]
    packet: int
    marks: dict[float | None, Marks] = field(default_factory=dict)
    timeout_us: float | None = None
    notes: list[str] = field(default_factory=list)


class Transfer(NamedTuple):
    """Transfer between two hosts.

    Attributes:
        source: Number of the sending host.
        target: Number of the receiving host.
        size: Data, bytes.
        start: Start time, ps.
    """

    source: int
    target: int
    size: int
    start: int


@dataclass
class Traffic:
    """Transfers of a file.

    Attributes:
        source: File.
        format: Key of `transfers` in a scenario, such as `hpcc`.
        transfers: Transfers, in the order of the file.
        hosts: Number of hosts according to the file; None if it does not list them.
        down: Links that are down, as pairs of aggregation switch and number of its uplink, each with its line.
        notes: Lines about values that are not carried over.
    """

    source: Source
    format: str
    transfers: list[Transfer]
    hosts: int | None = None
    down: list[tuple[int, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def host(number: int) -> str:
    """Returns the name of a host."""
    return f"h{number}"
