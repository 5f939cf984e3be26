"""Figure 1: TCP and XCP against processor sharing."""

import numpy as np

from dukkipati_models.arrivals import FLOWS, PACKET, SETTINGS
from levelflow.measure import completions
from levelflow.theory.queues.sharing import fct_processor_sharing

SETTING = SETTINGS["fig1"]
PLAN = SETTING.plan
LAWS = {"TCP": "reno", "XCP": "xcp"}
SIZES = (100 * PACKET, 2000 * PACKET)
LATE = (20, 40)


def measure(figure):
    tcp, xcp = (SETTING.runs(figure, law)[0] for law in LAWS.values())

    def to_ps(run):
        return completions.afct_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, SIZES, SETTING.window(figure))

    return {
        "rcp-fig1": {
            "afct_ratio_to_ps[TCP, sizes 100-2000]": to_ps(tcp),
            "afct_ratio_to_ps[XCP, sizes 100-2000]": to_ps(xcp),
            "active_flows_ratio_to_ps": [
                completions.active_mean(run.flows, [FLOWS], LATE) / PLAN.active for run in (tcp, xcp)
            ],
            "active_flows_ps": PLAN.active,
        }
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for name, result in zip(LAWS, figure.results, strict=True):
        bins = completions.by_size(result.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
        left.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label=name)
        right.semilogy(*completions.active_series(result.flows, [FLOWS]), label=name)
    packets = np.geomspace(1, 1e5, 100)
    left.loglog(
        packets, fct_processor_sharing(PLAN.rtpd, packets * PACKET, PLAN.capacity, PLAN.load), "k--", label="PS"
    )
    left.set(xlabel="flow size (packets)", ylabel="mean completion time (s)")
    left.legend()
    right.axhline(PLAN.active, color="k", ls="--")
    right.set(xlabel="time (s)", ylabel="active flows")
