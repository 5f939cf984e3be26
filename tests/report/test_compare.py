import dataclasses
import json
import re
import shutil

import polars as pl
import pytest
from conftest import network

from levelflow import Result, ScenarioError, _core
from levelflow.report import compare
from levelflow.style import GREY


@pytest.fixture
def measured(finished, tmp_path):
    """Returns the result in the format of `levelflow-net testbed`: names as texts, counters instead of a summary."""
    folder = tmp_path / "network"
    shutil.copytree(finished.path, folder)
    (folder / "summary.json").unlink()
    for name in ("flows", "links", "transfers"):
        path = folder / f"{name}.parquet"
        table = pl.read_parquet(path, glob=False)
        table.with_columns(pl.col(pl.Enum).cast(pl.String)).write_parquet(path)
    simulation = _core.Simulation(network(duration="20 s").to_json())
    simulation.advance(20.0, 10**9)
    (folder / "counters.json").write_text(simulation.summary())
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["network"] = {"form": "user", "scale": 1.0}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_counters_of_a_network_become_the_summary_of_a_simulation(finished, measured):
    result = Result.load(measured)
    assert result.summary == finished.summary
    assert result.flows.equals(finished.flows)
    assert result.flows.schema == finished.flows.schema
    assert json.loads((measured / "summary.json").read_text()) == finished.summary


def test_a_run_compared_with_itself_shows_no_difference(finished, measured):
    both = compare.beside([finished, Result.load(measured)])
    assert both.names == ("simulator", "network")
    for table in (compare.flow_table(both), compare.link_table(both)):
        rows = table[1]
        assert [row[1] for row in rows] == ["simulator", "network"] * 2
        assert all(one[2:] == other[2:] for one, other in zip(rows[::2], rows[1::2], strict=True))
    assert {row[4] for row in compare.flow_table(both)[1]} == {"1.000"}


def test_ratios_and_waits_are_those_of_the_summaries(finished):
    other = network(duration="20 s").set("link.1.capacity", "20 Mb/s").run()
    both = compare.beside([finished, other])
    one, two = both.names
    assert (one, two) == ("link.1.capacity 10 Mb/s", "link.1.capacity 20 Mb/s")
    first = compare.data(both)["flows"][0]
    assert first[two]["throughput_bps"] / first[one]["throughput_bps"] == pytest.approx(2, rel=0.02)
    assert float(compare.flow_table(both)[1][1][4]) == pytest.approx(2, rel=0.02)
    rtt = next(flow["rtt_s"]["p99"] for flow in other.summary["flows"] if flow["name"] == "x1")
    assert first[two]["rtt_excess_p99_s"] == pytest.approx(rtt - 0.1)


def short(**changes):
    scenario = network(duration="1 s", seed=changes.pop("seed", 1))
    for path, value in changes.items():
        scenario.set(path.replace("__", "."), value)
    return scenario.run()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"seed": 1}, {"seed": 2}, {"seed": 7}], ("seed 1", "seed 2", "seed 7")),
        (
            [{"flow__x1__law": law, "flow__x2__law": law} for law in ("rcp", "xcp")],
            ("rcp", "xcp"),
        ),
        ([{"flow__x2__law": law} for law in ("rcp", "xcp")], ("flow.x2.law rcp", "flow.x2.law xcp")),
        ([{}, {"flow__x1__stop": "0.5 s"}], ("flow.x1.stop default", "flow.x1.stop 0.5 s")),
        ([{}, {}], ("run 1", "run 2")),
    ],
)
def test_results_go_by_what_differs(changes, names):
    assert compare.beside([short(**change) for change in changes]).names == names


def test_equal_scenarios_go_by_their_directories(finished, tmp_path):
    other = dataclasses.replace(finished, path=tmp_path / "other")
    assert compare.beside([finished, other]).names == (finished.path.name, "other")


def test_flows_that_one_result_lacks_are_left_out_there(finished):
    other = network(duration="1 s")
    other.raw["flow"][1]["name"] = "x9"
    both = compare.beside([finished, other.run()])
    assert [row[0] for row in compare.flow_table(both)[1]] == ["x1", "", "x2", "x9"]
    assert [set(row) - {"name"} for row in compare.data(both)["flows"]] == [
        set(both.names),
        {both.names[0]},
        {both.names[1]},
    ]


