import math

import numpy as np

from levelflow.measure import series
from levelflow.reproduce import Against, Seeds

GAMMA = 0.98
LINKS = {"link1": 5e6, "link2": 10e6, "link3": 8e6, "link4": 6e6}  # bit/s, in a chain n0 to n4
ROUTES = {"1": (0, 1), "23": (1, 3), "12": (0, 2), "34": (2, 4), "4": (3, 4)}  # first and last node
MEAN, SHAPE, LONGEST = 10, 1.2, 20  # packets
HALF, END = 125.0, 250.0  # s


def sizes():
    """Returns a hundred equally likely sizes."""
    scale = MEAN * (SHAPE - 1) / SHAPE
    quantiles = [scale * (1 - (i + 0.5) / 100) ** (-1 / SHAPE) for i in range(100)]
    return {"list": [f"{min(math.ceil(x), LONGEST)} packets" for x in quantiles]}


def build(scenario):
    for route, (first, last) in ROUTES.items():
        ends = (f"n{first}", f"n{last}")
        scenario.flow(f"long{route}", "ks", *ends, count=5, start={"uniform": ["0 s", "1 s"]})
        scenario.flow(f"short{route}", "ks", *ends, arrivals={"poisson": "1 /s"}, size=sizes())


def settles(result, link):
    t, bps = series.link_series(result.links, link, "signal")
    final = bps[t > HALF].mean()
    means = series.window_means(t[t > 100.0], bps[t > 100.0], 10.0)
    return bool(np.all(np.abs(means - final) <= 0.05 * LINKS[link]))


def marks(result, link):
    """Returns True if a link marks: its mean marking level in the second half of the run is below the upper bound."""
    return series.mean(series.link_series(result.links, link, "signal", (HALF, END))[1]) < 0.999 * GAMMA * LINKS[link]


def load(result, link):
    return series.mean(series.link_series(result.links, link, "arrival_bps", (HALF, END))[1]) / LINKS[link]


def loss(result, link):
    rows = series.select(result.links, "link", link, (50.0, END))
    return float(rows["dropped_bytes"].sum() / (rows["arrival_bps"].sum() * 0.1 / 8))


def measure(figure):
    results = figure.runs([figure.scenario(build, seed=seed) for seed in figure.seeds(5)])
    marked = [load(result, link) for result in results for link in LINKS if marks(result, link)]
    return {
        "ks-exp4-fig7-8": {
            "c_tilde_settles": Seeds([[settles(result, link) for link in LINKS] for result in results]),
            "load_over_capacity": Against(marked, [GAMMA] * len(marked)),
            "loss_rate": Seeds([[loss(result, link) for link in LINKS] for result in results]),
        }
    }


def plot(figure, canvas):
    above, below = canvas.subplots(2, 1, sharex=True)
    for link, capacity in LINKS.items():
        t, bps = series.link_series(figure.results[0].links, link, "signal")
        above.plot(t, bps / capacity, lw=0.8, label=link)
        t, bps = series.link_series(figure.results[0].links, link, "arrival_bps")
        below.plot(t[4::10], bps[: 10 * (t.size // 10)].reshape(-1, 10).mean(1) / capacity, lw=0.6, label=link)
    above.set(ylabel="C~/C", title="fig 8: marking levels")
    below.set(xlabel="time (s)", ylabel="load/C")
    above.legend(ncols=4)
