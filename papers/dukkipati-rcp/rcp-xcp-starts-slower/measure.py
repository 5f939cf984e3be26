"""Packets that tagged flows send in their first round trips, with XCP and with slow start, under figure 7's load."""

import numpy as np

from dukkipati_models.arrivals import PACKET, SETTINGS, WARM_UP
from levelflow.measure import series
from levelflow.reproduce import Against

PLAN = SETTINGS["fig7"].plan
DURATION = 15
STARTS = np.arange(round(5 * WARM_UP * DURATION), 5 * (DURATION - 1)) / 5  # s
TAGGED = 100  # packets
SEEDS = 5
HANDSHAKE, ROUND_TRIPS = 1, 3


def measure(figure):
    seeds = figure.seeds(SEEDS, quick=1)
    results = figure.runs([scenario(law, seed) for law in ("reno", "xcp") for seed in seeds])
    figure.sent = {"TCP": pooled(results[: len(seeds)]), "XCP": pooled(results[len(seeds) :])}
    tcp, xcp = (np.median(sent) for sent in figure.sent.values())
    return {"rcp-xcp-starts-slower": {"packets_sent_in_first_3_rtts": Against(float(xcp), float(tcp))}}


def scenario(law, seed):
    result = PLAN.scenario(DURATION, seed, law=law)
    for number, start in enumerate(STARTS):
        result.flow(f"tag{number}", law, "A", "B", size=f"{TAGGED} packets", start=f"{start:.1f} s")
    return result


def pooled(results):
    return [count for result in results for count in counts(result)]


def counts(result):
    """Packets that each tagged flow sends in its first three round trips after the handshake."""
    return [data_packets(result, f"tag{number}", start) for number, start in enumerate(STARTS)]


def data_packets(result, name, start):
    window = (start, start + (HANDSHAKE + ROUND_TRIPS) * PLAN.rtpd)
    _, rate = series.flow_series(result.flows, name, "sending_rate_bps", window)
    return int(rate.sum() * PLAN.rtpd / 8 // PACKET)


def plot(figure, canvas):
    axes = canvas.subplots()
    for name, sent in figure.sent.items():
        axes.plot(np.sort(sent), np.linspace(0, 1, len(sent)), label=name)
    axes.set(xlabel="packets sent in three round trips", ylabel="share of the tagged flows")
