"""Every printed measure is recomputed from captured packets on random networks, or compared with a closed form."""

import fnmatch
import math
import re
import struct
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from tools import CHECKOUT

from levelflow import Scenario
from levelflow.capture import Capture
from levelflow.measure.definitions import LABELS, MEASURES
from levelflow.results import TABLES
from levelflow.study.task import METRICS

HEADERS = 14 + 20 + 8
SHIM = struct.Struct(">3sBBBBBIIQ")
SECONDS, SAMPLE = 6.0, 0.25
DATA, OPENS, CLOSES, ACK = range(4)
PACKET = 1000
#: Laws that need a queue with marks.
MARKED = ("dctcp", "prague")
QUEUES = ["drop_tail", "codel", "fq_codel", {"red": {"ecn": True}}]


def frames(path):
    """Yields (link, time in s, flow, number, kind, sent in s, bytes, marked) of each packet of a capture."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        code, length = struct.unpack_from("<II", data, at)
        if code == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", data, at + 8)
            frame = data[at + 28 : at + 28 + captured]
            _, _, kind, _, _, _, flow, number, stamp = SHIM.unpack_from(frame, HEADERS)
            yield interface, (high << 32 | low) / 1e9, flow, number, kind, stamp / 1e9, original, frame[15] & 3 == 3
        at += length


@st.composite
def networks(draw, *, drains):
    """Draws one to three narrow links with three flow entries of long flows, and one flow entry of transfers.

    If the network drains, no packet is in flight at the end.
    """
    hops = draw(st.integers(1, 3))
    law = draw(st.sampled_from(["cubic", "newreno", "bbr", "rcp", "xcp", "abc", "dctcp", "prague"]))
    queues = [{"red": {"ecn": True}}] if law in MARKED else QUEUES
    scenario = Scenario("random", f"{SECONDS} s", sample=f"{SAMPLE} s", seed=draw(st.integers(1, 10**6)))
    for hop in range(hops):
        capacity, queue = draw(st.floats(3, 12)), draw(st.sampled_from(queues))
        buffer = f"{draw(st.integers(5, 80))} packets"
        delay = f"{draw(st.integers(1, 20))} ms"
        scenario.link(f"R{hop}", f"R{hop + 1}", f"{capacity:.3f} Mb/s", delay, buffer=buffer, queue=queue, duplex=True)
    laws = [law, "cubic", {"cbr": {"rate": "1 Mb/s"}}]
    for number, law in enumerate(laws):
        first, last = sorted(draw(st.permutations(range(hops + 1)))[:2])
        scenario.link(f"S{number}", f"R{first}", "1 Gb/s", "1 ms", duplex=True)
        scenario.flow(f"x{number}", law, f"S{number}", f"R{last}", **({"stop": "4 s"} if drains else {}))
    scenario.link("W", "R0", "1 Gb/s", "1 ms", duplex=True)
    sizes = {"exponential": f"{draw(st.integers(2, 30))} packets"}
    web = {"size": sizes, "arrivals": {"poisson": "10 /s"}, "last_arrival": "3 s", "stop": "4 s"}
    return scenario.flow("web", "newreno", "W", f"R{hops}", **web)


class Packets:
    """Measures of a run, computed from its capture."""

    def __init__(self, scenario):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "all.pcapng"
            self.result = scenario.run(capture=Capture(file))
            captured = list(frames(file))
        resolved = self.result.scenario
        self.links = {link["name"]: number for number, link in enumerate(resolved["links"])}
        self.flows = {flow["name"]: flow for flow in resolved["flows"]}
        #: Arrival times by packet and link, (kind, send time, size) by packet, and marks by packet and link.
        self.seen, self.about, self.marked = defaultdict(dict), {}, defaultdict(dict)
        for link, t, flow, number, kind, sent, size, marked in captured:
            key = (flow, number, kind == ACK)
            self.seen[key][link], self.marked[key][link] = t, marked
            self.about[key] = kind, sent, size
        self.owner = self._owners()

    def _owners(self):
        """Returns the flow entry of each flow. The first link of its data determines the entry."""
        first = {self.links[flow["path"][0]]: name for name, flow in self.flows.items()}
        return {
            flow: first[min(times, key=times.get)]
            for (flow, _, ack), times in self.seen.items()
            if not ack and min(times, key=times.get) in first
        }

    def of(self, name, ack=False):
        """Returns the packets of a flow entry, as (key, times, kind, sent, size)."""
        return [
            (key, times, *self.about[key])
            for key, times in self.seen.items()
            if self.owner[key[0]] == name and key[2] == ack
        ]

    def is_marked_by(self, number, key):
        """Returns True if a packet is marked at a link, and was not marked at an earlier link."""
        marked, seen = self.marked[key], self.seen[key]
        return marked[number] and not any(mark for link, mark in marked.items() if seen[link] < seen[number])

    def stays(self, link):
        """Returns arrival, departure, start of transmission, size and key of each packet of a narrow link, and its
        losses.
        """
        found, dropped = [], []
        described = self.result.scenario["links"][self.links[link]]
        for name, flow in self.flows.items():
            if link not in flow["path"]:
                continue
            before = self.links[flow["path"][flow["path"].index(link) - 1]]
            for key, times, _, _, size in self.of(name):
                if before not in times:
                    continue
                if (end := times.get(self.links[link])) is None:
                    dropped.append((times[before], size, key))
                    continue
                leaves = end - described["delay_s"]
                found.append((times[before], leaves, leaves - 8 * size / described["capacity_bps"], size, key))
        return found, dropped


def by_sample(times, values):
    """Returns sums of values in each sample."""
    places = np.maximum(np.ceil(np.asarray(times) / SAMPLE - 1e-9).astype(int) - 1, 0)
    return np.bincount(places, np.asarray(values, dtype=float), minlength=round(SECONDS / SAMPLE))


def rate_by_sample(packets):
    """Returns bit/s in each sample, from packets with their times and bytes."""
    return by_sample([t for t, _ in packets], [8 * size / SAMPLE for _, size in packets])


def column(table, key, name, what):
    return table.filter(pl.col(key).cast(pl.String) == name).sort("t")[what].to_numpy().astype(float)


def near(found, expected, packet=0.0):
    """Asserts that sums by sample agree. A packet at the end of a sample may be counted in the next sample."""
    assert np.abs(np.cumsum(found) - np.cumsum(expected)).max() <= packet * 1.001 + 1e-6


def quantile(values, share):
    return sorted(values)[max(math.ceil(share * len(values) - 1e-9), 1) - 1]


# **Invariant** (Results): each column, key and metric has one definition and a test oracle. Its value equals the value
# computed from a packet capture. See `test_every_printed_number_has_a_definition`.
@examples(100)
@given(networks(drains=True))
def test_every_measure_is_that_of_the_captured_packets(scenario):
    packets = Packets(scenario)
    summary = packets.result.summary
    per_flow = {row["name"]: row for row in summary["flows"]}
    per_link = {row["name"]: row for row in summary["links"]}
    for name, flow in packets.flows.items():
        check_flow(packets, name, flow, per_flow[name])
    for name, link in per_link.items():
        if name.startswith("R") and packets.stays(name)[0]:
            check_link(packets, name, link)
    check_transfers(packets, summary)


def check_flow(packets, name, flow, row):
    table, own, acks = packets.result.flows, packets.of(name), packets.of(name, ack=True)
    last = packets.links[flow["path"][-1]]
    arrived = [(times[last], kind, size) for _, times, kind, _, size in own if last in times]
    bits = 8 * PACKET / SAMPLE
    near(column(table, "flow", name, "throughput_bps"), rate_by_sample([(t, n) for t, *_, n in arrived]), bits)
    near(column(table, "flow", name, "sending_rate_bps"), rate_by_sample([(t, n) for *_, t, n in own]), 2 * bits)
    assert (row["sent_packets"], row["delivered_packets"]) == (len(own), len(arrived))
    assert row["delivered_bytes"] == sum(n for *_, n in arrived)
    assert row["dropped_packets"] + row["lost_packets"] == len(own) - len(arrived)
    assert row["loss"] == pytest.approx((len(own) - len(arrived)) / len(own))
    assert row["in_flight"] == 0
    data = sum(n - flow["header_bytes"] for _, kind, n in arrived if kind == DATA)
    assert row["goodput_bytes"] <= data
    if name == "x2":  # a constant stream retransmits nothing
        assert row["goodput_bytes"] == data
    back = packets.links[flow["reverse_path"][-1]]
    trips = [times[back] - sent for _, times, _, sent, _ in acks if back in times]
    assert row["acks"]["delivered"] == len(trips)
    if trips:
        assert row["rtt_s"]["count"] == len(trips)
        for key, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            assert row["rtt_s"][key] == pytest.approx(quantile(trips, share), rel=1 / 60)
        assert row["rtt_s"]["mean"] == pytest.approx(np.mean(trips), rel=1e-6)
        in_samples = by_sample([times[back] for _, times, *_ in acks if back in times], trips)
        counts = by_sample([times[back] for _, times, *_ in acks if back in times], np.ones(len(trips)))
        found = column(table, "flow", name, "rtt_s")
        known = counts > 1
        assert found[known] == pytest.approx((in_samples / np.maximum(counts, 1))[known], rel=0.05)
    else:
        assert row["rtt_s"] is None


def check_link(packets, name, row):
    found, dropped = packets.stays(name)
    table, described = packets.result.links, packets.result.scenario["links"][packets.links[name]]
    (queue,) = described["queue"]
    delays = [start - arrived for arrived, _, start, *_ in found]
    exact = 3e-7  # the transmitter's clock is slow by up to 1e-4 of a transmission time
    spread = row["queueing_delay_s"]
    assert (spread["count"], row["waiting_packets"]) == (len(delays), 0)
    assert spread["mean"] == pytest.approx(np.mean(delays), abs=exact)
    for key, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
        assert spread[key] == pytest.approx(quantile(delays, share), rel=1 / 60, abs=2e-6)
    for one in row.get("classes", ()):
        own = [d for d, (*_, key) in zip(delays, found, strict=True) if packets.owner[key[0]] == one["name"]]
        assert one["queueing_delay_s"]["mean"] == pytest.approx(np.mean(own), abs=exact)
    starts = [start for _, _, start, *_ in found]
    counts = by_sample(starts, np.ones(len(starts)))
    near(column(table, "link", name, "delayed_packets"), counts, 1)
    sums = by_sample(starts, delays)
    means = np.nan_to_num(column(table, "link", name, "queueing_delay_mean_s"))
    near(means * column(table, "link", name, "delayed_packets"), sums, max(delays) + 1e-3)
    assert np.nanmax(column(table, "link", name, "queueing_delay_max_s")) == pytest.approx(max(delays), abs=exact)
    came = [(t, n) for t, _, _, n, _ in found] + [(t, n) for t, n, _ in dropped]
    bits = 8 * PACKET / SAMPLE
    near(column(table, "link", name, "arrival_bps"), rate_by_sample(came), bits)
    near(column(table, "link", name, "throughput_bps"), rate_by_sample([(t, n) for _, t, _, n, _ in found]), bits)
    assert (row["arrived_packets"], row["arrived_bytes"]) == (len(came), sum(n for _, n in came))
    assert (row["dropped_packets"], row["dropped_bytes"]) == (len(dropped), sum(n for _, n, _ in dropped))
    assert column(table, "link", name, "dropped").sum() == len(dropped)
    sent = sum(n for *_, n, _ in found)
    assert row["utilisation"] == pytest.approx(8 * sent / described["service_bps"] / SECONDS, rel=1e-3)
    number = packets.links[name]
    marks = sum(packets.is_marked_by(number, key) for *_, key in found)
    assert row["marked_packets"] == marks == column(table, "link", name, "marked").sum()
    if queue == "drop_tail":
        check_backlog(table, name, row, found)


def check_backlog(table, name, row, found):
    """Verifies the backlog. A packet belongs to it from its arrival to the end of its transmission."""
    steps = sorted([(t, n) for t, _, _, n, _ in found] + [(t, -n) for _, t, _, n, _ in found])
    times = np.array([t for t, _ in steps])
    levels = np.concatenate([[0], np.cumsum([n for _, n in steps])])
    ends = SAMPLE * np.arange(1, round(SECONDS / SAMPLE) + 1)
    at_end = levels[np.searchsorted(times, ends, side="right")]
    assert np.abs(column(table, "link", name, "backlog_bytes") - at_end).max() <= PACKET
    assert row["backlog_bytes"]["max"] == pytest.approx(levels.max(), abs=PACKET)
    assert column(table, "link", name, "backlog_max_bytes").max() == row["backlog_bytes"]["max"]


def check_transfers(packets, summary):
    """Verifies counts by outcome, and the completion times of transfers without duplicate packets."""
    table = packets.result.transfers
    found = summary["transfers"]
    outcome = table["outcome"].cast(pl.String)
    flows = {flow for flow, name in packets.owner.items() if name == "web"}
    assert found["started"] == table.height == len(flows)
    assert found["started"] == found["finished"] + found["aborted"] + found["unfinished"]
    last = packets.links[packets.flows["web"]["path"][-1]]
    data, begins = defaultdict(list), {}
    for (flow, number, _), times, kind, sent, size in packets.of("web"):
        if number == 0:
            begins[flow] = sent
        if kind == DATA:
            data[flow].append((times.get(last, math.nan), size - packets.flows["web"]["header_bytes"]))
    rows = sorted(table.iter_rows(named=True), key=lambda row: row["start_s"])
    carried = 0
    for flow, row in zip(sorted(begins, key=begins.get), rows, strict=True):
        assert row["start_s"] == pytest.approx(begins[flow], abs=2e-9)
        arrived = [t for t, _ in data[flow] if not math.isnan(t)]
        bytes_arrived = sum(n for t, n in data[flow] if not math.isnan(t))
        finished = row["outcome"] == "finished"
        carried += row["bytes"] * finished
        assert finished <= (bytes_arrived >= row["bytes"])
        if bytes_arrived < row["bytes"]:
            assert row["outcome"] in ("aborted", "unfinished")
            assert math.isnan(row["fct_s"]) or row["fct_s"] is None
        if len(arrived) == len(data[flow]) == math.ceil(row["bytes"] / (PACKET - packets.flows["web"]["header_bytes"])):
            assert row["fct_s"] == pytest.approx(max(arrived) - begins[flow], abs=3e-9)
            assert row["slowdown"] == pytest.approx(row["fct_s"] / row["ideal_s"])
            assert row["slowdown"] >= 1 - 1e-9
    assert found["missing_share"] == pytest.approx(1 - carried / table["bytes"].sum())
    assert (outcome == "finished").sum() == found["finished"]
    if done := table.filter(outcome == "finished")["fct_s"].to_list():
        assert found["fct_s"]["p95"] == pytest.approx(quantile(done, 0.95))
        assert found["fct_s"]["mean"] == pytest.approx(np.mean(done))


@examples(50)
@given(networks(drains=False))
def test_fairness_is_that_of_throughputs(scenario):
    """The bytes that arrive in the steady window give Jain's index and the distances."""
    packets = Packets(scenario)
    summary = packets.result.summary
    start, end = summary["window_s"]
    start = SAMPLE * math.floor(start / SAMPLE + 1e-9)  # samples that end within the window
    shares, rates = [], []
    for row in summary["flows"]:
        flow = packets.flows[row["name"]]
        last = packets.links[flow["path"][-1]]
        own = [(times[last], size) for _, times, _, _, size in packets.of(row["name"]) if last in times]
        bps = 8 * sum(size for t, size in own if start < t <= end) / (end - start)
        if row["distance"] is None:
            continue
        assert row["throughput_bps"] * row["active"] == pytest.approx(bps, abs=8 * PACKET / (end - start))
        assert row["distance"] == pytest.approx(abs(row["throughput_bps"] / row["share_bps"] - 1))
        rates.append(row["throughput_bps"])
        shares.append(row["throughput_bps"] / row["share_bps"])
    assert rates
    assert summary["distance_max"] == max(row["distance"] for row in summary["flows"] if row["distance"] is not None)
    if any(rates):
        assert summary["jain"] == pytest.approx(np.sum(rates) ** 2 / len(rates) / np.sum(np.square(rates)))
        assert summary["jain_of_shares"] == pytest.approx(np.sum(shares) ** 2 / len(shares) / np.sum(np.square(shares)))


