"""Measurement of figures: verdicts, mistakes, shared runs, interruption, the report and the command."""

import json
import re
import threading
import time

import pytest
from figures import LAWS, MEASURE, fake_result, folder_at, measured

from levelflow.reproduce import report, runner
from levelflow.reproduce.figure import CancelledError, Figure, Runs, scenario_key
from levelflow.reproduce.kept import Figures
from levelflow.reproduce.model import Check, Claim, ClaimError, discover, load
from levelflow.reproduce.outcome import tolerance_used
from levelflow.scenario import Scenario


def test_every_check_gets_its_verdict_and_missing_ones_stay_out_of_the_scorecard(tmp_path):
    figure = measured(folder_at(tmp_path))
    assert [o.verdict for o in figure.outcomes] == ["reproduced", "not reproduced", "missing", "reproduced"]
    records = runner.scorecard([figure])
    assert [record["check"] for record in records] == [0, 1, 3]
    assert records[0] | {"measured": 0.501, "expected": 0.5, "tol_abs": 0.01, "tier": "quick"} == records[0]
    assert records[1]["note"] == "the paper's own arithmetic"
    assert records[2]["note"] == "against inf"
    json.dumps(records, allow_nan=False)


# **Invariant** (Claims): a check on a mean over fewer than 20 flows gets the verdict *error*.
@pytest.mark.parametrize(
    ("flows", "verdict", "note"),
    [
        ("[20]", "reproduced", "over 20 flows"),
        ("[20, 80]", "reproduced", "over 20 to 80 flows"),
        ("[19, 80]", "error", "rests on 19 flows; needs 20"),
    ],
)
def test_a_mean_over_few_flows_gets_no_verdict(tmp_path, flows, verdict, note):
    means = f"Seeds([OverFlows(0.5 + n / 1e6, n) for n in {flows}])"
    text = MEASURE.replace("import Against", "import Against, Seeds").replace("np.float64(0.501)", means)
    text = "from levelflow.measure.completions import OverFlows\n" + text
    figure = measured(folder_at(tmp_path, text))
    assert (figure.outcomes[0].verdict, figure.outcomes[0].note) == (verdict, note)
    json.dumps(runner.scorecard([figure]), allow_nan=False)


@pytest.mark.parametrize(
    ("means", "note"),
    [
        ("0.5, 21, range(21)", "over 21 flows, median of flows 10, nine of ten between 1 and 19"),
        (
            "0.5, 21, range(21)), OverFlows(0.501, 41, [n / 40 for n in range(41)]",
            "over 21 to 41 flows, medians of flows 0.5 to 10, nine of ten of each between 0.05 and 19",
        ),
    ],
)
def test_the_note_of_a_mean_describes_single_flows(tmp_path, means, note):
    text = MEASURE.replace("import Against", "import Against, Seeds")
    text = text.replace("np.float64(0.501)", f"Seeds([OverFlows({means})])")
    figure = measured(folder_at(tmp_path, "from levelflow.measure.completions import OverFlows\n" + text))
    assert figure.outcomes[0].note == note


def test_a_failed_plot_is_reported_with_the_verdicts(tmp_path):
    text = MEASURE + "\n\ndef plot(figure, canvas):\n    raise KeyError('x9')\n"
    kept, failed = measured(folder_at(tmp_path / "kept")), measured(folder_at(tmp_path / "failed", text))
    assert failed.images == ()
    assert [o.verdict for o in failed.outcomes] == [o.verdict for o in kept.outcomes]
    assert failed.outcomes[0].note.endswith("no plot: KeyError: 'x9'")


def test_the_record_has_the_spread_of_seeds(tmp_path):
    text = MEASURE.replace("import Against", "import Against, Seeds")
    text = text.replace("np.int64(3)", "Seeds([3, 0, np.int64(2)])").replace("np.float64(0.501)", "Seeds([0.5])")
    figure = measured(folder_at(tmp_path, text))
    half, wrong, target = runner.scorecard([figure])
    assert wrong["seeds"] == {"seeds": 3, "met": 1, "median": 2, "low": 0, "high": 3}
    assert wrong["measured"] == [3, 0, 2]
    assert half["seeds"]["median"] == 0.5
    assert "seeds" not in target
    kept = Figures(tmp_path / "figures", "build", full=False)
    kept.save(figure)
    assert kept.load(figure.claim) == figure


