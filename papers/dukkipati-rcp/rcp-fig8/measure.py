"""Figure 8: a 150 Mb/s link with a round trip of 1.6 s, load 0.9."""

from dukkipati_models.arrivals import LAWS, LINK, PACKET, SETTINGS, beside_sharing, over_sharing
from levelflow.measure import completions, series
from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_seeds

SETTING = SETTINGS["fig8"]
PLAN = SETTING.plan
SIZES = (PACKET, 6000 * PACKET)
BESIDE = (100 * PACKET, 6000 * PACKET)  # sizes at which TCP and XCP are compared with RCP
LARGE = (2000 * PACKET, 6000 * PACKET)


def measure(figure):
    by_law, window = SETTING.beside(figure), SETTING.window(figure)
    runs, tcp, xcp = (by_law[law] for law in LAWS)
    shared = over_sharing(runs, PLAN, LARGE, window)
    seeds = zip(runs, tcp, xcp, strict=True)
    ratios = [completions.worst_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, SIZES, window) for run in runs]
    spreads = [completions.fct_max_over_mean(run.completions, SIZES, window) for run in runs]

    def over_rcp(others):
        pairs = zip(others, runs, strict=True)
        return Seeds([completions.afct_ratio(a.completions, b.completions, BESIDE, window) for a, b in pairs])

    return {
        "rcp-fig8": {
            "afct_ratio_to_ps": beside_sharing(Seeds(ratios), shared, "2000 to 6000 packets"),
            "afct_ratio[TCP/RCP, sizes 100-6000]": over_rcp(tcp),
            "afct_ratio[XCP/RCP]": over_rcp(xcp),
            "fct_max_over_mean": Seeds(spreads),
            "fct_variance_rank": Seeds([variance_rank(dict(zip(LAWS, seed, strict=True)), window) for seed in seeds]),
        }
    }


def variance_rank(runs, window):
    """Laws by their coefficient of variation of completion times among flows of similar size, largest first."""
    spread = {law: completions.fct_cv(run.completions, SIZES, window) for law, run in runs.items()}
    return sorted(spread, key=spread.__getitem__, reverse=True)


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    window, count = SETTING.window(figure), len(SETTING.drawn(figure))
    for i, law in enumerate(LAWS):
        runs = figure.results[i * count :][:count]
        tables = [completions.by_size(run.completions, PLAN.capacity, PLAN.load, window=window) for run in runs]
        draw_seeds(left, [(table["bytes"] / PACKET, table["fct_s"]) for table in tables], law)
        if law == "RCP":
            left.plot(tables[0]["bytes"] / PACKET, tables[0]["ps_s"], "k--", label="processor sharing")
            offered = [series.link_series(run.links, LINK, "signal") for run in runs]
            draw_seeds(right, [(t, rate / PLAN.capacity) for t, rate in offered], f"RCP, seeds: {len(runs)}")
    left.set(
        xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 8", xscale="log", yscale="log"
    )
    right.set(xlabel="time (s)", ylabel="R/C", title="offered rate", yscale="log")
