import numpy as np
import polars as pl
import pytest

from levelflow import Result, Scenario
from levelflow.measure import fairness, windows
from levelflow.report.tables import flow_table, settling, verdict

LISTED = {"law": "l", "packet_bytes": 1000, "count": 1, "finite": False, "application": False}
SCENARIO = {
    "sample_s": 1.0,
    "links": [
        {"name": "a", "capacity_bps": 10e6, "target_bps": 9e6, "changes": []},
        {"name": "b", "capacity_bps": 4e6, "target_bps": 4e6, "changes": []},
    ],
    "flows": [
        {**LISTED, "name": "x1", "path": ["a", "b"], "start_s": 0.0},
        {**LISTED, "name": "x2", "path": ["a"], "start_s": 9.5},
        {**LISTED, "name": "mice", "path": ["b"], "start_s": None, "count": None, "finite": True},
    ],
}


def samples(rate):
    """Returns 100 samples, one per second. x2 joins at 9.5 s. The entry `mice` has two flows in every odd sample."""
    rows = []
    for t in range(1, 101):
        rows += [
            (float(t), "x1", 1, rate(t)),
            (float(t), "x2", int(t > 9), 7e6 * (t > 9)),
            (float(t), "mice", 2 * (t % 2), 2e6 * (t % 2)),
        ]
    names = pl.Enum(["x1", "x2", "mice"])
    schema = {"t": pl.Float64, "flow": names, "active": pl.UInt32, "throughput_bps": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_the_last_event_is_that_of_a_listed_flow_and_exact_where_the_scenario_says_when():
    assert windows.last_event(samples(lambda _: 2e6), SCENARIO, 100.0)[1] == 9.5


def test_the_steady_window_is_the_last_fifth():
    assert windows.steady_window(50.0, 100.0) == (90.0, 100.0)


@pytest.mark.parametrize(("until", "expected"), [(30, 20.5), (9, 0.0), (95, None)])
def test_settling_ends_when_the_last_flow_enters_its_band_for_good(until, expected):
    flows = samples(lambda t: 4e6 if t <= until else 2e6)
    window = windows.steady_window(9.5, 100.0)
    assert fairness.settling(flows, SCENARIO, 9.5, window) == expected


def test_jain_of_unequal_rates():
    assert fairness.jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert fairness.jain([]) is None


def test_equal_parts_of_unequal_shares_are_fair():
    network = Scenario("lot", "20 s")
    for ends, capacity in (("AB", "10 Mb/s"), ("BC", "30 Mb/s")):
        network.link(*ends, capacity, "5 ms", duplex=True)
    for name, ends in (("long", "AC"), ("short", "BC")):
        network.flow(name, "jetmax", *ends)
    result = network.run()
    flows = result.summary["flows"]
    assert [flow["share_bps"] for flow in flows] == pytest.approx([10e6, 20e6], rel=0.02)
    assert result.summary["jain"] == pytest.approx(0.9, abs=0.01)  # (1 + 2)^2 / (2 (1 + 4))
    assert result.summary["jain_of_shares"] > 0.9999
    line = f"Jain's index of throughput / fair share {result.summary['jain_of_shares']:.4f}, "
    assert line in verdict(result.summary)


def test_flows_of_a_group_count_one_by_one(tmp_path):
    scenario = Scenario("group", "20 s").link("A", "B", "10 Mb/s", "10 ms", buffer="1 BDP", duplex=True)
    result = scenario.flow("x", "cubic", "A", "B", count=4).run(out=tmp_path / "group")
    each = result.members.filter(pl.col("t") > result.summary["window_s"][0])
    rates = each.group_by("member").agg(pl.col("throughput_bps").mean())["throughput_bps"].to_numpy()
    assert rates.size == 4
    assert result.summary["jain"] == pytest.approx(rates.sum() ** 2 / 4 / (rates**2).sum())
    share = result.summary["flows"][0]["share_bps"]
    assert result.summary["distance_max"] == pytest.approx(abs(rates / share - 1).max())
    assert "mean" not in verdict(result.summary)
    whole = result.members.group_by("t").agg(pl.col("law_rate_bps", "throughput_bps").sum()).sort("t")
    for column in ("law_rate_bps", "throughput_bps"):
        assert np.allclose(whole[column], result.flows.sort("t")[column])
    assert Result.load(tmp_path / "group").members.equals(result.members)


def test_a_group_without_members_counts_as_its_mean():
    scenario = Scenario("crowd", "1 s").link("A", "B", "100 Mb/s", "1 ms", duplex=True)
    result = scenario.flow("x", "jetmax", "A", "B", count=1001).run()
    assert result.members.is_empty()
    assert "fair share (groups count as their mean) " in verdict(result.summary)


def test_rates_that_are_steady_away_from_the_reference_have_not_settled(finished):
    assert finished.summary["settled"]
    assert ", settled " in verdict(finished.summary)
    early = Scenario.load("t1-jetmax").set("duration", "6 s").run().summary  # x2 has just joined, and grows slowly
    assert early["settling_s"] == 0.1
    assert early["distance_max"] > 0.9
    assert early["settled"] is False
    assert ", steady 100 ms after the last arrival or departure, but 99.2 % from max-min fair" in verdict(early)
    assert settling(early) == "no; steady after 100 ms"


def test_a_run_converges_to_its_fair_rates(finished):
    assert finished.summary["reference"] == "max-min fair"
    for flow in finished.summary["flows"]:
        assert flow["share_bps"] == pytest.approx(5e6, rel=0.01)
        assert flow["distance"] == pytest.approx(abs(flow["throughput_bps"] / flow["share_bps"] - 1), abs=1e-9)
        assert flow["distance"] < 0.02
        assert flow["loss"] == 0
    assert finished.summary["jain"] > 0.999
    assert finished.summary["settling_s"] < 10
    assert finished.summary["last_event_s"] == 2
    forward, back = finished.summary["links"]
    assert forward["utilisation"] > back["utilisation"] > 0
    # A packet that arrives while another packet is in service waits for the remaining service time.
    assert forward["queueing_delay_s"]["max"] <= (forward["backlog_bytes"]["max"] - 1000) * 8 / 10e6


def test_transfers_are_compared_with_their_ideal_times():
    scenario = Scenario("web", "3 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True)
    scenario.flow("web", "rcp", "A", "B", arrivals={"interval": "100 ms"}, size="10 packets")
    scenario.flow("long", "rcp", "A", "B")
    result = scenario.run()
    web, long = result.summary["flows"]
    found = web["transfers"]
    took = result.completions["fct_s"].to_numpy() / (1.5 * 0.02 + 8 * (10_000 + 2 * 90) / 10e6)
    assert found["slowdown"]["p50"] == pytest.approx(np.median(took), rel=0.05)
    assert found["slowdown"]["mean"] == pytest.approx(took.mean())
    assert found["slowdown"]["p99"] > found["slowdown"]["p50"] > 1
    assert found["started"] == found["finished"] + found["unfinished"]
    assert long["transfers"] is None
    assert "Completion times exclude 1 of 31 transfers (1 unfinished)" in verdict(result.summary)


def test_the_reference_has_the_name_that_the_tables_show():
    scenario = Scenario("tcp", "2 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True, buffer="1 BDP")
    result = scenario.flow("x", "reno", "A", "B").run()
    assert result.summary["reference"] == "utility-optimal"
    assert flow_table(result.summary)[0][4] == "utility-optimal"
    assert "from utility-optimal at worst" in verdict(result.summary)


def test_a_link_without_arrivals_has_no_delay():
    result = Scenario("idle", "1 s").link("A", "B", "1 Mb/s", "1 ms", duplex=True).flow("x", "reno", "A", "B").run()
    assert result.summary["links"][0]["queueing_delay_s"]["count"] > 0
    quiet = Scenario("idle", "1 s").link("A", "B", "1 Mb/s", "1 ms", duplex=True)
    quiet.flow("x", "reno", "A", "B", start="2 s")
    assert [link["queueing_delay_s"] for link in quiet.run().summary["links"]] == [None, None]


def spines(**keys):
    scenario = Scenario("spines", "12 s", **keys)
    for spine in range(4):
        for leaf in ("A", "B"):
            scenario.link(leaf, f"s{spine}", "100 Mb/s", "1 ms", duplex=True)
    return scenario.flow("x", "jetmax", "A", "B", count=24)


def test_flows_on_different_paths_have_the_fair_rates_of_their_paths():
    """Each of four equal paths is divided among the flows that the hash assigned to this path."""
    result = spines(routing="ecmp").run()
    flow = result.scenario["flows"][0]
    taken = [flow["paths"][path]["path"][0] for path in flow["plans"][0]["path_of"]]
    target = result.scenario["links"][0]["target_bps"]
    last = result.members.filter(pl.col("t") == pl.col("t").max()).sort("member")
    for first, rate in zip(taken, last["law_rate_bps"], strict=True):  # law rates, without the noise of packets
        assert rate == pytest.approx(target / taken.count(first), rel=0.01)
    row = result.summary["flows"][0]
    assert row["share_bps"] == pytest.approx(len(set(taken)) * target / 24)
    assert row["distance"] < 0.01
    assert result.summary["jain_of_shares"] > 0.9999
    assert result.summary["jain"] < 0.99


def test_a_change_of_routes_is_an_event_and_the_reference_follows_it():
    scenario = spines(reroute="1 s").set("link.A->s0.capacity", "10 Mb/s").set("flow.x.law", "level")
    scenario.set("link.A->s0.changes", [{"at": "5 s", "down": True}])
    summary = scenario.run().summary
    assert summary["last_event_s"] == 6.0
    assert summary["flows"][0]["distance"] < 0.01
    assert summary["flows"][0]["share_bps"] > 90e6 / 24


def test_applications_have_no_reference_and_leave_the_rest_to_others():
    scenario = Scenario("applications", "12 s").link("A", "B", "10 Mb/s", "5 ms", duplex=True)
    scenario.flow("call", "jetmax", "A", "B", application={"rate": "2 Mb/s"}).flow("x", "jetmax", "A", "B", count=2)
    result = scenario.run()
    call, others = result.summary["flows"]
    sent = 2e6 * 1000 / 906  # a packet has 94 B of headers
    assert call["throughput_bps"] == pytest.approx(sent, rel=0.02)
    assert call["distance"] is None
    assert others["share_bps"] == pytest.approx((result.scenario["links"][0]["target_bps"] - sent) / 2, rel=0.01)
    assert others["distance"] < 0.02