def test_the_law_rate_is_the_rate_that_the_law_computes():
    """The law rate is the window divided by the round trip, a constant rate, or the fair rate of a router."""
    scenario = Scenario("asks", "20 s", profile="paper").link("A", "B", "10 Mb/s", "20 ms", buffer="1 BDP", duplex=True)
    scenario.flow("window", {"reno": {"window_limit": 8}}, "A", "B")
    scenario.flow("constant", {"cbr": {"rate": "2 Mb/s"}}, "A", "B")
    scenario.link("C", "D", "10 Mb/s", "20 ms", duplex=True).flow("told", "jetmax", "C", "D")
    result = scenario.run()
    window, constant, told = (
        result.flows.filter(pl.col("flow").cast(pl.String) == name, pl.col("t") > 10)
        for name in ("window", "constant", "told")
    )
    assert set(window["window_packets"]) == {8.0}
    assert window["law_rate_bps"].to_numpy() == pytest.approx(8 * 8 * PACKET / window["rtt_s"].to_numpy(), rel=0.02)
    assert set(constant["law_rate_bps"]) == {2e6}
    assert (set(constant["window_packets"]), set(constant["proposal_bps"])) == ({0.0}, {2e6})
    target = next(link["target_bps"] for link in result.scenario["links"] if link["name"] == "C->D")
    assert told["law_rate_bps"].to_numpy() == pytest.approx(target, rel=0.01)
    assert told["proposal_bps"].to_numpy() == pytest.approx(target, rel=0.01)


