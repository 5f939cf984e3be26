import numpy as np
import polars as pl

from dukkipati_models.arrivals import DRAIN, LAWS, settled
from dukkipati_models.networks import GROUP_RTPDS, groups
from levelflow.measure import completions
from levelflow.measure.completions import OverFlows
from levelflow.reproduce import Noted
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.queues.sharing import ROUND_TRIPS, completion_times, fct_bound, fct_processor_sharing

C, LOAD = 640e6, 0.9  # bit/s
GROUPS = [f"{rtpd} ms" for rtpd in GROUP_RTPDS]
ENDS = (GROUPS[0], GROUPS[-1])
CLASSES = {"up to 500 packets": (0, 500_001), "more than 500 packets": (500_001, np.inf)}  # bytes
UP_TO, MORE = CLASSES.values()
#: Time during which flows arrive, s; the same for TCP and XCP in the quick tier, s; number of seeds.
PRINTED, QUICK, SEEDS = 200.0, 30.0, 3


def run(figure, law, duration):
    """Returns the completions of all seeds in one table. Each row includes the time under processor sharing."""
    edit = groups(duration, LAWS[law], DRAIN * duration)
    results = figure.runs([figure.scenario(edit, seed=seed) for seed in figure.seeds(SEEDS, quick=1)])
    return pl.concat([with_sharing(result.completions) for result in results])


def with_sharing(rows):
    """Adds each flow's completion time under processor sharing of the same arrivals."""
    start, size, rtt = (rows[name].to_numpy() for name in ("start_s", "bytes", "rtt_s"))
    shared = completion_times(start, size, C, delays=ROUND_TRIPS * rtt)
    return rows.with_columns(pl.Series("sharing_s", shared))


def of(group, rows):
    return rows.filter(pl.col("flow").cast(pl.String) == group)


def ratios(rows, sizes):
    """Ratio of the mean completion time to the formula for processor sharing, per group."""
    return [completions.afct_ratio_to_ps(of(group, rows), C, LOAD, sizes) for group in GROUPS]


def over_sharing(rows, sizes):
    """Mean completion time divided by the mean under processor sharing of the same arrivals, per group."""
    chosen = [completions.select(of(group, rows), sizes) for group in GROUPS]
    return [OverFlows(rows["fct_s"].sum() / rows["sharing_s"].sum(), rows.height) for rows in chosen]


def over_bound(rows):
    """Ratio of the mean completion time to the bound 1.5 RTPD + L/C (round trip, size, capacity), per size."""
    return completions.by_size(rows, C, 0.0)


def sharing_over_bound(rows):
    """Ratio of the paper's mean processor-sharing time to the mean of 1.5 RTPD + L/C, for the same flows."""
    size, rtt = rows["bytes"].to_numpy(), rows["rtt_s"].to_numpy()
    return float(fct_processor_sharing(rtt, size, C, LOAD).mean() / fct_bound(rtt, size, C).mean())


def measure(figure):
    shorter = PRINTED if figure.full else QUICK
    begun = run(figure, "RCP", PRINTED)
    rcp = completions.select(begun, window=settled(PRINTED))
    others = {law: completions.select(run(figure, law, shorter), window=settled(shorter)) for law in ("TCP", "XCP")}
    figure.done = {"RCP": rcp, **others}
    by_class = [ratios(rcp, sizes) for sizes in CLASSES.values()]
    shared = over_sharing(rcp, MORE)
    ratios_text = ", ".join(f"{ratio:.2f}" for ratio in shared)
    return {
        "rcp-fig22-23": {
            "afct_ratio_to_ps[RCP, each group, both classes]": Noted(
                [ratio for group in by_class for ratio in group],
                f"above 500 packets, over processor sharing of the same arrivals: {ratios_text}",
            ),
            "afct_ratio_to_ps_bias": [group[0] / group[-1] for group in by_class],
            "fct_ratio_to_bound": [float(over_bound(of(group, rcp))["ratio"].max()) for group in ENDS],
            "afct_ratio": [
                completions.afct_ratio(of(group, rows), of(group, begun))
                for rows in others.values()
                for group in GROUPS
            ],
            "afct_ratio_to_ps[RCP, each group, up to 500 packets]": by_class[0],
            "ps_ratio_to_bound": sharing_over_bound(completions.select(of(GROUPS[0], rcp), MORE)),
        }
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 7)
    above, below = canvas.subplots(2, 2)
    for law, rows in figure.done.items():
        for axes, (name, sizes) in zip(above, CLASSES.items(), strict=True):
            axes.semilogy(GROUP_RTPDS, ratios(rows, sizes), "o-", label=law)
            axes.set(xlabel="RTPD (ms)", ylabel="AFCT / processor sharing", title=name)
        for axes, group in zip(below, ENDS, strict=True):
            bins = over_bound(of(group, rows))
            axes.loglog(bins["bytes"] / 1000, bins["fct_s"], "o-")
            axes.set(xlabel="flow size (packets); dashed: 1.5 RTPD + L/C", ylabel="AFCT (s)", title=f"RTPD {group}")
            if law == "RCP":
                axes.loglog(bins["bytes"] / 1000, bins["ps_s"], "k--")
    above[0].legend()
    for axes in above:
        draw_expected(axes, figure, "rcp-fig22-23[0]")
