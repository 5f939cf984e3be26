"""`python -m experiments.peers`: our runs of the comparisons, parsing of the peers' output, and the tables. A *peer* is
an independent implementation, such as ns-2. These tests need no peer.
"""

import subprocess
import sys

import numpy as np
import pytest
from experiments.peers import __main__ as peers
from experiments.peers import abc, dualpi2, ns2, queues, rcp, reno, tcp, xcp

CASE = rcp.Case(10, 0.5, 25)


def test_a_comparison_without_its_peer_is_skipped_in_one_line(capsys):
    if tcp.lacks(sys.executable) is None:
        pytest.skip("this interpreter has ns-3")
    assert peers.main(["--ns2", "/no/such/ns", "--net", ""]) == 0
    reasons = dict(line.split(": skipped, ", 1) for line in capsys.readouterr().out.splitlines())
    assert list(reasons) == list(peers.COMPARISONS)
    assert "pip install ns3" in reasons["tcp"]
    assert "no folder with queue.so: implement benches/peers/abc.h" in reasons["abc"]
    assert "prateshg/ABC-NSDI2020" in reasons["abc"]
    assert "no folder with queue.so and prague.so: implement benches/peers/dualpi2.h" in reasons["dualpi2"]
    assert "make net builds it" in reasons["linux"]
    assert "net/sched/sch_cake.c" in reasons["cake"]
    assert "no folder with bbr3.so: implement benches/peers/bbr3.h" in reasons["bbr3"]
    assert "google/bbr, branch v3" in reasons["bbr3"]
    assert "/no/such/ns is no program" in reasons["rcp"]


def test_an_unknown_comparison_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_:
        peers.main(["vegas"])
    assert exit_.value.code == 2
    allowed = "tcp, queues, abc, dualpi2, linux, cake, bbr3, reno, xcp, rcp"
    assert f"vegas: unknown; allowed: {allowed}" in capsys.readouterr().err


def test_an_interpreter_that_does_not_exist_has_no_ns3():
    assert "pip install ns3" in tcp.lacks("/no/such/python")


def test_a_program_that_fails_on_the_agent_lacks_it():
    assert ns2.lacks("Agent/RCP")("false") == "false has no Agent/RCP: --ns2 names an ns-2 with it"
    assert ns2.lacks("Agent/RCP")("true") is None


def test_a_script_that_fails_says_which_one():
    with pytest.raises(RuntimeError, match=r"has\.tcl failed in false"):
        ns2.run("false", "has.tcl")


def test_a_lone_newreno_flow_has_the_sawtooth_of_its_path():
    """The window grows from half to all of the capacity of path and buffer, by one packet per round trip (RFC 5681)."""
    newreno = next(pair for pair in tcp.PAIRS if pair.law == "newreno")
    outcome = tcp.ours(newreno, 1)
    packet_s = tcp.WIRE * 8 / (tcp.MBPS * 1e6)
    path = (2 * tcp.DELAY_S + 4 * tcp.ACCESS_S) / packet_s + 1
    peak = path + tcp.BUFFER + 1
    assert outcome.window == pytest.approx(0.75 * peak, rel=0.03)
    assert outcome.loss == pytest.approx(8 / (3 * peak**2), rel=0.1)
    assert 0.95 / packet_s < sum(outcome.flows) <= 1 / packet_s * 1.001


@pytest.mark.parametrize(("law", "seconds"), [("reno", 3.498), ("newreno", 3.398)])
def test_a_lone_transfer_without_sack_takes_what_it_takes_in_ns2(law, seconds):
    """Times are from ns-2 2.35. Both simulators wait for one timeout, from 1.59 s on. ns-2 waits for its minimum of 0.2
    s, because it measures one packet per round trip. Levelflow waits for 0.29 to 0.37 s, because it measures all
    packets while the queue grows.
    """
    took, sent_again = reno.transfer(law, sack=False)
    assert 0 < took - seconds < 0.25
    assert sent_again == pytest.approx(2499, rel=0.01)


def test_differences_that_count_are_set_in_bold():
    newreno = next(pair for pair in tcp.PAIRS if pair.law == "newreno")
    here = tcp.Outcome([100.0, 100.0], 20.0, 5.0, 0.01, 0.0)
    there = tcp.Outcome([95.0, 105.0], 10.0, 5.0, 0.01, 0.0)
    *_, row = tcp.table([(newreno, 2)], [here], [there])
    assert row == (
        "| newreno | TcpNewReno | 2 | 200, 200, +0% | 0.500, 0.475, +5% | 20.0, 10.0, **+100%** | 5.0, 5.0, +0% "
        "| 1.000, 1.000, +0% |"
    )


