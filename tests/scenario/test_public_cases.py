"""Situations of public bug reports whose results have a closed form."""

import math

import polars as pl
import pytest

from levelflow import Scenario, Study
from levelflow.report import plots, series

#: Laws whose window grows until packets are dropped.
LOSS_BASED = ["reno", "newreno", "cubic", "bic", "htcp", "highspeed", "scalable", "westwood"]
BURST, PACKET_BITS = 51, 8000


def studied(scenario, folder, replications, metric, *axes):
    """Runs a study of a scenario."""
    (folder / "case.toml").write_text(scenario.to_toml())
    asked = {"scenario": str(folder / "case.toml"), "replications": replications}
    tables = {"study": asked, "axis": list(axes), "measure": {"metrics": [metric]}}
    return Study(tables).run(folder / "out", scheduler="threads", workers=1, cache=False)


def line(capacity="10 Mb/s", delay="10 ms", duration="5 s", *, link=None, **settings):
    """Returns a scenario of one duplex link."""
    return Scenario("case", duration, **settings).link("A", "B", capacity, delay, duplex=True, **(link or {}))


@pytest.mark.parametrize(
    ("capacity", "queue"),
    [
        ("1 Gb/s", {"cake": {"rate": "10 Mb/s"}}),
        ("10 Mb/s", "fq_codel"),
        ("10 Mb/s", "dualpi2"),
        ("10 Mb/s", "codel"),
        ("10 Mb/s", "drop_tail"),
    ],
)
def test_a_burst_waits_at_the_rate_that_serves_it(capacity, queue):
    """Packet k of a burst at 1 Gb/s arrives after k * 8 us. Its transmission starts after k packets at 10 Mb/s."""
    scenario = Scenario("burst", "1 s", overhead="0 s")
    scenario.link("A", "R", "1 Gb/s", "1 ms").link("R", "B", capacity, "1 ms", queue=queue, buffer="100 packets")
    scenario.link("B", "A", "1 Gb/s", "1 ms")
    burst = {"size": f"{BURST} packets", "arrivals": {"times": ["0 s"]}, "reliable": False}
    result = scenario.flow("x", {"cbr": {"rate": "1 Gb/s"}}, "A", "B", **burst).run()
    delays = [k * (PACKET_BITS / 10e6 - PACKET_BITS / 1e9) for k in range(BURST)]
    link = next(row for row in result.summary["links"] if row["name"] == "R->B")
    found = link["queueing_delay_s"]
    assert (found["count"], link["dropped_packets"]) == (BURST, 0)
    assert found["max"] == pytest.approx(max(delays), rel=1e-6)
    assert found["mean"] == pytest.approx(sum(delays) / BURST, rel=1e-6)
    assert found["p50"] == pytest.approx(delays[BURST // 2], rel=1 / 64)
    assert link["utilisation"] == pytest.approx(BURST * PACKET_BITS / 10e6, rel=1e-6)
    curve = next(curve for curve in series.queues(result).curves if curve.name == "R->B")
    assert max(curve.y) * series.queues(result).unit[1] == pytest.approx(max(delays), rel=1e-6)


@pytest.mark.parametrize("law", LOSS_BASED)
def test_no_flow_is_faster_than_its_line(law):
    """The window divided by the round trip exceeds the rate of the line while a queue grows without limit. The
    throughput is still the rate of the line.
    """
    result = line().flow("x", law, "A", "B").run()
    flow = result.summary["flows"][0]
    assert flow["throughput_bps"] == pytest.approx(10e6, rel=0.01)
    assert flow["distance"] < 0.01
    assert result.flows["throughput_bps"].max() <= 10e6 * 1.001


@pytest.mark.parametrize(("window", "rtt_ms"), [(1, 20), (5, 20), (20, 100), (100, 40)])
def test_a_window_gives_one_window_per_round_trip(window, rtt_ms):
    law = {"newreno": {"window_limit": window, "delayed_ack": False}}
    scenario = line("100 Mb/s", f"{rtt_ms / 2} ms", "10 s", link={"buffer": "500 packets"}, overhead="0 s")
    found = scenario.flow("x", law, "A", "B").run().summary["flows"][0]["throughput_bps"]
    rtt = rtt_ms * 1e-3 + (PACKET_BITS + 320) / 100e6
    assert found == pytest.approx(window * PACKET_BITS / rtt, rel=0.005 + rtt / window / 2)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_study_prints_the_mean_queueing_delay_of_an_md1_queue(load, tmp_path):
    """The Pollaczek-Khinchine formula gives the mean queueing delay `load / (2 (1 - load)) * 0.8 ms`."""
    arrivals = {"size": "1 packet", "arrivals": {"poisson": f"{1250 * load} /s"}}
    scenario = line(delay="1 ms", duration="100 s", sample="10 s", overhead="0 s")
    scenario.flow("x", {"cbr": {"rate": "10 Mb/s"}}, "A", "B", **arrivals)
    table = studied(scenario, tmp_path, 1, "queue_mean_ms", {"path": "seed", "values": [1]}).table
    assert table["queue_mean_ms"].item() == pytest.approx(0.8 * load / 2 / (1 - load), rel=0.06)


def test_a_picture_of_queues_shows_times_that_packets_waited():
    """200 packets at 5 Mb/s take 0.48 s. At 120 kb/s, at most one packet leaves in 0.1 s."""
    dip = [{"at": "5 s", "capacity": "120 kb/s"}, {"at": "5.1 s", "capacity": "5 Mb/s"}]
    link = {"buffer": "200 packets", "changes": dip, "reverse": {"changes": []}}
    result = line("5 Mb/s", "20 ms", "8 s", link=link).flow("x", "cubic", "A", "B", packet="1500 B").run()
    panel = series.queues(result)
    longest = result.summary["links"][0]["queueing_delay_s"]["max"]
    assert max(panel.curves[0].y) * panel.unit[1] == pytest.approx(longest, rel=1e-6)
    assert 0.4 < longest < 0.6


def test_a_policer_passes_its_rate_and_one_bucket():
    """BBR sends at 1.25 times its bandwidth in one of eight phases. The policer drops the excess over its rate."""
    queue = {"policer": {"rate": "20 Mb/s", "burst": "100 kB"}}
    result = line("1 Gb/s", "20 ms", "20 s", link={"queue": queue}).flow("x", "bbr", "A", "B").run()
    flow = result.summary["flows"][0]
    assert flow["share_bps"] == 20e6
    assert flow["delivered_bytes"] * 8 <= 20e6 * 20 + 8 * 100_000
    later = result.flows.filter(pl.col("t") > 10)
    assert later["throughput_bps"].mean() > 0.95 * 20e6
    assert (1 - later["throughput_bps"].mean() / later["sending_rate_bps"].mean()) > 1.25 * 0.99 / 8 - 1 / 8


def test_equal_runs_of_one_point_count_once(tmp_path):
    """NewReno on ideal hosts draws no random numbers. BBR draws random numbers."""
    scenario = line("20 Mb/s", duration="3 s", link={"buffer": "0.5 BDP"}, profile="paper")
    scenario.flow("x", "newreno", "A", "B", count=3)
    laws = {"path": "flow.*.law", "values": ["newreno", "bbr"]}
    result = studied(scenario, tmp_path, 4, "dropped_packets", laws)
    assert dict(result.summary("dropped_packets").select("law", "runs").iter_rows()) == {"newreno": 1, "bbr": 4}
    assert any("newreno" in text and "4 seeds give 1 different run" in text for text in result.warnings)


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
def test_random_loss_bounds_newreno(loss):
    """Windows W at a loss rate p: `W sqrt(p)` is 1.22 for periodic losses (Mathis et al. 1997), and 1.31 for random
    losses (Padhye et al. 1998).
    """
    law = {"newreno": {"delayed_ack": False}}
    link = {"loss": loss, "buffer": "10000 packets", "reverse": {"loss": 0}}
    result = line("1 Gb/s", "25 ms", "300 s", link=link, sample="1 s").flow("x", law, "A", "B").run()
    window = result.summary["flows"][0]["delivered_packets"] / 300 * 0.05
    assert 1.1 < window * math.sqrt(loss) < 1.45


@pytest.mark.parametrize("entries", [1, 5, 12])
def test_no_words_above_a_picture_of_transfers_overlap(entries):
    scenario = line(duration="2 s", link={"buffer": "1 BDP"})
    for number in range(entries):
        web = {"size": {"exponential": "20 kB"}, "arrivals": {"load": 0.8 / entries}}
        scenario.flow(f"x{number}", "cubic", "A", "B", **web)
    figure = plots.completion_times(scenario.run())
    figure.draw_without_rendering()
    legend = figure.legends[0]
    words = [legend.get_title(), *legend.get_texts(), *(axes.title for axes in figure.axes)]
    boxes = [word.get_window_extent() for word in words if word.get_text()]
    apart = [a.x1 < b.x0 or b.x1 < a.x0 or a.y1 < b.y0 or b.y1 < a.y0 for n, a in enumerate(boxes) for b in boxes[:n]]
    assert apart
    assert all(apart)


def test_the_offered_load_is_that_of_the_busiest_time():
    """Two streams of 8 Mb/s share 10 Mb/s for 10 s of 100 s. Transfers of 15 MB in total may send for 3 s of 20 s. Each
    of their packets has 934 B of payload.
    """
    streams = line(duration="100 s").flow("x", {"cbr": {"rate": "8 Mb/s"}}, "A", "B")
    streams.flow("y", {"cbr": {"rate": "8 Mb/s"}}, "A", "B", start="50 s", stop="60 s")
    stopped = line(duration="20 s").flow("x", "cubic", "A", "B", size="5 MB", count=3, stop="3 s")
    for scenario, load in ((streams, 1.6), (stopped, 4.0 * 1000 / 934)):
        assert scenario.resolve()["links"][0]["offered_load"] == pytest.approx(load, rel=0.05)


def test_a_transfer_that_starts_when_routes_change_takes_the_route_before():
    scenario = Scenario("tie", "8 s", reroute="1 s").link("A", "B", "10 Mb/s", "5 ms", duplex=True)
    scenario.set("link.1.changes", [{"at": "4 s", "down": True}])
    scenario.link("A", "C", "10 Mb/s", "50 ms", duplex=True).link("C", "B", "10 Mb/s", "50 ms", duplex=True)
    times = ["1 s", "5 s", "6 s"]
    scenario.flow("x", "newreno", "A", "B", size="20 packets", arrivals={"times": times})
    rows = scenario.run().transfers.sort("start_s")
    assert rows["hops"].to_list() == [1, 1, 2]
    assert (rows["outcome"].cast(str) == "finished").all()


def test_utilisation_in_a_study_is_of_what_a_shaper_serves(tmp_path):
    """A stream of 20 Mb/s fills a shaper of 10 Mb/s on a line of 100 Mb/s."""
    scenario = line("100 Mb/s", link={"queue": {"cake": {"rate": "10 Mb/s"}}})
    scenario.flow("x", {"cbr": {"rate": "20 Mb/s"}}, "A", "B")
    table = studied(scenario, tmp_path, 1, "utilisation", {"path": "seed", "values": [1]}).table
    assert table["utilisation"].item() == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("queue", [{"policer": {"rate": "10 Mb/s", "burst": "15 kB"}}, {"cake": {"rate": "10 Mb/s"}}])
def test_equal_streams_share_a_shaper_or_policer(queue):
    scenario = line("1 Gb/s", duration="30 s", link={"queue": queue})
    for name, start in (("x", "0 s"), ("y", "300 us")):
        scenario.flow(name, {"cbr": {"rate": "8 Mb/s"}}, "A", "B", start=start)
    rates = [flow["throughput_bps"] for flow in scenario.run().summary["flows"]]
    assert rates == pytest.approx([5e6, 5e6], rel=0.1)
