import numpy as np

from dukkipati_models.arrivals import LATER, LAWS, LINK
from levelflow.measure import completions, queues, series
from levelflow.reproduce import Against, Noted, Readings
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.queues.sharing import ROUND_TRIPS

SMALL, MIDDLE, LARGE = (0, 500_000), (50_000, 500_000), (500_000, np.inf)  # bytes
FIG20, FIG21 = ([LATER[name] for name in LATER if name.startswith(figure)] for figure in ("fig20", "fig21"))

ALPHA, BETA = 0.1, 1.0
#: Numbers of initial points of figure 20 (up to 0.3 Gb/s) and of figure 21 (up to 0.1 s). At these points, few flows
#: share a small bandwidth-delay product.
FEW_FLOWS, SHORT_DELAYS = 2, 4
#: Name of a comparison in the checks.
SAME = "processor sharing of the same arrivals"


class Sweep:
    """Settings that differ in one parameter, each run under every law."""

    def __init__(self, figure, settings):
        self.settings = [setting for setting in settings if setting.runs_in(figure)]
        self.windows = [setting.window(figure) for setting in self.settings]
        self.runs = [setting.beside(figure) for setting in self.settings]

    def points(self, name):
        """Returns an attribute of each setting's plan."""
        return np.array([getattr(setting.plan, name) for setting in self.settings])

    def over_seeds(self, metric):
        """Returns the mean over seeds of ``metric(results by law, plan, window)`` for each setting."""
        return [
            mean_of(
                metric(dict(zip(runs, seed, strict=True)), setting.plan, window)
                for seed in zip(*runs.values(), strict=True)
            )
            for setting, runs, window in zip(self.settings, self.runs, self.windows, strict=True)
        ]

    def to_ps(self, law, sizes):
        """Completion times of a size class, divided by the formula for processor sharing."""
        return self.over_seeds(
            lambda by_law, plan, window: completions.afct_ratio_to_ps(
                by_law[law].completions, plan.capacity, plan.load, sizes, window
            )
        )

    def to_sharing(self, law, sizes):
        """Completion times of a size class, divided by those under processor sharing of the same arrivals."""
        return self.over_seeds(
            lambda by_law, plan, window: completions.afct_ratio_to_sharing(
                by_law[law].completions, plan.capacity, sizes, window
            )
        )

    def to_rcp(self, law, sizes):
        """Completion times of a size class, divided by those under RCP with the same arrivals."""
        return self.over_seeds(
            lambda by_law, _plan, window: completions.afct_ratio(
                by_law[law].completions, by_law["RCP"].completions, sizes, window
            )
        )

    def queue(self, law):
        """Mean queue, divided by the bandwidth-delay product."""
        return self.over_seeds(
            lambda by_law, plan, window: queues.mean_queue_over_bdp(
                by_law[law].links, LINK, plan.capacity, plan.rtpd, window
            )
        )

    def balanced_queue(self, law):
        """Mean queue by eq 2 for the measured change of the rate, divided by the bandwidth-delay product."""
        return self.over_seeds(lambda by_law, plan, window: balanced(by_law[law].links, plan, window))


def mean_of(found):
    """Mean over seeds. If the values include numbers of flows, the result includes the sum of these numbers."""
    values = list(found)
    flows = sum(value.flows for value in values if isinstance(value, completions.OverFlows))
    return completions.OverFlows(float(np.mean(values)), flows) if flows else float(np.mean(values))


#: Possible meanings of a single number that the text gives for a whole plot.
OVER_POINTS = {
    "each point": list,
    "geometric mean": lambda ratios: [float(np.exp(np.mean(np.log(ratios))))],
    "arithmetic mean": lambda ratios: [float(np.mean(ratios))],
    "median": lambda ratios: [float(np.median(ratios))],
}


def beside(sweep, laws, sizes):
    """Returns the completion times of laws relative to RCP's, for each possible meaning of a number for a plot."""
    curves = [[float(ratio) for ratio in sweep.to_rcp(law, sizes)] for law in laws]
    return Readings({name: [x for ratios in curves for x in over(ratios)] for name, over in OVER_POINTS.items()})


