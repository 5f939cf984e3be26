import numpy as np
import polars as pl

from dukkipati_models.arrivals import LAWS, PACKET, settled
from levelflow.measure import completions
from levelflow.reproduce.verdict import Against
from levelflow.scenario import Scenario

C, RTPD, LOAD, MEAN = 640e6, 0.1, 0.9, 25_000  # bit/s, s, bytes
INITIAL_WINDOW = 2  # packets
LINKS = (1, 2, 4, 8)
PRINTED, QUICK = 100.0, 10.0  # s
SMALL, LARGE = (0, 500_000), (500_000, np.inf)  # bytes
MIDDLE = (100_000, 2_000_000)  # bytes
THROUGH = "group 0"


def cascade(links, duration, law):
    """Group 0 crosses all links, group i link i; every link carries the load."""
    scenario = Scenario(f"{links} bottlenecks", f"{duration} s")
    if law == "rcp":
        scenario.law(law, initial_rtt=f"{RTPD} s")
    groups = [(THROUGH, 0, links)]
    if links > 1:
        groups += [(f"group {i + 1}", i, i + 1) for i in range(links)]
    arrivals = LOAD * C / (8 * MEAN) / (1 if links == 1 else 2)
    size = {"pareto": {"mean": f"{MEAN} B", "shape": 1.2}}
    for i in range(links):
        delay = f"{RTPD / 2 / links} s"
        scenario.link(f"N{i}", f"N{i + 1}", f"{C} b/s", delay, buffer=f"{round(C * RTPD / 8)} B", duplex=True)
    for name, start, end in groups:
        scenario.flow(name, law, f"N{start}", f"N{end}", size=size, arrivals={"poisson": f"{arrivals} /s"})
    return scenario


def run_all(figure):
    """Results per law, one for each number of links."""
    duration = PRINTED if figure.full else QUICK
    results = iter(figure.runs([cascade(links, duration, law) for law in LAWS.values() for links in LINKS]))
    return {law: [next(results) for _ in LINKS] for law in LAWS}


def through(figure, result):
    """Completions of group 0 after the first fifth."""
    rows = result.completions.filter(pl.col("flow").cast(pl.String) == THROUGH)
    return completions.select(rows, window=settled(PRINTED if figure.full else QUICK))


def loss(result):
    """Share of the packets of group 0 that some link dropped."""
    (counters,) = (row for row in result.summary["flows"] if row["name"] == THROUGH)
    return counters["dropped_packets"] / counters["sent_packets"]


def over_slow_start(rows):
    """Mean completion time over that of an unloaded slow start, same flows.

    Windows of 2, 4, 8, ... packets carry L packets in ceil(log2(L/2 + 1)) round trips, of which the last counts half;
    the handshake takes one more.
    """
    chosen = completions.select(rows, MIDDLE)
    size, rtt = chosen["bytes"].to_numpy(), chosen["rtt_s"].to_numpy()
    packets = np.ceil(size / PACKET)
    unloaded = (np.ceil(np.log2(packets / INITIAL_WINDOW + 1)) + 0.5) * rtt + 8 * size / C
    return float(chosen["fct_s"].to_numpy().mean() / unloaded.mean())


def measure(figure):
    results = run_all(figure)
    done = figure.done = {law: [through(figure, result) for result in results[law]] for law in LAWS}
    rcp, tcp, xcp = (done[law] for law in LAWS)
    by_class = [[completions.afct_ratio_to_bound(rows, C, sizes) for rows in rcp] for sizes in (SMALL, LARGE)]
    losses = [loss(result) for result in results["TCP"]]
    slow_start = [over_slow_start(rows) for rows in tcp]
    return {
        "rcp-fig29-30": {
            "afct_ratio_to_bound": [ratio for ratios in by_class for ratio in ratios],
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
        for links, rows in zip(LINKS, by_links, strict=True):
            sizes = completions.by_size(rows, C, 0.0)
            axes.loglog(sizes["bytes"] / 1000, sizes["fct_s"], "o-", label=f"n = {links}")
        axes.loglog(sizes["bytes"] / 1000, sizes["ps_s"], "k--", label="1.5 RTPD + L/C")
        axes.set(xlabel="flow size (packets)", title=law)
    grid[0].set(ylabel="AFCT of group 0 (s)")
    grid[-1].legend()
