import numpy as np
import polars as pl

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import settled
from levelflow.scenario import Scenario

C, RTPD, LOAD, MEAN = 640e6, 0.1, 0.9, 25_000  # bit/s, s, bytes
LINKS = (1, 2, 4, 8)
PRINTED, QUICK = 100.0, 10.0  # s
SMALL, LARGE = (0, 500_000), (500_000, np.inf)  # bytes
THROUGH = "group 0"


def cascade(links, duration):
    """Group 0 crosses all links, group i link i; every link carries the load."""
    scenario = Scenario(f"{links} bottlenecks", f"{duration} s").law("rcp", initial_rtt=f"{RTPD} s")
    groups = [(THROUGH, 0, links)]
    if links > 1:
        groups += [(f"group {i + 1}", i, i + 1) for i in range(links)]
    arrivals = LOAD * C / (8 * MEAN) / (1 if links == 1 else 2)
    size = {"pareto": {"mean": f"{MEAN} B", "shape": 1.2}}
    for i in range(links):
        delay = f"{RTPD / 2 / links} s"
        scenario.link(f"N{i}", f"N{i + 1}", f"{C} b/s", delay, buffer=f"{round(C * RTPD / 8)} B", duplex=True)
    for name, start, end in groups:
        scenario.flow(name, "rcp", f"N{start}", f"N{end}", size=size, arrivals={"poisson": f"{arrivals} /s"})
    return scenario


def runs(figure):
    """Completions of group 0 after the first fifth, per number of links."""
    duration = PRINTED if figure.full else QUICK
    results = figure.runs([cascade(links, duration) for links in LINKS])
    through = [result.completions.filter(pl.col("flow").cast(pl.String) == THROUGH) for result in results]
    return [completions.select(rows, window=settled(duration)) for rows in through]


def measure(figure):
    through = runs(figure)
    by_class = [[completions.afct_ratio_to_bound(rows, C, sizes) for rows in through] for sizes in (SMALL, LARGE)]
    together = [completions.afct_ratio_to_bound(rows, C) for rows in through]
    return {
        "rcp-fig29-30": [[ratio for ratios in by_class for ratio in ratios], None, None, None],
        "rcp-fig31": [None, together],
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for links, rows in zip(LINKS, runs(figure), strict=True):
        sizes = completions.by_size(rows, C, 0.0)
        axes.loglog(sizes["bytes"] / 1000, sizes["fct_s"], "o-", label=f"n = {links}")
    axes.loglog(sizes["bytes"] / 1000, sizes["ps_s"], "k--", label="1.5 RTPD + L/C")
    axes.set(xlabel="flow size (packets)", ylabel="AFCT of group 0 (s)", title="RCP across several bottlenecks")
    axes.legend()
