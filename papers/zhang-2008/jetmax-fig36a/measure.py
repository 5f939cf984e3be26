from levelflow.measure import queues, rates
from levelflow.reproduce.verdict import Seeds

C = 10e6  # bit/s
SHARE = C / 100
JOIN, END = 5.0, 70.0
MANY, SLOW = "x1..x99", "x100"


def measure(figure):
    runs = figure.runs([figure.scenario(seed=seed) for seed in figure.seeds(5)])
    return {
        "jetmax-fig36a-t2": [
            Seeds([[rates.steady_rate(run.flows, x, JOIN, END) / 1e6 for x in (MANY, SLOW)] for run in runs]),
            Seeds([queues.drop_count(run.links) for run in runs]),
            Seeds([queues.overshoot_pct(run.links, "R1->R2", C) for run in runs]),
            Seeds([rates.monotonic(run.flows, SLOW, (JOIN, END)) for run in runs]),
            Seeds([rates.time_to_fairness(run.flows, {SLOW: SHARE}, JOIN, within=0.05) for run in runs]),
        ]
    }
