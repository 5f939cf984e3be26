import numpy as np
import polars as pl

from dukkipati_models.arrivals import FLOWS, LAWS, OneLink, beside_sharing, settled
from dukkipati_models.networks import BACK, LOADS, TWO_WAY, two_way
from levelflow.measure import completions
from levelflow.reproduce.drawing import draw_seeds
from levelflow.reproduce.verdict import Against, Noted, Seeds

C, RTPD, MEAN = TWO_WAY  # bit/s, s, packets


class Direction:
    """Results of one direction of a link under one law, per seed."""

    def __init__(self, figure, run, law="RCP", flow=FLOWS):
        forward, reverse, printed, quick = LOADS[run]
        duration = printed if figure.full else quick
        self.load = forward if flow == FLOWS else reverse
        self.flow = flow
        self.window = settled(duration)
        self.results = figure.runs(
            [two_way(run, duration, seed, LAWS[law]) for seed in figure.seeds(3 if figure.full else 2, quick=1)]
        )
        self.finished = [result.completions.filter(pl.col("flow").cast(pl.String) == flow) for result in self.results]

    def ratios_to_ps(self):
        return [completions.afct_ratio_to_ps(rows, C, self.load, window=self.window) for rows in self.finished]

    def beside_sharing(self):
        """Returns ratios to the formula. A note lists ratios to a simulation of processor sharing with the same
        arrivals.
        """
        shared = [completions.afct_ratio_to_sharing(rows, C, window=self.window) for rows in self.finished]
        return beside_sharing(Seeds(self.ratios_to_ps()), shared, "all sizes")

    def ratios(self, other):
        """Completion times divided by the completion times of another run with the same arrivals."""
        pairs = zip(self.finished, other.finished, strict=True)
        return [completions.afct_ratio(mine, others, window=self.window) for mine, others in pairs]

    def spreads(self):
        return [completions.fct_cv(rows, window=self.window) for rows in self.finished]

    def active_stds(self):
        """Standard deviations, over time, of the number of active flows."""
        series = [completions.active_series(result.flows, [self.flow], self.window) for result in self.results]
        return [float(np.std(active)) for _, active in series]

    def trends(self):
        return [completions.active_trend(result.flows, [self.flow], self.window) for result in self.results]


def over(a, b):
    """Returns the ratios a/b, one per seed."""
    return Seeds([x / y for x, y in zip(a, b, strict=True)])


def measure(figure):
    both_ways, one_way, heavy, mixed = ({law: Direction(figure, run, law) for law in LAWS} for run in LOADS)
    back = {law: Direction(figure, "fig27", law, BACK) for law in LAWS}
    figure.shown = {
        "figure 24": both_ways,
        "figure 25": one_way,
        "figure 26": heavy,
        "figure 27": mixed,
        "figure 28": back,
    }
    return {
        "rcp-fig24-25": {
            **{f"afct_ratio[{law} two-way / one-way]": Seeds(both_ways[law].ratios(one_way[law])) for law in LAWS},
            "fct_cv_ratio": over(both_ways["TCP"].spreads(), one_way["TCP"].spreads()),
            "active_flows_std_ratio": over(both_ways["TCP"].active_stds(), one_way["TCP"].active_stds()),
            "afct_ratio_to_ps": Noted(
                Seeds(map(list, zip(*(run["RCP"].ratios_to_ps() for run in (both_ways, one_way)), strict=True))),
                "; ".join(run["RCP"].beside_sharing().note for run in (both_ways, one_way)),
            ),
        },
        "rcp-fig26": {
            "active_flows_trend[TCP and XCP: N still grows]": Seeds(
                [list(pair) for pair in zip(heavy["TCP"].trends(), heavy["XCP"].trends(), strict=True)]
            ),
            "active_flows_trend[RCP]": Seeds(heavy["RCP"].trends()),
            "afct_ratio_to_ps": heavy["RCP"].beside_sharing(),
            "afct_ratio": Seeds(heavy["TCP"].ratios(heavy["XCP"])),
        },
        "rcp-fig27-28": {
            "active_flows_trend": Seeds(mixed["XCP"].trends()),
            "fct_cv": Against(mixed["TCP"].spreads(), mixed["RCP"].spreads()),
            "afct_ratio_to_ps[RCP, forward]": mixed["RCP"].beside_sharing(),
            "afct_ratio": Seeds(back["XCP"].ratios(back["TCP"])),
            "afct_ratio_to_ps[RCP, reverse]": back["RCP"].beside_sharing(),
        },
    }


def plot(figure, canvas):
    canvas.set_size_inches(15, 6)
    grid = canvas.subplots(2, len(figure.shown))
    for (above, below), (title, by_law) in zip(grid.T, figure.shown.items(), strict=True):
        for i, (law, direction) in enumerate(by_law.items()):
            tables = [
                completions.by_size(rows, C, direction.load, window=direction.window) for rows in direction.finished
            ]
            draw_seeds(above, [(sizes["bytes"] / 1000, sizes["fct_s"]) for sizes in tables], color=f"C{i}")
            active = [completions.active_series(result.flows, [direction.flow]) for result in direction.results]
            draw_seeds(below, active, law, color=f"C{i}")
        above.plot(tables[-1]["bytes"] / 1000, tables[-1]["ps_s"], "k--")
        above.set(xscale="log", yscale="log")
        below.set_yscale("log")
        above.set(xlabel="flow size (packets)", title=f"{title}: load {direction.load:g}")
        below.axhline(OneLink(C, RTPD, direction.load, MEAN).active, color="k", linestyle="--")
        below.set(xlabel="time (s)")
    grid[0, 0].set(ylabel="AFCT (s); dashed: processor sharing")
    grid[1, 0].set(ylabel="active flows")
    grid[1, 0].legend()
