import json
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from conftest import COMMAND, network

from levelflow import Interrupted, Result, Scenario, ScenarioError, running
from levelflow.report import plots
from levelflow.results import TABLES


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_runs_leave_equal_bytes(tmp_path):
    for name in ("a", "b"):
        plots.write(network().run(out=tmp_path / name))
    first, second = files(tmp_path / "a"), files(tmp_path / "b")
    assert sorted(first) == sorted(second)
    assert len(first) == 9
    assert [name for name in first if first[name] != second[name]] == []


def test_threads_leave_equal_bytes(tmp_path):
    scenario = Scenario.named("parking-lot").set("duration", "5 s")
    ways = {threads: scenario.run(out=tmp_path / str(threads), threads=threads).division for threads in (1, 2)}
    assert ways[1] == "one thread"
    assert ways[2].startswith("2 threads, which exchange packets every ")
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_a_run_too_short_for_threads_has_one():
    assert network().run(threads=None).division.startswith("one thread")


def test_busy_neighbours_leave_equal_bytes(tmp_path):
    network().run(out=tmp_path / "alone")
    spin = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    neighbours = [subprocess.Popen(spin, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for neighbour in neighbours:
            assert neighbour.stdout.readline()
        network().run(out=tmp_path / "beside")
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.communicate()
    assert files(tmp_path / "alone") == files(tmp_path / "beside")


def test_another_seed_leaves_another_manifest(tmp_path):
    hashes = [network(seed=seed).run(out=tmp_path / str(seed)).manifest["scenario_hash"] for seed in (1, 2)]
    assert hashes[0] != hashes[1]


def test_a_result_in_memory_equals_the_one_on_disk(finished):
    memory = network(duration="20 s").run()
    loaded = Result.load(finished.path)
    for table in TABLES:
        assert getattr(memory, table).equals(getattr(loaded, table))
    assert memory.summary == loaded.summary
    assert memory.manifest == loaded.manifest


def test_flows_and_links_go_by_name(finished):
    assert finished.flows["flow"].unique().sort().to_list() == ["x1", "x2"]
    assert finished.links["link"].unique().sort().to_list() == ["R1->R2", "R2->R1"]
    as_text = pl.col("flow", "bottleneck").cast(pl.String)
    assert pl.read_parquet(finished.path / "flows.parquet").equals(finished.flows.with_columns(as_text))


def test_a_result_is_replaced_by_the_next_one_with_the_same_name(tmp_path):
    plots.write(network(duration="4 s").run(out=tmp_path / "r"))
    network(duration="2 s").run(out=tmp_path / "r")
    assert sorted(files(tmp_path / "r")) == sorted(
        ["flows.parquet", "links.parquet", "manifest.json", "members.parquet", "summary.json", "transfers.parquet"]
    )
    assert Result.load(tmp_path / "r").flows["t"].max() == pytest.approx(2)


def test_a_reader_never_mixes_two_results(tmp_path, monkeypatch):
    from levelflow import results

    place, read = tmp_path / "o", results._read_table
    first, second = network("4 s"), network("5 s")
    first.run(out=place)
    waiting = [second, first]

    def reads(path, parts):
        table = read(path, parts)
        if waiting and path.parent == place:
            waiting.pop(0).run(out=place)  # as if another process completes a run between two reads
        return table

    monkeypatch.setattr(results, "_read_table", reads)
    found = Result.load(place)
    assert not waiting
    assert found.manifest["simulated_s"] == 4
    last = {name: getattr(found, name)["t"].max() for name in ("flows", "links")}
    assert last == {"flows": 4, "links": 4}


@pytest.mark.parametrize("name", ["C:x", "z:", "C:"])
def test_a_name_that_begins_like_a_drive_is_rejected(name):
    with pytest.raises(ScenarioError, match="begins like a drive of Windows"):
        network().set("name", name).resolve()


def test_a_scenario_among_results_is_not_lost(tmp_path):
    folder = tmp_path / "r"
    network(duration="2 s").run(out=folder)
    mine = folder / "scenario.toml"
    mine.write_text(network(duration="1 s").to_toml())
    written = mine.read_text()
    with pytest.raises(ScenarioError, match="holds the scenario that is to run"):
        Scenario.load(mine).run(out=folder / ".." / "r")
    assert Result.load(folder).summary
    network(duration="1 s").run(out=folder)
    assert mine.read_text() == written


def test_the_scenario_that_a_testbed_wrote_goes_with_its_result(tmp_path):
    folder = tmp_path / "r"
    network(duration="2 s").run(out=folder)
    (folder / "scenario.toml").write_text("")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"network": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    network(duration="1 s").run(out=folder)
    assert not (folder / "scenario.toml").exists()


def test_loading_something_other_than_a_result_is_rejected(tmp_path):
    with pytest.raises(ScenarioError, match="not a result directory"):
        Result.load(tmp_path)


def test_a_progress_function_hears_the_share_done_and_may_stop_the_run(tmp_path):
    heard = []
    network().run(progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1

    def stop(_share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        network().run(out=tmp_path / "r", progress=stop)
    assert Result.load(tmp_path / "r").manifest["status"] == "partial"


def test_the_manifest_says_how_far_the_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FLUSH_EVERY_S", 0)
    seen = []

    def look(share):
        if share == 0 or not (tmp_path / "r/manifest.json").exists():
            return
        result = Result.load(tmp_path / "r")
        seen.append((result.flows["t"].max() or 0.0, result.manifest["simulated_s"]))

    network(duration="2000 s").run(out=tmp_path / "r", progress=look)
    assert len(seen) > 3
    for sampled, simulated in seen:
        assert sampled <= simulated < sampled + 0.2
    assert seen[-1][1] > 0


def simulated_s(folder):
    manifest = folder / "manifest.json"
    return json.loads(manifest.read_text())["simulated_s"] if manifest.exists() else 0


@pytest.fixture
def endless(tmp_path):
    """Yields a run that has written several parts of its tables and would continue for hours."""
    (tmp_path / "s.toml").write_text(network(duration="1000000 s").set("link.1.capacity", "1 Gb/s").to_toml())
    run = subprocess.Popen([COMMAND, "run", "s.toml", "--out", "r"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not simulated_s(tmp_path / "r"):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield run, tmp_path / "r"
    run.kill()
    run.wait()
    run.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_completes_its_files(endless, number):
    run, folder = endless
    run.send_signal(number)
    error = run.communicate(timeout=30)[1]
    assert run.returncode == 128 + number
    assert error.splitlines()[-1].startswith(f"levelflow: stopped by {number.name} at ")
    result = Result.load(folder)
    assert result.manifest["status"] == "partial"
    assert 0 < result.flows["t"].max() <= result.manifest["simulated_s"] < 1e6
    assert result.summary["flows"][0]["sent_packets"] > 0
    assert (folder / "flows.parquet").is_file()


# **Invariant** (Results): a killed run leaves readable tables and a manifest with the state `partial`. After a signal
# or Ctrl-C, a run completes its files before it exits. See `test_a_stopped_run_completes_its_files`.
def test_a_run_that_is_killed_leaves_files_that_can_be_read(endless):
    run, folder = endless
    run.kill()
    run.wait()
    result = Result.load(folder)
    assert result.manifest["status"] == "partial"
    assert result.manifest["simulated_s"] > 0
    assert result.flows["t"].max() > 0
    assert result.flows.height == pl.read_parquet(folder / "flows.parquet").height
    assert result.summary == {}


def test_a_signal_in_the_interpreter_becomes_an_exception_with_the_result(tmp_path):
    def strike(share):
        if share > 0:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted) as stopped:
        network(duration="100000 s").run(out=tmp_path / "r", progress=strike)
    assert stopped.value.signal == signal.SIGTERM
    assert stopped.value.result.manifest["status"] == "partial"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
