"""Figures on a real network: testbed and simulator run the same scenarios at the same scale.

Rates and queues of both results are divided by the scale, and are then comparable with the paper.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from levelflow.dataplane import PROGRAM
from levelflow.reproduce.figure import CancelledError, Runs, scenario_key
from levelflow.reproduce.model import Claim, ClaimError
from levelflow.reproduce.runner import FigureOutcome, Kept, available, measure
from levelflow.results import Result
from levelflow.scenario import Scenario

#: Interval at which a run checks for cancellation, s.
LOOK_EVERY = 0.2
SCALED = ("_bps", "_bytes")


def split(claims: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Returns the claims with a testbed scale, and the claims without a testbed scale.

    Raises:
        ClaimError: If no claim has a testbed scale.
    """
    fit = [claim for claim in claims if claim.testbed_scale is not None]
    if not fit:
        names = ", ".join(claim.name for claim in claims[:3])
        raise ClaimError(f"{names}: no testbed_scale in claim.toml; --testbed runs those that have one")
    return fit, [claim for claim in claims if claim.testbed_scale is None]


class Network(Runs):
    """Runs scenarios sequentially on the testbed, with scaled rates, and stores results in a folder."""

    def __init__(self, program: Path, scale: float, folder: Path, changes: Sequence[tuple[str, Any]]) -> None:
        super().__init__(1, changes)
        self.scale = scale
        self._program = program
        self._folder = folder
        folder.mkdir()

    def ran(self, scenario: Scenario) -> Scenario:
        """Returns a scenario with the scaled rates that ran on the testbed."""
        return Scenario.load(self._out(scenario) / "scenario.toml")

    def _out(self, scenario: Scenario) -> Path:
        return self._folder / scenario_key(scenario)

    def _simulate(self, scenario: Scenario) -> Result:
        out = self._out(scenario)
        file = out.with_suffix(".toml")
        file.write_text(tomli_w.dumps(scenario.complete()), encoding="utf-8")
        command = [str(self._program), "testbed", str(file), "--scale", str(self.scale), "--out", str(out), "--json"]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            complaint = self._wait(process)
        if process.returncode != 0:
            raise RuntimeError(complaint.strip() or f"{PROGRAM} ended with {process.returncode}")
        return in_units_of_the_paper(Result.load(out), self.scale)

    def _wait(self, process: subprocess.Popen[str]) -> str:
        while True:
            try:
                return process.communicate(timeout=LOOK_EVERY)[1]
            except subprocess.TimeoutExpired:
                if self._stop.is_set():
                    process.terminate()
                    process.communicate()
                    raise CancelledError from None


class Twin(Runs):
    """Runs the scenarios of a testbed in the simulator, with the same scaled rates."""

    def __init__(self, network: Network) -> None:
        super().__init__(1, network.changes)
        self._network = network

    def _simulate(self, scenario: Scenario) -> Result:
        return in_units_of_the_paper(super()._simulate(self._network.ran(scenario)), self._network.scale)


def in_units_of_the_paper(result: Result, scale: float) -> Result:
    """Returns a result with the rates and bytes of its series divided by the scale; its summary is unchanged."""
    flows, links = (
        table.with_columns(pl.col(name) / scale for name in table.columns if name.endswith(SCALED))
        for table in (result.flows, result.links)
    )
    return replace(result, flows=flows, links=links)


def measure_all(
    claims: Sequence[Claim],
    program: Path,
    repeats: int,
    *,
    kept: Kept | None = None,
    changes: Sequence[tuple[str, Any]] = (),
) -> Generator[FigureOutcome, None, None]:
    """Measures figures sequentially on a network, and each of them also in the simulator.

    Each figure runs ``repeats`` times, with the seeds 1, 2, and so on. Checks are evaluated over repeats as over seeds.
    An interruption cancels the current run. Outcomes that were yielded before remain valid.
    """
    for claim in claims:
        found = kept and kept.load(claim)
        if not found:
            found = _measured(claim, program, repeats, changes)
            if kept:
                kept.save(found)
        yield found


def _measured(claim: Claim, program: Path, repeats: int, changes: Sequence[tuple[str, Any]]) -> FigureOutcome:
    assert claim.testbed_scale is not None
    with tempfile.TemporaryDirectory(prefix="levelflow-") as folder, ThreadPoolExecutor(1) as pool:
        networks = [
            Network(program, claim.testbed_scale, Path(folder, str(seed)), [*changes, ("seed", seed)])
            for seed in range(1, repeats + 1)
        ]
        twins = [Twin(network) for network in networks]
        try:
            return pool.submit(_both, claim, networks, twins).result()
        finally:
            for runs in (*networks, *twins):
                runs.stop()


def _both(claim: Claim, networks: Sequence[Network], twins: Sequence[Twin]) -> FigureOutcome:
    laws = available()
    real, simulated = (measure(claim, runs, laws, full=False) for runs in (networks, twins))
    outcomes = tuple(replace(one, beside=two) for one, two in zip(real.outcomes, simulated.outcomes, strict=True))
    tier = f"testbed, rates times {claim.testbed_scale:g}"
    return replace(real, outcomes=outcomes, images=real.images + simulated.images, tier=tier)
