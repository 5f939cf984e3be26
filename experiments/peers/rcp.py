"""Compares RCP with its authors' code in ns-2, and both with processor sharing, for the same arrivals."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from experiments.peers import ns2
from levelflow.measure.completions import FEWEST_IN_MEAN
from levelflow.scenario import Scenario
from levelflow.theory.queues.sharing import ROUND_TRIPS, completion_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKET = 1000  # bytes, header included
ALPHA, BETA = 0.1, 1.0
DRAIN = 0.5  # duration after the last arrival, relative to `seconds`
WARM_UP = 0.2  # relative to `seconds`; earlier flows and samples do not count
SEEDS = 5
SIZES = ((1, 50), (50, 500), (500, 2000), (2000, 10**9))  # packets
#: RCP with the defaults of Levelflow, and with the authors' average and initial value of the round-trip time.
VARIANTS: dict[str, dict[str, Any]] = {"here": {}, "here, theirs": {"rtt": "interval", "initial_rtt": "200 ms"}}
PEER = "ns-2"


@dataclass(frozen=True)
class Case:
    """Poisson arrivals with Pareto sizes (shape 1.2) over a link with an unlimited buffer."""

    mbps: float
    load: float
    mean: float  #: mean size, packets
    rtpd: float = 0.1  #: round-trip propagation delay, s
    seconds: float = 60  #: s with arrivals

    @property
    def warm_up(self) -> float:
        """Start time after which flows count, s."""
        return WARM_UP * self.seconds

    @property
    def end(self) -> float:
        """End of the run, s."""
        return (1 + DRAIN) * self.seconds

    def arrivals(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns start times in s, on a grid of 1 ns, and sizes in packets."""
        random = np.random.default_rng(seed)
        rate = self.load * self.mbps * 1e6 / (8 * PACKET * self.mean)
        starts = np.unique(np.round(random.uniform(0, self.seconds, random.poisson(rate * self.seconds)), 9))
        return starts, np.ceil(self.mean * (1 - 1 / 1.2) * (1 + random.pareto(1.2, starts.size)))


CASES = (Case(150, 0.5, 25), Case(150, 0.9, 25), Case(150, 0.9, 1000), Case(2400, 0.9, 25, seconds=12))


@dataclass
class Outcome:
    """Result of one simulator. Completion times of flows that did not end are NaN."""

    took: np.ndarray  #: s, by flow
    rate: float  #: geometric mean of R/C
    queue: float  #: mean queue, bandwidth-delay products
    arriving: float  #: mean share of the capacity that arrives


def sharing(case: Case, starts: np.ndarray, packets: np.ndarray) -> np.ndarray:
    """Returns the completion times under exact processor sharing, including handshake and propagation, s."""
    return completion_times(starts, packets * PACKET, case.mbps * 1e6, delays=ROUND_TRIPS * case.rtpd)


def ours(case: Case, starts: np.ndarray, packets: np.ndarray, changes: dict[str, Any]) -> Outcome:
    """Runs the arrivals in Levelflow, with a flow entry for each size."""
    scenario = Scenario("arrivals", f"{case.end} s", sample="10 ms", profile="paper")
    delay = f"{case.rtpd * 500} ms"
    scenario.link("A", "B", f"{case.mbps} Mb/s", delay, buffer="unlimited", duplex=True)
    by_size = defaultdict(list)
    for start, size in zip(starts, packets, strict=True):
        by_size[int(size)].append(f"{start:.9f} s")
    scenario.law("rcp", **{"alpha": ALPHA, "beta": BETA, **changes})
    for size, times in by_size.items():
        scenario.flow(f"n{size}", "rcp", "A", "B", size=f"{size} packets", arrivals={"times": times})
    result = scenario.run()
    ended = result.completions
    took = np.full(starts.size, np.nan)
    took[np.searchsorted(starts, ended["start_s"].to_numpy() - 5e-10)] = ended["fct_s"].to_numpy()
    at = result.links.filter((pl.col("link") == "A->B") & pl.col("t").is_between(case.warm_up, case.seconds))
    samples = (at["signal"] / (case.mbps * 1e6), at["backlog_bytes"], at["arrival_bps"] / (case.mbps * 1e6))
    return _outcome(case, took, *(column.to_numpy() for column in samples))


