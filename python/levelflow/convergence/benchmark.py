"""Comparison of laws on random networks of several families."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from levelflow.convergence.families import network
from levelflow.convergence.pool import in_parallel
from levelflow.convergence.records import Key, Record, append, read
from levelflow.convergence.trial import attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def compare(
    keys: Sequence[Key], workers: int | None, file: Path | None, progress: Callable[[float, float], None]
) -> list[Record]:
    """Executes the runs that have no record in `file` yet.

    Args:
        keys: Keys of the runs.
        workers: Number of parallel runs.
        file: File to which the record of each run is appended.
        progress: Callback with the number of finished runs and the total number of runs.

    Returns:
        Records of the runs, in the order of `keys`.
    """
    done = {record.key: record for record in (read(file) if file else [])}
    missing = [key for key in keys if key not in done]
    finished = len(keys) - len(missing)
    progress(finished, len(keys))
    for record in in_parallel(workers, run, missing):
        done[record.key] = record
        if file:
            append(file, record)
        finished += 1
        progress(finished, len(keys))
    return [done[key] for key in keys]


def keys_of(
    laws: Sequence[str], families: Sequence[str], seeds: Sequence[int], changes: Sequence[tuple[str, object]] = ()
) -> list[Key]:
    """Returns the keys ordered by seed. Therefore an interrupted comparison contains runs of every law."""
    return [(law, family, seed, tuple(changes)) for seed, family, law in product(seeds, families, laws)]


def run(key: Key, progress: Callable[[float], None]) -> Record:
    """Runs a law on a network and returns the record of the run."""
    law, family, seed, changes = key
    mode, found = network(family, seed)
    scenario = found.scenario(f"{family}-{seed}-{law}", law, seed + 1)
    for path, value in changes:
        scenario.set(path, value)
    outcome = attempt(scenario, found.packet_hops, progress)
    sizes = len(found.links), len(found.flows), found.levels
    return Record(law, family, seed, mode, *sizes, found.round_trip_s, outcome, changes)
