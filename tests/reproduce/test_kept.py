"""Tiers of figures (quick and full), results kept on disk, and directories of `levelflow reproduce`."""

import errno
import json

import pytest
from figures import LAWS, fake_result, folder_at

from levelflow import files
from levelflow.reproduce import figure, runner
from levelflow.reproduce.figure import CancelledError, Runs
from levelflow.reproduce.kept import Figures
from levelflow.reproduce.model import discover, load
from levelflow.results import TABLES, Result
from levelflow.scenario import Scenario

TIERS = """
def measure(figure):
    wrong = {} if figure.full else {}
    return {{"one": {{"half": 0.5, "wrong": wrong, "target": 1.0}}}}
"""


# **Invariant** (Claims): if the full and the quick tier disagree, the worse verdict counts.
@pytest.mark.parametrize(("full", "quick", "worse"), [(3, 1, "full"), (1, 3, "quick"), (1, 1, "full"), (3, 4, "full")])
def test_the_worse_verdict_of_both_tiers_counts(tmp_path, full, quick, worse):
    figure = runner.measure_tiers(load(folder_at(tmp_path, TIERS.format(full, quick))), Runs(1), LAWS)
    record = next(one for one in runner.scorecard([figure]) if one["check"] == 1)
    values = {"full": full, "quick": quick}
    assert (record["tier"], record["measured"]) == (worse, values[worse])
    assert record["verdict"] == ("reproduced" if max(full, quick) == 1 else "not reproduced")
    other = "full" if worse == "quick" else "quick"
    assert (record["other_tier"]["tier"], record["other_tier"]["measured"]) == (other, values[other])


@pytest.mark.parametrize(("full", "seeds"), [(False, 1), (True, 3)])
def test_with_full_every_seed_is_run_in_both_tiers(tmp_path, monkeypatch, full, seeds):
    monkeypatch.setattr(runner, "available", lambda: LAWS)
    count = "{'half': float(len(figure.seeds(3, quick=1))), 'wrong': 0.0, 'target': 0.0}"
    folder_at(tmp_path, f"def measure(figure):\n    return {{'one': {count}}} if figure.full else {{'one': {count}}}\n")
    (figure,) = runner.measure_all(discover(tmp_path / "papers"), full=full)
    half = figure.outcomes[0]
    assert {one.measured for one in (half, half.other) if one} == {float(seeds)}
    assert bool(half.other) == full


def test_a_figure_without_tiers_is_measured_once(tmp_path):
    figure = runner.measure_tiers(load(folder_at(tmp_path)), Runs(1), LAWS)
    assert all(outcome.other is None for outcome in figure.outcomes)
    assert {record["tier"] for record in runner.scorecard([figure])} == {"full"}


def test_measurements_are_kept_until_the_figure_or_the_build_changes(tmp_path):
    folder = folder_at(tmp_path, TIERS.format(3, 1))
    claim = load(folder)
    kept = Figures(tmp_path / "figures", "build", full=True)
    assert kept.load(claim) is None
    figure = runner.measure_tiers(claim, Runs(1), LAWS)
    kept.save(figure)
    assert kept.load(claim) == figure
    assert Figures(kept.folder, "another build", full=True).load(claim) is None
    assert Figures(kept.folder, "build", full=False).load(claim) is None
    (folder / "measure.py").write_text(TIERS.format(2, 1))
    assert kept.load(claim) is None
    kept.save(figure)
    next(kept.folder.iterdir()).write_text("{")
    assert kept.load(claim) is None


def test_a_run_that_resumes_measures_only_what_is_missing(tmp_path, checkout, monkeypatch):
    folder_at(tmp_path)
    assert checkout("--out", "out").exit_code == 1
    folder_at(tmp_path, where="papers/paper/other", entry="two")
    measured, again = [], runner.measure
    monkeypatch.setattr(runner, "measure", lambda claim, *a, **k: measured.append(claim.name) or again(claim, *a, **k))
    assert checkout("--out", "out", "--resume", "--json", "claims.json").exit_code == 1
    assert measured == ["paper/other"]
    assert len(json.loads((tmp_path / "claims.json").read_text())) == 6
    checkout("--out", "out")
    assert sorted(measured[1:]) == ["paper/figure", "paper/other"]


def test_results_that_are_kept_for_other_figures_do_not_grow_with_their_number(monkeypatch):
    monkeypatch.setattr(figure, "KEEP_BYTES", 100_000)
    runs = figure.Runs(1)
    for seed in range(1, 9):
        scenario = Scenario("n", "1 s", seed=seed).link("A", "B", "1 Mb/s", "1 ms", duplex=True)
        runs.get(scenario.flow("x", "jetmax", "A", "B").set("sample", "1 ms"))
    assert sum(figure._size(future) for future in runs._results.values()) <= 100_000
    assert len(runs._results) < 8


