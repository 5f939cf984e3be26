from levelflow.measure import queues, rates
from levelflow.reproduce.verdict import Seeds

C = 10e6  # bit/s
JOIN, END = 5.0, 70.0
FLOWS = ("x1", "x2")


def measure(figure):
    runs = figure.runs([figure.scenario(seed=seed) for seed in figure.seeds(5)])
    return {
        "jetmax-fig36b-t3": [
            Seeds([all(rates.stable(run.flows, x, C / 2, (JOIN, END)) for x in FLOWS) for run in runs]),
            Seeds([queues.drop_count(run.links) for run in runs]),
            Seeds([[rates.steady_rate(run.flows, x, JOIN, END) / 1e6 for x in FLOWS] for run in runs]),
            Seeds([queues.overshoot_pct(run.links, "R1->R2", C) for run in runs]),
        ]
    }
