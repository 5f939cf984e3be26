"""Measurement of figures in parallel, and evaluation of their checks."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast, get_args

from levelflow import _core, dataplane
from levelflow.measure.completions import FEWEST_IN_MEAN, OverFlows
from levelflow.reproduce import wording
from levelflow.reproduce.figure import CancelledError, Figure, Runs
from levelflow.reproduce.images import Picture, draw
from levelflow.reproduce.model import CLAIM_FILE, MEASURE_FILE, Claim, ClaimError, Entry
from levelflow.reproduce.outcome import FULL, QUICK, Outcome
from levelflow.reproduce.verdict import (
    Against,
    Measured,
    Noted,
    Readings,
    Scalar,
    Seeds,
    Value,
    Verdict,
    listed,
    meets,
)

#: Note of a check that passes in the quick tier only.
PASSES_QUICK = "passes with the fewer seeds and shorter runs of this tier; fails with --full"
#: Measured values of an entry, by check key.
Values = Mapping[str, Measured | Noted | Readings]


@dataclass(frozen=True)
class FigureOutcome:
    """Outcome of one figure."""

    claim: Claim
    outcomes: tuple[Outcome, ...]
    images: tuple[Picture, ...]
    #: Scenarios of all runs as TOML, in the order of the requests and without duplicates.
    scenarios: tuple[str, ...]
    seconds: float
    tier: str
    #: True if runs differ between the full and the quick tier.
    has_tiers: bool = False


def available() -> frozenset[str]:
    """Returns the requirements of checks that this machine meets: all laws, and the data plane if it can run."""
    laws = frozenset(law["name"] for law in json.loads(_core.laws()))
    return laws | {dataplane.NEED} if dataplane.has_kernel_router() else laws


def measure_all(
    claims: Sequence[Claim],
    *,
    full: bool = False,
    workers: int | None = None,
    kept: Kept | None = None,
    changes: Sequence[tuple[str, Any]] = (),
    folder: Path | None = None,
) -> Generator[FigureOutcome, None, None]:
    """Measures figures with ``workers`` parallel runs (by default one per processor), and yields each when done.

    With ``full``, both tiers are measured with every seed, and the worse verdict of each check counts. Figures in the
    cache ``kept`` are not measured again, and measured figures are added to the cache. ``changes`` apply to all
    scenarios. If ``folder`` is given, it stores the results of runs. An interruption cancels the current runs. Outcomes
    that were yielded before remain valid.
    """
    workers = workers or os.cpu_count() or 1
    runs, laws = Runs(workers, changes, folder), available()

    def one(claim: Claim) -> FigureOutcome:
        known = kept and kept.load(claim)
        if known:
            return known
        found = measure_tiers(claim, runs, laws) if full else measure(claim, [runs], laws, full=False, every_draw=False)
        if kept:
            kept.save(found)
        return found

    # The additional thread keeps all workers busy while one figure is evaluated or drawn. Figures of theory start no
    # runs but compute in Python, so they share one thread of their own.
    simulated, computed = ThreadPoolExecutor(workers + 1), ThreadPoolExecutor(1)
    try:
        figures = [(computed if claim.is_theory else simulated).submit(one, claim) for claim in claims]
        for done in as_completed(figures):
            yield done.result()
    finally:
        runs.stop()
        for pool in (simulated, computed):
            pool.shutdown(wait=True, cancel_futures=True)


class Kept(Protocol):
    """Cache of measured figures."""

    def load(self, claim: Claim) -> FigureOutcome | None:
        """Returns a cached figure; None if it is not cached."""

    def save(self, figure: FigureOutcome) -> None:
        """Stores a figure."""


def measure_tiers(claim: Claim, runs: Runs, laws: frozenset[str]) -> FigureOutcome:
    """Measures one figure in the full tier. If the quick tier differs, measures it too. The worse verdict counts."""
    full = measure(claim, [runs], laws, full=True)
    if not full.has_tiers:
        return full
    quick = measure(claim, [runs], laws, full=False)
    outcomes = tuple(worse(*pair) for pair in zip(full.outcomes, quick.outcomes, strict=True))
    return replace(full, outcomes=outcomes, seconds=full.seconds + quick.seconds)


def worse(one: Outcome, other: Outcome) -> Outcome:
    """Returns the outcome with the worse verdict (`one` if they are equal). Its `other` is the remaining outcome."""
    order = get_args(Verdict)
    if order.index(other.verdict) > order.index(one.verdict):
        one, other = other, one
    return replace(one, other=other)


def measure(
    claim: Claim, repeats: Sequence[Runs], laws: frozenset[str], *, full: bool, every_draw: bool = True
) -> FigureOutcome:
    """Measures one figure. An exception of its code becomes the verdict "error" of its checks.

    The figure is measured once per item of ``repeats``. Checks are evaluated over repeats as over seeds.

    Raises:
        CancelledError: If the session was interrupted.
        ClaimError: If the names of the measured values differ from the names of the checks.
    """
    begin = time.monotonic()
    figures = [Figure(claim, runs, full=full, every_draw=every_draw) for runs in repeats]
    values: Mapping[str, Values] = {}
    images: tuple[Picture, ...] = ()
    failure = ""
    if any(not check.missing(laws) for entry in claim.entries for check in entry.check):
        try:
            module = _module(claim)
            found = [module.measure(figure) for figure in figures]
            for table in found:
                _check_names(claim, table, laws)
            values = found[0] if len(found) == 1 else _repeated(found)
            images = draw(figures[0], getattr(module, "plot", None), getattr(module, "mark", None))
        except (CancelledError, ClaimError):
            raise
        except Exception as error:  # any exception of the figure's code becomes a verdict
            failure = f"{type(error).__name__}: {error}"
    outcomes = tuple(
        outcome for entry in claim.entries for outcome in judge(entry, values.get(entry.id, {}), laws, failure)
    )
    outcomes = explain(outcomes if every_draw else fail_as_in_full(outcomes))
    if failure and not any(outcome.verdict == "error" for outcome in outcomes):
        outcomes = (replace(outcomes[0], note=_joined(outcomes[0].note, f"no plot: {failure}")), *outcomes[1:])
    tier = FULL if full else QUICK
    outcomes = tuple(replace(outcome, tier=tier) for outcome in outcomes)
    seconds = time.monotonic() - begin
    first = figures[0]
    return FigureOutcome(claim, outcomes, images, first.listings(), seconds, tier, first.has_tiers)


def _repeated(found: Sequence[Mapping[str, Values]]) -> dict[str, Values]:
    """Combines the values of several repeats as if they were values of several seeds."""
    first = found[0]
    return {
        entry: {name: _over_readings([table[entry][name] for table in found]) for name in values}
        for entry, values in first.items()
    }


def _over_readings(values: Sequence[Measured | Noted | Readings]) -> Measured | Noted | Readings:
    read = [value for value in values if isinstance(value, Readings)]
    if not read:
        return over_repeats([value for value in values if not isinstance(value, Readings)])
    return Readings({name: over_repeats([value.values[name] for value in read]) for name in read[0].values})


def over_repeats(values: Sequence[Measured | Noted]) -> Measured | Noted:
    """Combines the values of a check over repeats. Repeats count as seeds.

    Values that have their own targets form lists instead.
    """
    notes = dict.fromkeys(value.note for value in values if isinstance(value, Noted))
    plain = [value.value if isinstance(value, Noted) else value for value in values]
    against = [value for value in plain if isinstance(value, Against)]
    seeds = [part for value in plain for part in _seeds(value)]
    both = (_flat(value.measured for value in against), _flat(value.target for value in against))
    joined = Against(*both) if against else Seeds(seeds)
    return Noted(joined, " | ".join(notes)) if notes else joined


def _seeds(value: Measured) -> Sequence[Value]:
    if isinstance(value, Against):
        return ()
    return value.values if isinstance(value, Seeds) else (value,)


def _flat(values: Iterable[Value]) -> list[Scalar]:
    return [scalar for value in values for scalar in listed(_plain(value))]


def _check_names(claim: Claim, values: Mapping[str, Values], laws: frozenset[str]) -> None:
    """Verifies that each check of each entry has a value, except withdrawn checks and those with missing requirements.

    Raises:
        ClaimError: If a name is missing or unknown.
    """
    where = f"{claim.name}, {MEASURE_FILE}"
    needed = {
        entry.id: {
            key: not check.missing(laws)
            for key, check in zip(entry.keys, entry.check, strict=True)
            if not check.withdrawn
        }
        for entry in claim.entries
    }
    _match(where, values, {entry: True for entry, keys in needed.items() if keys})
    for entry, found in values.items():
        _match(f"{where}, {entry}", found, needed[entry])


def _match(where: str, values: Mapping[str, Any], needed: Mapping[str, bool]) -> None:
    for name in (*values, *needed):
        if name not in needed or (needed[name] and name not in values):
            problem = "has no value" if name in needed else f"is not in {CLAIM_FILE}"
            raise ClaimError(f"{where}: {name!r} {problem}; allowed: {', '.join(needed)}")


def judge(entry: Entry, values: Values, laws: frozenset[str], failure: str = "") -> list[Outcome]:
    """Returns the outcomes of the checks of an entry, in their order.

    A check with a value gets a verdict even if the code of the figure fails later.
    """
    outcomes = []
    for i, (key, check) in enumerate(zip(entry.keys, entry.check, strict=True)):
        if check.withdrawn:
            outcomes.append(Outcome(entry, i, "withdrawn", note=check.withdrawn))
        elif lacking := check.missing(laws):
            outcomes.append(Outcome(entry, i, "missing", note=f"needs {', '.join(lacking)}"))
        elif key not in values:
            outcomes.append(Outcome(entry, i, "error", note=failure))
        else:
            outcomes.append(_of_readings(entry, i, values[key]))
    return outcomes


def _of_readings(entry: Entry, index: int, value: Measured | Noted | Readings) -> Outcome:
    """Judges a value under each reading of the text. If the verdict depends on the reading, it is undecidable."""
    if not isinstance(value, Readings):
        return _judge(entry, index, value)
    names = [reading.name for reading in entry.reading]
    if list(value.values) != names:
        return Outcome(entry, index, "error", note=f"measured {', '.join(value.values)}; readings: {', '.join(names)}")
    outcomes = [replace(_judge(entry, index, part), reading=name) for name, part in value.values.items()]
    verdicts = [outcome.verdict for outcome in outcomes]
    verdict = verdicts[0] if len(set(verdicts)) == 1 else "error" if "error" in verdicts else "undecidable"
    held = [outcome.reading for outcome in outcomes if outcome.verdict == "reproduced"]
    note = f"depends on the reading; it holds for {' and '.join(held)}" if verdict == "undecidable" else ""
    default = outcomes[0]
    return replace(default, verdict=verdict, note=_joined(note, default.note), reading="", readings=tuple(outcomes))


def fail_as_in_full(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Changes "reproduced" to "not reproduced" if the claim declares that the check passes in the quick tier only."""
    return tuple(
        _with(outcome, "not reproduced", PASSES_QUICK)
        if outcome.verdict == "reproduced" and outcome.check.passes_quick
        else outcome
        for outcome in outcomes
    )


