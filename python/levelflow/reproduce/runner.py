"""Measures figures, some at a time, and judges every check."""

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
from levelflow.reproduce.figure import CancelledError, Figure, Runs
from levelflow.reproduce.images import Picture, draw
from levelflow.reproduce.model import CLAIM_FILE, MEASURE_FILE, Check, Claim, ClaimError, Entry
from levelflow.reproduce.verdict import (
    Against,
    Measured,
    Noted,
    Scalar,
    Seeds,
    Spread,
    Value,
    Verdict,
    listed,
    meets,
    spread,
)

#: One measured value per check of an entry, by the key of the check.
Values = Mapping[str, Measured | Noted]


QUICK, FULL = "quick", "full"


@dataclass(frozen=True)
class Outcome:
    """What became of one check."""

    entry: Entry
    index: int
    verdict: Verdict
    measured: Any = None
    target: Any = None
    note: str = ""
    #: Of how many seeds `measured` has one value each; 0 where it is no list of seeds.
    seeds: int = 0
    #: The same check measured in the simulator at the same scale, where a network was measured.
    beside: Outcome | None = None
    #: The tier that was measured; of both, the one with the worse verdict.
    tier: str = QUICK
    #: The same check in the other tier, where both were measured.
    other: Outcome | None = None

    @property
    def check(self) -> Check:
        """The check that was judged."""
        return self.entry.check[self.index]

    @property
    def spread(self) -> Spread | None:
        """What its seeds give together; None without seeds."""
        if not self.seeds:
            return None
        check = self.check
        slack = check.tol_rel or 0.0, check.tol_abs or 0.0
        return spread(Seeds(self.measured), lambda value: meets(check.op, check.value, value, *slack))

    @property
    def ground(self) -> str:
        """What the verdict stands on."""
        return "a real network" if self.beside else self.entry.ground


@dataclass(frozen=True)
class FigureOutcome:
    """What became of one figure."""

    claim: Claim
    outcomes: tuple[Outcome, ...]
    images: tuple[Picture, ...]
    #: The scenarios that were run, as TOML, in the order in which they were asked for; equal ones once.
    scenarios: tuple[str, ...]
    seconds: float
    tier: str
    #: Whether the figure has other runs in the other tier.
    has_tiers: bool = False


def available() -> frozenset[str]:
    """What a check may need: the names of the laws that exist, and the data plane where it can run."""
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
    """Measures the figures, with ``workers`` runs side by side (one per processor by default); yields each when done.

    With ``full``, in both tiers and with every seed: of each check, the worse verdict counts. What is ``kept`` is not
    measured again, and what is measured is kept. ``changes`` are values by dotted path that all scenarios get. Results
    of runs are kept in ``folder``, if there is one. An interruption ends the runs under way; what was yielded before
    stands.
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

    # While one figure is judged or drawn, others simulate. Python computes one at a time: theory waits for theory.
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
    """Keeps figures that were measured."""

    def load(self, claim: Claim) -> FigureOutcome | None:
        """What was kept of a figure."""

    def save(self, figure: FigureOutcome) -> None:
        """Keeps a figure."""


def measure_tiers(claim: Claim, runs: Runs, laws: frozenset[str]) -> FigureOutcome:
    """Measures one figure with the printed durations, and in the quick tier where that differs; the worse counts."""
    full = measure(claim, [runs], laws, full=True)
    if not full.has_tiers:
        return full
    quick = measure(claim, [runs], laws, full=False)
    outcomes = tuple(worse(*pair) for pair in zip(full.outcomes, quick.outcomes, strict=True))
    return replace(full, outcomes=outcomes, seconds=full.seconds + quick.seconds)


def worse(one: Outcome, other: Outcome) -> Outcome:
    """Returns the outcome with the worse verdict, the first of equal ones, with the other beside it."""
    order = get_args(Verdict)
    if order.index(other.verdict) > order.index(one.verdict):
        one, other = other, one
    return replace(one, other=other)


def measure(
    claim: Claim, repeats: Sequence[Runs], laws: frozenset[str], *, full: bool, every_draw: bool = True
) -> FigureOutcome:
    """Measures one figure; whatever its code raises becomes the verdict "error" of its checks.

    Where there are several ``repeats``, each measures it, and the checks are judged over them as over seeds.

    Raises:
        CancelledError: when the session was interrupted.
        ClaimError: when the names of its values are not those of its checks.
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
        except Exception as error:  # the figure's own code: any failure is its verdict, not ours
            failure = f"{type(error).__name__}: {error}"
    outcomes = explain(
        [outcome for entry in claim.entries for outcome in judge(entry, values.get(entry.id, {}), laws, failure)]
    )
    if failure and not any(outcome.verdict == "error" for outcome in outcomes):
        outcomes = (replace(outcomes[0], note=_joined(outcomes[0].note, f"no plot: {failure}")), *outcomes[1:])
    tier = FULL if full else QUICK
    outcomes = tuple(replace(outcome, tier=tier) for outcome in outcomes)
    seconds = time.monotonic() - begin
    first = figures[0]
    return FigureOutcome(claim, outcomes, images, first.listings(), seconds, tier, first.has_tiers)


def _repeated(found: Sequence[Mapping[str, Values]]) -> dict[str, dict[str, Measured | Noted]]:
    """The values of repeats as those of seeds."""
    first = found[0]
    return {
        entry: {name: over_repeats([table[entry][name] for table in found]) for name in values}
        for entry, values in first.items()
    }