def test_repeats_are_judged_as_seeds_are(tmp_path):
    text = MEASURE.replace("import Against", "import Against, Noted, Seeds")
    text = text.replace("np.float64(0.501)", "Noted(next(halves), 'aside')").replace("np.int64(3)", "Seeds([3, 4])")
    figure = load(folder_at(tmp_path, "halves = iter([0.5, 0.501, 0.7])\n" + text))
    half, wrong, _, target = runner.measure(figure, [Runs(1)] * 3, LAWS, full=False).outcomes
    assert (half.measured, half.verdict, half.note) == ([0.5, 0.501, 0.7], "not reproduced", "aside")
    assert wrong.measured == [3, 4] * 3
    assert (target.measured, target.target, target.verdict) == ([1.0] * 3, [float("inf")] * 3, "reproduced")


@pytest.mark.parametrize(("values", "warns"), [([0.5, 0.5], True), ([0.5, 0.501], False), ([0.5], False)])
def test_seeds_without_effect_are_reported(tmp_path, values, warns):
    text = MEASURE.replace("import Against", "import Against, Seeds").replace("np.float64(0.501)", f"Seeds({values})")
    figure = measured(folder_at(tmp_path, text))
    assert ("all seeds give the same" in figure.outcomes[0].note) is warns
    assert figure.outcomes[0].verdict == "reproduced"


def test_notes_are_recorded_and_change_no_verdict(tmp_path):
    noted = MEASURE.replace("import Against", "import Against, Noted")
    noted = noted.replace("np.int64(3)", "Noted(np.int64(3), 'two with care')").replace(
        "Against(1.0", "Noted(Against(1.0"
    )
    noted = noted.replace('"inf"))', '"inf")), "not soon")')
    records = runner.scorecard([measured(folder_at(tmp_path, noted))])
    assert [record["verdict"] for record in records] == ["reproduced", "not reproduced", "reproduced"]
    assert [record["note"] for record in records] == [
        "",
        "the paper's own arithmetic; two with care",
        "against inf; not soon",
    ]
    assert records[1]["measured"] == 3


# **Invariant** (Claims): a mistake in a figure is an error, never a reproduction.
@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("def measure(figure): raise ZeroDivisionError('no flow')", "ZeroDivisionError: no flow"),
        ("def measure(figure): return {'one': {'half': '0.5', 'wrong': 'text', 'target': 1.0}}", "cannot be compared"),
        ("def measure(figure): return {'one': dict.fromkeys(('half', 'wrong', 'target'))}", "'NoneType' object"),
        ("def measure(", "SyntaxError"),
    ],
)
def test_a_mistake_in_a_figure_is_an_error_and_never_reproduced(tmp_path, measure, says):
    figure = measured(folder_at(tmp_path, measure))
    verdicts = [o.verdict for o in figure.outcomes]
    assert verdicts[2] == "missing"
    assert set(verdicts) - {"missing"} == {"error"}
    assert any(says in o.note for o in figure.outcomes)


def test_values_meet_checks_by_name_in_any_order(tmp_path):
    half = '"half": np.float64(0.501), '
    last = MEASURE.replace(half, "").replace('"inf"))', f'"inf")), {half}')
    assert last.index("half") > last.index("target")
    plain, other = (measured(folder_at(tmp_path, text, where=f"{i}/figure")) for i, text in enumerate((MEASURE, last)))
    assert runner.scorecard([plain]) == runner.scorecard([other])


ERRATUM = """
[entry.check.erratum]
verdict = "{}"
quote = "at most one"
proof = "three"
correction = "half"
shown_by = ["one[{}]"]
"""