def test_a_full_link_has_a_packet_in_service():
    """1200 packets of 1042 B per second are 1.0003 times 10 Mb/s, so a packet is always in service."""
    outcome = reno.read("80.5 12.25 96100 100 95000 1000\n")
    assert outcome.flows == [1187.5, 12.5]
    assert outcome.window == 80.5
    assert outcome.queue == pytest.approx(12.25 + 1200 * 1042 * 8 / 1e7)
    assert outcome.loss == pytest.approx(100 / 96100)


def test_rates_of_xcp_are_of_the_data_of_full_seconds():
    """x1 alternates between 100 and 300 packets per second, and x2 has 125. The queue has its largest value early in
    the run.
    """
    steps = np.where(np.arange(300) % 2, 300, 100)
    lines = [
        f"{acked} {125 * second} {99 if second == 3 else 7}"
        for second, acked in enumerate(np.cumsum(steps).tolist(), start=1)
    ]
    outcome = xcp.read("\n".join(lines))
    assert outcome.means == pytest.approx([1.6, 1.0])
    assert outcome.deviations == pytest.approx([0.8 * np.sqrt(200 / 199), 0.0])
    assert outcome.queue == 99


def test_output_of_the_authors_router_is_read_by_column():
    bdp = 10e6 / 8 * CASE.rtpd
    row = "_o12 {t} {q} 9 {rate} {bytes} 0.1 0.2 0.3 0.4 5 6 M"
    status = "\n".join(
        row.format(t=t, q=q, rate=rate, bytes=load)
        for t, q, rate, load in [(1, 9e9, 9, 9e9), (20, bdp, 0.25, 0), (30, 0, 1, 1.25e6), (80, 9e9, 9, 9e9)]
    )
    outcome = rcp.read(CASE, np.array([15.0, 16.0, 17.0]), "2 17.25\n0 16.0\n", status)
    assert outcome.took[[0, 2]] == pytest.approx([1.0, 0.25])
    assert np.isnan(outcome.took[1])
    assert (outcome.rate, outcome.queue, outcome.arriving) == pytest.approx((0.5, 0.5, 0.5))


def test_anything_but_numbers_is_refused():
    with pytest.raises(ValueError, match="warning"):
        ns2.numbers("1 2\nwarning: 3\n")


def test_sharing_is_exact_where_it_can_be_worked_by_hand():
    """The link sends 1000 packets per second. The flow of 1000 packets is alone for 0.5 s. Then both flows share the
    link until the flow of 250 packets ends at 1.0 s. Then the first flow is alone again.
    """
    shared = rcp.sharing(rcp.Case(8, 0.5, 25), np.array([0.0, 0.5]), np.array([1000.0, 250.0]))
    assert shared == pytest.approx([1.25 + 0.15, 0.5 + 0.15])


def test_sharing_is_what_small_steps_of_a_fluid_give():
    random = np.random.default_rng(5)
    starts, packets = np.sort(random.uniform(0, 2, 12)), random.integers(1, 300, 12).astype(float)
    case, step = rcp.Case(8, 0.5, 25), 5e-5
    left, took = packets.copy(), np.zeros(12)
    for tick in range(int(6 / step)):
        now = tick * step
        active = (starts <= now) & (left > 0)
        left[active] -= 1000 * step / max(active.sum(), 1)
        took[active] = now + step - starts[active]
    assert rcp.sharing(case, starts, packets) == pytest.approx(took + 1.5 * case.rtpd, abs=1e-3)


def test_arrivals_offer_the_load():
    case = rcp.Case(1000, 0.5, 25)
    starts, packets = case.arrivals(1)
    assert starts.size == pytest.approx(0.5 * 1e9 / (8000 * 25) * case.seconds, rel=0.01)
    assert (np.diff(starts) > 0).all()
    assert packets.min() == np.ceil(25 / 6)
    for size in (50, 500):
        assert (packets > size).mean() == pytest.approx((25 / 6 / size) ** 1.2, rel=0.1)


