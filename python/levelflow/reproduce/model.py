"""Claims of one figure as written in ``claim.toml``."""

from __future__ import annotations

import difflib
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from levelflow.reproduce.verdict import OPERATORS, Value

CLAIM_FILE = "claim.toml"
MEASURE_FILE = "measure.py"
SCENARIO_FILE = "scenario.toml"
PRINTED = "text"
#: Bases of an expected value: printed, derived from the paper's equations, inferred from its text, or our correction.
BASES = (PRINTED, "derived", "inferred", "correction")
#: Kind of evidence for a verdict (its *ground*), by kind of entry.
GROUNDS = {
    "packet-sim": "packets",
    "linux-testbed": "packets, not Linux",
    "fluid-model": "theory",
    "theory": "theory",
    "implementation": "code",
}


#: Keys of a check that explain why it does not reproduce; at most one is allowed.
FAILURES = ("reason", "undecidable", "erratum")
#: Keys of a check with a sentence on its outcome.
EXPLANATIONS = ("reason", "settled_by", "undecidable", "narrow", "withdrawn")
#: Verdicts that an erratum can have.
ERRATA = ("corrected", "refuted")
#: Keys of a check that depend on the reading of the paper.
READ = ("metric", "at", "op", "value", "tol_rel", "tol_abs", "basis")


class ClaimError(ValueError):
    """Invalid claim file or unknown id. The message has one line: location, problem and allowed values."""


@dataclass(frozen=True)
class Revised:
    """Revision of a check after a first reading of the paper.

    Attributes:
        quote: Sentence of the paper that supports the new reading.
        reason: Reason why the first reading was wrong or too strict.
        was: Values of the first reading that differ: `op`, `value`, `tol_rel`, `tol_abs`, `metric`, `at`, `basis`.
    """

    quote: str
    reason: str
    was: Mapping[str, Any]


@dataclass(frozen=True)
class Erratum:
    """False, inconsistent or incomplete statement of a paper.

    Attributes:
        verdict: "corrected" or "refuted".
        quote: Printed statement.
        proof: Proof that the statement is false. The measured value is the counterexample.
        correction: Corrected statement.
        stands: Part of the paper that remains true.
        shown_by: Checks of the same figure, as `entry[0]`, that must hold for the verdict.
        glyph: Place of the quote, and the glyph, sign or digit on which the erratum depends. The quote comes from a
            machine-read text, so this erratum must be verified on the printed page.
    """

    verdict: str
    quote: str
    proof: str
    correction: str = ""
    stands: str = ""
    shown_by: tuple[str, ...] = ()
    glyph: str = ""


@dataclass(frozen=True)
class Check:
    """Single expected result of an entry."""

    metric: str
    op: str
    value: Value | None = None
    at: str = ""
    tol_rel: float | None = None
    tol_abs: float | None = None
    basis: str = PRINTED
    note: str = ""
    #: Kind of evidence if it differs from the entry's: a key of `GROUNDS`.
    kind: str = ""
    #: Reason why the check does not reproduce. It is shown only in this case.
    reason: str = ""
    #: Further measurement that would decide a check that does not reproduce.
    settled_by: str = ""
    #: True if the check passes in the quick tier only. It then counts as failed in both tiers.
    passes_quick: bool = False
    #: Reason why the measured value uses most of the tolerance.
    narrow: str = ""
    #: Reason why the check was withdrawn. A withdrawn check has no value and no verdict on the paper.
    withdrawn: str = ""
    #: Missing information without which the check is undecidable. It is shown only if the check does not reproduce.
    undecidable: str = ""
    #: Choice made after a first result was seen, if it may affect the verdict.
    after_looking: str = ""
    revised: Revised | None = None
    erratum: Erratum | None = None
    #: Laws and other components that the measurement requires.
    needs: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """True if the claim declares why the check does not reproduce."""
        return bool(self.reason or self.undecidable or self.erratum)

    def missing(self, available: frozenset[str]) -> tuple[str, ...]:
        """Returns the needs of this check that are not in ``available``."""
        return tuple(need for need in self.needs if need not in available)