# **Invariant** (Claims): an erratum is listed only if the checks that prove it pass.
@pytest.mark.parametrize(
    ("said", "verdict", "note"),
    [
        (ERRATUM.format("corrected", 0), "corrected", "half"),
        (ERRATUM.format("refuted", 0), "refuted", "half"),
        (ERRATUM.format("corrected", 1), "not reproduced", "its erratum is not shown, since one[1] does not hold"),
        ('undecidable = "the plot is lost"', "undecidable", "the plot is lost"),
    ],
)
def test_an_erratum_is_listed_only_if_its_checks_pass(tmp_path, said, verdict, note):
    folder = folder_at(tmp_path)
    text = (folder / "claim.toml").read_text()
    (folder / "claim.toml").write_text(text.replace('reason = "the paper\'s own arithmetic"', said))
    figure = measured(folder)
    assert [(figure.outcomes[1].verdict, figure.outcomes[1].note)] == [(verdict, note)]
    assert figure.outcomes[0].verdict == "reproduced"
    (record,) = [one for one in runner.scorecard([figure]) if one["check"] == 1]
    assert record["verdict"] == verdict
    assert ("erratum" in record) is ("erratum" in said)
    page = report.page([figure], "build")
    assert verdict.replace(" ", "-") in page


def test_a_check_that_holds_is_reproduced_whatever_its_erratum_says(tmp_path):
    folder = folder_at(tmp_path, MEASURE.replace("np.int64(3)", "0.5"))
    text = (folder / "claim.toml").read_text()
    (folder / "claim.toml").write_text(text.replace('reason = "the paper\'s own arithmetic"', 'undecidable = "lost"'))
    assert measured(folder).outcomes[1].verdict == "reproduced"


def test_a_revised_check_says_what_was_read_first(tmp_path):
    folder = folder_at(tmp_path)
    text = (folder / "claim.toml").read_text()
    revised = '[entry.check.revised]\nquote = "as a rule"\nreason = "too sharp"\nwas = { value = 0.5 }'
    text = text.replace("value = 1.0", "value = 5.0").replace('reason = "the paper\'s own arithmetic"', revised)
    (folder / "claim.toml").write_text(text)
    figure = measured(folder)
    (record,) = [one for one in runner.scorecard([figure]) if one["check"] == 1]
    assert (record["verdict"], record["expected"]) == ("reproduced", 5.0)
    assert record["revised"] == {"quote": "as a rule", "reason": "too sharp", "was": {"value": 0.5}}
    assert "Read at first as ≤ 0.5: too sharp" in report.page([figure], "build")


def test_verdicts_are_counted_by_paper_source_and_kind(tmp_path):
    counts = report.counted([measured(folder_at(tmp_path))])
    assert counts["expected"] == {"printed": {"reproduced": 2, "not reproduced": 1, "missing": 1}}
    assert counts[report.PRINTED_IN] == {"paper": counts["expected"]["printed"]}
    assert counts[report.PRINTED_ON] == {"theory": counts["expected"]["printed"]}


def test_arithmetic_of_our_own_is_no_printed_statement(tmp_path):
    folder = changed(folder_at(tmp_path), 'metric = "half"', 'metric = "half"\nbasis = "derived"')
    counts = report.counted([measured(folder)])
    assert counts["expected"]["our arithmetic"] == {"reproduced": 1}
    assert counts[report.PRINTED_IN]["paper"] == {"reproduced": 1, "not reproduced": 1, "missing": 1}


def changed(folder, old, new):
    """Changes the claim of a folder, and returns the folder."""
    path = folder / "claim.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return folder


REASON = 'reason = "the paper\'s own arithmetic"'


# **Invariant** (Claims): a withdrawn check has no value and is never counted as reproduced.
def test_a_withdrawn_check_keeps_its_number_and_counts_as_withdrawn(tmp_path):
    folder = folder_at(tmp_path, MEASURE.replace('"wrong": np.int64(3), ', ""))
    figure = measured(changed(folder, REASON, 'withdrawn = "a formula against itself"'))
    assert [o.verdict for o in figure.outcomes] == ["reproduced", "withdrawn", "missing", "reproduced"]
    assert report.counted([figure])["expected"]["printed"]["withdrawn"] == 1
    (record,) = [one for one in runner.scorecard([figure]) if one["check"] == 1]
    assert (record["verdict"], record["withdrawn"]) == ("withdrawn", "a formula against itself")
    assert "a formula against itself" in report.page([figure], "build")


def test_a_withdrawn_check_may_not_be_measured(tmp_path):
    with pytest.raises(ClaimError, match=r"'wrong' is not in claim\.toml"):
        measured(changed(folder_at(tmp_path), REASON, 'withdrawn = "a formula against itself"'))


