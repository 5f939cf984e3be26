"""The claims of one figure as ``claim.toml`` states them."""

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
CORRECTION = "correction"
#: The paper prints it; it follows from the paper's equations; we read it into the text; or we say it in its place.
BASES = ("text", "derived", "inferred", CORRECTION)
#: What verdicts of a kind of entry stand on.
GROUNDS = {
    "packet-sim": "packets",
    "linux-testbed": "packets, not Linux",
    "fluid-model": "theory",
    "theory": "theory",
    "implementation": "code",
}


#: Verdicts of an erratum.
ERRATA = ("corrected", "refuted")
#: What of a check is a reading of the paper.
READ = ("metric", "at", "op", "value", "tol_rel", "tol_abs", "basis")


class ClaimError(ValueError):
    """A claim file that cannot be used, or an id that no figure has: one line, what, where and what is allowed."""


@dataclass(frozen=True)
class Revised:
    """Why a check is read otherwise than at first.

    Attributes:
        quote: the sentence of the paper that the new reading rests on.
        reason: why the first one was wrong or too sharp.
        was: the first reading, as far as it differs: `op`, `value`, `tol_rel`, `tol_abs`, `metric`, `at`.
    """

    quote: str
    reason: str
    was: Mapping[str, Any]


@dataclass(frozen=True)
class Erratum:
    """What is false, inconsistent or incomplete as the paper prints it.

    Attributes:
        verdict: "corrected" or "refuted".
        quote: what is printed.
        proof: why it is false; the measured value is the counterexample.
        correction: what holds instead.
        stands: what of the paper stands regardless.
        shown_by: checks of the same figure, as `entry[0]`, that must hold for the verdict.
    """

    verdict: str
    quote: str
    proof: str
    correction: str = ""
    stands: str = ""
    shown_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One expectation of an entry."""

    metric: str
    op: str
    value: Value | None = None
    at: str = ""
    tol_rel: float | None = None
    tol_abs: float | None = None
    basis: str = "text"
    note: str = ""
    #: Why it does not reproduce here; shown only when it does not.
    reason: str = ""
    #: What decides it and cannot be had; shown only when it does not reproduce.
    undecidable: str = ""
    #: What was chosen after a first result was seen, where that may decide the verdict.
    after_looking: str = ""
    revised: Revised | None = None
    erratum: Erratum | None = None
    #: Laws, or other parts, without which it cannot be measured.
    needs: tuple[str, ...] = ()

    def missing(self, available: frozenset[str]) -> tuple[str, ...]:
        """What this check needs and ``available`` lacks."""
        return tuple(need for need in self.needs if need not in available)


@dataclass(frozen=True)
class Entry:
    """One claim of a paper: a figure, an equation or a paragraph."""

    id: str
    source: str
    kind: str
    title: str
    setup: str
    check: tuple[Check, ...]
    #: Readings that we chose where the paper leaves something open.
    deviations: tuple[str, ...] = ()
    #: That of checks that have none of their own.
    after_looking: str = ""

    @property
    def ground(self) -> str:
        """What its verdicts stand on, in the simulator."""
        return GROUNDS[self.kind]

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the values of the checks: ``metric``, or ``metric[at]`` where those of a metric differ in ``at``."""
        places = Counter(metric for metric, _ in {(check.metric, check.at) for check in self.check})
        return tuple(
            f"{check.metric}[{check.at}]" if check.at and places[check.metric] > 1 else check.metric
            for check in self.check
        )


@dataclass(frozen=True)
class Claim:
    """The claims of one folder of ``papers/``."""

    folder: Path
    entries: tuple[Entry, ...]
    #: What rates are multiplied by where a testbed runs the scenarios; None if it cannot.
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
        """Whether its verdicts stand on no packets and no code: it computes, and simulates little."""
        return all(entry.ground == "theory" for entry in self.entries)

    @property
    def checks(self) -> dict[str, Check]:
        """The checks by their names, such as ``fig35a[0]``."""
        return {f"{entry.id}[{i}]": check for entry in self.entries for i, check in enumerate(entry.check)}


def load(folder: Path) -> Claim:
    """Reads and checks the claims of a folder.

    Raises:
        ClaimError: when the file does not parse, or a key, an operator or a value is not allowed.
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
    """All claims under ``papers/``, in the order of their names.

    Raises:
        ClaimError: when a claim file is not usable or two entries have the same id.
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
    """The claims whose entry id, folder or ``paper/folder`` is in ``ids`` (all, if empty), of one paper if named.

    Raises:
        ClaimError: when an id or the paper is not among the claims; it names the nearest one.
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
    if item["kind"] not in GROUNDS:
        raise ClaimError(f"{where}, kind: {item['kind']!r} is not one of {', '.join(GROUNDS)}")
    return Entry(
        **{**item, "deviations": _texts(item, "deviations", where)},
        check=tuple(
            _check(after | check if isinstance(check, dict) else check, f"{where}, check {i}")
            for i, check in enumerate(checks)
        ),
    )


def _check(raw: Any, where: str) -> Check:
    item = _table(raw, Check, where)
    for key in ("metric", "op"):
        _text(item, key, where)
    for key in ("at", "note", "reason", "basis", "undecidable", "after_looking"):
        if key in item:
            _text(item, key, where)
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
    if sum(key in item for key in ("reason", "undecidable", "erratum")) > 1:
        raise ClaimError(f"{where}: at most one of reason, undecidable and erratum says why it is not reproduced")
    revised, erratum = item.pop("revised", None), item.pop("erratum", None)
    return Check(
        **{**item, "needs": _texts(item, "needs", where)},
        revised=None if revised is None else _revised(revised, item, f"{where}, revised"),
        erratum=None if erratum is None else _erratum(erratum, f"{where}, erratum"),
    )


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
    for key in ("verdict", "quote", "proof", *(key for key in ("correction", "stands") if key in item)):
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
