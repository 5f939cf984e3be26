"""Keywords of scenarios and what they take, from `levelflow schema`. Written by `make gen`; edit that, not this file.

A law, a queue or a buffer is its name, or `{name: {parameter: value}}`.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict

Whole = int | SupportsIndex
Number = float | SupportsFloat
Table = dict[str, Any]

Law = Literal[
    "jetmax",
    "level",
    "sperc",
    "emkc",
    "emkc_avq",
    "kelly",
    "rcp",
    "rcp_weighted",
    "maxnet",
    "xcp",
    "abc",
    "slots",
    "reno",
    "newreno",
    "bic",
    "cubic",
    "highspeed",
    "scalable",
    "htcp",
    "westwood",
    "lp",
    "dctcp",
    "prague",
    "vegas",
    "fast",
    "cbr",
    "aimd",
    "tfrc",
    "bbr",
    "bbr3",
    "ks",
]
Queue = Literal[
    "drop_tail",
    "drop_front",
    "red",
    "rem",
    "pi",
    "codel",
    "pie",
    "virtual_queue",
    "policer",
    "fq_codel",
    "dualpi2",
    "cake",
]


class ReverseKeys(TypedDict, total=False):
    """Values that differ in the opposite direction of a duplex link."""

    buffer: str | Table
    """Buffer for queued packets."""
    capacity: str
    """Line rate."""
    changes: list[Table] | Table
    """Changes of this direction during the run, in order of time."""
    delay: str
    """Propagation delay."""
    jitter: str
    """Upper bound of the random extra delay per packet."""
    law: Law | Literal["none"] | Table
    """"none" if no router signals at the queue of this direction. Otherwise router parameters, as for a link. By
    default those of the link."""
    loss: Number | str | Table
    """Packet loss on the wire."""
    name: str
    """Name in results; by default "to->from"."""
    queue: Queue | Table
    """Queue discipline."""
    slot: str
    """Interval between the batches in which packets reach the far end."""
    weight: Whole
    """Routing weight, 1 to 16777215."""


class AckDelayKeys(TypedDict, total=False):
    """Random delay of ACKs at the receiver. ACKs keep their order."""

    every: Whole | Table
    """Number of ACKs between two delayed ACKs."""
    hold: str | Table
    """Delay of a delayed ACK."""
    spacing: str
    """Minimum time between two ACKs."""


class SessionKeys(TypedDict, total=False):
    """Session of a user who reads pages one by one. All objects of a page arrive at once, each as its own flow."""

    objects: Whole | Table
    """Number of objects on each page, rounded up."""
    pages: Whole | Table
    """Number of pages that the user reads, rounded up."""
    think: str | Table
    """Time between the delivery of the last object of a page and the request for the next page."""


class LinkKeys(TypedDict, total=False):
    """Link, in one direction or both."""

    buffer: str | Table
    """Buffer for queued packets: a size, a rule, or an algorithm that adapts it during the run; unlimited by
    default."""
    changes: list[Table] | Table
    """Changes of the link during the run, in order of time."""
    duplex: bool
    """True to add the opposite direction with the same values."""
    jitter: str
    """Upper bound of the random extra delay per packet, which is drawn uniformly from 0 to this value."""
    law: Law | Literal["none"] | Table
    """"none" if no router signals at the queue of this link. Otherwise a table of router parameters for each
    signalling. By default, a link has one router for each signalling that the flows across it use."""
    loss: Number | str | Table
    """Packet loss on the wire: a probability, or a model of bursts."""
    measured: bool
    """True if routers measure the capacity of a changing link from transmitted packets. By default, the link
    notifies its routers of each change."""
    name: str
    """Name in results; by default "from->to"."""
    police: bool
    """True if the routers police headers: they correct false values, and limit flows that lie."""
    queue: Queue | Table
    """Queue discipline, by name or with parameters that differ from the defaults; drop-tail by default."""
    reorder: bool
    """True if packets may overtake a packet that is delayed by jitter. By default, packets keep their order."""
    reverse: ReverseKeys
    """Values that differ in the opposite direction of a duplex link."""
    slot: str
    """Interval between the batches in which packets reach the far end, as on a radio or DOCSIS link. On the path of
    ACKs, it models ACK aggregation."""
    weight: Whole
    """Routing weight, 1 to 16777215. Routes minimise the sum of weights; the default 1 minimises hops."""


class FlowKeys(TypedDict, total=False):
    """Flow entry."""

    ack: str
    """Size of ACKs and of packets that open and close a flow."""
    ack_delay: AckDelayKeys
    """Random delay of ACKs at the receiver."""
    application: Table
    """Application that limits the data to send; by default, the flow always has data."""
    arrivals: Table
    """Arrival process of flows, instead of `count`."""
    count: Whole
    """Number of flows that start; by default one."""
    last_arrival: str
    """Latest time at which a flow may arrive. Flows that have started continue, so that transfers can finish before
    the run ends."""
    lie: Table
    """Lies of the hosts: header fields that the sender or the receiver falsifies, withheld ACKs, hidden marks. To
    model a host with several identities, set `count` to their number."""
    lifetime: str | Table
    """Time for which each flow sends."""
    limit: Whole
    """Limit on the number of arrivals."""
    packet: str
    """Maximum size of data packets, headers included."""
    path: list[str]
    """Nodes from sender to receiver, instead of the shortest path."""
    reliable: bool
    """True to retransmit lost data. The default is true if the law has ACKs and the flow has a size or sends
    responses."""
    reverse_path: list[str]
    """Nodes from receiver to sender, instead of the shortest path."""
    rtt: str | Table
    """Base round-trip time. The hosts add the difference between this time and the propagation delays of the links,
    so access links may be omitted."""
    session: SessionKeys
    """Session of a user who reads pages. Each arrival starts a session instead of one flow."""
    size: str | Table
    """Data that each flow carries; unlimited by default."""
    start: str | Table
    """Time at which the first packet of the flow reaches its first link."""
    stop: str
    """Time at which the flow stops sending. Unfinished transfers are aborted."""
    transfers: Table
    """File of another simulator with the ends, sizes and start times of transfers, instead of `from`, `to`, `size`
    and `arrivals`. Each pair of hosts becomes one entry."""


class ScenarioKeys(TypedDict, total=False):
    """Scenario of a simulation."""

    description: str
    """Description of what the run shows."""
    encapsulation: Literal["none"] | Literal["ethernet+ipv4+udp"] | Literal["ipv6"] | Literal["quic"]
    """Headers of packets. The default is "ethernet+ipv4+udp", and "none" in the profile "paper". Sizes of packets
    include headers. Sizes of transfers, completion times and goodputs count only payload. An ACK has at least the
    size of its headers plus 16 bytes, and `min_packet` of a law is at least the size of the headers plus one
    byte."""
    event_limit: Whole
    """Limit on the number of events in each simulated second. A run that needs more ends early and keeps the
    results up to then. The default is 16 million, plus 1 million per link, plus 20 per packet that the links can
    send in a second."""
    flow: list[FlowKeys]
    """Traffic."""
    law: Table
    """Parameters of laws for the whole run; a link or a flow may override them."""
    link: list[LinkKeys]
    """Links. A node exists if a link names it."""
    memory: list[Table]
    """Memories, each shared by several buffers."""
    memory_limit: str
    """Limit on memory for flows and packets. A run that needs more is rejected at the start, or ends early and
    keeps the results up to then."""
    overhead: str
    """Upper bound of the random processing time per packet at its sender. The default is the transmission time of
    one packet on the slowest link of its path. Clocks of hosts and links also have errors of up to 100 parts per
    million. A value of "0 s" disables both, as does the profile "paper"."""
    profile: Literal["linux"] | Literal["paper"]
    """Set of default values for hosts: those of Linux, or those of the papers."""
    reroute: str
    """Time between the failure or repair of a link and the resulting change of routes. By default, routes never
    change."""
    route: list[Table]
    """Next hops that replace those of weight-based routing."""
    routing: Literal["shortest"] | Literal["ecmp"]
    """Choice of paths for flows."""
    sample: str
    """Time between samples in the results."""
    seed: Whole
    """Seed of every random stream."""
