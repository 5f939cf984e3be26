"""`python -m experiments.peers`: comparisons with Linux's TCP, CAKE and BBRv3."""

import polars as pl
import pytest
from experiments.peers import bbr3, cake, linux
from test_peers import library

from levelflow import dataplane


def test_two_newreno_flows_fill_the_line_and_halve_over_two_products():
    """The sum of the windows varies between 1.5 and 3 bandwidth-delay products (BDP). So the queue varies between 0.5
    and 2 BDP.
    """
    pair = next(pair for pair in linux.PAIRS if pair.law == "newreno")
    outcome = linux.measured(linux.scenario({pair.law: pair.ours}, 2, 2.0).run())
    assert outcome.rate == pytest.approx(linux.MBPS, rel=1e-3)
    assert 0.5 * linux.ROUND_TRIP_MS < outcome.wait < 2 * linux.ROUND_TRIP_MS
    assert outcome.jain > 0.9
    assert 0 < outcome.loss < 0.1


@pytest.mark.real_time
@pytest.mark.needs("root")
def test_the_kernels_reno_fills_the_line(monkeypatch):
    monkeypatch.setattr(linux, "SECONDS", 6.0)
    monkeypatch.setattr(linux, "FROM_S", 2.0)
    monkeypatch.setattr(linux, "REPEATS", 1)

    (outcome,) = linux.theirs(str(dataplane.program()), (linux.PAIRS[0], 2, 2.0))
    assert outcome.rate == pytest.approx(linux.MBPS, rel=0.05)
    assert 0.2 * linux.ROUND_TRIP_MS < outcome.wait < 2.1 * linux.ROUND_TRIP_MS


def test_ranges_are_shown_where_runs_differ():
    here, there = ([linux.Outcome(20.0, jain, 10.0, 0.0) for jain in each] for each in ((0.9, 0.9), (0.8, 1.0)))
    assert linux.row((linux.PAIRS[0], 2, 0.5), here, there) == (
        "| newreno | reno | 2 | 0.5 | 20.00, 20.00, +0% | 0.900, 0.900, +0% (0.900 to 0.900; 0.800 to 1.000) "
        "| 10.0, 10.0, +0% | 0.000, 0.000, +0% |"
    )


def test_a_missing_program_is_reported():
    assert linux.lacks("/no/such/net") == "no levelflow-net at /no/such/net: make net builds it"


def test_results_of_linuxs_cake_are_read_per_group():
    """The flows of the first group send 2000 and 6000 packets of 1500 B in 100 s. The flow of the second group sends
    1000 packets, and is marked.
    """
    case = cake.Case("two", 20, (cake.Group("cubic", 2), cake.Group("newreno", ecn=True)))
    text = "2000 30 0\n6000 50 0\n1000 0 20\n0 1000000\n1 3000000\n2 500000\n"
    first, second = cake.read(case, text)
    assert first.rate == pytest.approx(8000 * 1500 * 8e-6 / 100)
    assert first.jain == pytest.approx(8000**2 / 2 / (2000**2 + 6000**2))
    assert (first.wait, first.late) == pytest.approx((2, 2.98))
    assert first.lost == pytest.approx(100 * 80 / 8080)
    assert (second.wait, second.lost) == pytest.approx((0.5, 2))
    *_, row = [cake.row(case, case.groups[1], [second] * 3, [first, second, second])]
    assert row.startswith("| two | 20 | 1 newreno, ECN | 0.12, 0.12, +0% |  | 0.50, 0.50, +0% |")


def test_constant_flows_above_the_rate_get_max_min_shares(monkeypatch):
    monkeypatch.setattr(cake, "SECONDS", 20)
    monkeypatch.setattr(cake, "FROM_S", 5)
    case = next(case for case in cake.CASES if case.what == "above the rate")
    assert [outcome.rate for outcome in cake.ours(case)] == pytest.approx([1, 3, 8, 8], rel=0.02)


@pytest.mark.needs("cc")
@pytest.mark.parametrize("law", ["newreno", "cubic"])
def test_senders_of_cakes_driver_are_those_of_the_simulator(tmp_path, law):
    """The queue holds 100 packets and drops arrivals when full."""
    case = cake.Case("tail", 20, (cake.Group(law),))
    folder = linuxs(tmp_path, SHAPER.replace("MARKS", "false"))
    assert cake.lacks(folder) is None
    (there,) = cake.theirs(cake.compiled(folder, tmp_path), case)
    made = cake.scenario(case)
    made.raw["link"][0] |= {"capacity": "20 Mb/s", "queue": "drop_tail", "buffer": "101 packets"}
    here = made.run()
    late = here.links.filter((pl.col("t") > cake.FROM_S) & (pl.col("link").cast(pl.String) == "R->S"))
    sent = late["throughput_bps"].mean() / 8 / cake.PACKET * (cake.SECONDS - cake.FROM_S)
    assert there.rate == pytest.approx(20, rel=1e-3)
    assert there.lost == pytest.approx(100 * late["dropped"].sum() / (sent + late["dropped"].sum()), rel=0.1)
    assert there.wait == pytest.approx(1e3 * late["backlog_bytes"].mean() * 8 / 20e6, rel=0.05)


