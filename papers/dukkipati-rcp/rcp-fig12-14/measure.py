"""Figures 12 to 14: the distribution of flow sizes does not matter."""

from dukkipati_models.arrivals import FLOWS, LINK, PACKET, SETTINGS, beside_sharing, over_sharing
from levelflow.measure import completions, queues
from levelflow.reproduce import Seeds, over_seeds
from levelflow.reproduce.drawing import draw_seeds

SIZES = {"fig12": "uniform", "fig13": "exponential", "fig14": "Pareto 1.8"}
EARLY = 0.2  # initial fraction of a run that counts as early


def measure(figure):
    figure.runs_of = {name: SETTINGS[name].beside(figure) for name in SIZES}
    return {f"rcp-{name}": checks(figure, name) for name in SIZES}


def checks(figure, name):
    setting = SETTINGS[name]
    plan, window = setting.plan, setting.window(figure)
    by_law = figure.runs_of[name]

    def to_ps(run):
        return completions.worst_ratio_to_ps(run.completions, plan.capacity, plan.load, window=window)

    found = over_seeds(one_seed(figure, name, *runs) for runs in zip(*by_law.values(), strict=True))
    shared = over_sharing(by_law["RCP"], plan, completions.ANY_SIZE, window)
    return found | {"afct_ratio_to_ps": beside_sharing(Seeds(map(to_ps, by_law["RCP"])), shared, "all sizes")}


def one_seed(figure, name, rcp, tcp, xcp):
    setting = SETTINGS[name]
    plan, window = setting.plan, setting.window(figure)

    def used(run, window=window):
        return queues.utilisation(run.links, LINK, plan.capacity, window)[0]

    def active(run):
        return completions.active_mean(run.flows, [FLOWS], window)

    values = {
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
    for ax, (name, law) in zip(axes, SIZES.items(), strict=True):
        plan, window = SETTINGS[name].plan, SETTINGS[name].window(figure)
        for other, runs in figure.runs_of[name].items():
            tables = [completions.by_size(run.completions, plan.capacity, plan.load, window=window) for run in runs]
            draw_seeds(ax, [(bins["bytes"] / PACKET, bins["fct_s"]) for bins in tables], other)
        ax.plot(tables[0]["bytes"] / PACKET, tables[0]["ps_s"], "k--", label="processor sharing")
        ax.set(xlabel="flow size (packets)", xscale="log", yscale="log", title=law)
    axes[0].set(ylabel="mean completion time (s)")
    axes[0].legend()
