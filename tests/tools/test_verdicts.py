"""Record of verdicts, its problems, and the page that is made from it."""

import json
from pathlib import Path

import pytest
from tools import verdicts

from levelflow.reproduce.model import Check, Claim, Entry, Reading

REASON, NARROW = "ours", "one step"
CHECKS = (
    Check("rate_mbps", "~=", 4.0, tol_rel=0.1, reason=REASON, settled_by="a longer run"),
    Check("loss", "<=", 0.1, basis="derived"),
    Check("steps", "==", 6, tol_abs=1, narrow=NARROW),
    Check("active", "~=", 5, withdrawn="a formula against itself"),
    Check("stable", "true"),
)
READINGS = (Reading("each point", "at each", {}), Reading("mean", "over the points", {}))
ENTRY = Entry("one", "Zhang 2008, eq 1", "theory", "Title", "set-up", CHECKS, reading=READINGS)
KNOWN = {f"one[{i}]": (f"one[{i}]", ENTRY, check) for i, check in enumerate(CHECKS)}


def row(check, verdict="reproduced", basis="text", **more):
    return {"id": "one", "check": check, "verdict": verdict, "basis": basis, "text": f"value {check}", **more}


def record(*rows, **tiers):
    return {"quick": verdicts.recorded(rows)} | {name: verdicts.recorded(rows) for name, rows in tiers.items()}


FAILS, NEAR = row(0, "not reproduced"), row(2, tolerance_used=0.9)


def test_a_record_keeps_counts_failures_and_narrow_checks():
    kept = record(
        FAILS | {"revised": {}}, row(1, basis="derived"), NEAR, row(4, tolerance_used=0.5, after_looking="x")
    )["quick"]
    assert kept["counts"] == {"printed": {"not reproduced": 1, "reproduced": 2}, "our arithmetic": {"reproduced": 1}}
    assert list(kept["checks"]) == ["one[0]", "one[2]"]
    assert kept["history"] == {"revised": 0, "after_looking": 1}
    assert kept["checks"]["one[2]"]["used"] == 0.9


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        (record(FAILS, NEAR), None),
        (record(FAILS, NEAR, row(1, "not reproduced", "derived")), "one[1] fails without a reason"),
        (record(FAILS, NEAR, full=[NEAR, row(4, "error")]), "one[4] fails without a reason"),
        (record(FAILS, NEAR, row(4, tolerance_used=0.81)), "one[4] uses 81% of its tolerance without a reason"),
        (record(FAILS), "one[2] has a reason for most of its tolerance, and does not use it"),
        (record(NEAR, full=[NEAR]), "one[0] has a reason, and does not fail"),
        (record(NEAR, full=[FAILS]), None),
        (record(FAILS, NEAR, row(9, "not reproduced")), "one[9] is no check; measure again"),
    ],
)
def test_a_failure_needs_a_reason_in_each_tier_and_a_reason_a_failure(kept, problem):
    found = list(verdicts.problems(kept, KNOWN))
    assert [line.partition(" (")[0] for line in found] == ([problem] if problem else [])


def test_the_page_lists_failures_by_basis_readings_tolerances_and_what_was_withdrawn(tmp_path, monkeypatch):
    readings = [
        {"reading": "each point", "text": "7", "verdict": "not reproduced"},
        {"reading": "mean", "text": "5", "verdict": "reproduced"},
    ]
    kept = record(
        FAILS, row(1, "not reproduced", "derived"), NEAR, row(3, "withdrawn"), row(4, "undecidable", readings=readings)
    )
    (tmp_path / "verdicts.json").write_text(json.dumps(kept))
    monkeypatch.setattr(verdicts, "RECORD", tmp_path / "verdicts.json")
    claim = Claim(Path("papers/zhang-2008/figure"), (ENTRY,))
    monkeypatch.setattr(verdicts, "discover", lambda _papers: [claim])
    page = "\n".join(verdicts.lines())
    assert "measures 3 printed statements. 1 are reproduced, 0 are errors of the papers, 1 are undecidable" in page
    assert "Of 1 checks of our own, 0 hold, and 1 do not." in page
    printed, ours = page.index("`one[0]` `rate_mbps` ≈ 4 Mb/s ± 10 %. Measured: quick value 0."), page.index("`one[1]`")
    assert page.index("## Zhang 2008") < printed < page.index("## Checks of our own") < ours
    assert "**Reason.** Ours.\n\n**Settled by.** A longer run." in page
    assert "| `one[4]` | quick | 7, fails | 5 | undecidable |" in page
    assert "`one[2]` `steps` = 6 ± 1. Measured: quick value 2: 90%. One step." in page
    assert "- `one[3]`: A formula against itself." in page
