"""Figure 15: Pareto inter-arrival times on a 2.4 Gb/s link with a round trip of 0.5 s."""

from dukkipati_models.arrivals import FLOWS, PACKET, SETTINGS
from levelflow.measure import completions
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_seeds
from levelflow.theory.queues.sharing import fct_bound

SETTING = SETTINGS["fig15"]
PLAN = SETTING.plan
BOUND = PLAN.arrivals * fct_bound(PLAN.rtpd, PLAN.mean * PACKET, PLAN.capacity)


def measure(figure):
    window = SETTING.window(figure)
    figure.by_law = SETTING.beside(figure)

    def one(rcp, *others):
        return {
            "afct_ratio_to_bound": completions.afct_ratio_to_bound(rcp.completions, PLAN.capacity, window=window),
            "active_flows_mean_over_bound": completions.active_mean(rcp.flows, [FLOWS], window) / BOUND,
            "afct_ratio": [
                completions.afct_ratio(other.completions, rcp.completions, window=window) for other in others
            ],
        }

    return {"rcp-fig15": over_seeds(one(*runs) for runs in zip(*figure.by_law.values(), strict=True))}


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for law, runs in figure.by_law.items():
        tables = [
            completions.by_size(run.completions, PLAN.capacity, 0.0, window=SETTING.window(figure)) for run in runs
        ]
        draw_seeds(left, [(bins["bytes"] / PACKET, bins["fct_s"]) for bins in tables], law)
        draw_seeds(right, [completions.active_series(run.flows, [FLOWS]) for run in runs], law)
    left.plot(tables[0]["bytes"] / PACKET, tables[0]["ps_s"], "k--", label="1.5 RTPD + L/C")
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 15")
    left.set(xscale="log", yscale="log")
    right.set(xlabel="time (s)", ylabel="active flows", ylim=(0, None))
    right.axhline(BOUND, color="k", linestyle="--")