def test_runs_that_are_kept_in_a_folder_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(figure, "KEEP_BYTES", 0)
    made, run = [], Scenario.run
    monkeypatch.setattr(Scenario, "run", lambda self, **options: made.append(self.raw["seed"]) or run(self, **options))
    one, other = (
        Scenario("n", "2 s", seed=seed).link("A", "B", "1 Mb/s", "1 ms", duplex=True).flow("x", "jetmax", "A", "B")
        for seed in (1, 2)
    )
    in_memory = figure.Runs(1).get(one)
    runs = figure.Runs(1, folder=tmp_path)
    kept = [runs.get(one), runs.get(other), runs.get(one), figure.Runs(1, folder=tmp_path).get(one)]
    assert made == [1, 1, 2]
    for result in (kept[0], kept[2], kept[3]):
        assert (result.summary, result.manifest) == (in_memory.summary, in_memory.manifest)
        assert all(getattr(result, name).equals(getattr(in_memory, name)) for name in TABLES)


def test_a_run_that_was_stopped_is_made_again(tmp_path, monkeypatch):
    scenario = Scenario("n", "1000 s").link("A", "B", "1 Gb/s", "1 ms", duplex=True).flow("x", "jetmax", "A", "B")
    runs = figure.Runs(1, folder=tmp_path)
    monkeypatch.setattr(runs, "_check", lambda: figure.Runs._check(runs) if list(tmp_path.iterdir()) else runs.stop())
    with pytest.raises(CancelledError):
        runs.get(scenario)
    (left,) = tmp_path.iterdir()
    assert Result.load(left).manifest["status"] == "partial"
    again = figure.Runs(1, folder=tmp_path)
    monkeypatch.setattr(Scenario, "run", lambda *_a, **_o: pytest.fail("made again"))
    with pytest.raises(pytest.fail.Exception, match="made again"):
        again.get(scenario)


def test_runs_are_kept_until_all_is_measured(tmp_path, checkout, monkeypatch):
    monkeypatch.setattr(runner, "draw", lambda *_args: ())
    folder_at(
        tmp_path,
        """
from pathlib import Path
from levelflow.scenario import Scenario

def measure(figure):
    scenario = Scenario("n", "1 s").link("A", "B", "1 Mb/s", "1 ms", duplex=True).flow("x", "jetmax", "A", "B")
    figure.runs([scenario])
    kept = float(len(list(Path("out").glob(".runs-*/*/*/manifest.json"))))
    return {"one": dict.fromkeys(("half", "wrong", "target"), kept)}
""",
    )
    for options in ((), ("--full",)):
        checkout("--out", "out", "--json", "claims.json", *options)
        records = json.loads((tmp_path / "claims.json").read_text())
        assert {record["measured"] for record in records} - {None} == {1.0}
        assert not list((tmp_path / "out").glob(".runs-*"))


def test_a_full_disk_ends_the_command_with_one_line(tmp_path, checkout, monkeypatch):
    def run(self, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Scenario, "run", run)
    code = "def measure(figure):\n    figure.runs([Scenario('a', '1 s')])\n"
    folder_at(tmp_path, f"from levelflow.scenario import Scenario\n{code}")
    ended = checkout("--out", "out")
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    assert "cannot keep a run: No space left on device" in ended.stderr


def test_what_cannot_be_kept_of_a_figure_ends_the_command_with_one_line(tmp_path, checkout, monkeypatch):
    def save(self, _figure):
        raise OSError(errno.ENOSPC, "No space left on device", str(self.folder))

    monkeypatch.setattr(Figures, "save", save)
    folder_at(tmp_path)
    ended = checkout("--out", "out")
    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    assert "out/figures: cannot be written: No space left on device" in ended.stderr


def test_a_directory_that_another_process_measures_into_is_refused(tmp_path, checkout):
    folder_at(tmp_path)
    holder = files.lock(tmp_path / "out")
    refused = checkout("--out", "out")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "another process measures into it; --out names another directory" in refused.stderr
    holder.close()
    assert [checkout("--out", "out").exit_code for _ in range(2)] == [1, 1]


def test_a_change_applies_to_all_scenarios_of_a_figure_and_is_reported(tmp_path, checkout, monkeypatch):
    ran = []

    def run(self, out, **_options):
        ran.append(self.raw)
        out.mkdir(parents=True)
        return fake_result(self)

    monkeypatch.setattr(Scenario, "run", run)
    monkeypatch.setattr(runner, "draw", lambda *_args: ())
    folder_at(
        tmp_path,
        """
from levelflow.scenario import Scenario

def measure(figure):
    figure.runs([Scenario(name, "1 s", seed=seed) for seed, name in enumerate("ab")])
    return {"one": dict.fromkeys(("half", "wrong", "target"), 1.0)}
""",
    )
    assert checkout("--set", "law.jetmax.tau=0.3", "--out", "out").exit_code == 1
    assert [raw["law"] for raw in ran] == [{"jetmax": {"tau": 0.3}}] * 2
    assert "with law.jetmax.tau=0.3" in (tmp_path / "out/report.html").read_text()
    refused = checkout("--set", "law.jetmax.tau")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "needs PATH=VALUE" in refused.stderr


def test_hosts_and_clocks_of_figures_are_ideal_unless_they_say_otherwise():
    def delivered(**options):
        scenario = Scenario("n", "2 s", **options).link("A", "B", "1 Mb/s", "1 ms", duplex=True, buffer="9 packets")
        return figure.Runs(1).get(scenario.flow("x", "cubic", "A", "B")).flows["rtt_s"].to_list()

    assert delivered() == delivered(overhead="0 s") == delivered(seed=2)
    assert delivered(overhead="1 ms") != delivered(overhead="1 ms", seed=2)