# **Invariant** (Claims): the quick tier never counts a check that is known to fail with `--full`.
def test_a_check_that_passes_in_the_quick_tier_only_counts_as_failed(tmp_path):
    folder = folder_at(tmp_path, MEASURE.replace("np.int64(3)", "1 + 2 * figure.full"))
    claim = load(changed(folder, REASON, f"{REASON}\npasses_quick = true"))
    quick = runner.measure(claim, [Runs(1)], LAWS, full=False, every_draw=False).outcomes[1]
    assert (quick.measured, quick.verdict) == (1, "not reproduced")
    assert quick.note == f"the paper's own arithmetic; {runner.PASSES_QUICK}"
    full = runner.measure_tiers(claim, Runs(1), LAWS).outcomes[1]
    assert (full.measured, full.verdict, full.other.verdict) == (3, "not reproduced", "reproduced")


READINGS = """
[[entry.reading]]
name = "each"
text = "each point"

[[entry.reading]]
name = "mean"
text = "the mean"
set = { "law.rcp.alpha" = 0.2 }
"""
HALF = '\n[[entry.check]]\nmetric = "half"'


# **Invariant** (Claims): a check whose verdict depends on the reading of the text is undecidable, whatever is default.
@pytest.mark.parametrize(
    ("each", "mean", "verdict", "note"),
    [
        (0.5, 0.501, "reproduced", ""),
        (0.7, 0.9, "not reproduced", ""),
        (0.7, 0.5, "undecidable", "depends on the reading; it holds for mean"),
        (0.5, 0.7, "undecidable", "depends on the reading; it holds for each"),
        (0.5, "text", "error", ""),
    ],
)
def test_every_reading_is_judged(tmp_path, each, mean, verdict, note):
    text = MEASURE.replace("import Against", "import Against, Readings")
    text = text.replace("np.float64(0.501)", f"Readings({{'each': {each!r}, 'mean': {mean!r}}})")
    folder = changed(folder_at(tmp_path, text), HALF, READINGS + HALF)
    figure = measured(folder)
    assert (figure.outcomes[0].verdict, figure.outcomes[0].note) == (verdict, note)
    assert [one.reading for one in figure.outcomes[0].readings] == ["each", "mean"]
    record = runner.scorecard([figure])[0]
    assert [one["verdict"] for one in record["readings"]] == [one.verdict for one in figure.outcomes[0].readings]
    assert f"mean: {mean}" in report.page([figure], "build") or verdict == "error"
    kept = Figures(tmp_path / "figures", "build", full=False)
    kept.save(figure)
    assert kept.load(figure.claim) == figure


def test_readings_have_the_names_of_the_claim(tmp_path):
    text = MEASURE.replace("import Against", "import Against, Readings")
    text = text.replace("np.float64(0.501)", "Readings({'mean': 0.5})")
    folder = changed(folder_at(tmp_path, text), HALF, READINGS + HALF)
    outcome = measured(folder).outcomes[0]
    assert (outcome.verdict, outcome.note) == ("error", "measured mean; readings: each, mean")


def test_an_entry_is_measured_with_the_changes_of_each_reading(tmp_path):
    folder = changed(folder_at(tmp_path), HALF, READINGS + HALF)
    found = Figure(load(folder), Runs(1), full=False).by_reading("one", lambda changes: {"half": dict(changes)})
    assert found["half"].values == {"each": {}, "mean": {"law.rcp.alpha": 0.2}}


@pytest.mark.parametrize(
    ("check", "measured", "used"),
    [
        ({"op": "~=", "value": 4.0, "tol_rel": 0.5}, 5.0, 0.5),
        ({"op": "==", "value": [4.0, 10.0], "tol_abs": 1.0}, [4.5, 8.0], 2.0),
        ({"op": "<=", "value": 4.0, "tol_abs": 1.0}, 4.25, 0.25),
        ({"op": ">=", "value": 4.0, "tol_abs": 1.0}, 4.25, -0.25),
        ({"op": "<=", "value": 4.0}, 4.0, None),
        ({"op": "==", "value": "a", "tol_abs": 1.0}, "a", None),
    ],
)
def test_the_used_part_of_a_tolerance(check, measured, used):
    assert tolerance_used(Check("m", **check), check["value"], measured) == used


