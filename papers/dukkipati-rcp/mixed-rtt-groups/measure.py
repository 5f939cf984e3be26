import numpy as np
import polars as pl

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import settled

C, LOAD = 640e6, 0.9  # bit/s
RTPDS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)  # ms
GROUPS = [f"{rtpd} ms" for rtpd in RTPDS]
CLASSES = {"up to 500 packets": (0, 500_001), "more than 500 packets": (500_001, np.inf)}  # bytes
PRINTED, QUICK, SEEDS = 200.0, 30.0, 3  # s, s


def traffic(duration):
    def edit(scenario):
        scenario.set("duration", f"{duration} s")
        size = {"pareto": {"mean": "25 kB", "shape": 1.2}}
        for group in GROUPS:
            scenario.flow(group, "rcp", "A", "B", rtt=group, size=size, arrivals={"poisson": "288 /s"})

    return edit


def finished(figure, group):
    """Completions of a group after the first fifth, all seeds together."""
    duration = PRINTED if figure.full else QUICK
    results = figure.runs([figure.scenario(traffic(duration), seed=seed) for seed in figure.seeds(SEEDS)])
    rows = pl.concat([result.completions for result in results])
    return completions.select(rows.filter(pl.col("flow").cast(pl.String) == group), window=settled(duration))


def ratios(figure, sizes):
    """Mean completion time over that of processor sharing, per group."""
    return [completions.afct_ratio_to_ps(finished(figure, group), C, LOAD, sizes) for group in GROUPS]


def over_bound(figure, group):
    """Mean completion time over 1.5 RTPD + L/C, per size."""
    return completions.by_size(finished(figure, group), C, 0.0)


def measure(figure):
    by_class = [ratios(figure, sizes) for sizes in CLASSES.values()]
    return {
        "rcp-fig22-23": [
            [ratio for group in by_class for ratio in group],
            [max(group) / min(group) for group in by_class],
            [float(over_bound(figure, group)["ratio"].max()) for group in (GROUPS[0], GROUPS[-1])],
            None,
        ]
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for name, sizes in CLASSES.items():
        left.plot(RTPDS, ratios(figure, sizes), "o-", label=name)
    left.set(xlabel="RTPD (ms)", ylabel="AFCT / processor sharing", ylim=(0, 2))
    left.legend()
    for group in (GROUPS[0], GROUPS[-1]):
        rows = over_bound(figure, group)
        right.loglog(rows["bytes"] / 1000, rows["fct_s"], "o-", label=f"RTPD {group}")
        right.loglog(rows["bytes"] / 1000, rows["ps_s"], "k--")
    right.set(xlabel="flow size (packets); dashed: 1.5 RTPD + L/C", ylabel="AFCT (s)")
    right.legend()