@pytest.mark.needs("cc")
def test_marks_hold_a_sender_of_cakes_driver_at_two_packets(tmp_path):
    folder = linuxs(tmp_path, SHAPER.replace("MARKS", "true"))
    groups = cake.Group("newreno", ecn=True), cake.Group("cbr", rate=3.0)
    marked, constant = cake.theirs(cake.compiled(folder, tmp_path), cake.Case("marks", 20, groups))
    assert marked.rate == pytest.approx(2 * cake.PACKET * 8e-3 / groups[0].round_trip_ms, rel=0.05)
    assert marked.lost == 100
    assert (constant.rate, constant.lost) == pytest.approx((3, 0), rel=1e-3)


@pytest.mark.needs("cc")
def test_code_that_does_not_compile_and_stale_patches_are_reported(tmp_path):
    with pytest.raises(RuntimeError, match="does not compile"):
        cake.compiled(linuxs(tmp_path, "nonsense"), tmp_path)
    with pytest.raises(ValueError, match="'sense' is 0 times in"):
        cake.compiled(linuxs(tmp_path, "nothing"), tmp_path, (("sense", ""),))
    assert "is missing: --linux names" in cake.lacks("/no/such/linux")


def linuxs(folder, code):
    """Returns the path of a folder with the layout of Linux's source and this discipline."""
    source = folder / "linux" / cake.SOURCE
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(code, encoding="utf-8")
    return str(folder / "linux")


#: A shaper with one queue of 100 packets, which marks every packet or none. Its names are those of Linux's code.
SHAPER = """
#include <linux/module.h>
struct cake_sched_data {
    struct qdisc_watchdog watchdog;
    ktime_t opens;
    double pace;
    struct sk_buff *first, **last;
};
static int cake_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
    struct cake_sched_data *q = qdisc_priv(sch);
    qdisc_watchdog_init(&q->watchdog, sch);
    q->pace = 1e9 / nla_get_u64(&options[TCA_CAKE_BASE_RATE64]);
    q->last = &q->first;
    return 0;
}
static s32 cake_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    struct cake_sched_data *q = qdisc_priv(sch);
    if (sch->q.qlen == 100) return qdisc_drop(skb, sch, to_free);
    if (sch->q.qlen++ == 0 && q->opens < ktime_get()) q->opens = ktime_get();
    *q->last = skb;
    q->last = &skb->next;
    return NET_XMIT_SUCCESS;
}
static struct sk_buff *cake_dequeue(struct Qdisc *sch)
{
    struct cake_sched_data *q = qdisc_priv(sch);
    struct sk_buff *skb = q->first;
    if (!skb) return NULL;
    if (q->opens > ktime_get()) {
        qdisc_watchdog_schedule_ns(&q->watchdog, q->opens);
        return NULL;
    }
    q->opens += qdisc_pkt_len(skb) * q->pace;
    q->first = skb->next;
    if (--sch->q.qlen == 0) q->last = &q->first;
    if (MARKS) INET_ECN_set_ce(skb);
    return skb;
}
static struct Qdisc_ops cake_qdisc_ops = {
    .priv_size = sizeof(struct cake_sched_data),
    .enqueue = cake_enqueue,
    .dequeue = cake_dequeue,
    .init = cake_init,
};
"""


def test_results_of_linuxs_bbr3_are_read_per_flow(monkeypatch):
    """The link drops 20 of 1000 packets in 10 s. Rates are 3 and 1 Mb/s. The queue is 1250 bytes half of the time."""
    monkeypatch.setattr(bbr3, "SECONDS", 40)
    monkeypatch.setattr(bbr3, "FROM_S", 30)
    outcome = bbr3.read(bbr3.Case(10, 20, 1, 2), "1000 20\n3750000\n1250000\n" + "0\n1250\n" * 500)
    assert (outcome.rate, outcome.dropped) == pytest.approx((4, 2))
    assert outcome.jain == pytest.approx(16 / 2 / 10)
    assert (outcome.wait, outcome.late) == pytest.approx((0.5, 1))


def test_a_row_of_bbr3_has_medians():
    runs = [bbr3.Outcome(rate, 1.0, 5.0, 10.0, 0.0) for rate in (9.0, 9.5, 9.6)]
    assert bbr3.row(bbr3.Case(10, 20, 0.5, 1, 0.03), runs, runs[:1]) == (
        "| 10 | 20 | 0.5 | 3 | 1 | 9.50, 9.00, +6% |  | 5.0, 5.0, +0% | 10.0, 10.0, +0% | 0.00, 0.00, +0% |"
    )


