import polars as pl

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import OneLink, settled
from levelflow.claims.verdict import Seeds

C, RTPD, MEAN = 2.4e9, 0.2, 46  # bit/s, s, packets
FORWARD, REVERSE = "web", "back"
#: Loads forward and back; durations in s, printed and quick.
RUNS = {
    "fig24": (0.75, 0.75, 60, 6),
    "fig25": (0.75, 0.0, 60, 6),
    "fig26": (0.95, 0.95, 120, 12),
    "fig27": (0.95, 0.2, 120, 12),
}


def scenario(loads, duration, seed):
    forward, reverse = (OneLink(C, RTPD, load, MEAN) for load in loads)
    both = forward.scenario(duration, seed)
    if reverse.load:
        size = {"pareto": {"mean": f"{MEAN} kB", "shape": 1.2}}
        both.flow(REVERSE, "rcp", "B", "A", size=size, arrivals={"poisson": f"{reverse.arrivals} /s"})
    return both


class Direction:
    """What one direction of one run shows, per seed."""

    def __init__(self, figure, run, flow=FORWARD):
        forward, reverse, printed, quick = RUNS[run]
        duration = printed if figure.full else quick
        self.load = forward if flow == FORWARD else reverse
        self.flow = flow
        self.window = settled(duration)
        self.results = figure.runs(
            [scenario((forward, reverse), duration, seed) for seed in figure.seeds(3 if figure.full else 2)]
        )
        self.finished = [result.completions.filter(pl.col("flow").cast(pl.String) == flow) for result in self.results]

    def ratios_to_ps(self):
        return [completions.afct_ratio_to_ps(rows, C, self.load, window=self.window) for rows in self.finished]

    def ratios(self, other):
        """Completion times over those of another run with the same arrivals."""
        pairs = zip(self.finished, other.finished, strict=True)
        return [completions.afct_ratio(mine, others, window=self.window) for mine, others in pairs]

    def trends(self):
        return [completions.active_trend(result.flows, [self.flow], self.window) for result in self.results]


def measure(figure):
    two_way, one_way, heavy, mixed = (Direction(figure, run) for run in RUNS)
    back = Direction(figure, "fig27", REVERSE)
    plan = OneLink(C, RTPD, 0.95, MEAN)
    both = [value for run in (two_way, one_way) for value in run.ratios_to_ps()]
    return {
        "rcp-fig24-25": [Seeds(two_way.ratios(one_way)), None, None, None, None, both],
        "rcp-fig26": [None, Seeds(heavy.trends()), Seeds(heavy.ratios_to_ps()), plan.active, None],
        "rcp-fig27-28": [None, None, Seeds(mixed.ratios_to_ps()), None, Seeds(back.ratios_to_ps())],
    }


def plot(figure, canvas):
    grid = canvas.subplots(2, 2)
    for (above, below), run in zip(grid.T, ("fig24", "fig26"), strict=True):
        direction = Direction(figure, run)
        for rows, result in zip(direction.finished, direction.results, strict=True):
            sizes = completions.by_size(rows, C, direction.load, window=direction.window)
            above.loglog(sizes["bytes"] / 1000, sizes["fct_s"], color="C0")
            below.plot(*completions.active_series(result.flows, [FORWARD]), color="C0")
        above.loglog(sizes["bytes"] / 1000, sizes["ps_s"], "k--")
        above.set(xlabel="flow size (packets)", ylabel="AFCT (s)", title=f"load {direction.load:g} in both directions")
        below.axhline(OneLink(C, RTPD, direction.load, MEAN).active, color="k", linestyle="--")
        below.set(xlabel="time (s)", ylabel="active flows")
