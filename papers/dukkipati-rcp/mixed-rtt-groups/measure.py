import numpy as np
import polars as pl

from dukkipati_models.arrivals import LAWS, settled
from levelflow.measure import completions

C, LOAD = 640e6, 0.9  # bit/s
RTPDS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)  # ms
GROUPS = [f"{rtpd} ms" for rtpd in RTPDS]
ENDS = (GROUPS[0], GROUPS[-1])
CLASSES = {"up to 500 packets": (0, 500_001), "more than 500 packets": (500_001, np.inf)}  # bytes
PRINTED, QUICK, SEEDS = 200.0, 30.0, 3  # s, s


def traffic(duration, law):
    def edit(scenario):
        scenario.set("duration", f"{duration} s")
        size = {"pareto": {"mean": "25 kB", "shape": 1.2}}
        for group in GROUPS:
            scenario.flow(group, law, "A", "B", rtt=group, size=size, arrivals={"poisson": "288 /s"})

    return edit


def completed(figure):
    """Completions per law after the first fifth, all seeds together."""
    duration = PRINTED if figure.full else QUICK
    scenarios = [
        figure.scenario(traffic(duration, law), seed=seed) for law in LAWS.values() for seed in figure.seeds(SEEDS)
    ]
    results = iter(figure.runs(scenarios))
    pooled = {law: pl.concat([next(results).completions for _ in range(SEEDS)]) for law in LAWS}
    return {law: completions.select(rows, window=settled(duration)) for law, rows in pooled.items()}


def of(group, rows):
    return rows.filter(pl.col("flow").cast(pl.String) == group)


def ratios(rows, sizes):
    """Mean completion time over that of processor sharing, per group."""
    return [completions.afct_ratio_to_ps(of(group, rows), C, LOAD, sizes) for group in GROUPS]


def over_bound(rows):
    """Mean completion time over 1.5 RTPD + L/C, per size."""
    return completions.by_size(rows, C, 0.0)


def measure(figure):
    done = figure.done = completed(figure)
    rcp = done["RCP"]
    by_class = [ratios(rcp, sizes) for sizes in CLASSES.values()]
    return {
        "rcp-fig22-23": {
            "afct_ratio_to_ps": [ratio for group in by_class for ratio in group],
            "afct_ratio_to_ps_spread": [max(group) / min(group) for group in by_class],
            "fct_ratio_to_bound": [float(over_bound(of(group, rcp))["ratio"].max()) for group in ENDS],
            "afct_ratio": [
                completions.afct_ratio(of(group, done[law]), of(group, rcp))
                for law in ("TCP", "XCP")
                for group in GROUPS
            ],
        }
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 7)
    above, below = canvas.subplots(2, 2)
    for law, rows in figure.done.items():
        for axes, (name, sizes) in zip(above, CLASSES.items(), strict=True):
            axes.semilogy(RTPDS, ratios(rows, sizes), "o-", label=law)
            axes.set(xlabel="RTPD (ms)", ylabel="AFCT / processor sharing", title=name)
        for axes, group in zip(below, ENDS, strict=True):
            bins = over_bound(of(group, rows))
            axes.loglog(bins["bytes"] / 1000, bins["fct_s"], "o-")
            axes.set(xlabel="flow size (packets); dashed: 1.5 RTPD + L/C", ylabel="AFCT (s)", title=f"RTPD {group}")
            if law == "RCP":
                axes.loglog(bins["bytes"] / 1000, bins["ps_s"], "k--")
    above[0].legend()
