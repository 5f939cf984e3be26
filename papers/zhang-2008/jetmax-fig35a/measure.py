from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected

C = 10e6  # bit/s
JOIN, END = 30.0, 70.0
SHARES = {"x1": C / 2, "x2": C / 2}
PHASES = ("x2", (0.0, JOIN)), ("x1", (JOIN, END)), ("x2", (JOIN, END))


def measure(figure):
    result = figure.run()
    flows, links = result.flows, result.links
    return {
        "jetmax-fig35a": {
            "overshoot_pct": queues.overshoot_pct(links, "R1->R2", C),
            "drop_count": queues.drop_count(links),
            "steady_rate_mbps[x2_alone]": rates.steady_rate(flows, "x2", 0.0, JOIN) / 1e6,
            "steady_rate_mbps[x1,x2]": [rates.steady_rate(flows, x, JOIN, END) / 1e6 for x in ("x1", "x2")],
            "monotonic[x1,x2]": [rates.monotonic(flows, *phase) for phase in PHASES],
            "time_to_98pct_fairness_s[after_x1_joins]": rates.time_to_fairness(flows, SHARES, JOIN, within=0.02),
        }
    }


def mark(figure, axes):
    draw_expected(axes, figure, "jetmax-fig35a[2]", series.steady(0, JOIN))
    draw_expected(axes, figure, "jetmax-fig35a[3]", series.steady(JOIN, END))
    draw_expected(axes, figure, "jetmax-fig35a[5]", shift=JOIN, along="x")
