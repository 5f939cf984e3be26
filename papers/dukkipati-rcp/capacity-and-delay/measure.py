import numpy as np

from dukkipati_models.arrivals import CAPACITIES, LATER, LAWS, LINK, RTPDS
from levelflow.measure import completions, queues
from levelflow.reproduce.verdict import Against
from levelflow.theory.queues.sharing import ROUND_TRIPS

SMALL, LARGE = (0, 500_000), (500_000, np.inf)  # bytes
FIG20, FIG21 = ([LATER[name] for name in LATER if name.startswith(figure)] for figure in ("fig20", "fig21"))


class Sweep:
    """A line of settings, each run under every law."""

    def __init__(self, figure, settings):
        self.settings = settings
        self.windows = [setting.window(figure) for setting in settings]
        self.runs = [setting.beside(figure) for setting in settings]

    def over_seeds(self, metric):
        """For each setting the mean over seeds of ``metric(results by law, plan, window)``."""
        return [
            float(
                np.mean(
                    [
                        metric(dict(zip(runs, seed, strict=True)), setting.plan, window)
                        for seed in zip(*runs.values(), strict=True)
                    ]
                )
            )
            for setting, runs, window in zip(self.settings, self.runs, self.windows, strict=True)
        ]

    def to_ps(self, law, sizes):
        """Completion times of a size class over processor sharing."""
        return self.over_seeds(
            lambda by_law, plan, window: completions.afct_ratio_to_ps(
                by_law[law].completions, plan.capacity, plan.load, sizes, window
            )
        )

    def to_rcp(self, law, sizes):
        """Completion times of a size class over those of RCP, same arrivals."""
        return self.over_seeds(
            lambda by_law, _plan, window: completions.afct_ratio(
                by_law[law].completions, by_law["RCP"].completions, sizes, window
            )
        )

    def queue(self, law):
        """Mean queue over the bandwidth-delay product."""
        return self.over_seeds(
            lambda by_law, plan, window: queues.mean_queue_over_bdp(
                by_law[law].links, LINK, plan.capacity, plan.rtpd, window
            )
        )


def afct_small(by_law, _plan, window):
    return completions.afct(by_law["RCP"].completions, SMALL, window)


def measure(figure):
    by_capacity, by_delay = figure.sweeps = Sweep(figure, FIG20), Sweep(figure, FIG21)
    small = np.array(by_delay.over_seeds(afct_small))
    excess = small - ROUND_TRIPS * np.array(RTPDS)
    queue = {law: by_capacity.queue(law) for law in LAWS}
    return {
        "rcp-fig20": {
            "afct_ratio_to_ps": by_capacity.to_ps("RCP", SMALL) + by_capacity.to_ps("RCP", LARGE),
            "afct_ratio[XCP/RCP, below 500]": by_capacity.to_rcp("XCP", SMALL),
            "afct_ratio[TCP/RCP, below 500]": by_capacity.to_rcp("TCP", SMALL),
            "afct_ratio[XCP/RCP, 500 or more]": by_capacity.to_rcp("XCP", LARGE),
            "afct_ratio[TCP/RCP, 500 or more]": by_capacity.to_rcp("TCP", LARGE),
            "mean_queue_over_bdp[RCP, every C]": queue["RCP"],
            "mean_queue_over_bdp[XCP]": Against(queue["XCP"], queue["RCP"]),
            "mean_queue_over_bdp[TCP]": Against(queue["TCP"], queue["RCP"]),
        },
        "rcp-fig21": {
            "afct_ratio_to_ps": by_delay.to_ps("RCP", SMALL) + by_delay.to_ps("RCP", LARGE),
            "afct_ratio[TCP/RCP and XCP/RCP, below 500]": by_delay.to_rcp("TCP", SMALL) + by_delay.to_rcp("XCP", SMALL),
            "afct_ratio[TCP/RCP, above 500]": by_delay.to_rcp("TCP", LARGE),
            "afct_ratio[XCP/RCP, above 500]": by_delay.to_rcp("XCP", LARGE),
            "afct_slope_over_rtpd": float(np.polyfit(RTPDS, small, 1)[0]),
            "afct_minus_1.5rtpd_variation": float(np.ptp(excess) / excess.mean()),
        },
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 8)
    columns = (
        (figure.sweeps[0], [c / 1e9 for c in CAPACITIES], "capacity (Gb/s)"),
        (figure.sweeps[1], RTPDS, "RTPD (s)"),
    )
    grid = canvas.subplots(3, 2, sharex="col")
    for (small, large, below), (sweep, x, label) in zip(grid.T, columns, strict=True):
        for law in LAWS:
            small.loglog(x, sweep.to_ps(law, SMALL), "o-", label=law)
            large.loglog(x, sweep.to_ps(law, LARGE), "o-")
            below.loglog(x, sweep.queue(law), "o-")
        small.set(title="below 500 packets", ylabel="AFCT / processor sharing")
        large.set(title="500 packets or more", ylabel="AFCT / processor sharing")
        below.set(xlabel=label, ylabel="queue / BDP")
    grid[0, 0].legend()
