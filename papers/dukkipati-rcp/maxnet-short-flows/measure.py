"""Short flows under MaxNet and under RCP, with the same arrivals, on the link of figure 7."""

from dukkipati_models.arrivals import SETTINGS
from levelflow.measure import completions
from levelflow.reproduce import Seeds

SETTING = SETTINGS["fig7"]
PLAN = SETTING.plan
SMALL = (0, 500_000)  # bytes


def measure(figure):
    rcp = SETTING.runs(figure)
    plain = figure.runs(maxnet(figure, max_start=False))
    window = SETTING.window(figure)
    ratios = [
        completions.afct_ratio(a.completions, b.completions, SMALL, window) for a, b in zip(plain, rcp, strict=True)
    ]
    figure.shown = {"RCP": rcp[0], "MaxNet": plain[0]}
    if figure.full:
        figure.shown["MaxNet with MaxStart"] = figure.runs(maxnet(figure, max_start=True)[:1])[0]
    return {"rcp-related-maxnet-short-flows": {"afct_ratio": Seeds(ratios)}}


def maxnet(figure, *, max_start):
    return [scenario.law("maxnet", max_start=max_start) for scenario in SETTING.scenarios(figure, "maxnet")]


def plot(figure, canvas):
    axes = canvas.subplots()
    for name, run in figure.shown.items():
        bins = completions.by_size(run.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
        axes.loglog(bins["bytes"] / 1000, bins["fct_s"], "o-", label=name)
    axes.loglog(bins["bytes"] / 1000, bins["ps_s"], "k--", label="processor sharing")
    axes.set(xlabel="flow size (packets)", ylabel="mean completion time (s)")
