from statistics import median

import numpy as np
import polars as pl

from levelflow.measure import rates, series
from levelflow.reproduce.verdict import Noted
from levelflow.scenario import Scenario

JOIN, END = 4.5, 9.0  # s, times of figure 41
CAPACITIES = (10e6, 100e6, 1e9, 10e9)  # bit/s
NUMBERS = (1, 16, 128, 1024)
TIMES = ("time_to_99pct_efficiency_s[first_proposal]", "time_to_99pct_fairness_s[first_proposal_of_joiner]")
C = 1e9  # bit/s, the capacity of figure 42


def measure(figure):
    runs = {capacity: figure.runs(one_link(figure, capacity)) for capacity in CAPACITIES}
    groups = {n: figure.runs([together(n, seed) for seed in figure.seeds(3, quick=1)]) for n in NUMBERS}
    values, other = over_capacities(runs), over_capacities(crossed(figure))
    beside = {
        name: Noted(
            values[name], f"with settle = per-switch, as in figure 43: {listed(other[name])} s at 10 and 100 Mb/s"
        )
        for name in TIMES
    }
    return {"jetmax-fig41": values | beside, "jetmax-fig42": over_numbers(groups)}


def listed(times):
    return ", ".join(f"{time:.2f}" for time in times)


def crossed(figure):
    """Runs at 10 and 100 Mb/s with the settling mode "per-switch"."""

    def per_switch(capacity):
        return [scenario.set("law.jetmax.settle", "per-switch") for scenario in one_link(figure, capacity)]

    return {capacity: figure.runs(per_switch(capacity)) for capacity in CAPACITIES[:2]}


def one_link(figure, capacity):
    """Scenarios for several phases of the router's interval. In the quick tier, the longest runs have one phase."""
    phases = 1 if capacity > 1e9 and not figure.full else 5
    changes = {"link.1.capacity": f"{capacity:.0f} b/s"}
    if capacity == CAPACITIES[0]:
        changes |= dict.fromkeys(("flow.x1.packet", "flow.x2.packet"), "100 B")
    return [figure.scenario(changes, seed=seed) for seed in figure.seeds(phases)]


def over_capacities(runs):
    efficiency, fairness, steps = medians(
        [settling(run.flows, capacity) for run in phases] for capacity, phases in runs.items()
    )
    return {
        "time_to_99pct_efficiency_s[first_proposal]": efficiency,
        "time_to_99pct_fairness_s[first_proposal_of_joiner]": fairness,
        "steps": steps,
        "spread_over_capacities": max(np.ptp(efficiency), np.ptp(fairness)),
    }


def settling(flows, capacity):
    """Seconds to efficiency of x1 alone, seconds to fairness after x2 joined, and steps of x1 to efficiency."""
    first, second = rates.first_proposal(flows, "x1"), rates.first_proposal(flows, "x2", JOIN)
    efficient = rates.time_to_efficiency(flows, ["x1"], capacity, first, JOIN)
    fair = rates.time_to_fairness(flows, {"x1": capacity / 2, "x2": capacity / 2}, second, END)
    steps, _ = rates.rate_changes(flows, "x1", (first, first + efficient + 1e-6))
    return efficient, fair, len(steps)


def together(number, seed):
    """Flows that start within one interval of the router. Each flow has its own entry in the scenario."""
    scenario = Scenario(f"{number} JetMax flows on one link", "4.5 s", sample="10 ms", seed=seed)
    scenario.law("jetmax", tau=0.6, interval="100 ms", initial_rate="20 kb/s")
    scenario.link("R1", "R2", "1 Gb/s", "10 ms", duplex=True)
    for i in range(number):
        start = {"uniform": ["0 ms", "100 ms"]}
        scenario.flow(f"x{i + 1}", "jetmax", "R1", "R2", rtt="220 ms", start=start)
    return scenario


def matrix(flows):
    """Times of the samples, and the rates of all flows, with one row per sample and one column per flow."""
    wide = flows.pivot(on="flow", index="t", values="law_rate_bps").sort("t")
    return wide["t"].to_numpy(), wide.drop("t").to_numpy()


def over_numbers(groups):
    efficiency, fairness, steps = medians(
        [settling_together(run.flows, C / number) for run in phases] for number, phases in groups.items()
    )
    return {
        "time_to_99pct_efficiency_s[first_proposal]": efficiency,
        "time_to_99pct_fairness_s[first_proposal,_common_start]": fairness,
        "steps_to_shrink_deviations_100fold": steps,
    }


def medians(groups):
    """Median of each group, per column. A group is a table with one row per phase."""
    return zip(*([median(column) for column in zip(*phases, strict=True)] for phases in groups), strict=True)


def settling_together(flows, share):
    """Seconds to efficiency and to fairness after the first proposal of any flow, and steps of the median flow."""
    t, rate = matrix(flows)
    proposed = flows.filter(pl.col("proposal_bps") > pl.col("law_rate_bps"))["t"].min()
    efficient = series.holds_from(t, rate.sum(axis=1) >= 0.99 * C, proposed)
    fair = series.holds_from(t, (np.abs(rate / share - 1) <= 0.01).all(axis=1), proposed)
    return efficient, fair, median(steps_to_shrink(column[column > 0], share) for column in rate.T)


def steps_to_shrink(rate, share):
    """Number of rate changes until the distance from the share is a hundredth of the initial distance."""
    off = np.abs(rate - share)
    until = np.argmax(off <= 0.01 * off[0])
    return int(np.count_nonzero(np.diff(rate[: until + 1])))


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2, sharey=True)
    alone = {
        run.scenario["links"][0]["capacity_bps"]: run.flows for run in figure.results if len(run.scenario["flows"]) == 2
    }
    for capacity, flows in alone.items():
        for flow, style in (("x1", "-"), ("x2", "--")):
            t, rate = rates.rate_series(flows, flow)
            left.plot(
                t, rate / capacity, style, linewidth=1, label=f"{capacity / 1e6:.0f} Mb/s" if flow == "x1" else None
            )
    left.set(xlabel="time (s)", ylabel="rate / capacity", title="x1 alone, then with x2")
    many = {len(run.scenario["flows"]): run.flows for run in figure.results if len(run.scenario["flows"]) != 2}
    for number, flows in many.items():
        t, rate = matrix(flows)
        right.plot(t, rate.sum(axis=1) / C, linewidth=1, label=f"{number} flows")
    right.set(xlabel="time (s)", title="all rates, flows that start together")
