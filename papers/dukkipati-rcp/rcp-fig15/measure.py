"""Figure 15: Pareto inter-arrival times on a 2.4 Gb/s link with a round trip of 0.5 s."""

from dukkipati_models.arrivals import FLOWS, LAWS, PACKET, SETTINGS
from levelflow.measure import completions
from levelflow.theory.queues.bounds import fct_bound

SETTING = SETTINGS["fig15"]
PLAN = SETTING.plan
BOUND = PLAN.arrivals * fct_bound(PLAN.rtpd, PLAN.mean * PACKET, PLAN.capacity)


def measure(figure):
    window = SETTING.window(figure)
    rcp, *others = (runs[0] for runs in SETTING.beside(figure).values())
    return {
        "rcp-fig15": {
            "afct_ratio_to_bound": completions.afct_ratio_to_bound(rcp.completions, PLAN.capacity, window=window),
            "active_flows_bound": BOUND,
            "active_flows_mean_over_bound": completions.active_mean(rcp.flows, [FLOWS], window) / BOUND,
            "afct_ratio": [
                completions.afct_ratio(other.completions, rcp.completions, window=window) for other in others
            ],
        }
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for law, result in zip(LAWS, figure.results, strict=True):
        bins = completions.by_size(result.completions, PLAN.capacity, 0.0, window=SETTING.window(figure))
        left.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label=law)
        right.plot(*completions.active_series(result.flows, [FLOWS]), label=law)
    left.loglog(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="1.5 RTPD + L/C")
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 15")
    right.axhline(BOUND, color="k", linestyle="--", label="bound")
    right.set(xlabel="time (s)", ylabel="active flows", ylim=(0, None))
