from dukkipati_models.arrivals import FLOWS, LATER, LAWS, PACKET, beside_sharing, over_sharing
from levelflow.measure import completions
from levelflow.reproduce.drawing import draw_expected, draw_seeds
from levelflow.reproduce.verdict import Seeds

SMALL = (0, 500_000)  # bytes
NAMES = ("rcp-fig17", "rcp-fig18", "rcp-fig45", "rcp-fig46")
PER_SIZE = ("rcp-fig45", "rcp-fig46")
#: Figures whose quick runs are too short for statistics of large flows.
SHORTENED = ("rcp-fig18", "rcp-fig46")


class Measured:
    """Results of all laws in one setting, per seed."""

    def __init__(self, figure, name):
        self.setting = LATER[name.removeprefix("rcp-")]
        self.sizes = SMALL if name in SHORTENED and not figure.full else completions.ANY_SIZE
        self.window = self.setting.window(figure)
        self.runs = self.setting.beside(figure)
        self.to_ps = completions.worst_ratio_to_ps if name in PER_SIZE else completions.afct_ratio_to_ps
        figure.shown = {**getattr(figure, "shown", {}), name: self}

    def ratios_to_ps(self):
        plan, runs = self.setting.plan, self.runs["RCP"]
        ratios = [self.to_ps(run.completions, plan.capacity, plan.load, self.sizes, self.window) for run in runs]
        return beside_sharing(Seeds(ratios), over_sharing(runs, plan, self.sizes, self.window))

    def ratio(self, law, other):
        """Completion times of one law divided by the completion times of another law, one ratio per seed."""
        pairs = zip(self.runs[law], self.runs[other], strict=True)
        return [completions.afct_ratio(a.completions, b.completions, self.sizes, self.window) for a, b in pairs]

    def active(self, law):
        return [completions.active_mean(run.flows, window=self.window) for run in self.runs[law]]

    def slower_than_rcp(self):
        return Seeds([list(pair) for pair in zip(self.ratio("TCP", "RCP"), self.ratio("XCP", "RCP"), strict=True)])

    def rank(self):
        """Laws by their number of active flows, largest first."""
        by_seed = zip(*map(self.active, LAWS), strict=True)
        return Seeds(
            [sorted(LAWS, key=dict(zip(LAWS, seed, strict=True)).__getitem__, reverse=True) for seed in by_seed]
        )


def measure(figure):
    values = {}
    for name in NAMES:
        found = Measured(figure, name)
        values[name] = {"afct_ratio_to_ps": found.ratios_to_ps(), "active_flows_mean": Seeds(found.active("RCP"))}
        if name in PER_SIZE:
            values[name] |= {"afct_ratio": found.slower_than_rcp()}
        else:
            values[name] |= {"afct_ratio": Seeds(found.ratio("XCP", "TCP")), "active_flows_rank": found.rank()}
    return values


def plot(figure, canvas):
    canvas.set_size_inches(14, 6)
    grid = canvas.subplots(2, len(NAMES))
    for (above, below), (name, found) in zip(grid.T, figure.shown.items(), strict=True):
        plan = found.setting.plan
        for i, (law, runs) in enumerate(found.runs.items()):
            tables = [
                completions.by_size(run.completions, plan.capacity, plan.load, window=found.window) for run in runs
            ]
            draw_seeds(above, [(rows["bytes"] / PACKET, rows["fct_s"]) for rows in tables], law, color=f"C{i}")
            if law == "RCP":
                for rows in tables:
                    above.plot(rows["bytes"] / PACKET, rows["ps_s"], "k--")
            below.semilogy(*completions.active_series(runs[0].flows, [FLOWS], found.window), color=f"C{i}")
        above.set(xlabel="flow size (packets)", xscale="log", yscale="log")
        above.set(title=f"{name}: load {plan.load:g}, mean {plan.mean:g}")
        below.set(xlabel="time (s)")
    grid[0, 0].set(ylabel="AFCT (s); dashed: processor sharing")
    grid[1, 0].set(ylabel="active flows")
    grid[0, 0].legend()
    checks = ("rcp-fig17[2]", "rcp-fig18[2]", "rcp-fig45[1]", "rcp-fig46[1]")
    for axes, check, found in zip(grid[1], checks, figure.shown.values(), strict=True):
        draw_expected(axes, figure, check, found.window)
