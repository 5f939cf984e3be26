"""Figures 7 and 9 and the number of flows that R counts: a 2.4 Gb/s link, 100 ms, load 0.9."""

import numpy as np

from levelflow.claims import Seeds
from levelflow.claims.metrics import completions, queues, series
from levelflow.claims.traffic import FLOWS, LINK, PACKET, SETTINGS, settled
from levelflow.theory.sharing import ROUND_TRIPS

SETTING = SETTINGS["fig7"]
PLAN = SETTING.plan
SMALL, LARGE = 230, 3600  # packets of the tagged flows


def measure(figure):
    runs, window = SETTING.runs(figure), SETTING.window(figure)
    return {
        "rcp-fig7": [
            Seeds([worst(run, (1, 2000), window) for run in runs]),
            Seeds([worst(run, (2000, 10_000), window) for run in runs]),
            *[None] * 4,
            Seeds([max_ratio(run, (1, 10_000), window) for run in runs]),
            *[None] * 3,
        ],
        "rcp-effective-n": [
            Seeds([share_of_flows(run, window) for run in runs]),
            Seeds([queues.utilisation(run.links, LINK, PLAN.capacity, window)[0] for run in runs]),
        ],
        "rcp-fig9": tagged(figure),
    }


def worst(run, packets, window):
    return completions.worst_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, in_bytes(packets), window)


def max_ratio(run, packets, window):
    return completions.fct_max_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, in_bytes(packets), window)


def in_bytes(packets):
    low, high = packets
    return low * PACKET, high * PACKET


def share_of_flows(run, window):
    """Time mean of C/R over the active flows."""
    _, rate = series.link_series(run.links, LINK, "signal", window)
    _, active = completions.active_series(run.flows, [FLOWS], window)
    return series.mean(PLAN.capacity / rate / active)


def tagged(figure):
    """A flow of each printed size every second under the load of figure 7."""
    duration = 30 if figure.full else 12
    scenario = PLAN.scenario(duration)
    for packets in (SMALL, LARGE):
        every = {"interval": "1 s"}
        scenario.flow(f"tag{packets}", "rcp", "A", "B", size=f"{packets} packets", arrivals=every)
    (result,) = figure.runs([scenario])
    ended = completions.select(result.completions, window=settled(duration))
    fct = float(np.median(ended.filter(flow=f"tag{SMALL}")["fct_s"].to_numpy()))
    bits = 8 * SMALL * PACKET
    first = bits / (fct - ROUND_TRIPS * PLAN.rtpd)
    return [fct, None, None, None, first / (PLAN.capacity * (1 - PLAN.load))]


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    result = figure.results[0]
    bins = completions.by_size(result.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
    packets = bins["bytes"] / PACKET
    left.loglog(packets, bins["fct_s"], "o-", label="RCP, mean")
    left.loglog(packets, bins["fct_max_s"], "^:", label="RCP, largest")
    left.loglog(packets, bins["ps_s"], "k--", label="processor sharing")
    left.set(xlabel="flow size (packets)", ylabel="completion time (s)", title="Figure 7")
    left.legend()
    right.semilogy(*completions.active_series(result.flows, [FLOWS]), label="active flows")
    t, rate = series.link_series(result.links, LINK, "signal")
    right.semilogy(t, PLAN.capacity / rate, label="C/R")
    right.set(xlabel="time (s)", title="C/R counts flows with much to send")
    right.legend()
