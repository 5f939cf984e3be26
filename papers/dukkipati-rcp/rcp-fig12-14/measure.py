"""Figures 12 to 14: the law of flow sizes does not matter."""

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import FLOWS, PACKET, SETTINGS

LAWS = {"fig12": "uniform", "fig13": "exponential", "fig14": "Pareto 1.8"}


def measure(figure):
    results = {name: SETTINGS[name].runs(figure)[0] for name in LAWS}
    values = {}
    for name, result in results.items():
        plan, window = SETTINGS[name].plan, SETTINGS[name].window(figure)
        values[f"rcp-{name}"] = [
            completions.worst_ratio_to_ps(result.completions, plan.capacity, plan.load, window=window),
            completions.active_mean(result.flows, [FLOWS], window),
            *[None] * (5 if name == "fig12" else 4),
        ]
    return values


def plot(figure, canvas):
    axes = canvas.subplots(1, 3, sharey=True)
    for ax, (name, law), result in zip(axes, LAWS.items(), figure.results, strict=True):
        plan, window = SETTINGS[name].plan, SETTINGS[name].window(figure)
        bins = completions.by_size(result.completions, plan.capacity, plan.load, window=window)
        ax.semilogx(bins["bytes"] / PACKET, bins["fct_s"], "o-", label="RCP")
        ax.semilogx(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="processor sharing")
        ax.set(xlabel="flow size (packets)", title=law)
    axes[0].set(ylabel="mean completion time (s)", ylim=(0, None))
    axes[0].legend()
