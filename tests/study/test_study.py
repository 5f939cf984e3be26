"""`levelflow study`: designs, intervals, continuation of studies, schedulers, invalid input."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tools import CHECKOUT

from levelflow import ScenarioError, Study, library
from levelflow.measure.intervals import interval, mser5
from levelflow.study import pools, task
from levelflow.study.design import Axis, Design

LAWS = {"path": "flow.*.law", "values": ["rcp", "cubic"]}
SHORT = {"path": "duration", "values": ["200 ms"]}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def study(replications=3, **tables):
    return Study({"study": {"scenario": "web-search", "replications": replications}, "axis": [LAWS, SHORT], **tables})


def test_a_grid_has_each_combination_once():
    asked = study(axis=[LAWS, {"path": "duration", "from": "1 s", "to": "100 s", "steps": 3, "scale": "log"}])
    points = [tuple(asked.plan.design.point(number)[0].values()) for number in range(6)]
    assert points == [(law, t) for law in ("rcp", "cubic") for t in (1.0, 10.0, 100.0)]


def test_each_stratum_of_a_latin_hypercube_has_one_point():
    ranges = tuple(Axis(name, paths=(name,), ends=(0.0, 1.0, "")) for name in "xyz")
    drawn = [Design(ranges, "latin-hypercube", 50, 7).point(number)[0].values() for number in range(50)]
    for column in zip(*drawn, strict=True):
        assert sorted(int(50 * value) for value in column) == list(range(50))


@pytest.mark.parametrize("count", [2, 3, 4, 12, 13, 200])
def test_intervals_are_those_of_student(count):
    values = np.random.default_rng(1).normal(size=count)
    low, high = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    found = interval(values)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))


def test_intervals_cover_the_mean_with_their_probability():
    draws = np.random.default_rng(2).normal(5, 2, (2000, 6))
    hits = sum(abs(one.mean - 5) <= one.half for one in map(interval, draws))
    assert stats.binomtest(hits, 2000, 0.95).pvalue > 1e-3


def test_a_warm_up_is_found():
    noise = np.random.default_rng(3).normal(size=500)
    assert 20 <= mser5(noise + 10 * np.exp(-np.arange(500) / 10)) <= 80


def test_a_repeated_study_executes_no_run_and_gives_the_same_rows(tmp_path, monkeypatch):
    first = study().run(tmp_path / "a")
    assert first.rows.filter(of="run", metric="transfers").height == 6
    monkeypatch.setattr(pools.Processes, "submit", None)
    assert study().run(tmp_path / "a").rows.equals(first.rows)
    assert study().run(tmp_path / "b").rows.equals(first.rows)  # from the cache


def test_threads_and_processes_give_the_same_rows(tmp_path):
    one = study().run(tmp_path / "a", scheduler="threads", workers=1, cache=False)
    two = study().run(tmp_path / "b", workers=2, cache=False)
    assert one.rows.equals(two.rows)
    assert not one.failures


def test_dask_with_a_worker_killed_gives_the_same_rows(tmp_path):
    distributed = pytest.importorskip("distributed")
    serial = study(20).run(tmp_path / "a", scheduler="threads", workers=1, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            killed = []

            def kill(done, _of):
                if done > 5 and not killed:
                    killed.append(next(iter(cluster.workers.values())).pid)
                    os.kill(killed[0], signal.SIGKILL)

            found = study(20).run(tmp_path / "b", scheduler=cluster.scheduler_address, cache=False, progress=kill)
    assert killed
    assert found.rows.equals(serial.rows)
    assert not found.failures


def test_replications_stop_at_the_wanted_width(tmp_path):
    rule = {"at_least": 3, "at_most": 40, "until": {"metric": "throughput_bps", "width": "30 %"}}
    found = study(rule, axis=[SHORT]).run(tmp_path / "a").summary("throughput_bps").row(0, named=True)
    assert 3 <= found["runs"] <= 40
    assert found["half"] <= 0.3 * found["mean"] or found["runs"] == 40


def test_differences_on_common_random_numbers_are_narrower(tmp_path):
    found = study(8, axis=[LAWS, {"path": "duration", "values": ["1 s"]}]).run(tmp_path / "a")
    paired = found.compare("slowdown_mean", "law", "cubic", "rcp")
    halves = found.summary("throughput_bps")["half"]
    difference = found.compare("throughput_bps", "law", "cubic", "rcp")
    assert paired.runs == difference.runs == 8
    assert difference.half < np.hypot(*halves)


def test_an_invalid_run_is_listed(tmp_path):
    both = [{"path": "flow.1.start", "values": ["0 s"]}, {"path": "link.1.delay", "values": ["5 ms"]}]
    asked = study(1, axis=[SHORT, *both])
    asked.plan.design.axes[2].changes[0]["link.1.delay"] = "no delay"
    found = asked.run(tmp_path / "a")
    assert ["no delay" in one["why"] for one in found.failures] == [True]
    assert json.loads((tmp_path / "a" / "failures.json").read_text()) == list(found.failures)


def test_another_directory_is_not_overwritten(tmp_path):
    study(1).run(tmp_path / "a")
    with pytest.raises(ScenarioError, match="contains another study"):
        study(1, axis=[SHORT]).run(tmp_path / "a")
    assert study(1, axis=[SHORT]).run(tmp_path / "a", replace=True).table.height == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ScenarioError, match="files that are not a study"):
        study(1).run(tmp_path / "mine", replace=True)


def test_seeds_with_equal_runs_are_reported(tmp_path):
    still = [{"path": path, "values": ["0 s"]} for path in ("overhead", "flow.*.start")]
    tables = {"study": {"scenario": "pair", "replications": 2}, "axis": still}
    equal = Study(tables).run(tmp_path / "a")
    assert equal.distinct.height == 1
    assert equal.summary("throughput_bps")["runs"].to_list() == [1]
    assert any("all seeds give the same run" in text for text in equal.warnings)
    other = study(2).run(tmp_path / "b")
    assert other.distinct.height == other.table.height
    assert not any("seeds" in text for text in other.warnings)


BAD = {
    "study = 3": "needs a table",
    "[studdy]": "did you mean 'study'",
    'name = "mine"\n[[link]]\nfrom = "A"': "is a scenario, not a study",
    "[study]": "study, scenario: is None",
    '[study]\nscenario = "web-serch"': "did you mean 'web-search'",
    '[study]\nscenario = "web-search"\nreplications = 0': "needs a whole number",
    '[study]\nscenario = "web-search"\nreplications = 10_000_000': "1 to 1000000",
    '[study]\nscenario = "web-search"\n[[axis]]\npath = "flow.*.lw"\nvalues = ["rcp"]': "law",
    '[study]\nscenario = "web-search"\n[[axis]]\npath = "flow.*.law"\nvalues = ["rpc"]': "rcp",
    '[study]\nscenario = "web-search"\n[[axis]]\npath = "seed"\nvalues = []': "empty",
    '[study]\nscenario = "web-search"\n[[axis]]\npath = "duration"\nfrom = "2 s"\nto = "1 s"\nsteps = 3': "not a range",
    '[study]\nscenario = "web-search"\n[[axis]]\npath = "duration"\nfrom = "1 s"\nto = "2 s"': "needs steps",
    '[study]\nscenario = "web-search"\n[design]\nkind = "gird"': "did you mean 'grid'",
    '[study]\nscenario = "web-search"\n[design]\nkind = "random"\npoints = 5': "random needs an axis with from and to",
    '[study]\nscenario = "web-search"\n[measure]\nmetrics = ["throughput"]': "did you mean 'throughput_bps'",
    '[study]\nscenario = "web-search"\n[measure]\nwarm_up = "120 %"': "percentage of the run",
    '[study]\nscenario = "web-search"\nreplications = 100\n[[axis]]\npath = "duration"\n'
    'from = "1 s"\nto = "2 s"\nsteps = 100000': "10,000,000 runs; at most 1,000,000",
    "[study": "is not valid TOML",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_input_is_one_line_and_exit_2(text, tmp_path, levelflow):
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    done = levelflow("study", "bad.toml")
    assert done.returncode == 2
    assert BAD[text] in done.stderr
    assert done.stderr.startswith("levelflow: bad.toml: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_all_mistakes_of_a_study_are_reported_with_their_lines(tmp_path, levelflow):
    mistakes = {
        "[study]": None,
        'scenario = "web-search"': None,
        "replications = 0": "study, replications: is 0; needs a whole number",
        "seed = -1": "study, seed: is -1",
        "nonsense = 3": 'study: "nonsense" is not known here',
        "[[axis]]": None,
        'path = "flow.*.law"': None,
        "values = []": "axis 1, values: is empty",
        "[[axis]] # 2": None,
        'path = "duration"': None,
        'from = "2 s"': "axis 2, from: 2 s to 1 s is not a range",
        'to = "1 s"': None,
        "[design]": None,
        'kind = "gird"': "design, kind: no kind 'gird'; did you mean 'grid'?",
        "[measure]": None,
        'metrics = ["throughput"]': "measure, metrics: no metric 'throughput'",
        'warm_up = "20"': "measure, warm_up: is '20'",
        "[other]": 'top level: "other" is not known here',
    }
    (tmp_path / "bad.toml").write_text("\n".join(mistakes), encoding="utf-8")
    done = levelflow("study", "bad.toml")
    assert done.returncode == 2
    told = done.stderr.splitlines()
    expected = [(line, text) for line, text in enumerate(mistakes.values(), 1) if text]
    for line, text in expected:
        assert any(f"bad.toml: line {line}, {text}" in one for one in told), (line, text, told)
    assert len(told) == len(expected)


def refusal(tmp_path, levelflow, *lines):
    """Returns the errors of a rejected study, one line per mistake, without the file name."""
    (tmp_path / "bad.toml").write_text("\n".join(lines), encoding="utf-8")
    done = levelflow("study", "bad.toml")
    assert done.returncode == 2, done.stderr
    told = done.stderr.splitlines()
    assert all(one.startswith("levelflow: bad.toml: ") for one in told), told
    return [one.removeprefix("levelflow: bad.toml: ") for one in told]


def axis(path, values):
    return f'[[axis]]\npath = "{path}"\nvalues = {values}'


STUDY = '[study]\nscenario = "pair"'


def test_each_axis_has_its_own_mistake(tmp_path, levelflow):
    axes = axis("flow.*.lw", ["rcp"]), axis("duration", ["1 kg"]), axis("seed", [1, 2])
    first, second = refusal(tmp_path, levelflow, STUDY, *axes)
    assert first.startswith("line 3, axis 1: ")
    assert '"lw" is not known here' in first
    assert second.startswith("line 6, axis 2: ")
    assert "kg" in second


def test_a_mistake_of_the_scenario_is_not_a_mistake_of_an_axis(tmp_path, levelflow):
    (tmp_path / "own.toml").write_text('duration = "1 kg"', encoding="utf-8")
    study = '[study]\nscenario = "own.toml"', axis("seed", [1, 2]), axis("sample", ["1 s"])
    [*told] = refusal(tmp_path, levelflow, *study)
    assert not [one for one in told if "axis" in one]
    assert len([one for one in told if "1 kg" in one]) == 1


@pytest.mark.parametrize(
    ("lines", "mistakes"),
    [
        (
            [STUDY, '[[axis]]\npath = "duration"\nvalues = ["1 s"]\nscale = ["log"]'],
            ["line 6, axis 1, scale: is ['log']"],
        ),
        ([STUDY, '[measure]\nmetrics = [["x"]]'], ["line 4, measure, metrics: no metric ['x']"]),
        ([STUDY, axis("scenario", ["two-flows"])], ["line 3, axis 1: scenario is not a path"]),
        ([STUDY, '[[axis]]\nname = "n"\nset = [{ scenario = [1] }]'], ["line 3, axis 1: scenario is not a path"]),
        ([STUDY, "seed = 0x" + "f" * 5000], ["is not valid TOML"]),
        ([STUDY, "seed = " + "[" * 3000], ["is not valid TOML"]),
        ([STUDY, "replications = { until = 3 }"], ["line 3, study, replications, until: is 3"]),
        ([STUDY, "[axis]", 'path = "seed"'], ["line 3, axis: is {'path': 'seed'}; needs a list"]),
        (["[study]", "seed = -1", "[desgin]"], ["line 3, top level", "line 1, study, scenario", "line 2, study, seed"]),
        ([STUDY, '[design]\nkind = "gird"\nseed = -1'], ["line 4, design, kind", "line 5, design, seed"]),
        (["[study]", f'scenario = "{"a" * 300}"', "seed = -1"], ["line 2, study, scenario: ", "line 3, study, seed"]),
        ([STUDY, axis("seed", [1]), axis("seed", [2])], ["line 6, axis 2: the name 'seed' is not unique"]),
        ([STUDY, '"a\\nb" = 1'], ['line 1, study: "a\\nb" is not known here']),
        (
            [STUDY, '[[axis]]\npath = "duration"\nfrom = "1 s"\nto = "2 s"\nname = "1"'],
            ["line 3, axis 1: a grid needs steps"],
        ),
    ],
)
def test_mistakes_of_any_kind_are_reported_with_their_lines(lines, mistakes, tmp_path, levelflow):
    told = refusal(tmp_path, levelflow, *lines)
    assert len(told) == len(mistakes), told
    assert all(any(one.startswith(mistake) for one in told) for mistake in mistakes), told


def test_an_unknown_scheduler_is_rejected(tmp_path):
    with pytest.raises(ScenarioError, match="needs processes, threads or"):
        study(1).run(tmp_path / "a", scheduler="slurm")


def test_the_command_prints_means_with_intervals(tmp_path, levelflow):
    text = '[study]\nscenario = "web-search"\nreplications = 3\n[[axis]]\npath = "duration"\nvalues = ["200 ms"]\n'
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    done = levelflow("study", "one.toml")
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout
    assert isinstance(pl.read_parquet(tmp_path / "results/one/runs", hive_partitioning=True), pl.DataFrame)


def counted(monkeypatch):
    """Returns a list to which each later run in a thread is appended."""
    executed = []
    submit = pools.Threads.submit
    monkeypatch.setattr(pools.Threads, "submit", lambda pool, task: (executed.append(task.run), submit(pool, task)))
    return executed


def test_ctrl_c_stores_the_finished_runs(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        study(20).run(
            tmp_path / "a",
            scheduler="threads",
            workers=1,
            cache=False,
            progress=lambda done, _of: signal.raise_signal(signal.SIGINT) if done == 5 else None,
        )
    assert signal.getsignal(signal.SIGINT) is before
    assert json.loads((tmp_path / "a" / "failures.json").read_text()) == []
    kept = pl.read_parquet(tmp_path / "a/runs", hive_partitioning=True).select("point", "replication").unique()
    assert kept.height == 5
    executed = counted(monkeypatch)
    again = study(20).run(tmp_path / "a", scheduler="threads", cache=False)
    assert len(executed) == 35
    assert set(executed).isdisjoint(kept.rows())
    assert again.table.height == 40


def test_a_killed_study_continues_with_the_missing_runs(tmp_path, monkeypatch):
    """Runs that are stored before SIGKILL are not repeated, and all rows equal those of an undisturbed study."""
    tables = {"study": {"scenario": "web-search", "replications": 40}, "axis": [LAWS, SHORT]}
    (tmp_path / "study.json").write_text(json.dumps(tables))
    program = (
        "import json, sys; from levelflow import Study;"
        f"Study(json.load(open({str(tmp_path / 'study.json')!r}))).run({str(tmp_path / 'a')!r}, workers=1, cache=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    while not list((tmp_path / "a").glob("runs/*/*.parquet")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = pl.read_parquet(tmp_path / "a/runs", hive_partitioning=True).select("point", "replication").n_unique()
    assert 0 < kept <= 80
    executed = counted(monkeypatch)
    progress = []
    found = Study(tables).run(
        tmp_path / "a", scheduler="threads", cache=False, progress=lambda done, of: progress.append((done, of))
    )
    assert len(executed) == 80 - kept
    assert progress[-1] == (80, 80)
    assert found.rows.equals(Study(tables).run(tmp_path / "b", cache=False).rows)


def test_a_run_is_repeated_if_its_process_dies(tmp_path, monkeypatch):
    start, left = pools.Processes._start, [1]

    def dying(self):
        process = start(self)
        if left and left.pop():
            process.kill()
        return process

    monkeypatch.setattr(pools.Processes, "_start", dying)
    found = study(2).run(tmp_path / "a", workers=1, cache=False)
    assert not left
    assert not found.failures
    assert found.table.height == 4


def test_utilisation_uses_the_capacity_of_a_changing_link_after_the_warm_up(tmp_path):
    down = {"path": "link.1.changes", "values": [[{"at": "1 s", "capacity": "2 Mb/s"}]]}
    tables = {"study": {"scenario": "two-flows"}, "axis": [down, {"path": "duration", "values": ["10 s"]}]}
    found = Study(tables | {"measure": {"warm_up": "50 %"}}).run(tmp_path, cache=False).rows
    values = found.filter(pl.col("of") == "run").select("metric", "value").rows()
    metrics = dict(values)
    assert (
        0.9 < metrics["utilisation"] <= 1.0001
    )  # relative to 2 Mb/s; relative to the initial 10 Mb/s, it would be 0.2
    assert metrics["queue_p50_ms"] <= metrics["queue_p99_ms"] <= metrics["queue_max_ms"]


def test_scenarios_and_set_options_are_axes(tmp_path):
    both = {"name": "line", "set": [{"link.1.delay": "1 ms", "duration": "1 s"}, {"link.1.delay": "9 ms"}]}
    tables = {"study": {"scenario": ["pair", "two-flows"]}, "axis": [both, {"path": "duration", "values": ["2 s"]}]}
    table = Study(tables).run(tmp_path / "a").table
    assert table.select("scenario", "line").rows() == [
        (name, line) for name in ("pair", "two-flows") for line in ("1 ms, 1 s", "9 ms")
    ]


def test_pictures_show_the_means_of_the_summary(tmp_path):
    found = study(axis=[LAWS, {"path": "duration", "values": ["200 ms", "400 ms", "600 ms"]}]).run(tmp_path / "a")
    axes = found.plot("response", "throughput_bps").axes[0]
    means = found.summary("throughput_bps")
    for law, line in zip(["rcp", "cubic"], axes.lines, strict=True):
        assert line.get_label() == law
        assert list(line.get_xdata()) == [0.2, 0.4, 0.6]
        assert list(line.get_ydata()) == pytest.approx(means.filter(law=law)["mean"].to_numpy() / 1e6)
    share = found.plot("completion times").axes[0].lines[0].get_ydata()
    shown = found.table.filter(duration=found.table["duration"][0], law="rcp")
    ended = shown["transfers"].sum() / shown["started"].sum()
    assert (share[0], share[-1]) == (0.0, pytest.approx(ended))
    for kind in ("completion by size", "slowdown by size"):
        panels = [axes for axes in found.plot(kind).axes if axes.get_visible()]
        assert [axes.get_title("left") for axes in panels] == [f"duration = {seconds}" for seconds in (0.2, 0.4, 0.6)]
        named = [line.get_label() for line in panels[0].lines if not line.get_label().startswith("_")]
        assert named == ["rcp", "cubic", "thin: 99th percentile"]
    for kind, metric, why in [
        ("map", "jain", "two axes of numbers"),
        ("maps", "", "'map'"),
        ("response", "jian", "'jain'"),
    ]:
        with pytest.raises(ScenarioError, match=why):
            found.plot(kind, metric)


def test_a_map_has_a_cell_for_each_pair_of_values(tmp_path):
    axes = [
        {"path": "duration", "values": ["200 ms", "400 ms"]},
        {"path": "link.1.delay", "values": ["1 ms", "2 ms", "3 ms"]},
    ]
    found = study(2, axis=axes).run(tmp_path / "a")
    cells = found.plot("map", "throughput_bps").axes[0].images[0].get_array()
    assert cells.shape == (2, 3)
    first = found.table.filter(duration=0.2, delay=0.001)["throughput_bps"].mean()
    assert cells[0, 0] == pytest.approx(first / 1e6)


def test_an_included_study_prints_differences_and_draws_pictures(tmp_path, levelflow):
    (tmp_path / "mine.toml").write_text(
        library.study("backbone").read_text(encoding="utf-8") + '[[axis]]\npath = "duration"\nvalues = ["2 s"]\n',
        encoding="utf-8",
    )
    done = levelflow("study", "mine.toml")
    assert done.returncode == 0, done.stderr
    assert "Paired differences from level" in done.stdout
    named = [line.strip() for line in done.stdout.splitlines() if line.endswith(".png")]
    assert len(named) >= 3
    assert all((tmp_path / name).stat().st_size > 5000 for name in named)
    assert "did you mean 'backbone'" in levelflow("study", "backbon").stderr


def test_results_of_another_build_of_the_engine_are_rejected(tmp_path):
    study(1).run(tmp_path / "a")
    manifest = tmp_path / "a" / "study.json"
    manifest.write_text(manifest.read_text().replace(task.engine(), "0" * 16))
    with pytest.raises(ScenarioError, match="was written by another build"):
        study(1).run(tmp_path / "a")


def test_the_command_writes_pictures_for_a_paper(levelflow, tmp_path):
    text = """
        [study]
        scenario = "web-search"
        replications = 2
        [[axis]]
        path = "flow.*.law"
        values = ["rcp", "cubic"]
        [[axis]]
        path = "duration"
        values = ["200 ms", "300 ms"]
        [measure]
        metrics = ["fct_mean_s"]
    """
    (tmp_path / "paper.toml").write_text(text, encoding="utf-8")
    done = levelflow("study", "paper.toml", "--format", "svg,pdf", "--width", "column", "--workers", "1")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "paper"
    names = ("response-fct_mean_s", "completion-times", "completion-by-size")
    assert {path.name for path in folder.glob("*.*")} >= {f"{name}.{kind}" for name in names for kind in ("svg", "pdf")}
    assert 'width="244.8pt"' in (folder / "response-fct_mean_s.svg").read_text(encoding="utf-8")


def test_the_guide_lists_every_metric():
    text = (CHECKOUT / "docs" / "guides" / "studies.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1]: line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| `")}
    assert listed == task.METRICS, "docs/guides/studies.md: section Metrics"
