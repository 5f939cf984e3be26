"""Verdicts of whole runs, kept for documents: `python -m tools.verdicts QUICK.json [FULL.json]`.

The files are written by `levelflow reproduce --json`, without and with `--full`. The tool writes counts, failing
checks, readings, and checks that use most of their tolerance to `papers/verdicts.json`. `make gen` writes
`docs/not-reproduced.md` from this file and the claims. The tool fails if a check fails without a reason in its claim.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow.library import PAPERS
from levelflow.reproduce.model import PRINTED, Check, Entry, discover
from levelflow.reproduce.outcome import FULL, QUICK, Outcome
from levelflow.reproduce.report import SAYS
from levelflow.reproduce.verdict import FAILED
from levelflow.reproduce.wording import expected, unit_of
from tools import CHECKOUT
from tools.errata import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RECORD = CHECKOUT / "papers" / "verdicts.json"
#: Tiers of a record, and the command of each.
TIERS = {QUICK: "levelflow reproduce", FULL: "levelflow reproduce --full"}
#: Longest measured value on the page, characters.
LONGEST = 160
#: Keys of a row whose reading or set-up was chosen after a first result.
HISTORY = ("revised", "after_looking")
#: Largest fraction of its tolerance that a passing check may use without a reason.
NARROW = 0.8
INTRODUCTION = """# Not reproduced
This page lists the checks that `levelflow reproduce` does not reproduce and that are no [errata](errata.md) of the
papers. Each has its set-up, the expected and the measured value, the reason, and a measurement that would settle it.
*Printed statements* are those of the papers. The other checks are [our own](#checks-of-our-own): numbers that we derive
from the equations, and readings of the text. `quick` is the command without options, `full` the command with `--full`.
"""
NO_FULL = (
    "The numbers are those of a run without `--full`. Checks that pass in this run and failed in earlier runs with "
    "`--full` are counted as not reproduced, and marked."
)
Found = tuple[str, Entry, Check]
Record = dict[str, dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Writes the record. Returns 1 if a failing check lacks a reason, or a reason has no failing check."""
    parser = argparse.ArgumentParser(prog="python -m tools.verdicts", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="without --full, then with --full")
    files = parser.parse_args(arguments).files
    tiers = zip(TIERS, (json.loads(path.read_text(encoding="utf-8")) for path in files), strict=False)
    record = {tier: recorded(rows) for tier, rows in tiers}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    found = list(problems(record, checks()))
    for problem in found:
        print(f"tools.verdicts: {problem}", file=sys.stderr)
    return int(bool(found))


def recorded(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the counts by basis, and the checks that fail, have readings, or use most of their tolerance."""
    counts: dict[str, Counter[str]] = {}
    kept = {}
    for row in rows:
        counts.setdefault(SAYS[row["basis"]], Counter())[row["verdict"]] += 1
        narrow = row["verdict"] == "reproduced" and row.get("tolerance_used", 0.0) > NARROW
        if row["verdict"] in FAILED or narrow or "readings" in row:
            kept[f"{row['id']}[{row['check']}]"] = {
                "verdict": row["verdict"],
                "text": row["text"],
                **({"used": row["tolerance_used"]} if narrow else {}),
                **({"other_tier": row["other_tier"]["text"]} if "other_tier" in row else {}),
                **({"readings": _read(row["readings"])} if "readings" in row else {}),
            }
    held = [row for row in rows if (row["basis"], row["verdict"]) == (PRINTED, "reproduced")]
    history = {key: sum(key in row for row in held) for key in HISTORY}
    return {"counts": counts, "history": history, "checks": kept}


def _read(readings: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {one["reading"]: {"text": one["text"], "verdict": one["verdict"]} for one in readings}


def checks() -> dict[str, Found]:
    """Returns all checks of the papers by name."""
    return {
        f"{entry.id}[{i}]": (f"{entry.id}[{i}]", entry, check)
        for claim in discover(PAPERS)
        for entry in claim.entries
        for i, check in enumerate(entry.check)
    }


def problems(record: Record, known: Mapping[str, Found]) -> Iterator[str]:
    """Yields a line for each failing check without a reason, and each reason without a failing check.

    Reasons for values that use most of their tolerance are treated in the same way.
    """
    failing, narrow = _failing(record), _narrow(record)
    for name in sorted({*failing, *narrow} - set(known)):
        yield f"{name} is no check; measure again"
    for name, (_, _, check) in known.items():
        if name in failing and not check.fails:
            yield f"{name} fails without a reason"
        if name in narrow and name not in failing and not check.narrow:
            yield f"{name} uses {narrow[name]:.0%} of its tolerance without a reason (`narrow`)"
        if check.narrow and name not in narrow:
            yield f"{name} has a reason for most of its tolerance, and does not use it"
        if check.reason and name not in failing and len(record) == len(TIERS):
            yield f"{name} has a reason, and does not fail"


def _failing(record: Record) -> set[str]:
    return {name for tier in record.values() for name, row in tier["checks"].items() if row["verdict"] in FAILED}


def _narrow(record: Record) -> dict[str, float]:
    """Returns the largest part of the tolerance that a check uses while it holds, by name."""
    used: dict[str, float] = {}
    for tier in record.values():
        for name, row in tier["checks"].items():
            if "used" in row:
                used[name] = max(used.get(name, 0.0), row["used"])
    return used


def lines() -> Iterator[str]:
    """Yields the lines of the page."""
    record, known = json.loads(RECORD.read_text(encoding="utf-8")), checks()
    failing = _failing(record)
    found = [one for one in known.values() if one[0] in failing]
    yield INTRODUCTION
    if FULL not in record:
        yield from _wrapped(NO_FULL)
        yield ""
    for tier in record:
        yield from _wrapped(_headline(tier, record[tier], known))
        yield ""
    papers = {entry.id: claim.paper for claim in discover(PAPERS) for entry in claim.entries}
    for paper, title in TEXTS.items():
        printed = [one for one in found if papers.get(one[1].id) == paper and one[2].basis == PRINTED]
        yield from _chapter(title, printed, record)
    yield from _chapter("Checks of our own", [one for one in found if one[2].basis != PRINTED], record)
    yield from _readings(record, known)
    yield from _tolerances(record, known)
    yield from _withdrawn(known)


def _headline(tier: str, record: Mapping[str, Any], known: Mapping[str, Found]) -> str:
    """Returns the counts of a tier. Statements that this machine did not measure are in the claims only."""
    counts, history = record["counts"], record["history"]
    printed = Counter(counts[SAYS[PRINTED]])
    ours = sum((Counter(count) for says, count in counts.items() if says != SAYS[PRINTED]), Counter())
    total = sum(check.basis == PRINTED and not check.withdrawn for _, _, check in known.values())
    unmeasured = total + printed["withdrawn"] - printed.total()
    errors, failed = printed["corrected"] + printed["refuted"], sum(printed[verdict] for verdict in FAILED)
    counted, broken = ours.total() - ours["withdrawn"], sum(ours[verdict] for verdict in FAILED)
    kernel = f"; {unmeasured} need a kernel router" if unmeasured else ""
    return (
        f"`{TIERS[tier]}` measures {total} printed statements. {printed['reproduced']} are reproduced, {errors} are "
        f"errors of the papers, {printed['undecidable']} are undecidable, and {failed} are not reproduced{kernel}. Of "
        f"the reproduced statements, {history['revised']} were read otherwise at first, and {history['after_looking']} "
        f"rest on a choice that was made after a first result. Of {counted} checks of our own, {ours['reproduced']} "
        f"hold, and {broken} do not."
    )


def _chapter(title: str, found: Sequence[Found], record: Record) -> Iterator[str]:
    if not found:
        return
    yield f"## {title}"
    for entry, same in groupby(found, key=lambda one: one[1]):
        yield f"\n### {entry.source}: {entry.id}"
        yield from _wrapped(f"{entry.title}. {_sentence(entry.setup)}")
        for (reason, settled), group in groupby(same, key=lambda one: (one[2].reason, one[2].settled_by)):
            yield ""
            for name, _, check in group:
                only = " Passes in this run; failed with `--full`." if check.passes_quick and FULL not in record else ""
                yield from _item(f"`{name}` {_expected(entry, check)}. Measured: {_measured(name, record)}.{only}")
            yield ""
            yield from _wrapped(f"**Reason.** {_sentence(reason)}")
            if settled:
                yield ""
                yield from _wrapped(f"**Settled by.** {_sentence(settled)}")
    yield ""


def _expected(entry: Entry, check: Check) -> str:
    at = f" ({check.at})" if check.at else ""
    unit = unit_of(Outcome(entry, entry.check.index(check), "reproduced"))
    return f"`{check.metric}`{at} {expected(check, unit)}"


def _measured(name: str, record: Record) -> str:
    rows = {tier: found["checks"].get(name) for tier, found in record.items()}
    texts = {tier: _short(row["text"]) if row else "within the tolerance" for tier, row in rows.items()}
    return "; ".join(f"{tier} {text}" for tier, text in texts.items())


def _readings(record: Record, known: Mapping[str, Found]) -> Iterator[str]:
    names = dict.fromkeys(
        name for tier in record.values() for name, row in tier["checks"].items() if "readings" in row and name in known
    )
    if not names:
        return
    yield "## Readings"
    yield from _wrapped(
        "Where the text leaves a choice, each reading is measured. A check that holds under some readings only is "
        "undecidable, whichever is our default."
    )
    for entry, same in groupby((known[name] for name in names), key=lambda one: one[1]):
        yield f"\n### {entry.source}: {entry.id} under each reading"
        for reading in entry.reading:
            yield from _item(f"*{reading.name}*: {_sentence(reading.text)}")
        yield ""
        yield f"| check | tier | {' | '.join(reading.name for reading in entry.reading)} | verdict |"
        yield f"|{'---|' * (len(entry.reading) + 3)}"
        for name, _, _ in same:
            for tier, found in record.items():
                if row := found["checks"].get(name):
                    cells = (row["readings"][reading.name] for reading in entry.reading)
                    values = " | ".join(
                        f"{_short(cell['text'])}{'' if cell['verdict'] == 'reproduced' else ', fails'}"
                        for cell in cells
                    )
                    yield f"| `{name}` | {tier} | {values} | {row['verdict']} |"
    yield ""


def _tolerances(record: Record, known: Mapping[str, Found]) -> Iterator[str]:
    yield "## Close to the tolerance"
    yield from _wrapped(f"These checks hold in a run in which they use more than {NARROW:.0%} of their tolerance.")
    yield ""
    for name, part in sorted(_narrow(record).items(), key=lambda item: -item[1]):
        _, entry, check = known[name]
        said = f"`{name}` {_expected(entry, check)}. Measured: {_measured(name, record)}: {part:.0%}."
        yield from _item(f"{said} {_sentence(check.narrow)}")
    yield ""


def _withdrawn(known: Mapping[str, Found]) -> Iterator[str]:
    found = sorted((one for one in known.values() if one[2].withdrawn), key=lambda one: one[2].withdrawn)
    yield "## Withdrawn"
    yield from _wrapped("These checks could not fail. They are not counted, and keep their numbers.")
    yield ""
    for why, same in groupby(found, key=lambda one: one[2].withdrawn):
        yield from _item(f"{', '.join(f'`{name}`' for name, _, _ in same)}: {_sentence(why)}")


def _sentence(text: str) -> str:
    ends = text.endswith((".", ".'"))
    return f"{text[:1].upper()}{text[1:]}{'' if ends else '.'}" if text else ""


def _short(text: str) -> str:
    """Returns a measured value, with the middle of long lists of texts left out."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"


def _item(text: str) -> list[str]:
    return _wrapped(f"- {text}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    raise SystemExit(main())
