import numpy as np

from levelflow.measure import fairness, queues, series
from levelflow.reproduce import over_seeds

C = 1e6  # bit/s
SETTLED = (20.0, np.inf)  # s
USERS = ("user0", "user1", "user2")
MARKS = {
    "law.ks.signal": "mark",
    "link.node.queue": {"virtual_queue": {"level": 0.99, "buffer": "1280 B"}},  # 40 packets
}


def delivered(result):
    return np.array([series.mean(series.flow_series(result.flows, u, "throughput_bps", SETTLED)[1]) for u in USERS])


def compare(loss, ecn):
    node = series.select(ecn.links, "link", "node", SETTLED)
    return {
        "throughput_ratio": list(delivered(ecn) / delivered(loss)),
        "utilisation": queues.utilisation(ecn.links, "node", C, SETTLED)[0],
        "congestion_loss_rate": float(
            node["dropped"].sum() / (node["dropped"].sum() + node["throughput_bps"].sum() * 0.1 / 256)
        ),
        "jain_index": fairness.jain(delivered(ecn)),
    }


def measure(figure):
    seeds = figure.seeds(5)
    results = figure.runs([figure.scenario(signal, seed=seed) for seed in seeds for signal in ({}, MARKS)])
    return {"ks-exp2-fig3": over_seeds(compare(*pair) for pair in zip(results[::2], results[1::2], strict=True))}


def plot(figure, canvas):
    for axes, (result, title) in zip(
        canvas.subplots(2, 1, sharex=True),
        zip(figure.results[:2], ("fig 3: losses", "fig 3: marks"), strict=True),
        strict=True,
    ):
        for user in USERS:
            t, rate = series.flow_series(result.flows, user, "throughput_bps")
            axes.plot(t[4::10], rate[: 10 * (t.size // 10)].reshape(-1, 10).mean(1) / 1e3, lw=0.8, label=user)
        axes.set(ylabel="throughput (kb/s)", title=title)
        axes.legend(loc="upper right", ncols=3)
    axes.set(xlabel="time (s)")
