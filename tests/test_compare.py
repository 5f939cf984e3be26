import dataclasses
import json
import re
import shutil

import polars as pl
import pytest
from conftest import network

from levelflow import Result, ScenarioError, _core
from levelflow.report import compare


@pytest.fixture
def measured(finished, tmp_path):
    """The same run as `levelflow-net testbed` leaves it: names as texts, counters instead of a summary."""
    folder = tmp_path / "network"
    shutil.copytree(finished.path, folder)
    (folder / "summary.json").unlink()
    for name in ("flows", "links", "completions"):
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


def test_a_run_beside_itself_differs_in_nothing(finished, measured):
    both = compare.pair(finished, Result.load(measured))
    assert both.names == ("simulator", "network")
    for row in compare.flow_table(both)[1]:
        assert row[4] == "1.000"
        assert [row[2], *row[5::2]] == [row[3], *row[6::2]]
    for row in compare.link_table(both)[1]:
        assert row[1::2] == row[2::2]


def test_ratios_and_waits_are_those_of_the_summaries(finished):
    other = network(duration="20 s").set("link.1.capacity", "20 Mb/s").run()
    both = compare.pair(finished, other)
    assert both.names == ("simulator 1", "simulator 2")
    first = compare.data(both)["flows"][0]
    assert first["simulator 2"]["delivered_bps"] / first["simulator 1"]["delivered_bps"] == pytest.approx(2, rel=0.02)
    rtt = next(flow["rtt_s"]["p99"] for flow in other.summary["flows"] if flow["name"] == "x1")
    assert first["simulator 2"]["wait_p99_s"] == pytest.approx(rtt - 0.1)


def test_two_simulations_go_by_their_directories(finished, tmp_path):
    other = dataclasses.replace(finished, path=tmp_path / "other")
    assert compare.pair(finished, other).names == (finished.path.name, "other")


def test_different_flows_are_refused_in_one_line(finished):
    other = network(duration="1 s")
    other.raw["flow"][1]["name"] = "x9"
    with pytest.raises(ScenarioError, match="x1, x2 and x1, x9") as refused:
        compare.pair(finished, other.run())
    assert "\n" not in str(refused.value)


def test_the_command_prints_tables_and_draws_a_picture(levelflow, finished, measured, tmp_path):
    done = levelflow("compare", str(finished.path), str(measured))
    assert done.returncode == 0, done.stderr
    assert "network/simulator" in done.stdout
    assert "Jain's index" in done.stdout
    assert (measured / "compare.png").stat().st_size > 10_000
    done = levelflow("compare", str(finished.path), str(measured), "--json", "--out", str(tmp_path / "x.png"))
    assert [flow["name"] for flow in json.loads(done.stdout)["flows"]] == ["x1", "x2"]
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize("second", ["nowhere", "."])
def test_what_is_no_result_gets_one_line(levelflow, finished, second):
    done = levelflow("compare", str(finished.path), second)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "not a result directory" in done.stderr


def test_a_summary_of_an_older_version_is_refused(finished):
    old = dataclasses.replace(finished, summary={"jain": 1.0})
    with pytest.raises(ScenarioError, match="its summary is that of an older version; run it again"):
        compare.pair(finished, old)


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
