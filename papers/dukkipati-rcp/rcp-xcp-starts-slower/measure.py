"""What tagged flows send in their first round trips under the load of figure 7, with XCP and with slow start."""

import numpy as np

from dukkipati_models.arrivals import PACKET, SETTINGS, WARM_UP
from levelflow.measure import series
from levelflow.reproduce import Against

PLAN = SETTINGS["fig7"].plan
DURATION = 30
STARTS = range(round(WARM_UP * DURATION), DURATION - 1)
TAGGED = 100  # packets
SEEDS = 5
HANDSHAKE, ROUND_TRIPS = 1, 3


def measure(figure):
    results = figure.runs([scenario(law, seed) for law in ("reno", "xcp") for seed in figure.seeds(SEEDS)])
    figure.sent = {"TCP": pooled(results[:SEEDS]), "XCP": pooled(results[SEEDS:])}
    tcp, xcp = (np.median(sent) for sent in figure.sent.values())
    return {"rcp-xcp-starts-slower": {"packets_sent_in_first_3_rtts": Against(float(xcp), float(tcp))}}


def scenario(law, seed):
    result = PLAN.scenario(DURATION, seed, law=law)
    for start in STARTS:
        result.flow(f"tag{start}", law, "A", "B", size=f"{TAGGED} packets", start=f"{start} s")
    return result


def pooled(results):
    return [count for result in results for count in counts(result)]


def counts(result):
    """Packets that each tagged flow sends in its first three round trips after the handshake."""
    return [data_packets(result, start, start + (HANDSHAKE + ROUND_TRIPS) * PLAN.rtpd) for start in STARTS]


def data_packets(result, start, end):
    _, rate = series.flow_series(result.flows, f"tag{start}", "sent_bps", (start, end))
    return int(rate.sum() * PLAN.rtpd / 8 // PACKET)


def plot(figure, canvas):
    axes = canvas.subplots()
    for name, sent in figure.sent.items():
        axes.plot(np.sort(sent), np.linspace(0, 1, len(sent)), label=name)
    axes.set(xlabel="packets sent in three round trips", ylabel="share of the tagged flows")
