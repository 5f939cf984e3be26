from levelflow.measure import queues, rates
from levelflow.reproduce.verdict import Seeds

C = 100e6  # bit/s
SHARE = C / 51
JOIN, END = 30.0, 60.0
JOINERS = [f"x{i}" for i in range(2, 52)]


def fifty(scenario):
    """Makes the joiners entries of their own, so that each has its rate."""
    joiner = scenario.raw["flow"].pop()
    scenario.raw["flow"] += [{**joiner, "name": name} for name in JOINERS]


def measure(figure):
    runs = figure.runs([figure.scenario(fifty, seed=seed) for seed in figure.seeds(5)])
    everyone = ["x1", *JOINERS]
    shares = dict.fromkeys(everyone, SHARE)
    return {
        "jetmax-fig36d-t5": [
            Seeds([queues.drop_count(run.links) for run in runs]),
            Seeds([queues.overshoot_pct(run.links, "R1->R2", C) for run in runs]),
            Seeds([[rates.steady_rate(run.flows, x, JOIN, END) / 1e6 for x in everyone] for run in runs]),
            Seeds([rates.time_to_fairness(run.flows, shares, JOIN, within=0.03) for run in runs]),
        ]
    }
