"""Figure 8: a 150 Mb/s link with a round trip of 1.6 s, load 0.9."""

from levelflow.claims import Seeds
from levelflow.claims.metrics import completions, series
from levelflow.claims.traffic import LINK, PACKET, SETTINGS

SETTING = SETTINGS["fig8"]
PLAN = SETTING.plan
SIZES = (PACKET, 6000 * PACKET)


def measure(figure):
    runs, window = SETTING.runs(figure), SETTING.window(figure)
    ratios = [completions.worst_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, SIZES, window) for run in runs]
    spreads = [completions.fct_max_over_mean(run.completions, SIZES, window) for run in runs]
    return {"rcp-fig8": [Seeds(ratios), None, None, Seeds(spreads), None]}


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for seed, result in enumerate(figure.results, 1):
        bins = completions.by_size(result.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
        left.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label=f"RCP, seed {seed}")
        t, rate = series.link_series(result.links, LINK, "signal")
        right.semilogy(t, rate / PLAN.capacity, label=f"seed {seed}")
    left.loglog(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="processor sharing")
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 8")
    right.set(xlabel="time (s)", ylabel="R/C", title="offered rate")
    left.legend()
    right.legend()