def explain(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Changes "not reproduced" to corrected, refuted or undecidable if the claim declares this and its proof holds."""
    held = {f"{outcome.entry.id}[{outcome.index}]" for outcome in outcomes if outcome.verdict == "reproduced"}
    return tuple(outcome if outcome.verdict != "not reproduced" else _explained(outcome, held) for outcome in outcomes)


def _explained(outcome: Outcome, held: Set[str]) -> Outcome:
    check = outcome.check
    if check.undecidable:
        return _with(outcome, "undecidable", check.undecidable)
    if (erratum := check.erratum) is None:
        return _with(outcome, outcome.verdict, check.reason)
    if lacking := [shown for shown in erratum.shown_by if shown not in held]:
        return _with(outcome, outcome.verdict, f"its erratum is not shown, since {', '.join(lacking)} does not hold")
    return _with(outcome, cast("Verdict", erratum.verdict), erratum.correction or erratum.proof)


def _with(outcome: Outcome, verdict: Verdict, text: str) -> Outcome:
    return replace(outcome, verdict=verdict, note=_joined(text, outcome.note))


def _judge(entry: Entry, index: int, value: Measured | Noted) -> Outcome:
    check = entry.check[index]
    target, aside, seeds = None, "", 0
    if isinstance(value, Noted):
        aside, value = value.note, value.value
    means = list(_means(value))
    fewest = min((mean.flows for mean in means), default=FEWEST_IN_MEAN)
    if fewest < FEWEST_IN_MEAN:
        return Outcome(entry, index, "error", note=f"rests on {fewest} flows; needs {FEWEST_IN_MEAN}")
    aside = _joined(aside, _of_flows(means))
    if isinstance(value, Seeds) and _same(value):
        aside = _joined(aside, "all seeds give the same: nothing in these runs is random")
    try:
        plain = _plain(value)
        shown = plain
        if isinstance(plain, Against):
            shown, target = plain.measured, plain.target
        elif isinstance(plain, Seeds):
            shown, seeds = list(plain.values), len(plain.values)
        met = meets(check.op, check.value, plain, check.tol_rel or 0.0, check.tol_abs or 0.0)
    except (TypeError, ValueError) as error:
        return Outcome(entry, index, "error", note=str(error))
    return Outcome(entry, index, "reproduced" if met else "not reproduced", shown, target, aside, seeds)


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)


def _same(seeds: Seeds) -> bool:
    """Returns True if all seeds give the same non-integer. Equal integers, such as 0 losses, prove nothing."""
    first, *others = _plain(seeds).values
    return bool(others) and isinstance(first, float) and not first.is_integer() and others == [first] * len(others)


def _means(value: Any) -> Iterator[OverFlows]:
    """Yields the means over flows that a value contains."""
    if isinstance(value, OverFlows):
        yield value
    for part in _parts(value):
        yield from _means(part)


def _of_flows(means: Sequence[OverFlows]) -> str:
    """Describes means over flows: number of flows, and median and 5th to 95th percentile of single flows."""
    known = [mean.quantiles for mean in means if mean.quantiles]
    texts = [f"over {_span([mean.flows for mean in means])} flows"] if means else []
    if known:
        median, low, high = zip(*known, strict=True)
        medians, most = ("medians", "nine of ten of each") if len(known) > 1 else ("median", "nine of ten")
        texts += [f"{medians} of flows {_span(median)}", f"{most} between {min(low):.4g} and {max(high):.4g}"]
    return ", ".join(texts)


def _span(numbers: Sequence[float]) -> str:
    """Returns the range of the numbers as text."""
    least, most = (
        f"{pick(numbers):.4g}" if isinstance(numbers[0], float) else f"{pick(numbers)}" for pick in (min, max)
    )
    return least if least == most else f"{least} to {most}"


def _parts(value: Any) -> Sequence[Any]:
    if isinstance(value, Against):
        return value.measured, value.target
    if isinstance(value, Seeds):
        return value.values
    return value if isinstance(value, list | tuple) else ()


def _plain(value: Any) -> Any:
    """Converts NumPy scalars, arrays and means over flows in a value to plain Python."""
    if isinstance(value, Against):
        return Against(_plain(value.measured), _plain(value.target))
    if isinstance(value, Seeds):
        return Seeds([_plain(item) for item in value.values])
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, OverFlows):
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else value


def scorecard(figures: Sequence[FigureOutcome]) -> list[dict[str, object]]:
    """Returns one record per measured check, in the order of the claims."""
    return [
        _record(figure, outcome)
        for figure in sorted(figures, key=lambda figure: figure.claim.name)
        for outcome in figure.outcomes
        if outcome.verdict != "missing"
    ]


def _record(figure: FigureOutcome, outcome: Outcome) -> dict[str, object]:
    record: dict[str, object] = {
        "id": outcome.entry.id,
        "check": outcome.index,
        "metric": outcome.check.metric,
        "op": outcome.check.op,
        "expected": outcome.check.value,
        "tol_rel": outcome.check.tol_rel,
        "tol_abs": outcome.check.tol_abs,
        **_values(outcome),
        "verdict": outcome.verdict,
        "basis": outcome.check.basis,
        "ground": outcome.ground,
        "tier": outcome.tier if figure.tier in (QUICK, FULL) else figure.tier,
        "note": _note(outcome),
    }
    if (other := outcome.other) is not None:
        record["other_tier"] = {
            "tier": other.tier,
            **_values(other),
            "verdict": other.verdict,
            "note": _note(other),
        }
    if (seeds := outcome.spread) is not None:
        record["seeds"] = {name: _finite(part) for name, part in asdict(seeds).items()}
    for name in ("at", "after_looking", "withdrawn"):
        if said := getattr(outcome.check, name):
            record[name] = said
    for name in ("revised", "erratum"):
        if (said := getattr(outcome.check, name)) is not None:
            record[name] = asdict(said)
    if outcome.readings:
        record["readings"] = [
            {"reading": one.reading, **_values(one), "verdict": one.verdict} for one in outcome.readings
        ]
    if twin := outcome.beside:
        record["simulator"] = {"measured": _finite(twin.measured), "verdict": twin.verdict}
    return record


def _values(outcome: Outcome) -> dict[str, object]:
    """Returns the measured value, also as text, and the fraction of the tolerance that it uses."""
    unit = wording.unit_of(outcome)
    text, seeds = wording.measured(outcome, unit)
    against = "" if outcome.target is None else f" against {wording.shown(outcome.target, unit)}"
    said = f"{text}{against}" + (f" ({seeds})" if seeds else "")
    values: dict[str, object] = {"measured": _finite(outcome.measured), "text": said}
    used = outcome.tolerance_used
    return values if used is None else values | {"tolerance_used": round(used, 3)}


def _note(outcome: Outcome) -> str:
    against = "" if outcome.target is None else f"against {_finite(outcome.target)}"
    return _joined(against, outcome.note)


def _finite(value: Any) -> Any:
    """Converts infinity and NaN, which JSON cannot represent, to text."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _module(claim: Claim) -> ModuleType:
    path = claim.folder / MEASURE_FILE
    name = f"levelflow_papers_{claim.paper}_{claim.folder.name}".replace("-", "_")
    models = str(claim.folder.parent)
    if models not in sys.path:  # packages of the paper, with names that are unique across papers
        sys.path.append(models)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
