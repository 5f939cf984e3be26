from dukkipati_models.arrivals import FLOWS, LAWS, PACKET, OneLink, Setting
from levelflow.measure import completions
from levelflow.reproduce.verdict import Seeds

C, RTPD = 2.4e9, 0.1  # bit/s, s
SMALL = (0, 500_000)  # bytes
SETTINGS = {
    "rcp-fig17": Setting(OneLink(C, RTPD, 0.2, 300), 120, 40, seeds=3),
    "rcp-fig18": Setting(
        OneLink(C, RTPD, 0.94, 283.35), 120, 30, {"size": {"pareto": {"mean": "283350 B", "shape": 1.2}}}, seeds=3
    ),
    "rcp-fig45": Setting(OneLink(C, RTPD, 0.4, 500), 120, 12, seeds=3),
    "rcp-fig46": Setting(OneLink(C, RTPD, 0.8, 500), 120, 12, seeds=3),
}
PER_SIZE = ("rcp-fig45", "rcp-fig46")


def sizes(figure, setting):
    """The size class tested: a tenth of the printed duration says nothing about the long flows."""
    return completions.ANY_SIZE if setting.duration(figure) == setting.printed else SMALL


class Measured:
    """What the laws show in one setting, per seed."""

    def __init__(self, figure, name):
        self.setting = SETTINGS[name]
        self.sizes, self.window = sizes(figure, self.setting), self.setting.window(figure)
        self.runs = self.setting.beside(figure)
        self.to_ps = completions.worst_ratio_to_ps if name in PER_SIZE else completions.afct_ratio_to_ps
        figure.shown = {**getattr(figure, "shown", {}), name: self}

    def ratios_to_ps(self):
        plan = self.setting.plan
        return Seeds(
            [self.to_ps(run.completions, plan.capacity, plan.load, self.sizes, self.window) for run in self.runs["RCP"]]
        )

    def ratio(self, law, other):
        """Completion times of a law over those of another, per seed."""
        pairs = zip(self.runs[law], self.runs[other], strict=True)
        return [completions.afct_ratio(a.completions, b.completions, self.sizes, self.window) for a, b in pairs]

    def active(self, law):
        return [completions.active_mean(run.flows, window=self.window) for run in self.runs[law]]

    def slower_than_rcp(self):
        return Seeds([list(pair) for pair in zip(self.ratio("TCP", "RCP"), self.ratio("XCP", "RCP"), strict=True)])

    def rank(self):
        """Laws by their active flows, most first."""
        by_seed = zip(*map(self.active, LAWS), strict=True)
        return Seeds(
            [sorted(LAWS, key=dict(zip(LAWS, seed, strict=True)).__getitem__, reverse=True) for seed in by_seed]
        )


def measure(figure):
    values = {}
    for name in SETTINGS:
        found = Measured(figure, name)
        values[name] = {"afct_ratio_to_ps": found.ratios_to_ps(), "active_flows_mean": Seeds(found.active("RCP"))}
        if name in PER_SIZE:
            values[name] |= {"afct_ratio": found.slower_than_rcp()}
        else:
            values[name] |= {"afct_ratio": Seeds(found.ratio("XCP", "TCP")), "active_flows_rank": found.rank()}
    return values


def plot(figure, canvas):
    canvas.set_size_inches(14, 6)
    grid = canvas.subplots(2, len(SETTINGS))
    for (above, below), (name, found) in zip(grid.T, figure.shown.items(), strict=True):
        plan = found.setting.plan
        for i, (law, runs) in enumerate(found.runs.items()):
            for seed, run in enumerate(runs):
                rows = completions.by_size(run.completions, plan.capacity, plan.load, window=found.window)
                above.loglog(rows["bytes"] / PACKET, rows["fct_s"], color=f"C{i}", label=law if seed == 0 else None)
                if law == "RCP":
                    above.loglog(rows["bytes"] / PACKET, rows["ps_s"], "k--")
            below.semilogy(*completions.active_series(runs[0].flows, [FLOWS]), color=f"C{i}")
        below.axhline(plan.active, color="k", linestyle="--")
        above.set(xlabel="flow size (packets)", title=f"{name}: load {plan.load:g}, mean {plan.mean:g}")
        below.set(xlabel="time (s)")
    grid[0, 0].set(ylabel="AFCT (s); dashed: processor sharing")
    grid[1, 0].set(ylabel="active flows")
    grid[0, 0].legend()