@dataclass(frozen=True)
class Reading:
    """One possible meaning of an ambiguous text.

    Attributes:
        name: Short name, also of the reading's values.
        text: Meaning of the reading, with the words of the paper that support it.
        set: Changes of the scenario, by dotted path.
    """

    name: str
    text: str
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """Claim of a paper: a figure, an equation or a paragraph."""

    id: str
    source: str
    kind: str
    title: str
    setup: str
    check: tuple[Check, ...]
    #: Interpretations that we chose where the paper is ambiguous.
    deviations: tuple[str, ...] = ()
    #: Readings between which the text does not decide, our default first. Each is measured.
    reading: tuple[Reading, ...] = ()
    #: Default `after_looking` of the checks.
    after_looking: str = ""

    def ground(self, check: Check) -> str:
        """Kind of evidence for the verdict of a check if the simulator is measured."""
        return GROUNDS[check.kind or self.kind]

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the measured values, one per check: ``metric``, or ``metric[at]`` if its checks differ in ``at``."""
        places = Counter(metric for metric, _ in {(check.metric, check.at) for check in self.check})
        return tuple(
            f"{check.metric}[{check.at}]" if check.at and places[check.metric] > 1 else check.metric
            for check in self.check
        )


@dataclass(frozen=True)
class Claim:
    """Claims of one folder of ``papers/``."""

    folder: Path
    entries: tuple[Entry, ...]
    #: Factor that scales rates for a testbed; None if the scenarios cannot run on a testbed.
    testbed_scale: float | None = None

    @property
    def paper(self) -> str:
        """Name of the paper's folder."""
        return self.folder.parent.name

    @property
    def name(self) -> str:
        """Paper and folder, such as ``zhang-2008/fig35a``."""
        return f"{self.paper}/{self.folder.name}"

    @property
    def is_theory(self) -> bool:
        """True if all verdicts are about theory. Such a figure computes, and simulates little or nothing."""
        return all(GROUNDS[entry.kind] == "theory" for entry in self.entries)

    def entry(self, name: str) -> Entry:
        """Returns the entry with an id.

        Raises:
            KeyError: If there is none.
        """
        return {entry.id: entry for entry in self.entries}[name]

    @property
    def checks(self) -> dict[str, Check]:
        """Checks by name, such as ``fig35a[0]``."""
        return {f"{entry.id}[{i}]": check for entry in self.entries for i, check in enumerate(entry.check)}


def load(folder: Path) -> Claim:
    """Reads and validates the claims of a folder.

    Raises:
        ClaimError: If the file does not parse, or a key, an operator or a value is not allowed.
    """
    path = folder / CLAIM_FILE
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ClaimError(f"{path}: {error}") from error
    _known(raw, ("entry", "testbed_scale"), str(path))
    scale = raw.get("testbed_scale")
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale <= 1):
        raise ClaimError(f"{path}, testbed_scale: a number above 0 and at most 1 is needed, not {scale!r}")
    entries = tuple(_entry(item, f"{path}: entry {i + 1}") for i, item in enumerate(raw.get("entry", [])))
    if not entries:
        raise ClaimError(f"{path}: no [[entry]]")
    named = {f"{entry.id}[{i}]" for entry in entries for i in range(len(entry.check))}
    for entry in entries:
        for i, check in enumerate(entry.check):
            for shown in check.erratum.shown_by if check.erratum else ():
                if shown not in named:
                    problem = _unknown("check of this figure", shown, sorted(named))
                    raise ClaimError(f"{path} ({entry.id}), check {i}, erratum, shown_by: {problem}")
    return Claim(folder, entries, scale)


def discover(papers: Path) -> list[Claim]:
    """Returns all claims under ``papers/``, sorted by name.

    Raises:
        ClaimError: If a claim file is invalid or two entries have the same id.
    """
    claims = [load(path.parent) for path in sorted(papers.glob(f"*/*/{CLAIM_FILE}"))]
    owner: dict[str, str] = {}
    for claim in claims:
        for entry in claim.entries:
            if entry.id in owner:
                raise ClaimError(f"{claim.name}: the entry {entry.id} is already in {owner[entry.id]}")
            owner[entry.id] = claim.name
    return claims


def select(claims: Sequence[Claim], ids: Sequence[str], paper: str | None = None) -> list[Claim]:
    """Returns the claims whose entry id, folder or ``paper/folder`` is in ``ids``, optionally of one paper.

    An empty ``ids`` selects all claims.

    Raises:
        ClaimError: If an id or the paper is unknown. The message contains the nearest known name.
    """
    papers = sorted({claim.paper for claim in claims})
    if paper is not None and paper not in papers:
        raise ClaimError(_unknown("paper", paper, papers))
    chosen = [claim for claim in claims if paper is None or claim.paper == paper]
    if not ids:
        return chosen
    names = {name for claim in chosen for name in _names(claim)}
    for wanted in ids:
        if wanted not in names:
            raise ClaimError(_unknown("claim", wanted, sorted(names)))
    return [claim for claim in chosen if not _names(claim).isdisjoint(ids)]


def _names(claim: Claim) -> set[str]:
    return {claim.name, claim.folder.name, *(entry.id for entry in claim.entries)}


def _unknown(what: str, wanted: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.0)
    hint = f"; the nearest is {near[0]}" if near else ""
    return f"no {what} is named {wanted!r}{hint}"


def _entry(raw: Any, where: str) -> Entry:
    item = _table(raw, Entry, where)
    checks = item.pop("check", None)
    if not isinstance(checks, list) or not checks:
        raise ClaimError(f"{where}: at least one [[entry.check]] is needed")
    where = f"{where} ({item.get('id', '?')})"
    after = {key: item[key] for key in ("after_looking",) if key in item}
    for key in ("id", "source", "kind", "title", "setup", *after):
        _text(item, key, where)
    _kind(item["kind"], where)
    return Entry(
        **{
            **item,
            "deviations": _texts(item, "deviations", where),
            "reading": _readings(item.get("reading", []), where),
        },
        check=tuple(
            _check(after | check if isinstance(check, dict) else check, f"{where}, check {i}")
            for i, check in enumerate(checks)
        ),
    )