def over_repeats(values: Sequence[Measured | Noted]) -> Measured | Noted:
    """The values of one check as those of seeds; with targets of their own, as lists that must agree throughout."""
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
    """Makes sure that there is one value for each check of each entry; those that cannot be measured need none.

    Raises:
        ClaimError: when a name is missing or unknown.
    """
    where = f"{claim.name}, {MEASURE_FILE}"
    _match(where, values, {entry.id: True for entry in claim.entries})
    for entry in claim.entries:
        keys = zip(entry.keys, entry.check, strict=True)
        _match(f"{where}, {entry.id}", values[entry.id], {key: not check.missing(laws) for key, check in keys})


def _match(where: str, values: Mapping[str, Any], needed: Mapping[str, bool]) -> None:
    for name in (*values, *needed):
        if name not in needed or (needed[name] and name not in values):
            problem = "has no value" if name in needed else f"is not in {CLAIM_FILE}"
            raise ClaimError(f"{where}: {name!r} {problem}; allowed: {', '.join(needed)}")


def judge(entry: Entry, values: Values, laws: frozenset[str], failure: str = "") -> list[Outcome]:
    """Verdicts of the checks of an entry from its measured values, in the order of its checks.

    A check that has a value keeps its verdict even when the figure failed later on.
    """
    outcomes = []
    for i, (key, check) in enumerate(zip(entry.keys, entry.check, strict=True)):
        if lacking := check.missing(laws):
            outcomes.append(Outcome(entry, i, "missing", note=f"needs {', '.join(lacking)}"))
        elif key not in values:
            outcomes.append(Outcome(entry, i, "error", note=failure))
        else:
            outcomes.append(_judge(entry, i, values[key]))
    return outcomes


def explain(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Says of what did not come out whether the paper errs, as long as its proof holds, or nobody can tell."""
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
    """Whether seeds change nothing, in a number that would tell: no loss is no loss with any seed."""
    first, *others = _plain(seeds).values
    return bool(others) and isinstance(first, float) and not first.is_integer() and others == [first] * len(others)


def _means(value: Any) -> Iterator[OverFlows]:
    """The numbers of a value that know on how many flows they rest."""
    if isinstance(value, OverFlows):
        yield value
    for part in _parts(value):
        yield from _means(part)


def _of_flows(means: Sequence[OverFlows]) -> str:
    """On how many flows means rest, and what single flows have: the median, and what nine of ten lie between."""
    known = [mean.quantiles for mean in means if mean.quantiles]
    texts = [f"over {_span([mean.flows for mean in means])} flows"] if means else []
    if known:
        median, low, high = zip(*known, strict=True)
        medians, most = ("medians", "nine of ten of each") if len(known) > 1 else ("median", "nine of ten")
        texts += [f"{medians} of flows {_span(median)}", f"{most} between {min(low):.4g} and {max(high):.4g}"]
    return ", ".join(texts)


def _span(numbers: Sequence[float]) -> str:
    """The numbers as one or as two bounds."""
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
    """The value with NumPy scalars and arrays, and what knows its flows, as Python ones."""
    if isinstance(value, Against):
        return Against(_plain(value.measured), _plain(value.target))
    if isinstance(value, Seeds):
        return Seeds([_plain(item) for item in value.values])
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, OverFlows):
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else value


def scorecard(figures: Sequence[FigureOutcome]) -> list[dict[str, Any]]:
    """One record per check that was measured, in the order of the claims; missing ones are left out."""
    return [
        _record(figure, outcome)
        for figure in sorted(figures, key=lambda figure: figure.claim.name)
        for outcome in figure.outcomes
        if outcome.verdict != "missing"
    ]


def _record(figure: FigureOutcome, outcome: Outcome) -> dict[str, Any]:
    record = {
        "id": outcome.entry.id,
        "check": outcome.index,
        "metric": outcome.check.metric,
        "op": outcome.check.op,
        "expected": outcome.check.value,
        "tol_rel": outcome.check.tol_rel,
        "tol_abs": outcome.check.tol_abs,
        "measured": _finite(outcome.measured),
        "verdict": outcome.verdict,
        "basis": outcome.check.basis,
        "ground": outcome.ground,
        "tier": outcome.tier if figure.tier in (QUICK, FULL) else figure.tier,
        "note": _note(outcome),
    }
    if (other := outcome.other) is not None:
        record["other_tier"] = {
            "tier": other.tier,
            "measured": _finite(other.measured),
            "verdict": other.verdict,
            "note": _note(other),
        }
    if (seeds := outcome.spread) is not None:
        record["seeds"] = {name: _finite(part) for name, part in asdict(seeds).items()}
    if outcome.check.after_looking:
        record["after_looking"] = outcome.check.after_looking
    for name in ("revised", "erratum"):
        if (said := getattr(outcome.check, name)) is not None:
            record[name] = asdict(said)
    if twin := outcome.beside:
        record["simulator"] = {"measured": _finite(twin.measured), "verdict": twin.verdict}
    return record


def _note(outcome: Outcome) -> str:
    against = "" if outcome.target is None else f"against {_finite(outcome.target)}"
    return _joined(against, outcome.note)


def _finite(value: Any) -> Any:
    """The value with what JSON cannot say (infinity, NaN) as text."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _module(claim: Claim) -> ModuleType:
    path = claim.folder / MEASURE_FILE
    name = f"levelflow_papers_{claim.paper}_{claim.folder.name}".replace("-", "_")
    models = str(claim.folder.parent)
    if models not in sys.path:  # packages beside the figures, whose names no two papers share
        sys.path.append(models)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
