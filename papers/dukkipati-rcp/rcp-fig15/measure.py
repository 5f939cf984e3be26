"""Figure 15: Pareto inter-arrival times on a 2.4 Gb/s link with a round trip of 0.5 s."""

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import FLOWS, PACKET, SETTINGS
from levelflow.theory.bounds import fct_bound

SETTING = SETTINGS["fig15"]
PLAN = SETTING.plan
BOUND = PLAN.arrivals * fct_bound(PLAN.rtpd, PLAN.mean * PACKET, PLAN.capacity)


def measure(figure):
    (result,), window = SETTING.runs(figure), SETTING.window(figure)
    return {
        "rcp-fig15": [
            completions.afct_ratio_to_bound(result.completions, PLAN.capacity, window=window),
            BOUND,
            completions.active_mean(result.flows, [FLOWS], window) / BOUND,
            None,
        ]
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    (result,) = figure.results
    bins = completions.by_size(result.completions, PLAN.capacity, 0.0, window=SETTING.window(figure))
    left.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label="RCP")
    left.loglog(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="1.5 RTPD + L/C")
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 15")
    left.legend()
    right.plot(*completions.active_series(result.flows, [FLOWS]), label="RCP")
    right.axhline(BOUND, color="k", linestyle="--", label="bound")
    right.set(xlabel="time (s)", ylabel="active flows", ylim=(0, None))
    right.legend()