def to_formula(sweep):
    """Completion times of RCP relative to processor sharing: small flows, and then large flows."""
    shared = ", ".join(f"{ratio:.2f}" for ratio in sweep.to_sharing("RCP", LARGE))
    ratios = sweep.to_ps("RCP", SMALL) + sweep.to_ps("RCP", LARGE)
    return Noted(ratios, f"from 500 packets on, over processor sharing of the same arrivals: {shared}")


def balanced(links, plan, window):
    """Returns the mean queue divided by the bandwidth-delay product, computed from eq 2 summed over a window. The sum
    includes the change of the rate, because a run is never fully stationary.
    """
    spare = 1 - queues.utilisation(links, LINK, plan.capacity, window)[0]
    times, rates = series.link_series(links, LINK, "signal", window)
    rise = np.log(rates[-1] / rates[0]) * plan.rtpd / (times[-1] - times[0])
    return (ALPHA * spare - rise) / BETA


def afct_small(by_law, _plan, window):
    return completions.afct(by_law["RCP"].completions, SMALL, window)


def measure(figure):
    by_capacity, by_delay = figure.sweeps = Sweep(figure, FIG20), Sweep(figure, FIG21)
    small = np.array(by_delay.over_seeds(afct_small))
    delays = by_delay.points("rtpd")
    excess = small - ROUND_TRIPS * delays
    queue = {law: by_capacity.queue(law) for law in LAWS}
    middle, large = (by_capacity.to_sharing("RCP", sizes) for sizes in (MIDDLE, LARGE))
    return {
        "rcp-fig20": {
            "afct_ratio_to_ps[RCP, both classes, every C]": to_formula(by_capacity),
            "afct_ratio[XCP/RCP, below 500]": beside(by_capacity, ["XCP"], SMALL),
            "afct_ratio[TCP/RCP, below 500]": beside(by_capacity, ["TCP"], SMALL),
            "afct_ratio[XCP/RCP, 500 or more]": beside(by_capacity, ["XCP"], LARGE),
            "afct_ratio[TCP/RCP, 500 or more]": beside(by_capacity, ["TCP"], LARGE),
            "mean_queue_over_bdp[RCP, every C]": queue["RCP"],
            "mean_queue_over_bdp[XCP]": Against(queue["XCP"], queue["RCP"]),
            "mean_queue_over_bdp[TCP]": Against(queue["TCP"], queue["RCP"]),
            "afct_ratio_to_ps[RCP, below 500, every C]": by_capacity.to_ps("RCP", SMALL),
            f"afct_ratio_to_sharing[RCP, 500 or more, 0.1 and 0.3 Gb/s, {SAME}]": large[:FEW_FLOWS],
            f"afct_ratio_to_sharing[RCP, 50 to 499, C from 0.3 Gb/s on, {SAME}]": middle[1:],
        },
        "rcp-fig21": {
            "afct_ratio_to_ps[RCP]": to_formula(by_delay),
            "afct_ratio[TCP/RCP and XCP/RCP, below 500]": beside(by_delay, ["TCP", "XCP"], SMALL),
            "afct_ratio[TCP/RCP, above 500]": beside(by_delay, ["TCP"], LARGE),
            "afct_ratio[XCP/RCP, above 500]": beside(by_delay, ["XCP"], LARGE),
            "afct_slope_over_rtpd": float(np.polyfit(delays, small, 1)[0]),
            "afct_minus_1.5rtpd_variation": float(np.ptp(excess) / excess.mean()),
            "afct_ratio_to_ps[RCP, below 500, RTPD from 0.02 s on]": by_delay.to_ps("RCP", SMALL)[1:],
            "afct_ratio_to_sharing": by_delay.to_sharing("RCP", LARGE)[:SHORT_DELAYS],
            "mean_queue_over_bdp": Against(by_delay.queue("RCP"), by_delay.balanced_queue("RCP")),
        },
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 8)
    columns = (
        (figure.sweeps[0], figure.sweeps[0].points("capacity") / 1e9, "capacity (Gb/s)"),
        (figure.sweeps[1], figure.sweeps[1].points("rtpd"), "RTPD (s)"),
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
    for axes in grid[:2, 0]:
        draw_expected(axes, figure, "rcp-fig20[0]")
    for axes in grid[:2, 1]:
        draw_expected(axes, figure, "rcp-fig21[0]")
    draw_expected(grid[2, 0], figure, "rcp-fig20[5]")
