import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from levelflow import Scenario, ScenarioError, cli, ending, library
from levelflow.convergence import benchmark, driver, families, pictures, search, shrink, table, trial
from levelflow.convergence.network import Flow, Link, Network
from levelflow.theory.networks.assignment import assign
from levelflow.theory.networks.maxmin import bottlenecks, maxmin

FAILING = sorted((Path(search.__file__).parent / "failing").glob("*.toml"))
MAX_PACKET_HOPS = 1e6
DRAWN = [(family, seed) for family in families.FAMILIES for seed in range(6)]


def convergence(*words):
    return CliRunner().invoke(cli.app, ["convergence", *map(str, words)], standalone_mode=False)


def indexed(found):
    """Returns routes as indices of one-way links, and the capacities of these links."""
    ends = [way for link in found.links for way in (link.ends, link.ends[::-1])]
    index = {way: number for number, way in enumerate(ends)}
    return [[index[hop] for hop in flow.hops] for flow in found.staying], np.repeat(
        [link.mbps for link in found.links], 2
    )


@pytest.mark.parametrize(("family", "seed"), DRAWN)
def test_a_network_has_the_properties_of_its_family(family, seed):
    mode, found = families.network(family, seed)
    assert families.network(family, seed) == (mode, found)
    assert families.LINKS[0] <= len(found.links) <= families.LINKS[1]
    assert families.FLOWS[0] <= len(found.staying) <= families.FLOWS[1]
    assert families.ROUND_TRIP_S[0] - 1e-4 <= found.round_trip_s <= families.ROUND_TRIP_S[1] + 1e-4
    assert found.packet_hops <= families.MAX_PACKET_HOPS
    assert (mode == "at once") == all(flow.start_s == 0 and flow.stop_s is None for flow in found.flows)
    scenarios = [found.scenario("n", law, 1).raw for law in ("level", "rcp")]
    assert scenarios[0]["link"] == scenarios[1]["link"]
    assert [flow | {"law": ""} for flow in scenarios[0]["flow"]] == [
        flow | {"law": ""} for flow in scenarios[1]["flow"]
    ]


@pytest.mark.parametrize(("family", "seed"), DRAWN)
def test_rates_are_max_min_fair_and_levels_follow_the_order_of_bottlenecks(family, seed):
    _, found = families.network(family, seed)
    routes, capacities = indexed(found)
    rates, levels = found.rates_and_levels
    assert rates == pytest.approx(maxmin(routes, capacities).tolist())
    layers = len(assign(routes, bottlenecks(routes, capacities)).layers()) if family == "chain" else 1
    assert layers <= levels <= len(np.unique(np.round(rates, 9)))
    if family == "chain":
        assert levels == len(found.links)


def test_the_engine_uses_the_same_routes_and_round_trip_times():
    for family in ("tree", "mesh"):
        _, found = families.network(family, 2)
        resolved = found.scenario("n", "level", 1).resolve()
        for flow, drawn in zip(resolved["flows"], found.flows, strict=True):
            assert flow["path"] == [f"R{here}->R{there}" for here, there in drawn.hops]
        assert trial.step(resolved) == pytest.approx(found.step_s)


def test_a_random_round_trip_time_is_rejected():
    _, found = families.network("line", 0)
    scenario = found.scenario("n", "level", 1).set("flow.1.rtt", {"uniform": ["1 s", "3 s"]})
    with pytest.raises(ScenarioError, match=r"^flow \S+, rtt: is random; allowed: one value, which sets the step$"):
        trial.step(scenario.resolve())


def test_independent_links_are_one_level():
    links = tuple(Link((i, i + 1), 10.0 + i, 1.0) for i in range(5))
    apart = Network(links, tuple(Flow((i, i + 1)) for i in range(5)))
    assert apart.rates_and_levels == ([10.0, 11.0, 12.0, 13.0, 14.0], 1)
    dependent = replace(apart, flows=(*apart.flows, *(Flow((i, i + 1, i + 2)) for i in range(4))))
    assert dependent.levels > 1