def theirs(binary: str, case: Case, starts: np.ndarray, packets: np.ndarray) -> Outcome:
    """Runs the arrivals in ns-2."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("arrivals", "completions", "status")]
        lines = zip(starts, packets, strict=True)
        files[0].write_text("".join(f"{start:.9f} {size:.0f}\n" for start, size in lines))
        ns2.run(binary, "rcp_ns2.tcl", files[0], case.mbps, case.rtpd, case.end, ALPHA, BETA, *files[1:])
        return read(case, starts, files[1].read_text(), files[2].read_text())


def read(case: Case, starts: np.ndarray, completions: str, status: str) -> Outcome:
    """Parses the script's output: number and end of each flow, and a line of the authors' router per interval.

    Only the first columns of a router line are used: name, time, queue in bytes and packets, R/C, arrivals in byte/s.
    """
    took = np.full(starts.size, np.nan)
    for flow, end in ns2.numbers(completions):
        took[int(flow)] = end - starts[int(flow)]
    rows = np.array([[float(word) for word in line.split()[1:6]] for line in status.splitlines()])
    rows = rows[(rows[:, 0] >= case.warm_up) & (rows[:, 0] <= case.seconds)]
    return _outcome(case, took, rows[:, 3], rows[:, 1], rows[:, 4] * 8 / (case.mbps * 1e6))


def _outcome(case: Case, took: np.ndarray, rate: np.ndarray, queue: np.ndarray, arriving: np.ndarray) -> Outcome:
    bdp = case.mbps * 1e6 / 8 * case.rtpd
    return Outcome(took, float(np.exp(np.log(rate).mean())), float(queue.mean() / bdp), float(arriving.mean()))


@dataclass
class Run:
    """Arrivals of one seed, and their outcome in each simulator."""

    case: Case
    starts: np.ndarray
    packets: np.ndarray
    shared: np.ndarray  #: s, under processor sharing
    outcomes: dict[str, Outcome]

    def counted(self, sizes: tuple[int, int]) -> np.ndarray:
        """Returns True for flows of these sizes that started after the warm-up and ended in all simulators."""
        ended = np.all([np.isfinite(outcome.took) for outcome in self.outcomes.values()], axis=0)
        return ended & (self.starts > self.case.warm_up) & (self.packets >= sizes[0]) & (self.packets < sizes[1])

    def unfinished(self) -> int:
        """Returns the number of flows that started after the warm-up and did not end in at least one simulator."""
        return int((self.starts > self.case.warm_up).sum() - self.counted((1, SIZES[-1][1])).sum())


def run(binary: str, case: Case, seed: int) -> Run:
    """Runs the arrivals of one seed in Levelflow and ns-2."""
    starts, packets = case.arrivals(seed)
    outcomes = {PEER: theirs(binary, case, starts, packets)}
    outcomes |= {name: ours(case, starts, packets, changes) for name, changes in VARIANTS.items()}
    return Run(case, starts, packets, sharing(case, starts, packets), outcomes)


def ratio(runs: Sequence[Run], name: str, sizes: tuple[int, int]) -> float:
    """Returns the mean completion time of counted flows, divided by the mean under processor sharing.

    The result is NaN for fewer than 20 flows.
    """
    counted = [run.counted(sizes) for run in runs]
    if sum(int(which.sum()) for which in counted) < FEWEST_IN_MEAN:
        return float("nan")
    took = sum(run.outcomes[name].took[which].sum() for run, which in zip(runs, counted, strict=True))
    return float(took / sum(run.shared[which].sum() for run, which in zip(runs, counted, strict=True)))


def _cell(runs: Sequence[Run], name: str, sizes: tuple[int, int]) -> str:
    each = [value for run in runs if np.isfinite(value := ratio([run], name, sizes))]
    spread = f" ({min(each):.2f} to {max(each):.2f})" if len(each) == len(runs) else ""
    mean = ratio(runs, name, sizes)
    return f"{mean:.2f}{spread}" if np.isfinite(mean) else "too few"


def table(case: Case, runs: Sequence[Run]) -> Iterator[str]:
    """Yields a table with a column per simulator.

    Rows are completion times relative to processor sharing, for each class of sizes, then rate, queue and load.
    """
    names = (PEER, *VARIANTS)
    offered = np.mean([run.packets.sum() * PACKET * 8 / (case.mbps * 1e6 * case.seconds) for run in runs])
    yield (
        f"{case.mbps} Mb/s, {case.rtpd} s, load {case.load} (sampled {offered:.2f}), mean {case.mean} packets, "
        f"{case.seconds} s, {len(runs)} seeds, {sum(run.unfinished() for run in runs)} flows unfinished:\n"
    )
    yield f"| | flows | {' | '.join(names)} |"
    yield f"|---|---|{'---|' * len(names)}"
    for low, high in SIZES:
        flows = sum(int(run.counted((low, high)).sum()) for run in runs)
        label = f"{low} to {high - 1} packets" if high < SIZES[-1][1] else f"{low} packets and more"
        yield f"| {label} | {flows} | {' | '.join(_cell(runs, name, (low, high)) for name in names)} |"
    for label, attribute in (("R/C", "rate"), ("queue/BDP", "queue"), ("arriving/C", "arriving")):
        values = ([getattr(run.outcomes[name], attribute) for run in runs] for name in names)
        yield f"| {label} | | {' | '.join(f'{np.mean(value):.3f}' for value in values)} |"


def compare(binary: str) -> Iterator[str]:
    """Yields the tables of all cases."""
    for case in CASES:
        yield from table(case, [run(binary, case, seed) for seed in range(1, SEEDS + 1)])
        yield ""
