import numpy as np
import polars as pl
import pytest

from levelflow import Result, Scenario
from levelflow.report import summary
from levelflow.report.tables import flow_table, settling, verdict

SCENARIO = {
    "sample_s": 1.0,
    "links": [
        {"name": "a", "capacity_bps": 10e6, "target_bps": 9e6},
        {"name": "b", "capacity_bps": 4e6, "target_bps": 4e6},
    ],
    "flows": [
        {"name": "x1", "law": "l", "path": ["a", "b"], "start_s": 0.0, "count": 1, "finite": False},
        {"name": "x2", "law": "l", "path": ["a"], "start_s": 9.5, "count": 1, "finite": False},
        {"name": "mice", "law": "l", "path": ["b"], "start_s": None, "count": None, "finite": True},
    ],
}


def samples(rate):
    """100 samples, one per second; x2 joins at 9.5 s; mice are two in every odd sample."""
    rows = []
    for t in range(1, 101):
        rows += [
            (float(t), "x1", 1, rate(t), rate(t)),
            (float(t), "x2", int(t > 9), 7e6 * (t > 9), 7e6 * (t > 9)),
            (float(t), "mice", 2 * (t % 2), 2e6 * (t % 2), 2e6 * (t % 2)),
        ]
    names = pl.Enum(["x1", "x2", "mice"])
    schema = {"t": pl.Float64, "flow": names, "active": pl.UInt32, "rate_bps": pl.Float64, "delivered_bps": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_the_last_event_is_that_of_a_listed_flow_and_exact_where_the_scenario_says_when():
    assert summary.last_event(samples(lambda _: 2e6), SCENARIO, 100.0) == 9.5


def test_the_steady_window_is_the_last_fifth():
    assert summary.steady_window(50.0, 100.0) == (90.0, 100.0)


@pytest.mark.parametrize(("until", "expected"), [(30, 20.5), (9, 0.0), (95, None)])
def test_settling_ends_when_the_last_flow_enters_its_band_for_good(until, expected):
    flows = samples(lambda t: 4e6 if t <= until else 2e6)
    window = summary.steady_window(9.5, 100.0)
    assert summary.settling(flows, SCENARIO, 9.5, window) == expected


def test_jain_of_unequal_rates():
    assert summary.jain(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / 42)
    assert summary.jain(np.array([])) is None


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
    assert f"Jain's index of rate / fair share {result.summary['jain_of_shares']:.4f}, " in verdict(result.summary)


def test_flows_of_a_group_count_one_by_one(tmp_path):
    scenario = Scenario("group", "20 s").link("A", "B", "10 Mb/s", "10 ms", buffer="1 BDP", duplex=True)
    result = scenario.flow("x", "cubic", "A", "B", count=4).run(out=tmp_path / "group")
    each = result.members.filter(pl.col("t") >= result.summary["window_s"][0])
    rates = each.group_by("member").agg(pl.col("rate_bps").mean())["rate_bps"].to_numpy()
    assert rates.size == 4
    assert result.summary["jain"] == pytest.approx(rates.sum() ** 2 / 4 / (rates**2).sum())
    share = result.summary["flows"][0]["share_bps"]
    assert result.summary["distance_max"] == pytest.approx(abs(rates / share - 1).max())
    assert "mean" not in verdict(result.summary)
    whole = result.members.group_by("t").agg(pl.col("rate_bps", "delivered_bps").sum()).sort("t")
    for column in ("rate_bps", "delivered_bps"):
        assert np.allclose(whole[column], result.flows.sort("t")[column])
    assert Result.load(tmp_path / "group").members.equals(result.members)
    (tmp_path / "group" / "members.parquet").unlink()
    assert Result.load(tmp_path / "group").members.is_empty()


def test_a_group_without_members_counts_as_its_mean():
    scenario = Scenario("crowd", "1 s").link("A", "B", "100 Mb/s", "1 ms", duplex=True)
    result = scenario.flow("x", "jetmax", "A", "B", count=1001).run()
    assert result.members.is_empty()
    assert "fair share (groups count as their mean) " in verdict(result.summary)


def test_rates_that_are_steady_away_from_the_reference_have_not_settled(finished):
    assert finished.summary["settled"]
    assert ", settled " in verdict(finished.summary)
    early = Scenario.load("t1-jetmax").set("duration", "6 s").run().summary  # x2 has just come, and creeps
    assert early["settling_s"] == 0
    assert early["distance_max"] > 0.9
    assert early["settled"] is False
    assert ", steady 0 s after the last arrival or departure, but 99.3 % from max-min fair" in verdict(early)
    assert settling(early) == "no; steady after 0 s"


def test_a_run_comes_to_its_fair_rates(finished):
    assert finished.summary["reference"] == "max-min fair"
    for flow in finished.summary["flows"]:
        assert flow["share_bps"] == pytest.approx(5e6, rel=0.01)
        assert flow["distance"] == pytest.approx(abs(flow["rate_bps"] / flow["share_bps"] - 1), abs=1e-9)
        assert flow["distance"] < 0.02
        assert flow["loss"] == 0
    assert finished.summary["jain"] > 0.999
    assert finished.summary["settling_s"] < 10
    assert finished.summary["last_event_s"] == 2
    forward, back = finished.summary["links"]
    assert forward["utilisation"] > back["utilisation"] > 0
    assert forward["queue_ms"]["max"] == pytest.approx(forward["queue_bytes"]["max"] * 8e3 / 10e6)


def test_transfers_are_compared_with_their_least_times():
    scenario = Scenario("web", "3 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True)
    scenario.flow("web", "rcp", "A", "B", arrivals={"interval": "100 ms"}, size="10 packets")
    scenario.flow("long", "rcp", "A", "B")
    result = scenario.run()
    web, long = result.summary["flows"]
    took = result.completions["fct_s"].to_numpy() / (1.5 * 0.02 + 8 * 10_000 / 10e6)
    assert web["slowdown"]["p50"] == pytest.approx(np.median(took), rel=0.05)
    assert web["slowdown"]["mean"] == pytest.approx(took.mean())
    assert web["slowdown"]["p99"] > web["slowdown"]["p50"] > 1
    assert long["slowdown"] is None
    assert f"{web['slowdown']['p50']:.3g} times the least time at the median" in verdict(result.summary)


def test_the_reference_has_the_name_that_the_tables_show():
    scenario = Scenario("tcp", "2 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True, buffer="1 BDP")
    result = scenario.flow("x", "reno", "A", "B").run()
    assert result.summary["reference"] == "utility-optimal"
    assert flow_table(result.summary)[0][4] == "utility-optimal"
    assert "from utility-optimal at worst" in verdict(result.summary)


def test_a_link_that_nothing_came_to_has_an_empty_queue():
    scenario = {"links": [{"name": "a", "capacity_bps": 1e6}]}
    rows = {"link": ["a"], "queue_max_bytes": [0], "peak_loss": [0.0]}
    (row,) = summary._links(pl.DataFrame(rows), scenario, {"links": [{"name": "a", "queue_bytes": None}]})
    assert row["queue_bytes"] == {"mean": 0, "p50": 0, "p90": 0, "p99": 0, "max": 0}


def spines(**keys):
    scenario = Scenario("spines", "12 s", **keys)
    for spine in range(4):
        for leaf in ("A", "B"):
            scenario.link(leaf, f"s{spine}", "100 Mb/s", "1 ms", duplex=True)
    return scenario.flow("x", "jetmax", "A", "B", count=24)


def test_flows_on_different_paths_have_the_fair_rates_of_their_paths():
    """Each of four equal paths is divided among the flows whose hash chose it."""
    result = spines(routing="ecmp").run()
    flow = result.scenario["flows"][0]
    taken = [flow["paths"][path]["path"][0] for path in flow["plans"][0]["path_of"]]
    target = result.scenario["links"][0]["target_bps"]
    last = result.members.filter(pl.col("t") == pl.col("t").max()).sort("member")
    for first, rate in zip(taken, last["rate_bps"], strict=True):
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


def test_applications_are_compared_with_nothing_and_leave_the_rest_to_others():
    scenario = Scenario("applications", "12 s").link("A", "B", "10 Mb/s", "5 ms", duplex=True)
    scenario.flow("call", "jetmax", "A", "B", application={"rate": "2 Mb/s"}).flow("x", "jetmax", "A", "B", count=2)
    result = scenario.run()
    call, others = result.summary["flows"]
    assert call["rate_bps"] == pytest.approx(2e6, rel=0.02)
    assert call["distance"] is None
    assert others["share_bps"] == pytest.approx((result.scenario["links"][0]["target_bps"] - 2e6) / 2, rel=0.01)
    assert others["distance"] < 0.02
