"""Records that the engine returns, from its schemas. Written by `make gen`; edit `crates/*/src`, not this file.

`Scenario.resolve` returns a `ScenarioRecord`, the lists of `levelflow.library` consist of `LawRecord` and others.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Backlog(TypedDict):
    """Backlog of a link over a run, in bytes queued or in service."""

    max: int
    """Largest backlog."""
    mean: float
    """Mean backlog at packet arrivals; 0 if no packet arrived."""


class BitsRecord(TypedDict):
    """Group of bits in a header field."""

    doc: str
    """Meaning."""
    mask: int
    """Mask of the bits."""
    name: str
    """Name in the dissector."""


class BufferRecord(TypedDict):
    """Buffer rule or buffer-sizing algorithm, with its parameters."""

    adapts: bool
    """True if it changes the buffer during the run."""
    name: str
    """Name in scenarios."""
    params: list[ParameterRecord]
    """Parameters."""
    source: str
    """Paper or standard."""
    title: str
    """Short description."""


class ClassCounters(TypedDict):
    """Queueing delay of one service class of a link."""

    name: str
    """Name of the class."""
    queueing_delay_s: Quantiles | None
    """Queueing delay, s; null without packets."""


class Counters(TypedDict):
    """Counters at the end of a run."""

    events: int
    """Events processed."""
    flows: list[FlowCounters]
    """Counters per flow entry, in the order of the scenario."""
    links: list[LinkCounters]
    """Counters per link."""
    packet_hops: int
    """Number of links crossed, summed over all packets."""
    simulated_s: float
    """Simulated time, s."""


class Difference(TypedDict):
    """Header or state that differs from the log."""

    instance: int
    """Number of the instance."""
    logged: str
    """Logged value."""
    record: int
    """Number of the record, from 1."""
    replayed: str
    """Replayed value."""
    what: str
    """Kind of the item that differs."""


class FieldRecord(TypedDict):
    """Field of a header."""

    allowed: str
    """Allowed values."""
    bits: NotRequired[list[BitsRecord]]
    """Groups of bits; absent if the field is a number."""
    bytes: int
    """Length, bytes."""
    doc: str
    """Meaning, with the unit."""
    name: str
    """Name in the dissector and in errors."""
    only: NotRequired[int]
    """Only allowed value; absent if there are several."""
    range: NotRequired[list[float | None]]
    """Bounds of a float, null if infinite; absent for integers."""
    writer: str
    """Writer: sender, router or receiver."""


class FlowCounters(TypedDict):
    """Counters of a flow entry.

    Packets include those that open or close flows.
    """

    aborted: int
    """Flows that gave up."""
    acks: PacketCounts
    """ACKs."""
    delivered_bytes: int
    """Bytes that reached the receiver."""
    delivered_packets: int
    """Packets that reached the receiver."""
    dropped_packets: int
    """Packets dropped by queues."""
    finished: int
    """Flows that delivered all their data."""
    goodput_bytes: int | None
    """Bytes delivered for the first time; null if the run does not count them."""
    in_flight: int
    """Packets still in flight at the end."""
    lost_packets: int
    """Packets lost on wires."""
    name: str
    """Name of the entry."""
    one_way_excess_s: NotRequired[Quantiles | None]
    """One-way delay minus the one-way delay of the idle path, s; null without packets."""
    refused_acks: NotRequired[int]
    """Invalid ACKs."""
    rtt_s: Quantiles | None
    """Round-trip times, s; null without samples."""
    sent_bytes: int
    """Bytes sent."""
    sent_packets: int
    """Packets sent."""
    started: int
    """Flows started."""


class FlowRecord(TypedDict):
    """Flow entry.

    Times that are drawn at random are null.
    """

    ack_bytes: int
    """Size of ACKs and of packets that open and close flows, bytes."""
    application: bool
    """True if an application supplies the data."""
    base_rtt_s: float | None
    """Round-trip time without queueing, s."""
    count: int | None
    """Number of flows; null if they arrive during the run."""
    finite: bool
    """True if flows end by themselves."""
    handshake: bool
    """True if a flow opens with a handshake."""
    header_bytes: int
    """Size of the headers of each packet, bytes. The rest of a data packet is payload."""
    last_arrival_s: float | None
    """Latest time at which a flow may arrive, s; null if there is none."""
    law: str
    """Law of the senders."""
    lie: NotRequired[Lie]
    """Lies of the hosts; absent if they are honest."""
    name: str
    """Name of the entry."""
    packet_bytes: int
    """Maximum size of data packets, bytes."""
    params: dict[str, str]
    """Parameters of the senders."""
    path: list[str]
    """Links from source to destination, for the first flow at time 0."""
    paths: NotRequired[list[PathRecord]]
    """Paths that flows of the entry take at some time; absent if there is only one."""
    plans: NotRequired[list[PlanRecord]]
    """Assignments of flows to paths, in order of time; absent if there is only one path."""
    reverse_path: list[str]
    """Links back to the source."""
    signal: str
    """Kind of signal that the law reacts to."""
    signalling: str
    """Signalling that the law reacts to."""
    start_s: float | None
    """Start time, s."""
    stop_s: float | None
    """Time at which flows stop sending, s; null if there is none."""
    transfers: bool
    """True if flows carry a limited amount of data."""


class InstanceReport(TypedDict):
    """Result for one sender, router or receiver."""

    calls: int
    """Calls of the law."""
    headers: int
    """Headers equal to the logged headers."""
    instance: int
    """Number of the instance."""
    law: str
    """Name of its law."""
    params: dict[str, str]
    """Parameters in the notation of scenarios."""
    role: str
    """Role: sender, router or receiver."""
    span_s: float
    """Time from the first to the last call, s."""
    start: str
    """Inputs at the start, other than parameters."""
    state: str
    """Values of all variables at the end."""
    states: int
    """Digests of states equal to the logged digests."""


class LawRecord(TypedDict):
    """Law, with its parameters and header."""

    cost: str
    """Operations of a router per packet."""
    header: list[FieldRecord]
    """Fields of the header, in order."""
    header_bytes: int
    """Length of the header, bytes."""
    header_doc: str
    """Description of the header."""
    kernel_router: bool
    """True if a router in the kernel implements the signalling."""
    name: str
    """Name in scenarios."""
    number: int
    """Number of the signalling on the wire; 0 if it has none."""
    params: list[ParameterRecord]
    """Parameters of senders, and of the routers of the signalling with this name."""
    scale_invariant: bool
    """True if rates scale with capacities."""
    signal: str
    """Kind of signal that the law reacts to."""
    signalling: str
    """Signalling that the law reacts to."""
    source: str
    """Paper or standard."""
    title: str
    """Short description."""
    zero_together: list[str] | None
    """Two fields that are 0 together or not at all."""


class Lie(TypedDict):
    """Lies of the hosts of a flow.

    Packets still have the sizes and numbers of honest flows.
    """

    receiver: NotRequired[dict[str, float | str]]
    """Fields that the receiver falsifies in the headers of its ACKs."""
    sender: NotRequired[dict[str, float | str]]
    """Fields that the sender falsifies in the headers of its packets, by name. A number replaces the value. A text
    such as "* 1000" multiplies it."""
    unmarked: NotRequired[bool]
    """True if the receiver hides the marks of queues from the sender."""
    withheld: NotRequired[float | str | None]
    """Fraction of its ACKs that the receiver withholds, at random. Results count them as lost."""


class LinkCounters(TypedDict):
    """Counters of a link."""

    arrived_bytes: int
    """Bytes that arrived at the queue."""
    arrived_packets: int
    """Packets that arrived at the queue."""
    backlog_bytes: Backlog
    """Backlog over the run."""
    classes: NotRequired[list[ClassCounters]]
    """Queueing delay of each service class; absent if the queue has no classes."""
    delivered_packets: int
    """Packets that reached the far end."""
    dropped_bytes: int
    """Bytes dropped by the queue."""
    dropped_packets: int
    """Packets dropped by the queue."""
    in_flight: int
    """Packets still queued or on the wire at the end."""
    lost_packets: int
    """Packets lost on the wire."""
    marked_packets: int
    """Packets marked by the queue."""
    name: str
    """Name of the link."""
    police: NotRequired[PoliceCounters | None]
    """Counters of the policer; absent if the routers do not police headers."""
    queueing_delay_s: Quantiles | None
    """Queueing delay, s; null without packets."""
    utilisation: float
    """Bits sent, divided by the bits that the link could have sent."""
    waiting_packets: int
    """Packets queued or in service at the end of the run. Queueing delay statistics exclude these packets."""


_LinkRecord = TypedDict("_LinkRecord", {"from": str})


class LinkRecord(_LinkRecord):
    """One direction of a link."""

    buffer: str
    """Buffer size, or the initial size if an algorithm changes it."""
    capacity_bps: float
    """Line rate, b/s."""
    changes: list[LinkStateRecord]
    """Changes during the run, in order of time."""
    delay_s: float
    """Propagation delay, s."""
    laws: dict[str, dict[str, str]]
    """Parameters of the routers, by signalling."""
    loss: float
    """Mean packet loss on the wire, 0 to 1."""
    measured: bool
    """True if routers measure the capacity from transmitted packets."""
    name: str
    """Name in results."""
    offered_bps: float
    """Offered rate in the busiest period, b/s."""
    offered_load: float | None
    """Offered load in the busiest period; null if it is infinite."""
    police: NotRequired[bool]
    """True if the routers police headers."""
    queue: dict[str, dict[str, str]]
    """Parameters of the queue discipline."""
    service_bps: float
    """Rate at which the queue is served, b/s; less than the line rate under a policer."""
    sizing: dict[str, dict[str, str]] | None
    """Parameters of the buffer rule or buffer-sizing algorithm."""
    target_bps: float
    """Rate to which routers control the link, b/s."""
    to: str
    """Node at the receiving end."""


class LinkStateRecord(TypedDict):
    """State of a link from the time of a change."""

    at_s: float
    """Time of the change, s."""
    capacity_bps: float
    """Line rate, b/s; 0 during an outage."""
    delay_s: float
    """Propagation delay, s."""
    loss: float
    """Mean packet loss on the wire, 0 to 1."""
    service_bps: float
    """Rate at which the queue is served, b/s."""
    target_bps: float
    """Rate to which routers control the link, b/s."""


class Memory(TypedDict):
    """Memory shared by the buffers of several links, each of which has a buffer-sizing algorithm."""

    links: list[str]
    """Names of the links that share the memory. If their demands exceed the total, it is divided max-min fairly,
    with link capacities as weights."""
    total: str
    """Size of the shared memory."""


class PacketCounts(TypedDict):
    """Counts of packets of one kind, by outcome."""

    delivered: int
    """Packets that reached the receiver."""
    dropped: int
    """Packets dropped by a queue."""
    lost: int
    """Packets lost on a wire."""
    sent: int
    """Packets sent."""


class ParameterRecord(TypedDict):
    """Parameter of a law, queue discipline, buffer rule or buffer-sizing algorithm.

    Values are as scenarios write them.
    """

    choices: list[str] | None
    """Allowed words; null unless `kind` is choice."""
    default: str
    """Default."""
    doc: str
    """Meaning."""
    high: str
    """Largest value."""
    kind: str
    """Kind of the value: number, time, rate, size, packets, switch or choice."""
    low: str
    """Smallest value."""
    name: str
    """Name in scenarios."""
    paper: str | None
    """Default in the profile `paper`; null if it is the same."""
    read_by: NotRequired[str]
    """Senders, routers or both; absent outside laws."""
    source: str
    """Source of the default."""


class PathRecord(TypedDict):
    """Path of a flow."""

    path: list[str]
    """Links from source to destination."""
    reverse_path: list[str]
    """Links back to the source."""


class PlanRecord(TypedDict):
    """Assignment of the flows of an entry to its paths."""

    from_s: float
    """Time from which the plan holds, s."""
    path_of: list[int]
    """Indices of paths. Flow `n` takes the path at index `n` modulo the length of the list."""


class PoliceCounters(TypedDict):
    """Counters of the policer of a link."""

    convictions: int
    """Convictions of flows."""
    largest_debt: float
    """Largest debt of a watched flow as a fraction of the debt of a conviction, 0 to 1."""


class Quantiles(TypedDict):
    """Count, mean, quantiles and maximum of a set of values."""

    count: int
    """Number of values."""
    max: float
    """Maximum."""
    mean: float
    """Mean."""
    p50: float
    """Median, to two digits."""
    p90: float
    """90th percentile, to two digits."""
    p99: float
    """99th percentile, to two digits."""


class QueueRecord(TypedDict):
    """Queue discipline, with its parameters."""

    name: str
    """Name in scenarios."""
    params: list[ParameterRecord]
    """Parameters."""
    schedules: bool
    """True if it schedules several queues."""
    signal: str
    """Meaning of the recorded signal."""
    source: str
    """Paper or standard."""
    title: str
    """Short description."""


class Replay(TypedDict):
    """Result of a replay."""

    difference: Difference | None
    """First difference. The replay ends there."""
    instances: list[InstanceReport]
    """Senders, routers and receivers, in the order of their numbers."""
    records: int
    """Records replayed."""
    truncated_at: int | None
    """Position of an incomplete last record, left by a program that was stopped; bytes from the start of the
    log."""


class ScenarioRecord(TypedDict):
    """Resolved scenario: network, traffic and parameters, with every default filled in."""

    duration_s: float
    """Simulated time, s."""
    flows: list[FlowRecord]
    """Flow entries, in the order of the scenario."""
    links: list[LinkRecord]
    """Links, one per direction."""
    memories: list[Memory]
    """Memories shared by the buffers of links."""
    name: str
    """Name of the scenario."""
    profile: Literal["linux"] | Literal["paper"]
    """Set of defaults."""
    random: bool
    """True if the results depend on the seed."""
    sample_s: float
    """Time between two samples, s."""
    seed: int
    """Seed of the random streams."""
    warnings: list[str]
    """Likely mistakes, one line each."""