def test_intervals_are_those_of_their_definitions():
    assert table.share(0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    assert table.share(10, 10) == pytest.approx((0.025**0.1, 1))
    low, high = table.share(3, 20)
    assert sum(math.comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(3, 21)) == pytest.approx(0.025)
    assert sum(math.comb(20, k) * high**k * (1 - high) ** (20 - k) for k in range(4)) == pytest.approx(0.025)
    draw = np.random.default_rng(5)
    intervals = [table.median(draw.exponential(size=15)) for _ in range(2000)]
    hits = [low <= np.log(2) <= high for _, low, high in intervals]
    assert 0.95 <= np.mean(hits) <= 0.98
    assert table.median([1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("seed", range(3))
def test_level_settles_if_bottlenecks_depend_on_each_other(seed):
    record = benchmark.run(("level", "chain", seed, ()), lambda _: None)
    assert record.outcome.settles
    assert record.outcome.worst < 0.02
    assert record.outcome.drops == 0
    assert record.steps / record.levels < 10


def test_an_interrupted_comparison_continues(tmp_path):
    file = tmp_path / "runs.jsonl"
    words = ["run", "level", "rcp", "--family", "chain", "--networks", 2, "--workers", 1, "--json", file]
    done = convergence(*words)
    assert done.exit_code == 0, done.output
    lines = file.read_text().splitlines()
    assert len(lines) == 4
    kept = json.loads(lines[0]) | {"links": 77}
    file.write_text(json.dumps(kept) + "\n" + lines[1] + "\n" + lines[2][:40])
    again = convergence(*words)
    after = file.read_text().splitlines()
    assert after[0] == json.dumps(kept)
    assert after[1] == lines[1]
    assert sorted(after[2:]) == sorted(lines[2:])
    assert again.stdout == done.stdout
    assert "| chain | level | 2 of 2 (16 to 100 %) |" in done.stdout


def test_pictures_are_drawn(tmp_path):
    found = [benchmark.run((law, "chain", 0, ()), lambda _: None) for law in ("level", "rcp")]
    figure = pictures.settled(found)
    assert [text.get_text().split("\n")[0] for text in figure.axes[0].texts] == ["100 %", "100 %", "0 %", "0 %"]
    assert all(path.stat().st_size > 1000 for path in pictures.draw(found, tmp_path))


def test_settling_is_evaluated_from_means_over_steps():
    _, found = families.network("chain", 0)
    result = found.scenario("n", "level", 1).run()
    flows, shares = result.flows, {row["name"]: row["share_bps"] for row in result.summary["flows"]}
    start, end = result.summary["window_s"]
    own = trial.judge(result)
    of_first = pl.col("flow").cast(pl.String) == "x1"
    for length, away in ((1.0, 0.1), (0.06, 0.01)):  # a change of 0.06 s has little effect on means over 100 packets
        late = of_first & pl.col("t").is_between(start + 1.21, start + 1.21 + length)
        swings = pl.when(late).then(shares["x1"] * 1.1).otherwise("throughput_bps")
        worse = trial.judge(replace(result, flows=flows.with_columns(throughput_bps=swings)))
        assert (worse.settling_s is None) == (away > 0.05)
        assert worse.worst == pytest.approx(away, abs=0.011)
    assert own.settling_s < start < end
    late = flows.with_columns(
        throughput_bps=pl.when(pl.col("t").is_between(start - 1.01, start - 0.99)).then(0.0).otherwise("throughput_bps")
    )
    assert trial.judge(replace(result, flows=late)).settling_s == pytest.approx(start - 1.0, abs=own.step_s)


@pytest.mark.parametrize(("length", "counts"), [(0.02, False), (0.89, False), (0.91, True)])
def test_a_short_last_sample_is_ignored(length, counts):
    _, found = families.network("chain", 0)
    scenario = found.scenario("n", "level", 1)
    sample_s = scenario.resolve()["sample_s"]
    samples = round(found.duration_s / sample_s)
    result = scenario.set("duration", f"{(samples + length) * sample_s:.9f} s").run()
    idle = pl.when(pl.col("t") == pl.col("t").max()).then(0.0).otherwise("throughput_bps")
    outcome = trial.judge(replace(result, flows=result.flows.with_columns(throughput_bps=idle)))
    assert outcome.settles != counts


def test_laws_are_those_whose_routers_write_headers():
    known = {"jetmax", "level", "emkc", "emkc_avq", "rcp", "maxnet", "xcp", "kelly"}
    assert known <= set(trial.laws())
    assert not {law["name"] for law in library.laws() if law["signal"] == "loss"} & set(trial.laws())


def planted(found):
    """Returns a failed outcome if two flows cross a link below 5 Mb/s and one of these flows crosses another link."""
    slow = [{link.ends, link.ends[::-1]} for link in found.links if link.mbps < 5]
    meeting = [[flow for flow in found.flows if ways & set(flow.hops)] for ways in slow]
    bad = any(len(flows) > 1 and max(len(flow.route) for flow in flows) > 2 for flows in meeting)
    return trial.Outcome("max-min fair", 0.1, settling_s=None if bad else 1.0, distance=0.5 if bad else 0.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_search_finds_a_failure_and_shrinks_it_to_the_smallest_network(seed):
    found = search.Search("rcp")
    runs = driver.Driver(planted, runs=4000, workers=1)
    runs.execute(found.run(seed))
    assert 3990 < len(runs.known) <= 4000
    assert found.failures > 0
    least, _ = found.smallest["rates"]
    assert (len(least.flows), len(least.links)) == (2, 2)
    assert sum(len(flow.hops) for flow in least.flows) == 3
    assert all(flow.start_s == 0 for flow in least.flows)
    assert {link.ms for link in least.links} == {shrink.PLAIN_MS}
    assert shrink.PLAIN_MBPS in {link.mbps for link in least.links}
    assert not any(shrink.size(other) < shrink.size(least) and search_fails(other) for other in shrink.smaller(least))


def search_fails(other):
    return trial.failure("rcp", planted(other)) is not None


def test_a_search_is_the_same_for_a_seed():
    both = [driver.Driver(planted, runs=500, workers=count) for count in (1, 2)]
    for one in both:
        one.execute(search.Search("rcp").run(7))
    assert both[0].known == both[1].known


def test_failures_are_classified():
    settled = trial.Outcome("max-min fair", 0.1, settling_s=1.0, worst=0.04, distance=0.01, drops=3)
    assert [trial.failure(law, settled) for law in ("jetmax", "level", "rcp")] == ["drops", "drops", None]
    assert trial.failure("jetmax", replace(settled, drops=0)) is None
    assert trial.failure("jetmax", replace(settled, settling_s=None, worst=0.2)) == "swings"
    assert trial.failure("rcp", replace(settled, settling_s=None, worst=0.2, distance=0.1)) == "rates"
    assert trial.failure("rcp", trial.Outcome("max-min fair", 0.1, runaway=True)) == "rates"


def test_routes_of_the_search_are_along_its_links():
    draw = np.random.default_rng(3)
    for _ in range(50):
        found = search.start(draw)
        for _ in range(5):
            found = search.changed(draw, found)
        ends = {frozenset(link.ends) for link in found.links}
        assert all({frozenset(hop) for hop in pairwise(flow.route)} <= ends for flow in found.flows)
        assert found.scenario("n", "level", 1).resolve()


@pytest.mark.parametrize("path", FAILING, ids=lambda path: path.stem)
def test_the_smallest_networks_still_fail_as_recorded(path):
    scenario = Scenario.load(path)
    law, _, kind = path.stem.rpartition("-")
    outcome = trial.attempt(scenario, MAX_PACKET_HOPS)
    assert trial.failure(law, outcome) == kind
    assert scenario.raw["description"] == f"{law}: {search.reason(outcome)}"


def test_a_network_of_the_benchmark_is_shrunk():
    found = search.Search("rcp")
    mode, given = families.network("mesh", 5)
    slow = replace(given, links=tuple(replace(link, mbps=4.0) for link in given.links))
    driver.Driver(planted, runs=3000, workers=1).execute(found.shrink(slow))
    least, _ = found.smallest["rates"]
    assert (mode, len(least.flows), len(least.links)) == ("come and go", 2, 2)
    assert all(flow.start_s == 0 and flow.stop_s is None for flow in least.flows)


def test_a_run_with_far_more_events_than_expected_is_stopped():
    _, found = families.network("line", 0)
    outcome = trial.attempt(found.scenario("n", "kelly", 1), 0.0)
    assert outcome.runaway
    assert not outcome.settles
    assert outcome.reference == "utility-optimal"


def test_a_stopped_search_stops_its_runs():
    def work(job, progress):
        progress(0.0)
        if job == 1:
            raise KeyboardInterrupt
        return job

    with pytest.raises(KeyboardInterrupt):
        list(benchmark.in_parallel(2, work, [1, 2, 3]))


def test_a_flow_may_end_immediately():
    _, found = families.network("lot", 2067)
    brief = min((flow for flow in found.flows if flow.stop_s is not None), key=lambda flow: flow.stop_s - flow.start_s)
    assert brief.stop_s - brief.start_s < 1e-5
    found.scenario("brief", "level", 1).resolve()


def test_a_scenario_change_is_part_of_the_key_of_a_run(tmp_path):
    file = tmp_path / "runs.jsonl"
    words = ["run", "jetmax", "--family", "chain", "--networks", 1, "--workers", 1, "--json", file]
    for changes in ([], ["--set", "law.jetmax.tau=0.3"], []):
        assert convergence(*words, *changes).exit_code == 0
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert (first["changes"], second["changes"]) == ([], [["law.jetmax.tau", 0.3]])
    assert first["outcome"] != second["outcome"]


def test_ctrl_c_keeps_the_smallest_networks(tmp_path, monkeypatch):
    made = []

    def trial_of(law, seed):
        def run(found):
            made.append(found)
            if len(made) > 300:
                raise KeyboardInterrupt
            return planted(found)

        return run

    monkeypatch.setattr(driver, "trial", trial_of)
    monkeypatch.setattr(ending, "_received", [])  # signals of earlier tests in this process
    done = convergence("search", "rcp", "--workers", 1, "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr == "levelflow: interrupted\n"
    assert Scenario.load(tmp_path / "rcp-rates.toml").resolve()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["run", "jetmix"], "no law 'jetmix'; did you mean 'jetmax'?"),
        (["run", "reno"], "no law 'reno'; "),
        (["run", "--family", "lines"], "no family 'lines'; did you mean 'line'?"),
        (
            ["search", "level", "--start", "ties"],
            "--start 'ties': needs a family and a seed, as in ties-5; families: line",
        ),
        (["search", "level", "--start", "tie-5"], "--start 'tie-5': needs a family and a seed"),
        (["search", "cubic"], "no law 'cubic'; "),
        (["run", "rcp", "--json", "nowhere/runs.jsonl"], "--json nowhere/runs.jsonl: no such directory"),
        (["run", "rcp", "--out", __file__], f"--out {__file__}: file exists"),
        (["run", "rcp", "--json", __file__], f"--json {__file__}: contains lines that are not runs"),
    ],
)
def test_bad_input_is_one_line(words, line):
    done = convergence(*words)
    assert isinstance(done.exception, ScenarioError)
    assert str(done.exception).startswith(line)
    assert "\n" not in str(done.exception)
