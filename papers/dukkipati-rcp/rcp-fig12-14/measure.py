"""Figures 12 to 14: the law of flow sizes does not matter."""

from dukkipati_models.arrivals import FLOWS, LAWS, LINK, PACKET, SETTINGS
from levelflow.measure import completions, queues

SIZES = {"fig12": "uniform", "fig13": "exponential", "fig14": "Pareto 1.8"}
EARLY = 0.2  # the early part of a run, as a share of it


def measure(figure):
    return {f"rcp-{name}": checks(figure, name) for name in SIZES}


def checks(figure, name):
    setting = SETTINGS[name]
    plan, window = setting.plan, setting.window(figure)
    rcp, tcp, xcp = (runs[0] for runs in setting.beside(figure).values())

    def used(run, window=window):
        return queues.utilisation(run.links, LINK, plan.capacity, window)[0]

    def active(run):
        return completions.active_mean(run.flows, [FLOWS], window)

    values = {
        "afct_ratio_to_ps": completions.worst_ratio_to_ps(rcp.completions, plan.capacity, plan.load, window=window),
        "active_flows_mean": active(rcp),
        "afct_ratio": completions.afct_ratio(xcp.completions, tcp.completions, window=window),
        "active_flows_ratio": active(xcp) / active(tcp),
        "active_flows_trend": completions.active_trend(xcp.flows, [FLOWS]),
    }
    both = [used(tcp), used(rcp)]
    if name != "fig12":
        return values | {"utilisation": both}
    early = used(xcp, (0, EARLY * setting.duration(figure)))
    return values | {"utilisation[TCP and RCP]": both, "utilisation[XCP, early part of the run]": early}


def plot(figure, canvas):
    axes = canvas.subplots(1, 3, sharey=True)
    results = iter(figure.results)
    for ax, (name, law) in zip(axes, SIZES.items(), strict=True):
        plan, window = SETTINGS[name].plan, SETTINGS[name].window(figure)
        for other in LAWS:
            bins = completions.by_size(next(results).completions, plan.capacity, plan.load, window=window)
            ax.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label=other)
        ax.loglog(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="processor sharing")
        ax.set(xlabel="flow size (packets)", title=law)
    axes[0].set(ylabel="mean completion time (s)")
    axes[0].legend()
