from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

C = 10e6  # bit/s
JOIN, END = 5.0, 70.0
FLOWS = ("x1", "x2")


def one(run):
    flows, links = run.flows, run.links
    return {
        "stable": all(rates.stable(flows, x, C / 2, (JOIN, END)) for x in FLOWS),
        "drop_count": queues.drop_count(links),
        "steady_rate_mbps[x1,x2]": [rates.steady_rate(flows, x, JOIN, END) / 1e6 for x in FLOWS],
        "overshoot_pct": queues.overshoot_pct(links, "R1->R2", C),
    }


def measure(figure):
    runs = figure.runs([figure.scenario(seed=seed) for seed in figure.seeds(5)])
    return {"jetmax-fig36b-t3": over_seeds(map(one, runs))}


def mark(figure, axes):
    draw_expected(axes, figure, "jetmax-fig36b-t3[2]", series.steady(JOIN, END))