def test_no_flow_in_common_is_refused_in_one_line(finished):
    other = network(duration="1 s")
    for flow, name in zip(other.raw["flow"], ("x8", "x9"), strict=True):
        flow["name"] = name
    with pytest.raises(ScenarioError, match="x1, x2 and x8, x9") as refused:
        compare.beside([finished, other.run()])
    assert "\n" not in str(refused.value)


def test_a_picture_has_a_panel_per_flow_and_a_curve_per_result(finished):
    both = compare.beside([finished, network(duration="20 s", seed=2).run(), network(duration="20 s", seed=3).run()])
    axes = compare.picture(both).axes
    assert [each.get_title("left") for each in axes] == ["x1", "x2", "queueing delay at R1->R2"]
    seeds = ["seed 1", "seed 2", "seed 3"]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == [*seeds, "thin: max-min fair"]
    for each in axes:
        curves = [line for line in each.get_lines() if line.get_color() != GREY]
        assert len({str(line._dash_pattern) for line in curves}) == len(curves) == 3  # dash patterns of the drawn lines
    fair = next(line for line in axes[0].get_lines() if line.get_color() == GREY)
    assert fair.get_ydata()[-1] == pytest.approx(5)


def test_a_flow_that_stops_has_its_fair_rate_too():
    runs = [network(duration="10 s").set("flow.x2.stop", "8 s").set("seed", seed).run() for seed in (1, 2)]
    axes = compare.picture(compare.beside(runs)).axes
    assert [axes.get_title("left") for axes in axes[:2]] == ["x1", "x2"]
    assert all(any(line.get_color() == GREY for line in each.get_lines()) for each in axes[:2])


def test_a_fair_rate_that_results_do_not_share_has_no_line(finished):
    other = network(duration="20 s")
    other.raw["link"][0]["capacity"] = "8 Mb/s"
    axes = compare.picture(compare.beside([finished, other.run()])).axes
    assert all(line.get_color() != GREY for line in axes[0].get_lines())


def test_tables_fit_100_columns(levelflow, finished):
    done = levelflow("compare", *[str(finished.path)] * 4, "--out", "x.png")
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= 100


def test_one_result_is_none_to_compare(levelflow, finished):
    done = levelflow("compare", str(finished.path))
    assert done.returncode == 2
    assert done.stderr == (
        "levelflow: invalid value for RESULT: needs at least two result directories; see 'levelflow compare --help'\n"
    )


def test_the_command_prints_tables_and_draws_a_picture(levelflow, finished, measured, tmp_path):
    done = levelflow("compare", str(finished.path), str(measured))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ +network +jetmax ", done.stdout, re.MULTILINE)
    assert "Jain's index" in done.stdout
    assert (measured / "compare.png").stat().st_size > 10_000
    done = levelflow("compare", str(finished.path), str(measured), "--json", "--out", str(tmp_path / "x.png"))
    assert [flow["name"] for flow in json.loads(done.stdout)["flows"]] == ["x1", "x2"]
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize("second", ["nowhere", "."])
def test_comparing_something_other_than_a_result_fails_with_one_line(levelflow, finished, second):
    done = levelflow("compare", str(finished.path), second)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "not a result directory" in done.stderr


def test_a_summary_of_an_older_version_is_refused(finished):
    old = dataclasses.replace(finished, summary={"jain": 1.0})
    with pytest.raises(ScenarioError, match="its summary is that of an older version; run it again"):
        compare.beside([finished, old])


@pytest.mark.parametrize("name", ["x", "x.doc"])
def test_a_picture_of_no_kind_gets_one_line(levelflow, finished, tmp_path, name):
    done = levelflow("compare", str(finished.path), str(finished.path), "--out", name)
    assert done.returncode == 2
    assert re.fullmatch(rf"levelflow: --out {name}: .*\bpng\b.*\n", done.stderr)
    assert list(tmp_path.glob("x*")) == []


def test_a_picture_that_cannot_be_written_gets_one_line(levelflow, finished):
    done = levelflow("compare", str(finished.path), str(finished.path), "--out", "/dev/null/x.png")
    assert done.returncode == 2
    assert done.stderr == "levelflow: --out /dev/null/x.png: not a directory\n"