def test_a_lone_flow_under_rcp_takes_a_handshake_and_its_packets_at_the_first_rate():
    """Four packets leave at a rate of 0.05 * 8 Mb/s, 20 ms apart, while `R` hardly changes. Each of the two flows has
    its own completion time.
    """
    case = rcp.Case(8, 0.5, 25, seconds=4 / 3)
    outcome = rcp.ours(case, np.array([0.1, 0.9, 1.99]), np.array([4.0, 1.0, 1.0]), {"alpha": 1e-6})
    assert outcome.took[0] == pytest.approx(0.15 + 3 * 0.02, abs=2e-3)
    assert outcome.took[1] == pytest.approx(0.15, abs=2e-3)
    assert np.isnan(outcome.took[2])
    assert outcome.rate == pytest.approx(0.05, rel=0.01)


def made_up(times):
    """Returns thirty flows of one packet, one per second, with times per simulator, and one flow that does not end."""
    starts, packets = np.arange(31.0) + 20, np.ones(31)
    outcomes = {name: rcp.Outcome(np.append(np.full(30, took), np.nan), 0.5, 0.1, 0.4) for name, took in times.items()}
    return rcp.Run(CASE, starts, packets, np.full(31, 0.2), outcomes)


def test_the_table_has_ratios_to_sharing_over_flows_that_ended_everywhere():
    runs = [made_up({"ns-2": took, "here": 0.2, "here, theirs": 0.2}) for took in (0.4, 0.6)]
    assert rcp.ratio(runs, "ns-2", (1, 50)) == pytest.approx(2.5)
    assert np.isnan(rcp.ratio(runs, "ns-2", (50, 500)))
    lines = list(rcp.table(CASE, runs))
    assert "60 s, 2 seeds, 2 flows unfinished" in lines[0]
    assert "| 1 to 49 packets | 60 | 2.50 (2.00 to 3.00) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |" in lines
    assert "| 50 to 499 packets | 0 | too few | too few | too few |" in lines
    assert "| R/C | | 0.500 | 0.500 | 0.500 |" in lines


def test_rows_of_queues_have_delay_and_fairness():
    case = queues.PAIRS[0], queues.LAWS[0], 2
    here = tcp.Outcome([500.0, 500.0], 20.0, 5.0, 0.01, 0.0)
    there = tcp.Outcome([1000.0, 0.0], 20.0, 5.0, 0.02, 0.0)
    *_, row = queues.table([case], [here], [there])
    assert row == (
        "| red | newreno | 2 | 1000, 1000, +0% | 1.000, 0.500, **+100%** | 5.00, 5.00, +0% | 1.000, 2.000, **-50%** |"
    )


def test_pie_and_fair_codel_hold_their_delays():
    """PIE keeps the delay at its target. In FQ-CoDel, equal flows have equal rates, and each queue has at most about
    one packet.
    """
    newreno = queues.LAWS[0]
    pie, fair = (next(pair for pair in queues.PAIRS if pair.queue == name) for name in ("pie", "fq_codel"))
    held = queues.ours((pie, newreno, 10))
    assert held.queue / sum(held.flows) == pytest.approx(0.015 + tcp.WIRE * 8 / (tcp.MBPS * 1e6), rel=0.1)
    shared = queues.ours((fair, newreno, 10))
    assert queues.jain(shared.flows) > 0.999
    assert shared.queue < 1.5 * 10


def test_results_of_the_authors_queue_are_read_per_flow():
    """Two flows send 24000 and 8000 packets in 80 s.

    The queueing delay is 1 ms for 98 of 100 packets of the first flow, and 5 ms for all packets of the second flow.
    """
    outcome = abc.read("24000 8000\n0 1 98\n0 7 1\n0 9 1\n1 5 50\n")
    assert outcome.rate == pytest.approx(400)
    assert outcome.jain == pytest.approx(400**2 / 2 / (300**2 + 100**2))
    assert outcome.waits == [(1 + 5) / 2, (7 + 5) / 2]


def test_abc_fills_a_line_of_opportunities_to_its_goal(tmp_path):
    """The line can send a packet of 1504 bytes each millisecond. The flow gets the fraction eta = 0.98 of this rate,
    and one additional packet per round trip.
    """
    trace = tmp_path / "line"
    trace.write_text("1\n", encoding="utf-8")
    outcome = abc.ours(trace, 1)
    assert outcome.rate == pytest.approx(980 + 1000 / abc.ROUND_TRIP_MS, rel=5e-3)
    assert outcome.waits[0] < 5