def test_equal_scenarios_run_once_and_no_more_than_the_workers_at_a_time(monkeypatch):
    running, peak, calls, lock = [0], [0], [], threading.Lock()

    def run(self, progress):
        with lock:
            running[0] += 1
            peak[0] = max(peak[0], running[0])
            calls.append(self.raw["seed"])
        time.sleep(0.02)
        progress(0.5)
        with lock:
            running[0] -= 1
        return fake_result(self)

    monkeypatch.setattr(Scenario, "run", run)
    figure = Figure(Claim("f", ()), Runs(2), full=False)
    scenarios = [Scenario(f"name {i}", "1 s", seed=i % 3) for i in range(9)]
    results = figure.runs(scenarios)
    assert [result.scenario["seed"] for result in results] == [0, 1, 2] * 3
    assert sorted(calls) == [0, 1, 2]
    assert peak[0] == 2
    assert scenario_key(Scenario("a", "1 s")) != scenario_key(Scenario("a", "2 s"))


def test_a_failed_run_fails_for_all_who_share_it_and_stop_ends_the_others(monkeypatch):
    def run(self, progress):
        if self.raw["seed"] == 1:
            raise ValueError("bad scenario")
        while True:
            progress(0.1)
            time.sleep(0.001)

    monkeypatch.setattr(Scenario, "run", run)
    runs = Runs(2)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad scenario"):
            runs.get(Scenario("a", "1 s", seed=1))
    threading.Timer(0.05, runs.stop).start()
    with pytest.raises(CancelledError):
        runs.get(Scenario("a", "1 s", seed=2))


def test_overrides_are_paths_or_a_function(tmp_path, monkeypatch):
    folder = folder_at(tmp_path)
    raw = {"name": "a", "duration": "1 s"}
    monkeypatch.setattr(Scenario, "load", lambda _path: Scenario(**raw))
    monkeypatch.setattr(Scenario, "set", lambda self, path, value: self.raw.update({path: value}) or self)
    figure = Figure(load(folder), Runs(1), full=True)
    assert figure.scenario({"duration": "2 s"}, seed=7).raw == {**raw, "duration": "2 s", "seed": 7}
    assert figure.scenario(lambda s: s.raw.update(sample="10 ms")).raw["sample"] == "10 ms"
    assert list(figure.seeds(3)) == list(figure.seeds(3, quick=1)) == [1, 2, 3]
    quick = Figure(load(folder), Runs(1), full=False, every_draw=False)
    assert (list(quick.seeds(3)), list(quick.seeds(3, quick=1))) == ([1, 2, 3], [1])
    assert (figure.draws(500, quick=100), quick.draws(500, quick=100)) == (500, 100)
    assert not figure.has_tiers


# **Invariant** (Claims): the report is one self-contained page.
def test_the_report_is_one_page_that_fetches_nothing(tmp_path):
    page = report.page([measured(folder_at(tmp_path))], "0.1.0 <test>")
    assert not re.search(r"(src|href)='(?!#|data:)", page)
    assert "http" not in page
    assert "A &lt;formula&gt;" in page
    assert "x &amp; y" in page
    assert "0.1.0 &lt;test&gt;" in page
    assert "the paper&#x27;s own arithmetic" in page
    assert "needs xcp" in page
    assert page.count("<td><span class='badge reproduced'>") == 2


def test_the_report_lists_the_first_scenarios_that_were_run(tmp_path, monkeypatch):
    monkeypatch.setattr(Scenario, "run", lambda self, **_options: fake_result(self))
    monkeypatch.setattr(runner, "draw", lambda *_args: ())
    several = """
from levelflow.scenario import Scenario

def measure(figure):
    figure.runs([Scenario("a", "1 s", seed=100 + i % 5) for i in range(10)])
    return {"one": dict.fromkeys(("half", "wrong", "target"), 1.0)}
"""
    figure = measured(folder_at(tmp_path, several))
    assert len(figure.scenarios) == 5
    page = report.page([figure], "test")
    assert "<summary>5 scenarios</summary>" in page
    assert "and 2 more" in page
    assert [f"seed = {100 + i}\n" in page for i in range(5)] == [True] * 3 + [False] * 2