def _readings(raw: Any, where: str) -> tuple[Reading, ...]:
    readings = []
    for item in raw if isinstance(raw, list) else [raw]:
        table = _table(item, Reading, f"{where}, reading")
        for key in ("name", "text"):
            _text(table, key, f"{where}, reading")
        if not isinstance(table.setdefault("set", {}), dict):
            raise ClaimError(f"{where}, reading, set: a table of changes is needed")
        readings.append(Reading(**table))
    if len(readings) == 1 or len({reading.name for reading in readings}) < len(readings):
        raise ClaimError(f"{where}, reading: at least two with different names are needed")
    return tuple(readings)


def _check(raw: Any, where: str) -> Check:
    item = _table(raw, Check, where)
    for key in ("metric", "op"):
        _text(item, key, where)
    for key in ("at", "note", "kind", *EXPLANATIONS, "basis", "after_looking"):
        if key in item:
            _text(item, key, where)
    if "kind" in item:
        _kind(item["kind"], where)
    if item["op"] not in OPERATORS:
        raise ClaimError(f"{where}, op: {item['op']!r} is not one of {' '.join(OPERATORS)}")
    if item.get("basis", "text") not in BASES:
        raise ClaimError(f"{where}, basis: {item['basis']!r} is not one of {' '.join(BASES)}")
    if ("value" in item) is (item["op"] in ("true", "false")):
        raise ClaimError(f"{where}, value: every operator but true and false needs one")
    for key in ("tol_rel", "tol_abs"):
        tolerance = item.get(key, 0)
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or tolerance < 0:
            raise ClaimError(f"{where}, {key}: a number of at least 0 is needed, not {tolerance!r}")
    _outcome(item, where)
    revised, erratum = item.pop("revised", None), item.pop("erratum", None)
    return Check(
        **{**item, "needs": _texts(item, "needs", where)},
        revised=None if revised is None else _revised(revised, item, f"{where}, revised"),
        erratum=None if erratum is None else _erratum(erratum, f"{where}, erratum"),
    )


def _outcome(item: Mapping[str, Any], where: str) -> None:
    """Verifies the keys that explain the outcome of a check."""
    if sum(key in item for key in (*FAILURES, "withdrawn")) > 1:
        raise ClaimError(f"{where}: at most one of {', '.join(FAILURES)} and withdrawn is allowed")
    for key in ("passes_quick", "settled_by"):
        if key in item and not any(failure in item for failure in FAILURES):
            raise ClaimError(f"{where}, {key}: one of {', '.join(FAILURES)} is needed, too")
    if not isinstance(item.get("passes_quick", False), bool):
        raise ClaimError(f"{where}, passes_quick: true or false is needed")


def _kind(kind: str, where: str) -> None:
    if kind not in GROUNDS:
        raise ClaimError(f"{where}, kind: {kind!r} is not one of {', '.join(GROUNDS)}")


def _revised(raw: Any, check: Mapping[str, Any], where: str) -> Revised:
    item = _table(raw, Revised, where)
    for key in ("quote", "reason"):
        _text(item, key, where)
    was = item.get("was")
    if not isinstance(was, dict) or not was:
        raise ClaimError(f"{where}, was: a table of the values before is needed")
    _known(was, READ, f"{where}, was")
    for key, value in was.items():
        if check.get(key) == value:
            raise ClaimError(f"{where}, was: {key} is {value!r} now, too")
    return Revised(**item)


def _erratum(raw: Any, where: str) -> Erratum:
    item = _table(raw, Erratum, where)
    optional = ("correction", "stands", "glyph")
    for key in ("verdict", "quote", "proof", *(key for key in optional if key in item)):
        _text(item, key, where)
    if item["verdict"] not in ERRATA:
        raise ClaimError(f"{where}, verdict: {item['verdict']!r} is not one of {', '.join(ERRATA)}")
    shown = _texts(item, "shown_by", where)
    if item["verdict"] == "corrected" and not (shown and item.get("correction")):
        raise ClaimError(f"{where}: corrected needs a correction, and shown_by, the checks that show it")
    return Erratum(**{**item, "shown_by": shown})


def _table(raw: Any, shape: type, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ClaimError(f"{where}: a table is needed")
    _known(raw, [field.name for field in fields(shape)], where)
    return dict(raw)


def _known(raw: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in raw:
        if key not in allowed:
            raise ClaimError(f"{where}: {_unknown('key', key, allowed)}")


def _text(item: Mapping[str, Any], key: str, where: str) -> None:
    if not isinstance(item.get(key), str) or (not item[key] and key != "at"):
        raise ClaimError(f"{where}, {key}: a text is needed")


def _texts(item: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = item.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ClaimError(f"{where}, {key}: a list of texts is needed")
    return tuple(value)
