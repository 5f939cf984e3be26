"""Claim files: valid files, rejected files, and the error messages."""

import pytest

from levelflow.library import PAPERS
from levelflow.reproduce.model import MEASURE_FILE, ClaimError, discover, load, select

GOOD = """
[[entry]]
id = "jetmax-fig35a"
source = "Zhang 2008, fig 35(a)"
kind = "packet-sim"
title = "Full JetMax on T1"
setup = "T1-reversed"
deviations = ["sized packets"]

[[entry.check]]
metric = "drop_count"
op = "=="
value = 0
tol_abs = 0

[[entry.check]]
metric = "stable[xcp]"
op = "true"
needs = ["xcp"]
"""


def claim_at(tmp_path, text, where="paper/figure"):
    folder = tmp_path / where
    folder.mkdir(parents=True)
    (folder / "claim.toml").write_text(text)
    return folder


def test_a_claim_keeps_the_order_of_its_checks(tmp_path):
    claim = load(claim_at(tmp_path, GOOD))
    (entry,) = claim.entries
    assert claim.name == "paper/figure"
    assert [check.metric for check in entry.check] == ["drop_count", "stable[xcp]"]
    assert entry.deviations == ("sized packets",)
    assert entry.check[1].missing(frozenset({"jetmax"})) == ("xcp",)
    assert entry.check[1].missing(frozenset({"xcp"})) == ()


def test_checks_of_one_metric_have_the_place_in_their_key_and_equal_ones_share_it(tmp_path):
    check = '[[entry.check]]\nmetric = "{}"\nat = "{}"\nop = "true"\n'
    checks = [
        ("rate", "x1"),
        ("rate", "x2"),
        ("rate", "x1"),
        ("rate", ""),
        ("drops", "all"),
        ("loss", ""),
        ("loss", ""),
    ]
    text = GOOD.partition("[[entry.check]]")[0] + "".join(check.format(*names) for names in checks)
    (entry,) = load(claim_at(tmp_path, text)).entries
    assert entry.keys == ("rate[x1]", "rate[x2]", "rate[x1]", "rate", "drops", "loss", "loss")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('metric = "drop_count"', 'metrik = "drop_count"', "'metrik'; the nearest is metric"),
        ('op = "=="', 'op = "="', "'=' is not one of"),
        ("value = 0", "", "every operator but true and false needs one"),
        ('op = "true"', 'op = "true"\nvalue = 1', "every operator but true and false needs one"),
        ("tol_abs = 0", "tol_abs = -1", "at least 0"),
        ('op = "true"', 'op = "true"\nbasis = "rumour"', "'rumour' is not one of"),
        ('needs = ["xcp"]', 'needs = "xcp"', "a list of texts is needed"),
        ('title = "Full JetMax on T1"', "title = 3", "title: a text is needed"),
        ("[[entry.check]]", "[[entry.cheque]]", "'cheque'; the nearest is check"),
        ("[[entry]]", "[[entry]", "line 2"),
        ('kind = "packet-sim"', 'kind = "guess"', "'guess' is not one of packet-sim"),
        ("tol_abs = 0", 'revised = { quote = "q", reason = "r", was = { value = 0 } }', "value is 0 now, too"),
        ("tol_abs = 0", 'revised = { quote = "q", was = { value = 1 } }', "revised, reason: a text is needed"),
        ("tol_abs = 0", 'revised = { quote = "q", reason = "r" }', "was: a table of the values before"),
        ("tol_abs = 0", 'erratum = { verdict = "wrong", quote = "q", proof = "p" }', "'wrong' is not one of corrected"),
        (
            "tol_abs = 0",
            'erratum = { verdict = "corrected", quote = "q", proof = "p" }',
            "needs a correction, and shown_by",
        ),
        (
            "tol_abs = 0",
            'erratum = { verdict = "refuted", quote = "q", proof = "p", shown_by = ["jetmax-fig35a[2]"] }',
            "no check of this figure is named 'jetmax-fig35a[2]'",
        ),
        ("tol_abs = 0", 'reason = "ours"\nundecidable = "lost"', "at most one of reason, undecidable, erratum and"),
        ("tol_abs = 0", 'reason = "ours"\nwithdrawn = "a formula"', "at most one of reason, undecidable, erratum and"),
        ("tol_abs = 0", "passes_quick = true", "passes_quick: one of reason, undecidable, erratum is needed, too"),
        ("tol_abs = 0", 'reason = "ours"\npasses_quick = "yes"', "passes_quick: true or false is needed"),
        ("tol_abs = 0", 'kind = "guess"', "'guess' is not one of packet-sim"),
        (
            'deviations = ["sized packets"]',
            'reading = [{ name = "one", text = "only" }]',
            "at least two with different",
        ),
        ('deviations = ["sized packets"]', 'reading = [{ name = "one" }]', "reading, text: a text is needed"),
        ('deviations = ["sized packets"]', 'reading = [{ name = "a", text = "b", set = 1 }]', "a table of changes"),
    ],
)
def test_a_claim_that_is_not_allowed_is_one_line(tmp_path, old, new, says):
    folder = claim_at(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ClaimError) as error:
        load(folder)
    line = str(error.value)
    assert says in line
    assert line.startswith(str(folder))
    assert "\n" not in line


def test_two_entries_cannot_share_an_id(tmp_path):
    claim_at(tmp_path, GOOD, "a/one")
    claim_at(tmp_path, GOOD, "a/two")
    with pytest.raises(ClaimError, match="already in a/one"):
        discover(tmp_path)


def test_selection_by_entry_figure_and_paper(tmp_path):
    claim_at(tmp_path, GOOD, "a/one")
    claim_at(tmp_path, GOOD.replace("jetmax-fig35a", "rcp-fig1"), "b/two")
    claims = discover(tmp_path)
    assert [c.name for c in select(claims, [])] == ["a/one", "b/two"]
    assert [c.name for c in select(claims, ["rcp-fig1"])] == ["b/two"]
    assert [c.name for c in select(claims, ["one", "b/two"])] == ["a/one", "b/two"]
    assert [c.name for c in select(claims, [], "b")] == ["b/two"]
    with pytest.raises(ClaimError, match="the nearest is jetmax-fig35a"):
        select(claims, ["jetmax-fig35"])
    with pytest.raises(ClaimError, match="no paper"):
        select(claims, [], "c")


def test_every_figure_of_the_papers_loads_and_says_how_it_is_measured():
    for claim in discover(PAPERS):
        measurable = any(not check.needs for entry in claim.entries for check in entry.check)
        assert (claim.folder / MEASURE_FILE).exists() or not measurable, claim.name
