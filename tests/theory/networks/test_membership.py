"""The smallest networks in which JetMax never converges to max-min fairness."""

from dataclasses import replace

import numpy as np
import pytest
from experiments import jetmax_cycles, no_loss

from levelflow import Scenario
from levelflow.theory.networks.assignment import assign
from levelflow.theory.networks.maxmin import maxmin, unfairness
from levelflow.theory.networks.membership import (
    EQUATIONS,
    FIRST,
    LEVELFLOW,
    PRINTED,
    Batch,
    begin,
    failures,
    networks,
    rest,
    step,
)
from levelflow.theory.pictures.membership import rounds

HYSTERESIS = replace(LEVELFLOW, hysteresis=True)
#: Number of rounds after which small networks are at equilibrium or in their cycle, and number of rounds observed then.
ROUNDS = {"rounds": 200, "longest": 60}
#: Rules, routes, capacities, paces (rounds that a flow waits after a change), the period of the cycle, and the rate of
#: the last flow, computed by hand. This rate is `0.4 * (previous rate) + 0.6 * (share of the link that is not the
#: flow's bottleneck)`.
CAUGHT = {
    "printed": (PRINTED, [[0], [0, 1]], [5.0, 2.0], [1, 1], 3, 0.4 * FIRST + 0.6 * 2.5),
    "printed, two full links": (PRINTED, [[0], [1], [0, 1]], [5.0, 5.0], [1, 1, 1], 4, FIRST),
    "equations alone": (EQUATIONS, [[1], [0, 1]], [1.0, 3.0], [1, 3], 6, 0.4 * FIRST + 0.6 * 1.5),
    "our rules, two links": (LEVELFLOW, [[0], [0, 1]], [3.0, 1.0], [1, 2], 4, FIRST),
    "our rules, in step": (LEVELFLOW, [[0, 1], [0, 2], [1, 2]], [5.0, 5.0, 5.0], [1, 1, 1], 2, None),
}


def one(routes, capacities, pace):
    return Batch([routes], np.array([capacities]), np.array(pace))


@pytest.mark.parametrize("name", CAUGHT)
def test_a_caught_flow_comes_back_to_the_same_state_and_has_no_bottleneck(name):
    rules, routes, capacities, pace, period, rate = CAUGHT[name]
    batch = one(routes, capacities, pace)
    state = begin(batch)
    for _ in range(300):
        state = step(rules, batch, state)
    again, seen = state, []
    for _ in range(period):
        again = step(rules, batch, again)
        seen.append(again)
        assert unfairness(routes, capacities, np.minimum(again.rate[0], maxmin(routes, capacities))).max() > 0.02
    assert np.allclose(again.parts[0], state.parts[0], atol=1e-6)
    assert (again.parts[1] == state.parts[1]).all()
    assert len({tuple(at.bottleneck[0].tolist()) for at in seen}) > 1, "bottlenecks change"
    assert all(assign(routes, at.bottleneck[0]).consistent for at in seen), "consistent at every moment"
    if rate is not None:
        assert {round(float(at.rate[0, -1]), 9) for at in seen} == {round(rate, 9)}
    found = rest(rules, batch, **ROUNDS)
    assert (found.period[0], found.moves[0]) == (period, True)


@pytest.mark.parametrize("name", CAUGHT)
def test_hysteresis_ends_the_failure(name):
    _, routes, capacities, pace, _, _ = CAUGHT[name]
    assert rest(HYSTERESIS, one(routes, capacities, pace), **ROUNDS).distance[0] < 0.03


@pytest.mark.parametrize("rules", [EQUATIONS, PRINTED, LEVELFLOW, HYSTERESIS])
@pytest.mark.parametrize("flows", [1, 2, 4])
def test_one_link_is_shared_equally(rules, flows):
    found = rest(rules, networks(1, flows, (2.0, 5.0), range(1, flows + 1)), **ROUNDS)
    assert found.distance.max() < 1e-6


@pytest.mark.parametrize("rules", [EQUATIONS, PRINTED])
def test_bottlenecks_that_stay_are_those_of_max_min(rules):
    """Verifies theorem 16."""
    found = rest(rules, networks(2, 3, (2.0, 3.0, 5.0), [1, 2, 3]), **ROUNDS)
    still = ~found.moves & (found.period > 0)
    assert still.sum() > 10
    assert found.distance[still].max() < 1e-6


def test_with_hysteresis_few_networks_fail():
    batch = networks(3, 3, (2.0, 5.0), [1, 2, 3])
    ours, mended = (len(list(failures(rules, batch))) for rules in (LEVELFLOW, HYSTERESIS))
    assert 20 * mended < ours


def test_the_engine_starves_the_same_flow():
    """Two flows cross a narrow and a wide link, and one flow crosses only the wide link. The flow `far` keeps its
    initial rate, or its minimum rate.
    """
    scenario = Scenario.load("jetmax-starves").set("duration", "60 s")
    fair = {"wide": 68e6, "near": 10e6, "far": 10e6}
    assert maxmin([[1], [0, 1], [0, 1]], [20e6, 88e6]).tolist() == list(fair.values())
    rates = {flow["name"]: flow["law_rate_bps"] for flow in scenario.run().summary["flows"]}
    assert rates["far"] <= 40e3
    assert rates["wide"] < 0.9 * fair["wide"], "and no flow has what it leaves"
    mended = scenario.law("jetmax", hysteresis=True).run().summary["flows"]
    assert {flow["name"]: flow["law_rate_bps"] for flow in mended} == pytest.approx(fair, rel=0.01)


def test_rounds_are_drawn():
    figure = rounds(PRINTED, [[0], [0, 1]], [5.0, 2.0], [1, 1], 0, 12)
    assert [axes.get_ylabel() for axes in figure.axes] == ["rate", "listens\nto", "price"]


def test_first_rates_that_come_unannounced_are_lost():
    """T5 has fifty new flows. With initial rates of 1 Mb/s, their excess exceeds the buffer before other flows back
    off. With 40 kb/s, the buffer suffices.
    """
    one = {name: condition for name, *condition in no_loss.CONDITIONS}
    lost = {}
    for name in ("defaults", "first rate 1 Mb/s"):
        scenario = no_loss.scenario("T5", "jetmax", (name, *one[name])).set("duration", "23 s")
        lost[name], overshoot = no_loss.outcome(scenario, scenario.run())
        assert overshoot > 100 * (0 if name == "defaults" else 0.4)
    assert lost["defaults"] == 0 < lost["first rate 1 Mb/s"]


def test_the_table_of_small_networks_counts_what_fails(monkeypatch, capsys):
    monkeypatch.setattr(jetmax_cycles, "SIZES", ((2, 2),))
    monkeypatch.setattr(jetmax_cycles, "CASES", {"printed": PRINTED, "hysteresis": HYSTERESIS})
    assert jetmax_cycles.main([]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| *networks* | 36 / 36 | | | |",
        "| printed | 2 / 2 | 0 | 4 | 0 |",
        "| hysteresis | 0 / 0 | 0 | 0 | 0 |",
    ]
