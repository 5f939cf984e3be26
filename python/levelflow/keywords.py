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
    "maxnet",
    "xcp",
    "abc",
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
    """What differs in the opposite direction of a duplex link."""

    buffer: str | Table
    """Room for waiting packets."""
    capacity: str
    """Line rate."""
    changes: list[Table] | Table
    """What changes while the run goes on."""
    delay: str
    """Propagation delay."""
    jitter: str
    """Random further delay of each packet."""
    law: Law | Literal["none"] | Table
    """See the link's `law`."""
    loss: Number | str | Table
    """Which packets the wire loses."""
    name: str
    """Name in results; by default "to->from"."""
    queue: Queue | Table
    """The queue discipline."""
    slot: str
    """Packets reach the far end in batches, so far apart."""
    weight: Whole
    """What it adds to the weight of a path."""


class AckDelayKeys(TypedDict, total=False):
    """A receiver that delays acknowledgements at random, without changing their order."""

    every: Whole | Table
    """Acknowledgements between two that are held."""
    hold: str | Table
    """How long one is held."""
    spacing: str
    """Least time between two."""


class SessionKeys(TypedDict, total=False):
    """A user who reads pages."""

    objects: Whole | Table
    """Objects on each page, rounded up."""
    pages: Whole | Table
    """Pages that the user reads, rounded up."""
    think: str | Table
    """Time between the last object of a page and the next page."""


class LinkKeys(TypedDict, total=False):
    """One direction of a link, or both."""

    buffer: str | Table
    """Capacity for waiting packets: a size, a rule, or an algorithm that adapts it during the run; unlimited by
    default."""
    changes: list[Table] | Table
    """What changes while the run goes on, in order of time."""
    duplex: bool
    """Adds the opposite direction, with the same values."""
    jitter: str
    """Random further delay of each packet, up to this much, uniformly."""
    law: Law | Literal["none"] | Table
    """"none" for a plain queue, or parameters of laws at this link. By default every law whose data crosses the
    link runs there."""
    loss: Number | str | Table
    """Which packets the wire loses: a probability, or a model of bursts."""
    measured: bool
    """Whether routers measure a changed capacity from the packets that they send; by default, they are notified."""
    name: str
    """Name in results; by default "from->to"."""
    queue: Queue | Table
    """The queue discipline, with its parameters if they differ; drop-tail by default."""
    reorder: bool
    """Whether a packet that jitter delays lets others overtake it; by default, it holds them up."""
    reverse: ReverseKeys
    """What differs in the opposite direction of a duplex link."""
    slot: str
    """Packets reach the far end in batches, so far apart, as from a radio or a DOCSIS modem: with ACKs, ACK
    aggregation."""
    weight: Whole
    """What it adds to the weight of a path, of which routes have the least: 1, which counts links, to 16777215."""


class FlowKeys(TypedDict, total=False):
    """One flow, or a source of flows."""

    ack: str
    """Size of acknowledgements and of packets that open and close a flow."""
    ack_delay: AckDelayKeys
    """Random delay of acknowledgements at the receiver."""
    application: Table
    """The application, if it has less to send than the flow may; by default, there is always something."""
    arrivals: Table
    """Flows that arrive again and again, instead of `count`."""
    count: Whole
    """How many flows start; by default one."""
    last_arrival: str
    """No flow arrives after this time; those that have started go on, so that transfers can finish before the run
    ends."""
    lifetime: str | Table
    """How long each flow sends."""
    limit: Whole
    """Most arrivals."""
    packet: str
    """Largest data packet, everything included."""
    path: list[str]
    """Nodes from sender to receiver, instead of the shortest path."""
    reliable: bool
    """Retransmits lost data; by default true if the size is given and the law has ACKs."""
    reverse_path: list[str]
    """Nodes from receiver to sender, instead of the shortest path."""
    rtt: str | Table
    """Base round trip. What the links' propagation delays lack of it is added at the hosts, so that access links
    need not be written down."""
    session: SessionKeys
    """What each arrival brings instead of one flow: a user who reads pages."""
    size: str | Table
    """What each flow carries; by default there is no end."""
    start: str | Table
    """When it starts: its first packet comes to its first link then."""
    stop: str
    """Time at which it stops sending; transfers that have not finished are aborted."""


class ScenarioKeys(TypedDict, total=False):
    """What to simulate."""

    description: str
    """What it shows."""
    flow: list[FlowKeys]
    """Traffic."""
    law: Table
    """Parameters of laws for the whole run; a link or a flow may override them."""
    link: list[LinkKeys]
    """Links; nodes exist because a link names them."""
    memory: list[Table]
    """Memories that several buffers share."""
    memory_limit: str
    """Most memory that flows and packets may take; a run that needs more is refused, or ends with what it has."""
    overhead: str
    """Longest random processing time of a packet at its sender; by default one transmission on the slowest link of
    its path. Clocks of hosts and links are off by up to 100 parts in a million. "0 s" makes both ideal, as does the
    profile "paper"."""
    profile: Table
    """Defaults of hosts: those of Linux, or those of the papers."""
    reroute: str
    """How long after a link fails or is repaired routes have changed to avoid or to use it; by default, routes stay
    as they are."""
    route: list[Table]
    """Exceptions from routing by weight."""
    routing: Table
    """How flows choose among paths."""
    sample: str
    """Time between samples in the results."""
    seed: Whole
    """Seed of every random stream."""
