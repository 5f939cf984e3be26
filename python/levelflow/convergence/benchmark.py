"""All laws on all networks of some families and seeds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from levelflow.convergence.families import network
from levelflow.convergence.pool import side_by_side
from levelflow.convergence.records import Record, append, read
from levelflow.convergence.trial import attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: Law, family, seed, and changes of the scenario: paths and values.
Key = tuple[str, str, int, tuple[tuple[str, Any], ...]]


def compare(
    keys: Sequence[Key], workers: int | None, file: Path | None, tell: Callable[[float, float], None]
) -> list[Record]:
    """Runs what a file does not have yet.

    Args:
        keys: of the runs.
        workers: runs side by side.
        file: receives a line after each run.
        tell: receives how many runs are done, and how many there are.

    Returns:
        The records of these runs, in their order.
    """
    done = {record.key: record for record in (read(file) if file else [])}
    missing = [key for key in keys if key not in done]
    finished = len(keys) - len(missing)
    tell(finished, len(keys))
    for record in side_by_side(workers, run, missing):
        done[record.key] = record
        if file:
            append(file, record)
        finished += 1
        tell(finished, len(keys))
    return [done[key] for key in keys]


def keys_of(
    laws: Sequence[str], families: Sequence[str], seeds: Sequence[int], changes: Sequence[tuple[str, Any]] = ()
) -> list[Key]:
    """Returns the runs in the order in which they are to be made: an interrupted comparison has some of each law."""
    return [(law, family, seed, tuple(changes)) for seed, family, law in product(seeds, families, laws)]


def run(key: Key, tell: Callable[[float], None]) -> Record:
    """Runs a law on a network."""
    law, family, seed, changes = key
    mode, found = network(family, seed)
    scenario = found.scenario(f"{family}-{seed}-{law}", law, seed + 1)
    for path, value in changes:
        scenario.set(path, value)
    outcome = attempt(scenario, found.packet_hops, tell)
    sizes = len(found.links), len(found.flows), found.levels
    return Record(law, family, seed, mode, *sizes, found.round_trip_s, outcome, changes)
