"""Evaluation of the networks of a search, in parallel and within limits on runs and time."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from levelflow.convergence.pool import in_parallel
from levelflow.convergence.trial import Outcome, attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.convergence.network import Network
    from levelflow.convergence.search import Evaluations


@dataclass
class Driver:
    """Runs a law on the networks of a search. Networks without a known outcome run in parallel.

    A progress callback receives the number of runs executed and the limit on runs.

    Attributes:
        trial: Function that runs the law on a network.
        runs: Limit on the number of runs.
        until_s: Time limit on the clock of `time.monotonic`, s.
        workers: Number of parallel runs.
        known: Outcomes of executed runs, by network.
    """

    trial: Callable[[Network], Outcome]
    runs: int
    until_s: float = np.inf
    workers: int | None = None
    progress: Callable[[float, float], None] = lambda _done, _of: None
    known: dict[Network, Outcome] = field(default_factory=dict)

    def execute(self, search: Evaluations[None]) -> None:
        """Executes a search until it ends or the limit on runs or on time is reached."""
        with suppress(StopIteration):
            networks = next(search)
            while True:
                missing = [one for one in dict.fromkeys(networks) if one not in self.known]
                if len(self.known) + len(missing) > self.runs or time.monotonic() > self.until_s:
                    return
                self.known.update(in_parallel(self.workers, lambda one, _progress: (one, self.trial(one)), missing))
                self.progress(len(self.known), self.runs)
                networks = search.send([self.known[one] for one in networks])


def trial(law: str, seed: int) -> Callable[[Network], Outcome]:
    """Returns a function that runs a law on a network, always with the same seed."""
    return lambda network: attempt(network.scenario(law, law, seed), network.packet_hops)
