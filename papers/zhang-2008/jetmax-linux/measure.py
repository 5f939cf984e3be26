from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Noted

TARGET = 940e6  # bit/s, the target of R2
APART, STAY, END = 15.0, 75.0, 135.0  # s
FLOWS = [f"x{i}" for i in range(1, 6)]
RTT = 0.04  # round-trip time of x1, s
TIMES = (
    "time_to_99pct_efficiency_s[first_flow][first_proposal]",
    "time_to_99pct_fairness_s[each_arrival][first_proposal]",
    "resettle_time_s[each_departure]",
)


def measure(figure):
    five, once, twice = figure.runs([figure.scenario(name=f"fig{name}.toml") for name in ("43b", "44a", "44b")])
    other = five_flows(figure.run({"law.jetmax.settle": "per-adjustment"}, scenario="fig43b.toml"))
    values = five_flows(five)
    return {
        "jetmax-fig43b": values | {name: crossed(values[name], other[name]) for name in TIMES},
        "jetmax-fig44a": one_switch(once),
        "jetmax-fig44b": two_switches(twice),
    }


def crossed(value, other):
    """Returns a time, with a note that states the time under the ns-2 mode."""
    others = ", ".join(f"{time:.1f}" for time in (other if isinstance(other, list) else [other]))
    return Noted(value, f"with settle = per-adjustment, as in figure 41: {others} s")


def five_flows(run):
    flows = run.flows
    arrivals = [APART * k for k in range(5)]
    departures = [STAY + APART * k for k in range(4)]
    phases = [
        (flow, start, start + APART) for i, flow in enumerate(FLOWS) for start in (APART * k for k in range(i, i + 5))
    ]
    proposed = [rates.first_proposal(flows, flow, start) for flow, start in zip(FLOWS, arrivals, strict=True)]

    def settled(present, since, until):
        return rates.time_to_fairness(flows, dict.fromkeys(present, TARGET / len(present)), since, until)

    return {
        "time_to_99pct_efficiency_s[first_flow][first_proposal]": rates.time_to_efficiency(
            flows, FLOWS[:1], TARGET, proposed[0], APART
        ),
        "time_to_99pct_fairness_s[each_arrival][first_proposal]": [
            settled(FLOWS[: k + 1], proposed[k], arrivals[k] + APART) for k in range(1, 5)
        ],
        "resettle_time_s[each_departure]": [
            settled(FLOWS[k + 1 :], departure, departure + APART) for k, departure in enumerate(departures)
        ],
        "steady_rate_mbps[n=1..5]": [rates.steady_rate(flows, "x1", start, start + APART) / 1e6 for start in arrivals],
        "combined_rate_max_mbps": rates.aggregate(flows, FLOWS)[1].max() / 1e6,
        "monotonic[all]": [rates.monotonic(flows, flow, (start, end)) for flow, start, end in phases],
    }


def one_switch(run):
    flows, rate = run.flows, in_mbps(run.flows)
    return {
        "steady_rate_mbps[x1,_10-20_s]": rate(["x1"], 10.0, 20.0)[0],
        "steady_rate_mbps[x1,x2,_30-40_s]": rate(["x1", "x2"], 30.0, 40.0),
        "steady_rate_mbps[x2,_50_s]": rate(["x2"], 50.0, 60.0)[0],
        "bottleneck_sequence[x1]": routers(flows),
        "settle_time_s[after_x2_joins]": rates.time_to_fairness(
            flows, {"x1": TARGET / 2, "x2": TARGET / 2}, 20.0, 40.0
        ),
        "drop_count": queues.drop_count(run.links),
    }


def two_switches(run):
    flows, rate = run.flows, in_mbps(run.flows)
    carried = [series.mean(series.flow_series(flows, x, "throughput_bps", (65.0, 75.0))[1]) for x in ("x2", "x3")]
    return {
        "steady_rate_mbps[x1,x2,_30-40_s]": rate(["x1", "x2"], 30.0, 40.0),
        "steady_rate_mbps[x1,x2,x3,_50-60_s]": rate(["x1", "x2", "x3"], 50.0, 60.0),
        "steady_rate_mbps[x2,x3,_70_s]": rate(["x2", "x3"], 70.0, 75.0),
        "bottleneck_sequence[x1]": routers(flows),
        "throughput_total_mbps[R2][after_60s]": sum(carried) / 1e6,
        "drop_count": queues.drop_count(run.links),
    }


def in_mbps(flows):
    return lambda names, start, end: [rates.mean_rate(flows, name, (start, end)) / 1e6 for name in names]


def routers(flows):
    """Routers that x1 selects as its bottleneck, in this order. A router is named after the first node of its link."""
    return [link.split("->")[0] for link in rates.bottleneck_sequence(flows, "x1", RTT)]


def plot(figure, canvas):
    titles = ("Five flows", "One change of bottleneck", "Two changes of bottleneck")
    draw_rates(canvas.subplots(1, 3, sharey=True), figure.results[:3], titles)
    five, once, twice = canvas.axes
    draw_expected(five, figure, "jetmax-fig43b[3]", [series.steady(APART * k, APART * (k + 1)) for k in range(5)])
    draw_expected(once, figure, "jetmax-fig44a[0]", series.steady(10, 20))
    draw_expected(once, figure, "jetmax-fig44a[1]", series.steady(30, 40))
    draw_expected(once, figure, "jetmax-fig44a[2]", series.steady(50, 60))
    draw_expected(twice, figure, "jetmax-fig44b[0]", series.steady(30, 40))
    draw_expected(twice, figure, "jetmax-fig44b[1]", series.steady(50, 60))
    draw_expected(twice, figure, "jetmax-fig44b[2]", series.steady(70, 80))