def test_the_command_says_by_its_exit_code_whether_all_was_reproduced(tmp_path, checkout):
    folder_at(tmp_path)
    good = MEASURE.replace("np.int64(3)", "np.int64(1)")
    folder_at(tmp_path, good, "papers/paper/other", "two")
    failed = checkout("--json", "claims.json", "--out", "out")
    assert failed.exit_code == 1
    assert "not reproduced: one[1] wrong <= 1, measured 3; the paper's own arithmetic" in re.sub(
        "≤", "<=", failed.output
    )
    assert len(json.loads((tmp_path / "claims.json").read_text())) == 6
    assert (tmp_path / "out/report.html").exists()
    assert checkout("two").exit_code == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["thre"], "no claim is named 'thre'"),
        (["--paper", "papr"], "the nearest is paper"),
        (["--all", "one"], "--all cannot"),
        (["--json", "papers/paper/figure/claim.toml/x.json"], "x.json: cannot be written: Not a directory"),
        (["--json", "papers"], "papers: cannot be written: not a file"),
        (["--json", "/dev/null"], "/dev/null: cannot be written: not a file"),
        (["--json", "/proc/x.json"], "/proc/x.json: cannot be written"),
        (["--json", 300 * "x"], "cannot be written: File name too long"),
        (["--out", "papers/paper/figure/claim.toml"], "report.html: cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_before_anything_runs(tmp_path, checkout, monkeypatch, args, says):
    folder_at(tmp_path)
    monkeypatch.setattr(runner, "measure_all", lambda *_args, **_options: pytest.fail("something was run"))
    result = checkout(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("levelflow: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


# **Invariant** (Claims): values are matched to checks by name, in any order. A missing or unknown name is rejected.
# See `test_values_meet_checks_by_name_in_any_order`.
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"half"', '"hafl"', "one: 'hafl' is not in claim.toml; allowed: half, wrong, stable[xcp], target"),
        ('"half": np.float64(0.501), ', "", "one: 'half' has no value; allowed: half, wrong, stable[xcp], target"),
        ('"one"', '"two"', "measure.py: 'two' is not in claim.toml; allowed: one"),
        ('{"one"', '{} and {"one"', "measure.py: 'one' has no value; allowed: one"),
    ],
)
def test_values_without_a_matching_check_get_one_line_and_exit_2(tmp_path, checkout, old, new, says):
    folder_at(tmp_path, MEASURE.replace(old, new))
    result = checkout()
    assert result.exit_code == 2
    assert result.stderr.startswith("levelflow: paper/figure, measure.py")
    assert result.stderr.endswith(f"{says}\n")
    assert result.stderr.count("\n") == 1


def test_an_interruption_keeps_the_measurements(tmp_path, checkout, monkeypatch):
    folder_at(tmp_path)

    def interrupted(claims, **_options):
        yield measured(claims[0].folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "measure_all", interrupted)
    result = checkout("--json", "claims.json")
    assert result.exit_code == 130
    assert len(json.loads((tmp_path / "claims.json").read_text())) == 3


def test_every_verdict_is_on_disk_before_the_next_figure_ends(tmp_path, checkout, monkeypatch):
    folder_at(tmp_path)
    folder_at(tmp_path, where="papers/paper/other", entry="two")
    saved = []

    def figures(claims, **_options):
        for claim in claims:
            yield measured(claim.folder)
            saved.append(len(json.loads((tmp_path / "claims.json").read_text())))

    monkeypatch.setattr(runner, "measure_all", figures)
    checkout("--json", "claims.json")
    assert saved == [3, 6]


def test_figures_are_measured_side_by_side_and_all_come_back(tmp_path, monkeypatch):
    for i in range(5):
        folder_at(tmp_path, where=f"papers/paper/figure{i}", entry=f"id{i}")
    monkeypatch.setattr(runner, "available", lambda: LAWS)
    figures = list(runner.measure_all(discover(tmp_path / "papers"), workers=2))
    assert sorted(figure.claim.folder.name for figure in figures) == [f"figure{i}" for i in range(5)]
