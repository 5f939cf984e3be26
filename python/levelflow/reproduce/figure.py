"""Interface through which the ``measure.py`` of a figure loads and runs scenarios. Equal scenarios share a run."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w

from levelflow.reproduce.model import SCENARIO_FILE, Claim, ClaimError
from levelflow.reproduce.verdict import Measured, Noted, Readings
from levelflow.results import TABLES, Result
from levelflow.scenario import Scenario, ScenarioError

Overrides = Mapping[str, Any] | Callable[[Scenario], object]

#: Largest memory of cached results, bytes. The oldest results are evicted first.
KEEP_BYTES = 256 << 20


class CancelledError(Exception):
    """Interruption of the session while a figure was measured."""


class Runs:
    """Runs scenarios, at most ``workers`` at a time, and each scenario once.

    Args:
        workers: Largest number of parallel runs.
        changes: Changes that apply to all scenarios, as pairs of dotted path and value.
        folder: Folder that stores all results. A scenario with a stored result is not run.
    """

    def __init__(self, workers: int, changes: Sequence[tuple[str, Any]] = (), folder: Path | None = None) -> None:
        self.workers = workers
        self.changes = changes
        self.folder = folder
        self._slots = threading.Semaphore(workers)
        self._lock = threading.Lock()
        self._results: dict[str, Future[Result]] = {}
        self._stop = threading.Event()

    def stop(self) -> None:
        """Cancels the current runs and rejects further ones."""
        self._stop.set()

    def get(self, scenario: Scenario) -> Result:
        """Returns the result of a scenario; equal scenarios are run once.

        If the scenario sets no host profile, the profile is "paper".
        """
        scenario = copy.deepcopy(scenario)
        scenario.raw.setdefault("profile", "paper")
        for path, value in self.changes:
            scenario.set(path, value)
        key = scenario_key(scenario)
        with self._lock:
            future = self._results.get(key)
            owner = future is None
            if future is None:
                future = self._results[key] = Future()
        if owner:
            try:
                future.set_result(self._run(scenario, key))
            except BaseException as error:
                future.set_exception(error)
            self._forget_old()
        return future.result()

    def _run(self, scenario: Scenario, key: str) -> Result:
        with self._slots:
            self._check()
            return self._kept(scenario, self.folder / key) if self.folder else self._simulate(scenario)

    def _kept(self, scenario: Scenario, place: Path) -> Result:
        with suppress(ScenarioError):  # no result, or a damaged one
            if (found := Result.load(place)).manifest["status"] == "complete":
                return found
        try:
            return scenario.run(progress=lambda _share: self._check(), out=place)
        except OSError as error:
            raise ClaimError(f"{place.parent}: cannot keep a run: {error.strerror or error}") from None

    def _simulate(self, scenario: Scenario) -> Result:
        return scenario.run(progress=lambda _share: self._check())

    def _check(self) -> None:
        if self._stop.is_set():
            raise CancelledError

    def _forget_old(self) -> None:
        with self._lock:
            sizes = {key: _size(future) for key, future in self._results.items() if future.done()}
            excess = sum(sizes.values()) - KEEP_BYTES
            for key, size in sizes.items():
                if excess <= 0:
                    return
                del self._results[key]
                excess -= size


class Figure:
    """Figure that is being measured.

    Args:
        claim: Claims of the figure.
        runs: Runner of the figure's scenarios.
        full: True for runs as long as in the paper.
        every_draw: True to use all seeds and random cases; False for the smaller numbers of the quick tier.
    """

    def __init__(self, claim: Claim, runs: Runs, *, full: bool, every_draw: bool = True) -> None:
        self.claim = claim
        #: True if `measure.py` has read `full`, so that runs differ between the full and the quick tier.
        self.has_tiers = False
        self._full = full
        self._every_draw = every_draw
        #: Results of this figure, in the order of the requests.
        self.results: list[Result] = []
        self._runs = runs

    @property
    def full(self) -> bool:
        """True to run as long as in the paper, False for runs of a few minutes."""
        self.has_tiers = True
        return self._full

    def scenario(
        self, overrides: Overrides | None = None, *, seed: int | None = None, name: str = SCENARIO_FILE
    ) -> Scenario:
        """Loads a scenario file of the figure's folder, with changes by dotted paths or by a function."""
        scenario = Scenario.load(self.claim.folder / name)
        if callable(overrides):
            overrides(scenario)
        else:
            for path, value in (overrides or {}).items():
                scenario.set(path, value)
        return scenario if seed is None else scenario.set("seed", seed)

    def run(
        self,
        overrides: Overrides | None = None,
        *,
        seed: int | None = None,
        scenario: str = SCENARIO_FILE,
    ) -> Result:
        """Runs a scenario file of the figure's folder with changes; see ``scenario``."""
        return self.runs([self.scenario(overrides, seed=seed, name=scenario)])[0]

    def runs(self, scenarios: Sequence[Scenario]) -> list[Result]:
        """Runs several scenarios in parallel and returns the results in the order of the scenarios."""
        if len(scenarios) == 1:
            results = [self._runs.get(scenarios[0])]
        else:
            with ThreadPoolExecutor(self._runs.workers) as pool:
                results = list(pool.map(self._runs.get, scenarios))
        self.results.extend(results)
        return results

    def by_reading(
        self, entry: str, measured: Callable[[Mapping[str, Any]], Mapping[str, Measured | Noted]]
    ) -> dict[str, Readings]:
        """Measures an entry under each of its readings, and collects the values of each check.

        Args:
            entry: Id of an entry with readings.
            measured: Function that returns the values of the entry. Its argument has the changes of a reading by dotted
                path.
        """
        tables = {reading.name: measured(reading.set) for reading in self.claim.entry(entry).reading}
        first = next(iter(tables.values()))
        return {key: Readings({name: table[key] for name, table in tables.items()}) for key in first}

    def listings(self) -> tuple[str, ...]:
        """Returns the scenarios of the results as TOML, in order and without duplicates."""
        return tuple(dict.fromkeys(tomli_w.dumps(result.manifest["raw"]) for result in self.results))

    def draws(self, count: int, quick: int) -> int:
        """Returns the number of random cases: ``count``, or ``quick`` in the quick tier."""
        return count if self._every_draw else quick

    def seeds(self, count: int, quick: int | None = None) -> range:
        """Returns the seeds 1 to ``count``; in the quick tier 1 to ``quick``, if given."""
        return range(1, (count if quick is None else self.draws(count, quick)) + 1)


def scenario_key(scenario: Scenario) -> str:
    """Returns the hash of a scenario without its name and description."""
    raw = {key: value for key, value in scenario.complete().items() if key not in ("name", "description")}
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()


def _size(future: Future[Result]) -> int:
    if future.exception() is not None:
        return 0
    result = future.result()
    return sum(int(getattr(result, name).estimated_size()) for name in TABLES)
