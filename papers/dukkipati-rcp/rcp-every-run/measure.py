"""No run of the other figures drops a packet, and no flow is faster than light and line allow."""

from dukkipati_models.arrivals import LAWS, LINK, SETTINGS
from levelflow.measure import queues
from levelflow.theory.queues.sharing import ROUND_TRIPS

#: Loads at which the paper says that TCP drops packets.
LOADED = 0.75


def measure(figure):
    rcp, tcp, xcp = (run(figure, law) for law in LAWS.values())
    loaded = {name: result for name, result in tcp.items() if SETTINGS[name].plan.load >= LOADED}
    return {
        "rcp-no-drops": {
            "loss_rate[RCP, buffer = C x max RTPD, every scenario listed]": losses(rcp),
            "loss_rate[XCP, same]": losses(xcp),
            "loss_rate[TCP Reno, rho >= 0.75]": losses(loaded),
        },
        "rcp-afct-lower-bound": {
            "afct_minus_bound_s": [
                slack(result, SETTINGS[name].plan) for results in (rcp, tcp, xcp) for name, result in results.items()
            ]
        },
    }


def run(figure, law):
    """One seed of every run."""
    scenarios = {name: setting.scenarios(figure, law)[0] for name, setting in SETTINGS.items()}
    return dict(zip(scenarios, figure.runs(list(scenarios.values())), strict=True))


def losses(results):
    return [queues.loss_rate(result.summary, LINK) for result in results.values()]


def slack(result, plan):
    """Least difference of a completion time and the bound 1.5 RTPD + L/C, s."""
    rows = result.completions
    return (rows["fct_s"] - ROUND_TRIPS * rows["rtt_s"] - 8 * rows["bytes"] / plan.capacity).min()


def plot(figure, canvas):
    axes = canvas.subplots()
    rows = range(len(SETTINGS))
    for shift, (name, law) in enumerate(LAWS.items()):
        axes.barh([row + 0.25 * shift for row in rows], losses(run(figure, law)), 0.25, label=name)
    axes.set_yticks(rows, list(SETTINGS), fontsize=6)
    axes.set(xlabel="dropped / arrived packets")
