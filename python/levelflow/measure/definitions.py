"""Every measure that Levelflow prints: its name, unit, definition, sampling point, places and test.

`docs/reference/measures.md` is generated from this table. Tests verify that each column of a result, each key of a
summary and each metric of a study is a place of a measure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """Definition of a measure.

    Attributes:
        name: name in sentences and table headings.
        unit: unit of the value in files; empty for counts and fractions.
        definition: measured quantity; for a ratio, also the denominator.
        sampled: place and time of the measurement.
        places: columns as `table.column`, keys of the summary as `summary.part.key`, metrics of studies as
            `study.metric`. A key includes all keys below it.
        oracle: test that compares the measure with a closed form or with every packet, as `file::test`.
    """

    name: str
    unit: str
    definition: str
    sampled: str
    places: tuple[str, ...]
    oracle: str


#: Columns and keys with names, times or descriptions instead of measures.
LABELS = (
    "flows.t", "flows.flow", "flows.bottleneck", "members.t", "members.flow", "members.member", "links.t", "links.link",
    "links.buffer_packets", "transfers.flow", "transfers.member", "transfers.start_s", "transfers.bytes",
    "transfers.hops", "summary.window_s", "summary.last_event", "summary.last_event_s", "summary.reference",
    "summary.flows.name", "summary.flows.law", "summary.flows.has_members", "summary.links.name", "summary.random",
    "summary.warnings",
)  # fmt: skip

EVERY_PACKET = "crates/sim/tests/measures.rs"
CAPTURED = "tests/measure/test_measures.py::test_every_measure_is_that_of_the_captured_packets"
MEASURES = (
    Measure(
        "active flows", "",
        "flows in progress: a flow without a size until it stops, a transfer until its receiver has every byte",
        "at the end of a sample; in the summary, the mean over the steady window",
        ("flows.active", "summary.flows.active"),
        f"{EVERY_PACKET}::rates_and_transfers_are_those_of_every_packet",
    ),
    Measure(
        "throughput", "bit/s",
        "bytes that arrive in the direction of data, divided by the time; "
        "includes headers and repeated bytes, but no ACKs",
        "of a flow at its receiver, of a link when it has sent the packet; per sample, and over the steady window",
        (
            "flows.throughput_bps", "members.throughput_bps", "links.throughput_bps", "summary.flows.throughput_bps",
            "summary.flows.delivered_packets", "summary.flows.delivered_bytes", "summary.links.delivered_packets",
            "study.throughput_bps",
        ),
        CAPTURED,
    ),
    Measure(
        "goodput", "bit/s",
        "payload that arrives, without data that the receiver already had, divided by the time",
        "at the receiver; per sample, and over the steady window",
        ("flows.goodput_bps", "summary.flows.goodput_bps", "summary.flows.goodput_bytes", "study.goodput_bps"),
        CAPTURED,
    ),
    Measure(
        "sending rate", "bit/s",
        "bytes that senders of data send, divided by the time",
        "when a packet enters the first link of its path; per sample, and over the steady window",
        (
            "flows.sending_rate_bps", "summary.flows.sending_rate_bps", "summary.flows.sent_packets",
            "summary.flows.sent_bytes",
        ),
        CAPTURED,
    ),
    Measure(
        "law rate", "bit/s",
        "rate that the law sets: its pacing rate, or its window divided by the smoothed round trip; "
        "summed over active senders",
        "at the end of a sample, and the mean over the steady window",
        ("flows.law_rate_bps", "members.law_rate_bps", "summary.flows.law_rate_bps"),
        "tests/measure/test_measures.py::test_the_law_rate_is_the_rate_that_the_law_computes",
    ),
    Measure(
        "proposal", "bit/s",
        "rate that a sender proposes to routers, or its law rate if its law proposes none",
        "at the end of a sample, summed over active senders",
        ("flows.proposal_bps",),
        "tests/measure/test_measures.py::test_the_law_rate_is_the_rate_that_the_law_computes",
    ),
    Measure(
        "window", "packets",
        "largest number of packets in flight that the law allows; 0 for laws without a window",
        "at the end of a sample, summed over active senders",
        ("flows.window_packets",),
        "tests/measure/test_measures.py::test_the_law_rate_is_the_rate_that_the_law_computes",
    ),
    Measure(
        "round trip", "s",
        "time from sending a data packet to the arrival of its ACK; quantiles to within 1/64",
        "at the sender, for each ACK; per sample the mean",
        ("flows.rtt_s", "summary.flows.rtt_s"),
        CAPTURED,
    ),
    Measure(
        "base round trip", "s",
        "round trip of a packet of size 0 through empty queues",
        "for the path of the flow",
        ("transfers.rtt_s",),
        "tests/measure/test_ideal_times.py::test_a_packet_alone_takes_its_ideal_time",
    ),
    Measure(
        "round-trip excess", "s",
        "quantile of the round trips of a flow, minus its base round trip",
        "at the sender, the whole run",
        ("compare.rtt_excess_p50_s", "compare.rtt_excess_p99_s"),
        "tests/report/test_compare.py::test_ratios_and_waits_are_those_of_the_summaries",
    ),
    Measure(
        "one-way excess", "s",
        "time of a data packet from sender to receiver, minus the time on an idle path",
        "at the receiver of a testbed, whose hosts share one clock; the whole run",
        ("testbed.one_way_excess_s",),
        "apps/net/tests/testbed.rs::jetmax_on_a_real_path_shares_fairly_and_drops_nothing",
    ),
    Measure(
        "offered load", "",
        "bits that flows would send over a link without queueing, divided by the bits that it can serve; "
        "null if the link serves none. Flows without a size or a rate of their own offer no load",
        "before the run, for the busiest period; a period ends when an entry starts or stops to offer load",
        ("scenario.links.offered_load", "scenario.links.offered_bps"),
        "crates/sim/tests/offered.rs::transfers_bring_what_their_entry_offers",
    ),
    Measure(
        "loss", "",
        "data packets that queues dropped or links lost; in the summary, divided by those sent in the whole run",
        "at the links of the path",
        (
            "flows.lost", "summary.flows.loss", "summary.flows.dropped_packets", "summary.flows.lost_packets",
            "summary.links.lost_packets",
        ),
        CAPTURED,
    ),
    Measure(
        "ACKs", "packets",
        "ACKs sent, delivered, dropped by queues and lost by links",
        "at receivers, senders and the links of the way back; the whole run",
        ("summary.flows.acks",),
        CAPTURED,
    ),
    Measure(
        "in flight", "packets",
        "packets sent that are neither delivered nor dropped nor lost",
        "at the end of the run",
        ("summary.flows.in_flight", "summary.links.in_flight"),
        CAPTURED,
    ),
    Measure(
        "fair rate", "bit/s",
        "rate of one flow in the reference: max-min fair, or with the largest utility",
        "for the active flows and the mean service rates of links in the steady window",
        ("summary.flows.share_bps",),
        "tests/theory/test_references.py::test_laws_that_follow_the_tightest_router_are_max_min_fair_in_its_target",
    ),
    Measure(
        "distance", "",
        "|throughput / fair rate - 1|; for a group with known members, the largest value of a member",
        "throughput over the steady window",
        ("summary.flows.distance", "summary.distance_max", "study.distance_max"),
        "tests/measure/test_measures.py::test_fairness_is_that_of_throughputs",
    ),
    Measure(
        "Jain's index", "",
        "(sum x)^2 / (n sum x^2) of throughputs, and of throughputs divided by fair rates",
        "throughput of each listed flow over the steady window; it includes headers, as do the fair rates",
        ("summary.jain", "summary.jain_of_shares", "study.jain", "study.jain_of_shares"),
        "tests/measure/test_measures.py::test_fairness_is_that_of_throughputs",
    ),
    Measure(
        "settling time", "s",
        "time from the last event until the throughput of each listed flow, as a mean over 100 packets, stays within "
        "5 % of that in the steady window; settled, if this throughput is also within 5 % of the fair rate",
        "throughput per sample; no value if a flow leaves the band within the steady window",
        ("summary.settling_s", "summary.settled", "study.settling_s"),
        "tests/report/test_summary.py::test_settling_ends_when_the_last_flow_enters_its_band_for_good",
    ),
    Measure(
        "queueing delay", "s",
        "time from the arrival of a packet at the queue to the start of its transmission; quantiles to within 1/64",
        "when the packet leaves the queue, for every packet that is sent; by class where a discipline has classes",
        (
            "links.delayed_packets", "links.queueing_delay_mean_s", "links.queueing_delay_max_s",
            "summary.links.queueing_delay_s", "summary.links.classes", "study.queue_mean_ms",
            "study.queue_p50_ms", "study.queue_p99_ms", "study.queue_max_ms",
        ),
        CAPTURED,
    ),
    Measure(
        "backlog", "bytes",
        "bytes queued or in service at a link",
        "at the end of a sample, and the largest within it; in the summary, the mean over packet arrivals",
        (
            "links.backlog_bytes", "links.backlog_packets", "links.backlog_max_bytes", "summary.links.backlog_bytes",
            "study.backlog_max_bytes",
        ),
        CAPTURED,
    ),
    Measure(
        "waiting packets", "packets",
        "packets whose queueing delay has not ended",
        "at the end of the run; quantiles of queueing delays do not include these packets",
        ("summary.links.waiting_packets",),
        CAPTURED,
    ),
    Measure(
        "arrival rate", "bit/s",
        "bytes that arrive at a link, even if they are dropped, divided by the time; "
        "the peak is the largest rate in one interval of its router",
        "per sample; without a router the peak is the mean of the sample",
        (
            "links.arrival_bps", "links.peak_bps", "summary.links.arrived_packets", "summary.links.arrived_bytes",
        ),
        CAPTURED,
    ),
    Measure(
        "utilisation", "",
        "bytes sent, divided by those that the link could have sent at its service rate",
        "the whole run; in studies, after the warm-up",
        ("summary.links.utilisation", "study.utilisation"),
        CAPTURED,
    ),
    Measure(
        "drops", "packets",
        "packets that a queue rejected on arrival or removed later; "
        "the peak loss is their share of the bytes that arrive in one interval of the router",
        "per sample, and the whole run; without a router, the peak loss is the share in the sample",
        (
            "links.dropped", "links.dropped_bytes", "links.peak_loss", "summary.links.dropped_packets",
            "summary.links.dropped_bytes", "summary.links.loss_max", "study.dropped_packets",
        ),
        CAPTURED,
    ),
    Measure(
        "marks", "packets",
        "packets that a queue marks (ECN)",
        "per sample, and the whole run",
        ("links.marked", "summary.links.marked_packets"),
        CAPTURED,
    ),
    Measure(
        "signal", "",
        "feedback of the first router of a link: a price, a rate in bit/s, or the state of its queue discipline",
        "at the end of a sample",
        ("links.signal",),
        "tests/measure/test_measures.py::test_a_signal_is_the_feedback_of_routers_or_the_share_of_marks",
    ),
    Measure(
        "transfers by outcome", "",
        "started; finished: the receiver has every byte; aborted: the sender stopped before that; "
        "unfinished: neither at the end of the run",
        "at the end of the run; in studies, of those that start after the warm-up",
        (
            "transfers.outcome", "summary.flows.started", "summary.flows.finished", "summary.flows.aborted",
            "summary.flows.transfers", "summary.transfers", "study.started", "study.transfers", "study.aborted",
            "study.unfinished",
        ),
        CAPTURED,
    ),
    Measure(
        "missing share", "",
        "bytes of transfers that did not finish, divided by those of all that started; "
        "completion times and slowdowns do not include these transfers",
        "at the end of the run",
        ("study.missing_share",),
        CAPTURED,
    ),
    Measure(
        "completion time", "s",
        "time of a finished transfer from its first packet sent to its last byte of payload received; "
        "quantiles are of nearest rank",
        "at sender and receiver",
        ("transfers.fct_s", "study.fct_*_s"),
        CAPTURED,
    ),
    Measure(
        "ideal time", "s",
        "completion time of a sender that fills its path in an idle network, with the handshake if its law has one",
        "for the size and the path of the transfer",
        ("transfers.ideal_s",),
        "tests/measure/test_ideal_times.py::test_a_packet_alone_takes_its_ideal_time",
    ),
    Measure(
        "slowdown", "",
        "completion time divided by ideal time",
        "for finished transfers, and by decade of sizes",
        ("transfers.slowdown", "study.slowdown_*"),
        CAPTURED,
    ),
    Measure(
        "confidence interval", "",
        "mean of a metric, plus and minus half the interval of Student's t at 95 %; "
        "runs without a value are counted as missing",
        "over the distinct runs of a point: runs with equal results count once",
        ("study.half",),
        "tests/study/test_study.py::test_intervals_cover_the_mean_with_their_probability",
    ),
    Measure(
        "retransmitted packets", "packets",
        "data packets of a transfer that its sender retransmits",
        "at the sender",
        ("transfers.retransmitted",),
        CAPTURED,
    ),
)  # fmt: skip
