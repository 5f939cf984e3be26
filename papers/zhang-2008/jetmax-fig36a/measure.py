from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

C = 10e6  # bit/s
SHARE = C / 100
JOIN, END = 5.0, 70.0
MANY, SLOW = "x1..x99", "x100"


def one(run):
    flows, links = run.flows, run.links
    return {
        "steady_rate_mbps[x1..x99_mean,_x100]": [rates.steady_rate(flows, x, JOIN, END) / 1e6 for x in (MANY, SLOW)],
        "drop_count": queues.drop_count(links),
        "overshoot_pct": queues.overshoot_pct(links, "R1->R2", C),
        "monotonic[x100]": rates.monotonic(flows, SLOW, (JOIN, END)),
        "time_to_95pct_share_s[x100][after_join]": rates.time_to_fairness(flows, {SLOW: SHARE}, JOIN, within=0.05),
    }


def measure(figure):
    runs = figure.runs([figure.scenario(seed=seed) for seed in figure.seeds(5)])
    return {"jetmax-fig36a-t2": over_seeds(map(one, runs))}


def mark(figure, axes):
    draw_expected(axes, figure, "jetmax-fig36a-t2[0]", series.steady(JOIN, END))
    draw_expected(axes, figure, "jetmax-fig36a-t2[4]", shift=JOIN, along="x")
