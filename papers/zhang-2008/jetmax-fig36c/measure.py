from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

CAPACITY = {"R1->R2": 20e6, "R2->R4": 17e6, "R4->R3": 20e6, "R3->R1": 17e6}  # bit/s
SHARED = {"x1": (30.0, 60.0), "x2": (30.0, 60.0)}
ALL = dict.fromkeys(("x1", "x2", "x3", "x4"), (90.0, 150.0))
RTT = 2.0  # round-trip time of x1 and x3, s


def phases(flows):
    """Steady rates of four phases, Mb/s: x1 alone; x1 or x2; x3; any flow of all four. In the second and fourth phase,
    the rate furthest from 10 Mb/s is returned.
    """
    rate = {
        (flow, start): rates.steady_rate(flows, flow, start, end) / 1e6
        for flow, (start, end) in [("x1", (0.0, 30.0)), *SHARED.items(), ("x3", (60.0, 90.0)), *ALL.items()]
    }
    return [
        rate["x1", 0.0],
        max((rate[x, 30.0] for x in SHARED), key=lambda mbps: abs(mbps - 10)),
        rate["x3", 60.0],
        max((rate[x, 90.0] for x in ALL), key=lambda mbps: abs(mbps - 10)),
    ]


def one(run):
    flows, links = run.flows, run.links
    return {
        "steady_rate_mbps[x1:0-30s;x1,x2:30-60s;x3:60-90s;all:90s+]": phases(flows),
        "bottleneck_sequence[x1]": rates.bottleneck_sequence(flows, "x1", RTT),
        "bottleneck_sequence[x3]": rates.bottleneck_sequence(flows, "x3", RTT),
        "drop_count": queues.drop_count(links),
        "overshoot_pct[every_link]": [queues.overshoot_pct(links, link, rate) for link, rate in CAPACITY.items()],
    }


def measure(figure):
    def under(reading):
        return over_seeds(map(one, figure.runs([figure.scenario(reading, seed=seed) for seed in figure.seeds(5)])))

    return {"jetmax-fig36c-t4": figure.by_reading("jetmax-fig36c-t4", under)}


def mark(figure, axes):
    windows = [series.steady(start, end) for start, end in ((0, 30), (30, 60), (60, 90), (90, 150))]
    draw_expected(axes, figure, "jetmax-fig36c-t4[0]", windows)
