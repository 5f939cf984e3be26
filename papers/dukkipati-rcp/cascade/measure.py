import numpy as np
import polars as pl

from dukkipati_models.arrivals import LAWS, PACKET, settled
from dukkipati_models.networks import CASCADE, LINKS, QUICK_LINKS, THROUGH, cascade
from levelflow.measure import completions
from levelflow.reproduce import Against
from levelflow.theory.queues.sharing import fct_bound, fct_processor_sharing

C, RTPD, LOAD, _ = CASCADE  # bit/s, s
INITIAL_WINDOW = 2  # packets
PRINTED, QUICK = 100.0, 20.0  # s
SMALL, LARGE = (0, 500_000), (500_000, np.inf)  # bytes
MIDDLE = (100_000, 2_000_000)  # bytes


def run_all(figure):
    """Returns, for each law, one result per number of links."""
    duration, numbers = (PRINTED, LINKS) if figure.full else (QUICK, QUICK_LINKS)
    figure.numbers = numbers
    results = iter(figure.runs([cascade(links, duration, law) for law in LAWS.values() for links in numbers]))
    return {law: [next(results) for _ in numbers] for law in LAWS}


def through(figure, result):
    """Completions of group 0, without flows that start in the first fifth of the run."""
    rows = result.completions.filter(pl.col("flow").cast(pl.String) == THROUGH)
    return completions.select(rows, window=settled(PRINTED if figure.full else QUICK))


def loss(result):
    """Fraction of the packets of group 0 that a link dropped."""
    (counters,) = (row for row in result.summary["flows"] if row["name"] == THROUGH)
    return counters["dropped_packets"] / counters["sent_packets"]


def over_slow_start(rows):
    """Mean completion time divided by the mean in slow start on an unloaded path, for the same flows.

    Windows of 2, 4, 8, ... packets carry L packets in ceil(log2(L/2 + 1)) round trips. The last round trip counts half.
    The handshake takes one more round trip.
    """
    chosen = completions.select(rows, MIDDLE)
    size, rtt = chosen["bytes"].to_numpy(), chosen["rtt_s"].to_numpy()
    packets = np.ceil(size / PACKET)
    unloaded = (np.ceil(np.log2(packets / INITIAL_WINDOW + 1)) + 0.5) * rtt + 8 * size / C
    return float(chosen["fct_s"].to_numpy().mean() / unloaded.mean())


def sharing_over_bound(rows):
    """Mean completion time under processor sharing, divided by the mean lower bound, for the same flows."""
    size, rtt = rows["bytes"].to_numpy(), rows["rtt_s"].to_numpy()
    return float(fct_processor_sharing(rtt, size, C, LOAD).mean() / fct_bound(rtt, size, C).mean())


def measure(figure):
    results = run_all(figure)
    done = figure.done = {law: [through(figure, result) for result in results[law]] for law in LAWS}
    rcp, tcp, xcp = (done[law] for law in LAWS)
    by_class = [[completions.afct_ratio_to_bound(rows, C, sizes) for rows in rcp] for sizes in (SMALL, LARGE)]
    losses = [loss(result) for result in results["TCP"]]
    slow_start = [over_slow_start(rows) for rows in tcp]
    return {
        "rcp-fig29-30": {
            "afct_ratio_to_bound[RCP, group 0, every n, both classes]": [
                ratio for ratios in by_class for ratio in ratios
            ],
            "afct_ratio_to_bound[RCP, group 0, every n, below 500 packets]": by_class[0],
            "ps_ratio_to_bound": sharing_over_bound(completions.select(rcp[0], LARGE)),
            "afct_growth_with_n": completions.afct(tcp[-1]) / completions.afct(tcp[0]),
            "afct_ratio": [completions.afct_ratio(law[-1], rcp[-1], LARGE) for law in (tcp, xcp)],
            "loss_rate_growth_with_n": losses[-1] / losses[0],
        },
        "rcp-fig31": {
            "tcp_fct_over_slow_start": Against(slow_start[1:], slow_start[:-1]),
            "afct_ratio_to_bound": [completions.afct_ratio_to_bound(rows, C) for rows in rcp],
        },
    }


def plot(figure, canvas):
    grid = canvas.subplots(1, len(LAWS), sharey=True)
    for axes, (law, by_links) in zip(grid, figure.done.items(), strict=True):
        for links, rows in zip(figure.numbers, by_links, strict=True):
            sizes = completions.by_size(rows, C, 0.0)
            axes.loglog(sizes["bytes"] / 1000, sizes["fct_s"], "o-", label=f"n = {links}")
        axes.loglog(sizes["bytes"] / 1000, sizes["ps_s"], "k--", label="1.5 RTPD + L/C")
        axes.set(xlabel="flow size (packets)", title=law)
    grid[0].set(ylabel="AFCT of group 0 (s)")
    grid[-1].legend()
