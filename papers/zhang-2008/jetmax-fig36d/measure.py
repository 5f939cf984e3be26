from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

C = 100e6  # bit/s
SHARE = C / 51
JOIN, END = 30.0, 60.0
JOINERS = [f"x{i}" for i in range(2, 52)]


def fifty(scenario):
    """Gives each joiner its own entry in the scenario, so that each joiner has its own rate."""
    joiner = scenario.raw["flow"].pop()
    scenario.raw["flow"] += [{**joiner, "name": name} for name in JOINERS]


def one(run):
    flows, links = run.flows, run.links
    shares = dict.fromkeys(("x1", *JOINERS), SHARE)
    return {
        "drop_count": queues.drop_count(links),
        "overshoot_pct": queues.overshoot_pct(links, "R1->R2", C),
        "steady_rate_mbps[each_of_51]": [rates.steady_rate(flows, x, JOIN, END) / 1e6 for x in shares],
        "time_to_97pct_fairness_s": rates.time_to_fairness(flows, shares, JOIN, within=0.03),
    }


def measure(figure):
    runs = figure.runs([figure.scenario(fifty, seed=seed) for seed in figure.seeds(5)])
    return {"jetmax-fig36d-t5": over_seeds(map(one, runs))}


def mark(figure, axes):
    draw_expected(axes, figure, "jetmax-fig36d-t5[2]", series.steady(JOIN, END))
    draw_expected(axes, figure, "jetmax-fig36d-t5[3]", shift=JOIN, along="x")