def test_a_signal_is_the_feedback_of_routers_or_the_share_of_marks():
    """The signal of a link with RCP is the rate of each flow. The signal of a link with RED is the mean backlog."""
    scenario = Scenario("tells", "30 s", profile="paper").link("A", "B", "10 Mb/s", "20 ms", duplex=True)
    scenario.flow("x", "rcp", "A", "B", count=4)
    scenario.link("C", "D", "10 Mb/s", "20 ms", queue="red", buffer="200 packets", duplex=True)
    scenario.flow("y", "reno", "C", "D")
    result = scenario.run()
    late = result.links.filter(pl.col("t") > 10)
    told = {name: late.filter(pl.col("link").cast(pl.String) == name) for name in ("A->B", "C->D", "B->A")}
    throughput = result.summary["flows"][0]["throughput_bps"]
    assert told["A->B"]["signal"].mean() == pytest.approx(throughput, rel=0.03)
    in_service = 1
    assert told["C->D"]["signal"].mean() == pytest.approx(told["C->D"]["backlog_packets"].mean(), abs=in_service)
    assert told["B->A"]["signal"].is_nan().all()


def keys(value, prefix="summary"):
    """Yields the keys of a summary, including those inside lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from keys(inner, f"{prefix}.{key}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from keys(inner, prefix)
    else:
        yield prefix


def test_every_printed_number_has_a_definition():
    scenario = Scenario("all", "2 s").link("A", "B", "10 Mb/s", "1 ms", queue="fq_codel", duplex=True)
    scenario.flow("x", "reno", "A", "B", count=2)
    scenario.flow("web", "reno", "A", "B", size="10 packets", arrivals={"interval": "100 ms"})
    result = scenario.run()
    printed = {f"{table}.{name}" for table in TABLES for name in getattr(result, table).columns}
    printed |= set(keys(result.summary)) | {f"study.{metric}" for metric in METRICS}
    printed |= {f"scenario.links.{key}" for key in result.scenario["links"][0] if "offered" in key}
    printed |= {"study.half", "compare.rtt_excess_p50_s", "compare.rtt_excess_p99_s", "testbed.one_way_excess_s"}
    places = [*LABELS, *(place for measure in MEASURES for place in measure.places)]
    assert len(places) == len(set(places))

    def holds(place, name):
        return fnmatch.fnmatch(name, place) or name.startswith(f"{place}.")

    undefined = {name for name in printed if not any(holds(place, name) for place in places)}
    assert undefined == set(), "add them to `places` of a measure in python/levelflow/measure/definitions.py"
    unprinted = {place for place in places if not any(holds(place, name) for name in printed)}
    assert unprinted == set(), "no column, key of the summary or metric of a study has the name of this place"


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_every_measure_has_an_oracle(measure):
    file, _, name = measure.oracle.partition("::")
    text = (CHECKOUT / file).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(def|fn) {name}\(", text, re.MULTILINE), measure.oracle