@pytest.mark.needs("c++")
def test_the_driver_of_bbr3_paces_measures_and_loses(tmp_path, monkeypatch):
    """The law paces at 16 Mb/s with a window of 60 packets. The path of 10 Mb/s and 40 ms has 33 packets in flight, so
    the other packets are queued.
    """
    monkeypatch.setattr(bbr3, "SECONDS", 20)
    monkeypatch.setattr(bbr3, "FROM_S", 5)
    folder = library(tmp_path, bbr3.PEER, LAW)
    assert bbr3.PEER.lacks(folder) is None
    program = bbr3.PEER.compiled(tmp_path)
    roomy = bbr3.theirs(program, folder, bbr3.Case(10, 40, 4, 1))
    assert roomy.rate == pytest.approx(10, rel=1e-3)
    assert roomy.wait == pytest.approx((60 - 10e6 * 0.04 / 8 / bbr3.PACKET) * 8 * bbr3.PACKET / 10e3, rel=0.02)
    assert roomy.dropped == 0
    lossy = bbr3.theirs(program, folder, bbr3.Case(10, 40, 4, 1, 0.1))
    assert lossy.rate == pytest.approx(9, rel=0.02)
    shallow = bbr3.theirs(program, folder, bbr3.Case(10, 40, 0.5, 1))
    assert shallow.dropped > 1
    assert shallow.late <= (0.5 * 0.04 + bbr3.PACKET * 8 / 10e6) * 1e3


@pytest.mark.needs("c++")
def test_the_driver_of_bbr3_calls_its_law_in_order(tmp_path, monkeypatch):
    """The law ends the run if a report of the driver contradicts an earlier one. The link loses three of ten packets.
    If both packets of the window are lost, no ACK reports the losses, and a timer of 200 ms expires. So the rate is
    less than two packets per 40 ms.
    """
    monkeypatch.setattr(bbr3, "SECONDS", 40)
    folder = library(tmp_path, bbr3.PEER, WARY)
    outcome = bbr3.theirs(bbr3.PEER.compiled(tmp_path), folder, bbr3.Case(10, 40, 4, 2, 0.3))
    assert 0.1 < outcome.rate < 0.9 * 2 * 0.7 * 2 * bbr3.PACKET * 8e-6 / 0.04


#: A law with a constant rate and window.
LAW = """
#include "bbr3.h"
void *bbr3_new(Sender *sender, uint32_t (*)()) {
    sender->rate = 16000000 / 8;
    sender->window = 60;
    return nullptr;
}
void bbr3_sent(void *, Sender *, uint32_t) {}
void bbr3_acknowledged(void *, Sender *, uint32_t, int64_t) {}
void bbr3_loses(void *, Sender *, int) {}
void bbr3_lost(void *, Sender *, uint32_t) {}
void bbr3_state(void *, Sender *, int) {}
void bbr3_control(void *, Sender *) {}
"""
#: A law with a window of two packets, which tracks the packets in flight and the state.
WARY = """
#include <cstdio>
#include <cstdlib>
#include <map>
#include "bbr3.h"
static void check(bool right, const char *what) {
    if (right) return;
    std::fprintf(stderr, "%s\\n", what);
    std::exit(1);
}
struct Law {
    std::map<uint32_t, uint64_t> flight;
    int state = BBR3_OPEN, next = BBR3_OPEN;
    uint64_t now = 0;
    void see(const Sender *sender) {
        check(sender->now >= now, "time");
        check(sender->flight == flight.size(), "flight");
        now = sender->now;
    }
    void remove(uint32_t number) { check(flight.erase(number) == 1, "number"); }
};
static Law &of(void *law) { return *static_cast<Law *>(law); }
void *bbr3_new(Sender *sender, uint32_t (*draw)()) {
    check(sender->window == 10 && sender->bytes == 1500 && sender->least >= 40000, "beginning");
    check(draw() != draw(), "random numbers");
    sender->rate = 10000000 / 8;
    return new Law;
}
void bbr3_sent(void *law, Sender *sender, uint32_t number) {
    of(law).see(sender);
    check(number == sender->next && sender->departs >= sender->now && sender->flight < sender->window, "sending");
    of(law).flight[number] = sender->departs;
}
void bbr3_acknowledged(void *law, Sender *sender, uint32_t number, int64_t round_trip) {
    of(law).see(sender);
    check(round_trip == static_cast<int64_t>(sender->now / 1000 - of(law).flight[number] / 1000), "round trip");
    check(round_trip >= 40000 && sender->least <= round_trip, "least");
    of(law).remove(number);
}
void bbr3_loses(void *law, Sender *sender, int state) {
    of(law).see(sender);
    check(of(law).state != BBR3_TIMEOUT && state != of(law).state, "losses");
    of(law).next = state;
}
void bbr3_lost(void *law, Sender *sender, uint32_t number) {
    of(law).remove(number);
    of(law).see(sender);
    check(of(law).next != BBR3_OPEN, "unannounced losses");
}
void bbr3_state(void *law, Sender *sender, int state) {
    of(law).see(sender);
    check(state == BBR3_OPEN || state == of(law).next, "state");
    of(law).state = of(law).next = state;
}
void bbr3_control(void *law, Sender *sender) {
    of(law).see(sender);
    sender->window = 2;
}
"""
