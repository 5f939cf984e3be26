"""Figures 7 and 9, and the number of flows that C/R counts: a 2.4 Gb/s link, 100 ms, load 0.9."""

import math

import numpy as np
import polars as pl

from dukkipati_models.arrivals import FLOWS, LAWS, LINK, PACKET, SETTINGS, beside_sharing, over_sharing, settled
from levelflow.measure import completions, queues, series
from levelflow.reproduce import Noted, Seeds
from levelflow.reproduce.drawing import draw_seeds
from levelflow.theory.queues.sharing import ROUND_TRIPS

SETTING = SETTINGS["fig7"]
PLAN = SETTING.plan
SMALL, LARGE = 230, 3600  # sizes of the tagged flows, packets


def measure(figure):
    by_law, window = SETTING.beside(figure), SETTING.window(figure)
    runs, tcp, xcp = (by_law[law] for law in LAWS)

    def beside(other, packets):
        return Seeds([ratio(a, b, packets, window) for a, b in zip(other, runs, strict=True)])

    def to_ps(packets):
        ratios = [worst(run, packets, window) for run in runs]
        return beside_sharing(Seeds(ratios), over_sharing(runs, PLAN, in_bytes(packets), window))

    def beside_xcp(packets):
        ended = [
            [completions.select(run.completions, in_bytes(packets), window).height for run in pair]
            for pair in zip(xcp, runs, strict=True)
        ]
        counts = ", ".join(f"{few} of {many}" for few, many in ended)
        return Noted(beside(xcp, packets), f"over the flows that XCP ended by the end of the run: {counts}")

    last = window[1]
    finished = [
        [ended(rcp, last) / ended(other, last) for other in others] for rcp, *others in zip(runs, tcp, xcp, strict=True)
    ]
    return {
        "rcp-fig7": {
            "afct_ratio_to_ps[RCP, sizes 1-2000]": to_ps((1, 2000)),
            "afct_ratio_to_ps[RCP, sizes 2000-10^4]": to_ps((2000, 10_000)),
            "afct_ratio[TCP/RCP, sizes 100-2000]": beside(tcp, (100, 2000)),
            "afct_ratio[XCP/RCP near size 2000]": beside_xcp((1500, 2500)),
            "afct_ratio[XCP/RCP, sizes above 2000]": beside_xcp((2000, math.inf)),
            "afct_ratio[TCP/RCP, sizes above 2000]": beside(tcp, (2000, math.inf)),
            "fct_max_ratio_to_ps": Seeds([max_ratio(run, (1, 10_000), window) for run in runs]),
            "fct_max_over_mean": Seeds([completions.fct_max_over_mean(run.completions, window=window) for run in tcp]),
            "completed_flows_ratio": Seeds(finished),
            "loss_rate": Seeds(
                [[queues.loss_rate(run.summary, LINK) for run in pair] for pair in zip(runs, xcp, strict=True)]
            ),
        },
        "rcp-effective-n": {
            "c_over_r_over_n": Seeds([share_of_flows(run, window) for run in runs]),
            "utilisation": Noted(
                Seeds([queues.utilisation(run.links, LINK, PLAN.capacity, window)[0] for run in runs]),
                f"never idle while there is work: {', '.join(f'{carried(run, window):.2f}' for run in runs)}",
            ),
        },
        "rcp-fig9": tagged(figure),
    }


def worst(run, packets, window):
    return completions.worst_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, in_bytes(packets), window)


def max_ratio(run, packets, window):
    return completions.fct_max_ratio_to_ps(run.completions, PLAN.capacity, PLAN.load, in_bytes(packets), window)


def ratio(a, b, packets, window):
    return completions.afct_ratio(a.completions, b.completions, in_bytes(packets), window)


def ended(run, by):
    """Number of flows that complete before a time, s."""
    return run.completions.filter(pl.col("start_s") + pl.col("fct_s") <= by).height


def carried(run, window):
    """Utilisation of a link that has the same arrivals, and transmits whenever it has a backlog."""
    rows = run.completions.sort("start_s")
    starts, work = rows["start_s"].to_numpy(), 8 * rows["bytes"].to_numpy() / PLAN.capacity
    arrived = np.concatenate([[0.0], np.cumsum(work)])

    def busy(t):
        before = np.searchsorted(starts, t, "right")
        return min(arrived[before], (arrived[:before] - starts[:before]).min() + t)

    return (busy(window[1]) - busy(window[0])) / (window[1] - window[0])


def in_bytes(packets):
    low, high = packets
    return low * PACKET, high * PACKET


def share_of_flows(run, window):
    """Time average of C/R divided by the number of active flows."""
    _, rate = series.link_series(run.links, LINK, "signal", window)
    _, active = completions.active_series(run.flows, [FLOWS], window)
    return series.mean(PLAN.capacity / rate / active)


def tagged(figure):
    """Completion times and rates of tagged flows.

    One flow of each printed size starts per second at figure 7's load.
    """
    rcp, tcp, xcp = (
        completions.select(result.completions, window=settled(tag_duration(figure)))
        for result in figure.runs([with_tags(figure, law) for law in LAWS.values()])
    )
    small = median(rcp, SMALL)
    first = 8 * SMALL * PACKET / (small - ROUND_TRIPS * PLAN.rtpd)
    unhurt, hurt = tcp.filter(retransmitted=0), tcp.filter(pl.col("retransmitted") > 0)
    return {
        "fct_s[RCP, 230 packets]": small,
        "fct_s[TCP, 230 packets, no loss]": median(unhurt, SMALL),
        "fct_s[XCP, 230 packets]": median(xcp, SMALL),
        "fct_ratio": median(hurt, LARGE) / median(rcp, LARGE),
        "initial_rate_over_ps_rate": first / (PLAN.capacity * (1 - PLAN.load)),
    }


def tag_duration(figure):
    return 30 if figure.full else 12


def with_tags(figure, law):
    scenario = PLAN.scenario(tag_duration(figure), law=law)
    for packets in (SMALL, LARGE):
        every = {"interval": "1 s"}
        scenario.flow(f"tag{packets}", law, "A", "B", size=f"{packets} packets", arrivals=every)
    return scenario


def median(completed, packets):
    return float(np.median(completed.filter(flow=f"tag{packets}")["fct_s"].to_numpy()))


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    by_law = SETTING.beside(figure)
    for law, runs in by_law.items():
        tables = [
            completions.by_size(run.completions, PLAN.capacity, PLAN.load, window=SETTING.window(figure))
            for run in runs
        ]
        draw_seeds(left, [(bins["bytes"] / PACKET, bins["fct_s"]) for bins in tables], f"{law}, mean")
        if law == "RCP":
            draw_seeds(left, [(bins["bytes"] / PACKET, bins["fct_max_s"]) for bins in tables], "RCP, largest", ls=":")
            left.plot(tables[0]["bytes"] / PACKET, tables[0]["ps_s"], "k--", label="processor sharing", zorder=3)
    left.set(xlabel="flow size (packets)", ylabel="completion time (s)", title="Figure 7", xscale="log", yscale="log")
    draw_seeds(right, [completions.active_series(run.flows, [FLOWS]) for run in by_law["RCP"]], "active flows")
    offered = [series.link_series(run.links, LINK, "signal") for run in by_law["RCP"]]
    draw_seeds(right, [(t, PLAN.capacity / rate) for t, rate in offered], "C/R")
    right.set(xlabel="time (s)", yscale="log", title=f"C/R counts flows with much to send; seeds: {len(offered)}")
