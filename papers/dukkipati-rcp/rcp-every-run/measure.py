"""Drops in all runs of the other figures, and completion times compared with their lower bound.

The bound is 1.5 RTPD + L/C, with the round-trip propagation delay RTPD, the size L and the capacity C.
"""

import numpy as np

from dukkipati_models.arrivals import LATER, LAWS, LINK, SETTINGS
from dukkipati_models.networks import LINKS, LOADS, QUICK_LINKS, cascade, groups, two_way
from levelflow.measure import queues
from levelflow.reproduce import Noted
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.queues.sharing import ROUND_TRIPS

#: Runs of the appendix. The paper's statement on drops precedes the appendix, and does not cover these runs.
APPENDIX = ("fig45", "fig46")
#: Groups with different round trips: scenario; arrival period, s; time without arrivals, s.
GROUPS, GROUPS_QUICK, GROUPS_DRAIN = "../mixed-rtt-groups/scenario.toml", 30.0, 15.0
CASCADE_QUICK = 20.0  # s
#: Lowest load at which the paper reports drops of TCP.
LOADED = 0.75


def measure(figure):
    rcp, tcp, xcp = (run(figure, law) for law in LAWS.values())
    loaded = {name: result for name, result in tcp.items() if SETTINGS[name].plan.load >= LOADED}
    return {
        "rcp-no-drops": {
            "loss_rate[RCP, buffer = C x max RTPD, every scenario listed]": losses(rcp),
            "loss_rate[XCP, same]": losses(xcp) + losses_later(figure, LAWS["XCP"]),
            "loss_rate[TCP Reno, rho >= 0.75, all runs together]": Noted(share(loaded), listed(loaded)),
            "loss_rate[RCP, each of these runs]": losses(rcp),
        },
        "rcp-afct-lower-bound": {
            "afct_minus_bound_s": [
                slack(result, SETTINGS[name].plan) for results in (rcp, tcp, xcp) for name, result in results.items()
            ]
        },
    }


def run(figure, law):
    """Results of the first seed of every run, by name of the run."""
    settings = {name: setting for name, setting in SETTINGS.items() if setting.runs_in(figure)}
    scenarios = {name: setting.scenarios(figure, law)[0] for name, setting in settings.items()}
    return dict(zip(scenarios, figure.runs(list(scenarios.values())), strict=True))


def losses(results):
    return [queues.loss_rate(result.summary, LINK) for result in results.values()]


def losses_later(figure, law):
    """Largest loss rate of a link, for each run of figures 17 to 30."""
    scenarios = [
        setting.scenarios(figure, law)[0]
        for name, setting in LATER.items()
        if name not in APPENDIX and setting.runs_in(figure)
    ]
    scenarios += [two_way(name, run[3], 1, law) for name, run in LOADS.items()]
    scenarios += [figure.scenario(groups(GROUPS_QUICK, law, GROUPS_DRAIN), seed=1, name=GROUPS)]
    scenarios += [cascade(links, CASCADE_QUICK, law) for links in (LINKS if figure.full else QUICK_LINKS)]
    results = figure.runs(scenarios)
    return [
        max(queues.loss_rate(result.summary, link["name"]) for link in result.summary["links"]) for result in results
    ]


def share(results):
    """Dropped packets of all runs, divided by their arrived packets."""
    links = [row for result in results.values() for row in result.summary["links"] if row["name"] == LINK]
    return sum(row["dropped_packets"] for row in links) / sum(row["arrived_packets"] for row in links)


def listed(results):
    lossless = [name for name, result in results.items() if queues.loss_rate(result.summary, LINK) == 0]
    return f"no drop in {', '.join(lossless)}" if lossless else "drops in every run"


def slack(result, plan):
    """Smallest difference between a completion time and the bound 1.5 RTPD + L/C, s."""
    rows = result.completions
    return (rows["fct_s"] - ROUND_TRIPS * rows["rtt_s"] - 8 * rows["bytes"] / plan.capacity).min()


def plot(figure, canvas):
    axes = canvas.subplots()
    for shift, (name, law) in enumerate(LAWS.items()):
        results = run(figure, law)
        axes.barh(np.arange(len(results)) + 0.25 * shift, losses(results), 0.25, label=name)
    axes.set_yticks(range(len(results)), list(results), fontsize=6)
    axes.set(xlabel="dropped / arrived packets")
    draw_expected(axes, figure, "rcp-no-drops[3]", along="x")
