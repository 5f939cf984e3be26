"""Figures 10 and 11: completion times for mean sizes from 30 to 30000 packets, load 0.8."""

import math

from dukkipati_models.arrivals import LAWS, PACKET, beside_sharing, over_sharing, points
from levelflow.measure import completions
from levelflow.reproduce import Noted
from levelflow.reproduce.drawing import draw_expected

#: The paper's classes, bytes.
CLASSES = ((0, 7000 * PACKET), (7000 * PACKET, math.inf))


def measure(figure):
    means = figure.points = points(figure, "fig10 ", "mean")
    results = run(figure)
    rcp, tcp, xcp = (results[law] for law in LAWS)

    def between(mean, sizes=completions.ANY_SIZE):
        a, b = xcp[mean].completions, tcp[mean].completions
        return completions.afct_ratio(a, b, sizes, means[mean].window(figure))

    def worst(mean):
        plan, window = means[mean].plan, means[mean].window(figure)
        return completions.worst_ratio_to_ps(rcp[mean].completions, plan.capacity, plan.load, window=window)

    crossover = next((mean for mean in means if between(mean) < 1), math.inf)
    large = [ratio(figure, 30_000, xcp[30_000], sizes) for sizes in CLASSES]
    shared = [
        over_sharing([rcp[mean]], setting.plan, CLASSES[1], setting.window(figure))[0]
        for mean, setting in means.items()
    ]
    values_text = ", ".join(f"{value:.2f}" for value in shared)
    return {
        "rcp-fig10": {
            "afct_ratio_to_ps[RCP, both classes, every mean]": Noted(
                [ratio(figure, mean, rcp[mean], sizes) for mean in means for sizes in CLASSES],
                f"from 7000 packets on, over processor sharing of the same arrivals: {values_text}",
            ),
            "afct_ratio_to_ps[RCP, below 7000, every mean]": [
                ratio(figure, mean, rcp[mean], CLASSES[0]) for mean in means
            ],
            "afct_ratio_to_sharing": shared,
            "afct_ratio[XCP/TCP, both classes, mean 30]": [between(30, sizes) for sizes in CLASSES],
            "afct_ratio[XCP/TCP, both classes, mean 30000]": [between(30_000, sizes) for sizes in CLASSES],
            "afct_ratio_to_ps[XCP, mean 30000]": large,
            "crossover_mean_size": crossover,
        },
        "rcp-fig11": {
            "afct_ratio_to_ps[RCP, both means]": beside_sharing(
                [worst(30), worst(30_000)], [shared[0], shared[-1]], "7000 packets and more"
            ),
            "afct_ratio_to_ps[TCP, mean 30000, sizes up to 10^5]": ratio(
                figure, 30_000, tcp[30_000], (0, 1e5 * PACKET)
            ),
            "afct_ratio_to_ps[XCP, mean 30000]": large,
            "afct_ratio": between(30),
        },
    }


def run(figure):
    """Results by law and mean size."""
    keys = [(law, mean) for law in LAWS for mean in figure.points]
    scenarios = [figure.points[mean].scenarios(figure, LAWS[law])[0] for law, mean in keys]
    results = dict(zip(keys, figure.runs(scenarios), strict=True))
    return {law: {mean: results[law, mean] for mean in figure.points} for law in LAWS}


def ratio(figure, mean, result, sizes):
    setting = figure.points[mean]
    return completions.afct_ratio_to_ps(
        result.completions, setting.plan.capacity, setting.plan.load, sizes, setting.window(figure)
    )


def plot(figure, canvas):
    axes = canvas.subplots(1, 2)
    results = run(figure)
    for law, color in zip(LAWS, ("C0", "C1", "C2"), strict=True):
        for sizes, style, name in zip(CLASSES, ("o-", "s--"), ("below 7000", "7000 and more"), strict=True):
            ratios = [ratio(figure, mean, results[law][mean], sizes) for mean in figure.points]
            axes[0].loglog(list(figure.points), ratios, style, color=color, label=f"{law}, {name}")
        for mean, style in ((30, "-"), (30_000, "--")):
            plan, window = figure.points[mean].plan, figure.points[mean].window(figure)
            bins = completions.by_size(results[law][mean].completions, plan.capacity, plan.load, window=window)
            axes[1].loglog(bins["bytes"] / PACKET, bins["fct_s"], style, color=color, label=f"{law}, mean {mean}")
    axes[1].loglog(bins["bytes"] / PACKET, bins["ps_s"], "k:", label="processor sharing")
    axes[0].set(xlabel="mean flow size (packets)", ylabel="mean completion time / processor sharing", title="Figure 10")
    axes[1].set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 11")
    for ax in axes:
        ax.legend(fontsize=6)
    draw_expected(axes[0], figure, "rcp-fig10[0]")
    draw_expected(axes[0], figure, "rcp-fig10[3]", (30_000, 30_000))