@pytest.mark.needs("c++")
@pytest.mark.parametrize(("marks", "rate", "waits"), [("0", 2000, True), ("1", 50, False)])
def test_senders_of_the_driver_follow_the_marks(tmp_path, marks, rate, waits):
    """The line sends two packets per millisecond. Without marks, the sender has the full rate and a queue. With marks,
    it sends five packets per round trip of 100 ms.
    """
    folder = router(tmp_path, marks)
    assert abc.lacks(folder) is None
    outcome = abc.theirs(abc.PEER.compiled(tmp_path), folder, abc.TRACES[0], 1)
    assert outcome.rate == pytest.approx(rate, rel=0.02)
    assert (outcome.waits[1] > 100) == waits


@pytest.mark.needs("c++")
def test_unsorted_and_missing_traces_are_reported(tmp_path):
    folder = router(tmp_path, "0")
    first, last = (tmp_path / "traces" / abc.TRACES[which] for which in (0, -1))
    first.write_text("2\n1\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="the trace in order"):
        abc.theirs(abc.PEER.compiled(tmp_path), folder, first.name, 1)
    last.unlink()
    assert abc.lacks(folder) == f"{last} is missing: it is in mahimahi/traces of github.com/prateshg/ABC-NSDI2020"


def library(folder, peer, code):
    """Compiles code with the interface of a peer's header as each library of the peer. Returns the path of their
    folder.
    """
    source = folder / "stub.cc"
    source.write_text(code, encoding="utf-8")
    for name in peer.libraries:
        command = ["c++", "-shared", "-fPIC", f"-I{peer.header.parent}", str(source), "-o", str(folder / name)]
        subprocess.run(command, check=True)
    return str(folder)


def router(folder, marks):
    """Returns a folder with a queue that marks all packets or none, and traces of two transmission opportunities per
    millisecond.
    """
    (folder / "traces").mkdir()
    for name in abc.TRACES:
        (folder / "traces" / name).write_text("1\n1\n", encoding="utf-8")
    return library(folder, abc.PEER, QUEUE.replace("MARKS", marks))


#: A queue that marks every packet or none.
QUEUE = """
#include <deque>
#include "abc.h"
static std::deque<Packet> waiting;
void *queue_new() { return nullptr; }
void queue_put(void *, const Packet *packet) { waiting.push_back(*packet); }
int queue_take(void *, uint64_t, Packet *packet) {
    if (waiting.empty()) return 0;
    *packet = waiting.front();
    waiting.pop_front();
    if (MARKS) packet->ecn = 3;
    return 1;
}
"""


PAIR = dualpi2.Case(100, 40, (1, 1))


def test_output_of_the_driver_is_read_per_class():
    """7.5 and 15 MB in 60 s are 1 and 2 Mb/s. Round trips take 41 and 43 ms, then 45 ms, on a path of 40 ms. One of ten
    packets of Prague was marked, and one of five packets of CUBIC was dropped.
    """
    outcome = dualpi2.read(PAIR, "10 1 0\n4 0 1\n7500000 1 41000\n0 2 90000\n0 1 43000\n15000000 0 0\n")
    assert (outcome.rate, outcome.ratio, outcome.jain) == pytest.approx((3, 0.5, 0.9))
    assert (outcome.low, outcome.classic, outcome.classic_most) == pytest.approx((2, 5, 5))
    assert (outcome.marked, outcome.dropped) == pytest.approx((10, 20))


def test_rows_without_cubic_have_none_of_its_numbers():
    outcome = dualpi2.read(dualpi2.Case(10, 10, (1, 0)), "10 1 0\n0 0 0\n7500000 1 11000\n")
    assert dualpi2.row(dualpi2.Case(10, 10, (1, 0)), outcome, dualpi2.mean([outcome] * 2)) == (
        "| 10 | 10 | 1+0 | 1.0, 1.0, +0% |  | 1.000, 1.000, +0% | 1.00, 1.00, +0% | 1.00, 1.00, +0% |  |  "
        "| 10.00, 10.00, +0% |  |"
    )


def test_prague_over_dualpi2_waits_for_the_step_and_cubic_for_the_target():
    outcome = dualpi2.ours(dualpi2.Case(40, 10, (1, 1)), 1)
    packet_ms = dualpi2.PACKET * 8 / 40e3
    assert outcome.rate == pytest.approx(40, rel=0.01)
    assert packet_ms < outcome.low < 1 + 2 * packet_ms
    assert outcome.classic == pytest.approx(15 + packet_ms, rel=0.1)
    assert 0.5 < outcome.ratio < 2


@pytest.mark.needs("c++")
@pytest.mark.parametrize(("marks", "mbps"), [(0, 4), (1, 1)])
def test_flows_of_the_driver_follow_marks_and_losses(tmp_path, marks, mbps):
    """The sender of the library sends at 4 Mb/s, and at 1 Mb/s after a mark. CUBIC loses one packet in a thousand. It
    sends at the rate of the Reno-friendly region, with alpha of 0.53 and beta of 0.7 (RFC 9438, section 4.3), over a
    round trip of 40 ms.
    """
    outcome = dualpi2.theirs(dualpi2.PEER.compiled(tmp_path), libraries(tmp_path, marks), PAIR, 1)
    cubic = outcome.rate / (1 + outcome.ratio)
    alpha, beta, loss = 3 * 0.3 / 1.7, 0.7, 1e-3
    window = (alpha * (1 + beta) / (2 * (1 - beta) * loss)) ** 0.5
    assert outcome.rate - cubic == pytest.approx(mbps, rel=0.01)
    assert cubic == pytest.approx(window / 0.04 * dualpi2.PACKET * 8e-6, rel=0.05)
    assert outcome.marked == 100 * marks
    assert outcome.dropped == pytest.approx(100 * loss, rel=0.05)


@pytest.mark.needs("c++")
def test_a_library_without_its_functions_is_reported(tmp_path):
    folder = libraries(tmp_path, 0)
    assert dualpi2.PEER.lacks(folder) is None
    assert "queue.so is missing: implement benches/peers/dualpi2.h" in dualpi2.PEER.lacks(str(tmp_path / "nowhere"))
    (tmp_path / "prague.so").write_bytes(b"")
    with pytest.raises(RuntimeError, match="prague_new"):
        dualpi2.theirs(dualpi2.PEER.compiled(tmp_path), folder, PAIR, 1)


def libraries(folder, marks):
    """Returns the path of a folder with a queue and a sender, compiled from one source."""
    return library(folder, dualpi2.PEER, STUB.replace("MARKS", str(marks)))


#: A queue that marks all or none of Prague's packets, and drops one in a thousand packets of other flows. A sender with
#: two rates.
STUB = """
#include <deque>
#include "dualpi2.h"
static std::deque<Packet> waiting, lost;
static uint64_t when = 16000000;
void *queue_new(uint64_t, uint64_t) { return nullptr; }
void queue_put(void *, uint64_t, const Packet *packet) {
    static long others = 0;
    if (packet->ecn == 0 && ++others % 1000 == 0) lost.push_back(*packet);
    else waiting.push_back(*packet);
}
static int first(std::deque<Packet> &from, Packet *packet) {
    if (from.empty()) return 0;
    *packet = from.front();
    from.pop_front();
    return 1;
}
int queue_take(void *, uint64_t, Packet *packet) {
    if (!first(waiting, packet)) return 0;
    if (MARKS && packet->ecn) packet->ecn = 3;
    return 1;
}
int queue_dropped(void *, Packet *packet) { return first(lost, packet); }
uint64_t queue_due(void *) { return when; }
void queue_update(void *, uint64_t now) { when = now + 16000000; }
static int received, marked, reported;
void *prague_new(int32_t, uint32_t) { return nullptr; }
void prague_pace(void *, int32_t, Pace *pace) { *pace = {reported ? 125000u : 500000u, 1000, 1, 1500}; }
void prague_stamp(void *, int32_t now, int32_t *stamp, int32_t *echo) { *stamp = *echo = now; }
void prague_receive(void *, int32_t, int32_t stamp, int32_t echo, int32_t, int ecn, Report *report) {
    marked += ecn == 3;
    *report = {stamp, echo, ++received, marked, 0};
}
int32_t prague_hear(void *, int32_t, const Report *report, int32_t sent) {
    reported = report->marked;
    return sent - report->received;
}
void prague_reset(void *, int32_t) {}
"""
