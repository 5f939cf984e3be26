"""`python -m tools.mutations`: each change of its table applies to the code, verdicts are compared, and results are
kept.
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tools import CHECKOUT, mutations
from tools.mutations import Kept, Mutation, Outcome, RunError, TableError, Tree

TABLE = mutations.read()
#: Laws in checks of the papers, and the queue disciplines of these checks.
LAWS = {
    "jetmax",
    "emkc",
    "emkc_avq",
    "kelly",
    "rcp",
    "xcp",
    "maxnet",
    "ks",
    "abs",
    "reno",
    "rem",
    "virtual_queue",
    "level",
}
PRICE = Mutation("l", "price", "sign", "python/law.py", "price = 1", "price = -1", ("fig",))
GAIN = replace(PRICE, name="gain", before="gain = 2", after="gain = 3")
LAW = "price = 1\ngain = 2\n"


class Measured(Tree):
    """Tree with a single check, which holds if the price is positive."""

    def __init__(self, folder, interrupted_at=99):
        super().__init__(folder)
        self.measured, self.interrupted_at = 0, interrupted_at

    def copy(self):
        (self.root / "python").mkdir(parents=True, exist_ok=True)
        (self.root / "python/law.py").write_text(LAW, encoding="utf-8")

    def digest(self, _figures):
        return "tree"

    def borrow(self):
        return "module"

    def measure(self, _figure, _longest=None):
        self.measured += 1
        if self.measured == self.interrupted_at:
            raise KeyboardInterrupt
        text = (self.root / "python/law.py").read_text(encoding="utf-8")
        return {"fig[0]": "not reproduced" if "-" in text else "reproduced"}, 1.0


def outcomes(tree, table):
    return {mutation.name: outcome for mutation, outcome in mutations.run(table, tree, Kept(tree.folder / "found"))}


def test_each_text_occurs_once_and_each_figure_exists():
    mutations.check(TABLE)


def test_each_law_of_the_papers_is_changed_in_three_ways_or_more():
    changes = Counter(mutation.law for mutation in TABLE)
    assert {law for law in LAWS if changes[law] < 3} == set()
    assert {mutation.kind for mutation in TABLE} == set(mutations.KINDS)


def test_a_text_that_moved_is_one_line_and_status_2(monkeypatch, capsys):
    monkeypatch.setattr(mutations, "read", lambda: [replace(TABLE[0], before="no such text")])
    assert mutations.main([]) == 2
    said = f"mutations.toml, {TABLE[0].name}: 'no such text' occurs 0 times in {TABLE[0].file}; needs one"
    assert capsys.readouterr().err == f"tools.mutations: {said}\n"


def test_a_text_that_occurs_twice_is_refused(tmp_path):
    (tmp_path / "python").mkdir()
    (tmp_path / "python/law.py").write_text(LAW + LAW, encoding="utf-8")
    with pytest.raises(TableError, match="occurs 2 times"):
        PRICE.changed(tmp_path)


def test_an_unknown_law_is_one_line_and_status_2(capsys):
    assert mutations.main(["--only", "jetmx"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--only jetmx: no such law or change; laws are abs, " in line


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"law": "l", "name": "n"}, "'kind' is missing"),
        ({**vars(PRICE), "kind": "typo"}, "the kind 'typo' is not allowed"),
        ({**vars(PRICE), "figure": "f"}, "'figure' is missing or unknown"),
    ],
)
def test_a_mistake_in_the_table_is_named(row, problem):
    with pytest.raises(TableError, match=problem):
        mutations._mutation(row)


def test_a_check_detects_a_change_by_a_worse_verdict():
    before = {"a[0]": "reproduced", "a[1]": "not reproduced", "a[2]": "corrected", "a[3]": "reproduced"}
    after = {"a[0]": "corrected", "a[1]": "reproduced", "a[2]": "corrected", "a[3]": "missing"}
    assert mutations.turned(before, after) == ["a[0]: reproduced -> corrected", "a[3]: reproduced -> missing"]
    assert mutations.turned(before, before) == []


def test_a_check_without_a_value_judges_nothing():
    before = {"a[0]": "reproduced", "a[1]": "reproduced", "a[2]": "error", "a[3]": "not reproduced"}
    after = {"a[0]": "error", "a[2]": "error", "a[3]": "reproduced"}
    assert mutations.turned(before, after) == []
    assert mutations.unjudged(before, after) == ["a[0]", "a[1]"]


def test_a_change_is_detected_only_if_a_verdict_changes(tmp_path):
    tree = Measured(tmp_path)
    assert outcomes(tree, [PRICE, GAIN]) == {
        "price": Outcome(["fig[0]: reproduced -> not reproduced"]),
        "gain": Outcome([]),
    }
    assert (tree.root / "python/law.py").read_text(encoding="utf-8") == LAW


class Failing(Measured):
    """Tree in which a change makes the figure `fig`, but no other figure, exceed its time limit."""

    def measure(self, figure, longest=None):
        if longest is not None and figure == "fig":
            self.measured += 1
            raise RunError("fig takes more than 80 s")
        return super().measure(figure)


def test_a_figure_without_verdicts_is_not_a_check_that_noticed_and_is_tried_again(tmp_path):
    for _ in range(2):
        tree = Failing(tmp_path)
        failed = Outcome([], "fig takes more than 80 s")
        assert outcomes(tree, [PRICE]) == {"price": failed}
        assert tree.measured > 0
    assert not failed.noticed
    assert not failed.survives


def test_a_figure_that_raises_fails(tmp_path):
    class Raising(Measured):
        def measure(self, figure, longest=None):
            verdicts, seconds = super().measure(figure)
            return (dict.fromkeys(verdicts, "error") if longest else verdicts), seconds

    assert outcomes(Raising(tmp_path), [PRICE])["price"] == Outcome([], "fig has no value for 1 of 1 checks")


def test_after_a_figure_without_verdicts_the_next_may_notice(tmp_path):
    found = outcomes(Failing(tmp_path), [replace(PRICE, figures=("fig", "other"))])["price"]
    assert found.noticed
    assert found.failed == "fig takes more than 80 s"


def test_an_interrupted_run_resumes(tmp_path):
    tree = Measured(tmp_path, interrupted_at=3)  # runs: unchanged code, PRICE, GAIN
    with pytest.raises(KeyboardInterrupt):
        outcomes(tree, [PRICE, GAIN])
    assert (tree.root / "python/law.py").read_text(encoding="utf-8") == LAW
    again = Measured(tmp_path)
    assert outcomes(again, [PRICE, GAIN])["gain"].survives
    assert again.measured == 1
    other = Measured(tmp_path)
    outcomes(other, [PRICE, replace(GAIN, after="gain = 4")])
    assert other.measured == 1


@pytest.mark.parametrize(
    ("open_", "outcome", "status"),
    [
        ("", Outcome(["a"]), 0),
        ("", Outcome([]), 1),
        ("", Outcome([], "slow"), 1),
        ("b", Outcome([]), 0),
        ("b", Outcome([], "slow"), 0),
        ("b", Outcome(["a"]), 1),
    ],
)
def test_undetected_changes_must_be_listed_as_open_and_detected_ones_must_not(monkeypatch, open_, outcome, status):
    monkeypatch.setattr(mutations, "run", lambda table, *_: [(replace(table[0], open=open_), outcome)])
    assert mutations.main([]) == status


def test_changes_are_counted_as_noticed_survivors_and_failures(monkeypatch, capsys):
    found = [Outcome(["a"]), Outcome([]), Outcome([], "slow"), Outcome([], "slow")]
    monkeypatch.setattr(mutations, "run", lambda table, *_: zip(table, found, strict=False))
    mutations.main([])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "4 changes: 1 noticed, 1 survive, 0 of them open, 2 fail"


def test_a_row_names_the_changed_verdicts_or_the_failure():
    assert "**survives** |" in mutations.row(GAIN, Outcome([]))
    assert "**survives**; open: no figure |" in mutations.row(replace(GAIN, open="no figure"), Outcome([]))
    assert "**fails**: slow |" in mutations.row(GAIN, Outcome([], "slow"))
    assert mutations.row(PRICE, Outcome(["a", "b", "c"])) == "| l | price | sign | a, b and 1 more |"


def test_the_copy_is_the_working_tree_and_keeps_the_times_of_files(tmp_path):
    tree = Tree(tmp_path)
    tree.copy()
    law = Path("crates/laws/src/jetmax/router.rs")
    assert (tree.root / law).read_bytes() == (CHECKOUT / law).read_bytes()
    assert os.readlink(tree.root / "python/levelflow/papers") == os.readlink(CHECKOUT / "python/levelflow/papers")
    time = (tree.root / law).stat().st_mtime_ns
    (tree.root / "crates/laws/src/new.rs").touch()
    (tree.root / "Cargo.toml").write_text("changed", encoding="utf-8")
    tree.copy()
    assert (tree.root / law).stat().st_mtime_ns == time
    assert not (tree.root / "crates/laws/src/new.rs").exists()
    assert (tree.root / "Cargo.toml").read_bytes() == (CHECKOUT / "Cargo.toml").read_bytes()


def test_a_kept_outcome_expires_when_one_of_its_inputs_changes(tmp_path):
    def digest(change=None):
        tree = Tree(tmp_path)
        tree.copy()
        if change:
            with (tree.root / change).open("a", encoding="utf-8") as file:
                file.write("#")
        return tree.digest(["rcp-router"])

    assert digest() == digest("papers/dukkipati-rcp/rcp-fig3/measure.py")
    for change in ("crates/laws/src/rcp/router.rs", "papers/dukkipati-rcp/rcp-router/measure.py"):
        assert digest() != digest(change)
