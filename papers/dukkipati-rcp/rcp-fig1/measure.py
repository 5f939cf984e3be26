"""Figure 1: TCP and XCP compared with processor sharing."""

import numpy as np

from dukkipati_models.arrivals import FLOWS, PACKET, SETTINGS
from levelflow.measure import completions
from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_seeds
from levelflow.theory.queues.sharing import fct_processor_sharing

SETTING = SETTINGS["fig1"]
PLAN = SETTING.plan
LAWS = {"TCP": "reno", "XCP": "xcp"}
SIZES = (100 * PACKET, 2000 * PACKET)
LATE = (20, 40)


def measure(figure):
    figure.by_law = {name: SETTING.runs(figure, law) for name, law in LAWS.items()}

    def to_ps(name):
        return Seeds(
            completions.afct_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, SIZES, SETTING.window(figure))
            for run in figure.by_law[name]
        )

    active = [[completions.active_mean(run.flows, [FLOWS], LATE) for run in runs] for runs in figure.by_law.values()]
    return {
        "rcp-fig1": {
            "afct_ratio_to_ps[TCP, sizes 100-2000]": to_ps("TCP"),
            "afct_ratio_to_ps[XCP, sizes 100-2000]": to_ps("XCP"),
            "active_flows_ratio_to_ps": Seeds([n / PLAN.active for n in seed] for seed in zip(*active, strict=True)),
        }
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for name, runs in figure.by_law.items():
        tables = [
            completions.by_size(run.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
            for run in runs
        ]
        draw_seeds(left, [(bins["bytes"] / PACKET, bins["fct_s"]) for bins in tables], name)
        draw_seeds(right, [completions.active_series(run.flows, [FLOWS]) for run in runs], name)
    packets = np.geomspace(1, 1e5, 100)
    left.plot(packets, fct_processor_sharing(PLAN.rtpd, packets * PACKET, PLAN.capacity, PLAN.load), "k--", label="PS")
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", xscale="log", yscale="log")
    left.legend()
    right.set(xlabel="time (s)", ylabel="active flows", yscale="log")
    right.axhline(PLAN.active, color="k", linestyle="--")
