"""Compares Level's step model and its equilibrium with progressive filling and hand-computed values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.fluid import Flow, Link, Network, simulate
from levelflow.theory.laws import level
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.paths import paths, scattered

SEEDS = st.integers(0, 2**32)


def network(seed):
    """Returns the random generator, random routes, and the targets of the links."""
    rng = np.random.default_rng(seed)
    links, flows = rng.integers(1, 12), rng.integers(1, 60)
    routes = [rng.choice(links, rng.integers(1, min(links, 5) + 1), replace=False) for _ in range(flows)]
    return rng, routes, 10 ** rng.uniform(-1, 2, links)


@settings(deadline=None)
@given(SEEDS)
def test_levels_reach_max_min_fairness_within_the_bound_from_any_start(seed):
    rng, routes, targets = network(seed)
    delay = int(rng.integers(1, 6))
    steps = level.steps(routes, targets, delay)
    first = targets * 10 ** rng.uniform(-3, 1, (2, targets.size))
    network_of = scattered(routes, targets.size, delay, rng)
    run = level.iterate(network_of, targets, steps, *first, smooth=False)
    assert run.rates[-1] == pytest.approx(maxmin(routes, targets), rel=1e-6)
    assert run.rates.shape == (steps + 1, len(routes))
    smooth = level.iterate(network_of, targets, steps + 400, *first)
    assert smooth.rates[-1] == pytest.approx(maxmin(routes, targets), rel=1e-6)


def updates_of_ties(flows):
    """Returns the number of updates until all flows are within 1 % of their rates. Two flows cross one link each. All
    other flows cross both links.
    """
    routes = [[0, 1]] * (flows - 1) + [[0], [1]]
    targets = np.full(2, float(flows))
    run = level.iterate(paths(routes, 2), targets, 120, [0.9, 1.0], targets / flows)
    away = np.abs(run.rates - 1).max(axis=1)
    assert away[-1] < 1e-6
    return int(np.flatnonzero(away > 0.01)[-1])


def test_ties_take_longer_by_the_logarithm_of_the_number_of_flows():
    """An update covers a quarter of the distance to equilibrium, and the initial distance is proportional to the number
    n of flows.
    """
    few, more, many = (updates_of_ties(flows) for flows in (10, 100, 1000))
    assert more - few == pytest.approx(np.log(10) / np.log(4 / 3), abs=1)
    assert many - more == pytest.approx(np.log(10) / np.log(4 / 3), abs=1)


@settings(deadline=None)
@given(SEEDS)
def test_levels_of_an_equilibrium_stay(seed):
    rng, routes, targets = network(seed)
    found = level.equilibrium(routes, targets)
    assert found.rates == pytest.approx(maxmin(routes, targets))
    assert found.residual < 1e-9
    went = level.iterate(scattered(routes, targets.size, 4, rng), targets, 5, found.signals, found.signals * (1 - 1e-9))
    crossed = np.unique(np.concatenate(routes))
    assert went.levels[-1, crossed] == pytest.approx(found.signals[crossed])


def test_a_link_that_limits_no_flow_offers_the_rate_of_a_single_flow():
    found = level.equilibrium([[0, 1], [1], [1, 2]], [4.0, 9.0, 10.0])
    assert found.rates.tolist() == [3.0, 3.0, 3.0]
    assert found.signals.tolist() == [4.0, 3.0, 10.0]


def test_a_chain_takes_a_level_after_the_other():
    """Each flow crosses two neighbouring links. The first and the last link also have a flow that crosses no other
    link.
    """
    targets = np.array([2.0, 5.0, 11.0, 23.0])
    routes = [[0]] + [[n, n + 1] for n in range(3)] + [[3]]
    run = level.iterate(paths(routes, 4), targets, level.steps(routes, targets) + 100, targets, targets)
    fair = maxmin(routes, targets)
    assert fair.tolist() == [1.0, 1.0, 4.0, 7.0, 16.0]
    settled = [
        int(np.flatnonzero(np.abs(rates / end - 1) > 1e-4)[-1]) for rates, end in zip(run.rates.T, fair, strict=True)
    ]
    assert settled == sorted(settled)
    assert len(set(settled)) > 2


def test_an_upper_bound_is_announced_while_a_flow_is_on_the_wrong_side():
    link = np.zeros(3, dtype=int)
    for others, threshold, expected in (
        ([1.0, np.inf, np.inf], 5.0, (4.5, 4.5)),
        ([7.0, np.inf, np.inf], 8.0, (10 / 3, 7.0)),  # 7 < 8: the flow was counted as below its threshold
        ([1.0, np.inf, np.inf], 0.5, (10 / 3, 10 - 2 * 1.0)),  # 1 > 0.5: the flow was counted as above its threshold
    ):
        seen = level.census(np.array(others), np.array([threshold]), link, np.ones(3))
        after, announced = level.update(np.array([10.0]), seen)
        assert (after[0], announced[0]) == pytest.approx(expected)


def test_a_lossy_wire_before_a_router_raises_rates_up_to_its_target():
    for flows, rate in ((1, 10.0), (2, 6.25)):
        found = level.equilibrium([[0]] * flows, [10.0], survival=0.8)
        assert found.rates.tolist() == [rate] * flows
        assert found.residual < 1e-9


@pytest.mark.parametrize("changes", [{"steps": -1}, {"levels": 0.0}, {"thresholds": [1.0, 2.0]}])
def test_bad_starts_are_refused(changes):
    with pytest.raises(ParameterError):
        level.iterate(
            **{"network": paths([[0]], 1), "targets": [1.0], "steps": 1, "levels": 1.0, "thresholds": 1.0} | changes
        )


def test_a_fluid_joins_without_overload():
    flows = [Flow("level", [0], 0.1), Flow("level", [0], 0.4, start=5.0)]
    run = simulate(Network([Link(10e6)], flows), 10.0, every=0.01)
    assert run.loads.max() <= 10e6
    assert run.rates[-1] == pytest.approx([4.75e6, 4.75e6], rel=1e-6)
    alone = (run.times > 2) & (run.times < 5)
    assert run.rates[alone, 0] == pytest.approx(9.5e6)
