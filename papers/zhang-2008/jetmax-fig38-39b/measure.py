import random

from levelflow.measure import rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

END = 260.0
RTT = 0.1  # round-trip time of the long flow, s
LONELY = (230.0, END)  # s, after all mice have left
SETTLED = (5.0, END)  # s; earlier ACKs name the first router, which has no measurement yet
LOSS = {  # 10 % of the data before each router, half of the ACKs
    "link.access1.loss": 0.1,
    "link.access1.reverse": {"loss": 0.5},
    "link.access2.loss": 0.1,
    "link.access2.reverse": {"loss": 0.5},
    "link.R1.loss": 0.1,
    "link.R1.reverse": {"loss": 0.0},
}
ALONE = 100e6 / 0.9**2  # bit/s that the long flow alone sends so that 100 Mb/s reach R2


def options(seed):
    """Control intervals of the two routers, U[100, 300] ms."""
    draw = random.Random(seed)
    return {f"link.{name}.law": {"jetmax": {"interval": f"{draw.uniform(100, 300):.1f} ms"}} for name in ("R1", "R2")}


def without_loss(result):
    flows, links = result.flows, result.links
    return {
        "steady_rate_mbps[long,_5-15_s]": rates.steady_rate(flows, "long", 5.0, 15.0) / 1e6,
        "mean_rate_mbps[long,_35-80_s]": rates.mean_rate(flows, "long", (35.0, 80.0)) / 1e6,
        "mean_rate_mbps[long,_100-180_s]": rates.mean_rate(flows, "long", (100.0, 180.0)) / 1e6,
        "steady_rate_mbps[long,_end]": rates.mean_rate(flows, "long", LONELY) / 1e6,
        "bottleneck_sequence[long]": rates.bottleneck_sequence(flows, "long", RTT, SETTLED),
        "queue_of_R1_mean_packets": series.mean(series.link_series(links, "R1", "backlog_packets")[1]),
    }


def with_loss(result):
    flows = result.flows
    return {
        "stable": rates.stable(flows, "long", ALONE),
        "bottleneck_sequence[long]": rates.bottleneck_sequence(flows, "long", RTT, SETTLED),
        "steady_rate_mbps[long,_end]": rates.mean_rate(flows, "long", LONELY) / 1e6,
    }


def measure(figure):
    seeds = figure.seeds(5, quick=1)

    def runs(changes):
        return figure.runs([figure.scenario(options(seed) | changes, seed=seed) for seed in seeds])

    return {
        "jetmax-fig38": figure.by_reading(
            "jetmax-fig38", lambda reading: over_seeds(map(without_loss, runs(dict(reading))))
        ),
        "jetmax-fig39b": figure.by_reading(
            "jetmax-fig39b", lambda reading: over_seeds(map(with_loss, runs(LOSS | reading)))
        ),
    }


def plot(figure, canvas):
    half = len(figure.results) // 2
    shown = (figure.results[0], "fig 38(b): without loss"), (figure.results[half], "fig 39(b): with loss")
    for axes, (result, title) in zip(canvas.subplots(2, 1, sharex=True), shown, strict=True):
        t, rate = rates.rate_series(result.flows, "long")
        axes.plot(t, rate / 1e6, lw=0.8, label="long flow")
        for router, group, capacity in (("R1", "first", 400), ("R2", "second", 100)):
            names = [name for name in result.flows["flow"].unique().cast(str) if name.startswith(group)]
            active = sum(series.flow_series(result.flows, name, "active")[1] for name in names)
            axes.plot(t, capacity / (1 + active), lw=0.6, ls=":", label=f"fair rate at {router}")
        axes.set(ylabel="rate (Mb/s)", yscale="log", ylim=(0.5, 500), title=title)
        axes.legend(loc="lower center", ncols=3)
    axes.set(xlabel="time (s)")
    for number, window in ((0, series.steady(5, 15)), (1, (35, 80)), (2, (100, 180)), (3, LONELY)):
        draw_expected(canvas.axes[0], figure, f"jetmax-fig38[{number}]", window)
    draw_expected(canvas.axes[1], figure, "jetmax-fig39b[2]", LONELY)
