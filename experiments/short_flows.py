"""Completion times of short transfers relative to processor sharing: `python -m experiments.short_flows`.

Transfers arrive at random on one link, alone or next to long flows. Prints Markdown tables. With `--out`, also draws
drops and longest queueing delay versus completion time.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from levelflow import Scenario
from levelflow.theory.queues.sharing import ROUND_TRIPS, completion_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LAWS = ("slots", "rcp", "sperc", "xcp", "jetmax", "level", "cubic", "newreno", "bbr3")
CAPACITY = 50e6  # bit/s
MEAN = 100e3  # bytes
#: Time in which transfers arrive, and additional time for transfers to finish, s.
ARRIVALS, DRAIN = 60, 60
LOADS = (0.5, 0.8, 0.9)
#: Start of the transfers next to long flows, s.
LATE_START = 10
#: Loads of transfers next to long flows.
SHARED_LOADS = (0.2, 0.5, 0.8)
#: Laws whose transfers are measured next to long flows of another law. A value has this other law and its router
#: parameters.
COMPANIONS: dict[str, tuple[str, dict[str, float]]] = {"slots": ("level", {"floor": 0.1})}


@dataclass(frozen=True)
class Traffic:
    """Sizes and round-trip times of the transfers, and number of long flows next to them."""

    title: str
    size: str | dict[str, Any]
    rtts: tuple[float, ...]
    long: int = 0

    @property
    def start(self) -> int:
        """Earliest arrival of a transfer, s."""
        return LATE_START if self.long else 0


PARETO = {"pareto": {"mean": f"{MEAN:g} B", "shape": 1.2}}
TRAFFIC = (
    Traffic("100 kB, round trip 80 ms", f"{MEAN:g} B", (0.08,)),
    Traffic("Pareto sizes, round trip 80 ms", PARETO, (0.08,)),
    Traffic("Pareto sizes, round trips 20, 50, 100 and 200 ms", PARETO, (0.02, 0.05, 0.1, 0.2)),
)
SHARED = (
    Traffic("100 kB, next to two long flows", f"{MEAN:g} B", (0.08,), long=2),
    Traffic("Pareto sizes, next to two long flows", PARETO, (0.08,), long=2),
)


@dataclass(frozen=True)
class Row:
    """Result of one law over several seeds.

    Attributes:
        unfinished: transfers that did not finish.
        mean, p99: completion time divided by the completion time under processor sharing of the same arrivals, one
            value per seed.
        dropped: dropped packets.
        delay: longest queueing delay, s.
        long: throughput of the long flows while transfers arrive, divided by their throughput under processor sharing,
            one value per seed.
    """

    unfinished: int
    mean: list[float]
    p99: list[float]
    dropped: int
    delay: float
    long: list[float]


def scenario(law: str, traffic: Traffic, load: float, seed: int) -> Scenario:
    """Returns a link whose buffer holds one bandwidth-delay product of the longest round trip."""
    made = Scenario("short-flows", f"{ARRIVALS + DRAIN} s", sample="1 s", seed=seed, profile="paper")
    delay = f"{min(traffic.rtts) / 2 * 1e3:g} ms"
    made.link("a", "b", f"{CAPACITY:g} b/s", delay, buffer=f"{CAPACITY * max(traffic.rtts) / 8:.0f} B")
    made.link("b", "a", f"{CAPACITY:g} b/s", delay, buffer="unlimited")
    rate = load * CAPACITY / 8 / MEAN / len(traffic.rtts)
    transfers = [
        {
            "name": f"rtt-{rtt * 1e3:g}",
            "from": "a",
            "to": "b",
            "law": law,
            "rtt": f"{rtt * 1e3:g} ms",
            "size": traffic.size,
            "arrivals": {"poisson": f"{rate:g} /s"},
            "start": f"{traffic.start} s",
            "last_arrival": f"{ARRIVALS} s",
        }
        for rtt in traffic.rtts
    ]
    made.raw["flow"] = transfers
    if traffic.long:
        long, parameters = COMPANIONS.get(law, (law, {}))
        rtt = f"{max(traffic.rtts) * 1e3:g} ms"
        transfers.append({"name": "long", "from": "a", "to": "b", "law": long, "rtt": rtt, "count": traffic.long})
        if parameters:
            made.raw["law"] = {long: parameters}
    return made


def measure(law: str, traffic: Traffic, load: float, seeds: Iterable[int]) -> Row:
    """Runs a law and compares completion times with processor sharing of the same arrivals."""
    unfinished, dropped, delay = 0, 0, 0.0
    ratios: list[list[float]] = []
    long = []
    for seed in seeds:
        result = scenario(law, traffic, load, seed).run()
        starts, sizes, rtts, times = (
            result.transfers[name].to_numpy() for name in ("start_s", "bytes", "rtt_s", "fct_s")
        )
        # Under processor sharing, a long flow is a transfer that does not end.
        endless = np.full(traffic.long, CAPACITY * (ARRIVALS + DRAIN))
        ideal = completion_times(
            np.concatenate([np.zeros(traffic.long), starts]),
            np.concatenate([endless, sizes]),
            CAPACITY,
            np.concatenate([np.zeros(traffic.long), ROUND_TRIPS * rtts]),
        )[traffic.long :]
        (link, _) = result.summary["links"]
        unfinished += int(np.isnan(times).sum())
        dropped += link["dropped_packets"]
        delay = max(delay, link["queueing_delay_s"]["max"] or 0.0)
        if not unfinished:
            ratios.append([times.mean() / ideal.mean(), *np.percentile(times, [99]) / np.percentile(ideal, [99])])
        if traffic.long:
            seen = (pl.col("flow") == "long") & pl.col("t").is_between(traffic.start, ARRIVALS, closed="right")
            rate = result.flows.filter(seen)["throughput_bps"].mean()
            long.append(rate / (CAPACITY - 8 * sizes.sum() / (ARRIVALS - traffic.start)))
    mean, p99 = zip(*ratios, strict=True) if ratios and not unfinished else ((), ())
    return Row(unfinished, list(mean), list(p99), dropped, delay, long)


def spread(values: Sequence[float]) -> str:
    """Returns the mean over seeds, and the smallest and largest value."""
    if not values:
        return "unfinished"
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def cells(row: Row) -> str:
    """Returns the cells of a table row, except the first two and the last."""
    times = [f"{row.unfinished} unfinished", ""] if row.unfinished else [spread(row.mean), spread(row.p99)]
    return f"{times[0]} | {times[1]} | {row.dropped} | {1e3 * row.delay:.1f} ms"


def draw(path: Path, rows: dict[tuple[str, str, float], Row]) -> None:
    """Draws drops and longest queueing delay versus the mean completion time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    loss, delay = figure.subplots(1, 2)
    for law in dict.fromkeys(law for law, _, _ in rows):
        own = [row for (name, _, _), row in rows.items() if name == law and row.mean]
        times = [np.mean(row.mean) for row in own]
        loss.plot(times, [row.dropped for row in own], "o", label=law, alpha=0.7)
        delay.plot(times, [1e3 * row.delay for row in own], "o", label=law, alpha=0.7)
    for axes, label in ((loss, "dropped packets"), (delay, "longest queueing delay (ms)")):
        axes.axvline(1, color="gray", linewidth=0.8)
        axes.set(xlabel="mean completion time / processor sharing", ylabel=label, xscale="log")
    loss.set_yscale("symlog", linthresh=10)
    loss.set_ylim(-1, 2 * max(10, *(row.dropped for row in rows.values())))
    delay.set_yscale("log")
    delay.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Prints the table, and draws the picture if the command names a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("laws", nargs="*", default=LAWS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--loads", type=float, nargs="+", default=LOADS)
    parser.add_argument("--out", type=Path, help="picture (PNG)")
    words = parser.parse_args()
    rows: dict[tuple[str, str, float], Row] = {}
    for traffic in TRAFFIC:
        print(f"\n{traffic.title}\n\n| law | load | mean | p99 | drops | longest queueing delay |")
        print("|---|---|---|---|---|---|")
        for law, load in product(words.laws, words.loads):
            row = rows[law, traffic.title, load] = measure(law, traffic, load, range(1, words.seeds + 1))
            print(f"| `{law}` | {load:g} | {cells(row)} |", flush=True)
    for traffic in SHARED:
        print(f"\n{traffic.title}\n\n| transfers | load | mean | p99 | drops | longest queueing delay | long flows |")
        print("|---|---|---|---|---|---|---|")
        for law, load in product(words.laws, SHARED_LOADS):
            row = measure(law, traffic, load, range(1, words.seeds + 1))
            print(f"| `{law}` | {load:g} | {cells(row)} | {spread(row.long)} |", flush=True)
    if words.out:
        draw(words.out, rows)


if __name__ == "__main__":
    main()
