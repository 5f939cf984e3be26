import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.maxmin import bottlenecks, maxmin, unfairness
from levelflow.theory.networks.routes import CapacityError, RouteError


@st.composite
def networks(draw):
    links = draw(st.integers(1, 6))
    route = st.lists(st.integers(0, links - 1), min_size=1, max_size=links, unique=True)
    routes = draw(st.lists(route, min_size=1, max_size=8))
    capacities = draw(st.lists(st.floats(0.1, 1e3), min_size=links, max_size=links))
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(routes), max_size=len(routes)))
    return routes, capacities, weights


def incidence(routes, links):
    matrix = np.zeros((links, len(routes)))
    for flow, route in enumerate(routes):
        for link in route:
            matrix[link, flow] += 1
    return matrix


def by_linear_programs(routes, capacities, weights):
    """Returns lexicographic max-min rates. Repeatedly raises the common level, and freezes the flows whose rates cannot
    rise.
    """
    matrix = incidence(routes, len(capacities)) * weights
    count = len(routes)
    frozen = {}
    while len(frozen) < count:
        bounds = [(frozen.get(i, 0), frozen.get(i)) for i in range(count)] + [(0, None)]
        above = [[-float(i == flow) for i in range(count)] + [1.0] for flow in range(count) if flow not in frozen]
        usage = np.hstack([matrix, np.zeros((len(capacities), 1))])
        best = linprog(
            [0.0] * count + [-1.0],
            A_ub=np.vstack([usage, above]),
            b_ub=np.concatenate([capacities, np.zeros(len(above))]),
            bounds=bounds,
        )
        level = best.x[-1]
        floor = [(frozen.get(i, level * (1 - 1e-9)), frozen.get(i)) for i in range(count)]
        stuck = [
            flow
            for flow in range(count)
            if flow not in frozen
            and -linprog(-np.eye(count)[flow], A_ub=matrix, b_ub=capacities, bounds=floor).fun <= level * (1 + 1e-6)
        ]
        assert stuck
        frozen |= dict.fromkeys(stuck, level * (1 - 1e-9))
    return np.array([frozen[i] for i in range(count)]) * weights


# **Invariant** (Results): max-min rates, also weighted ones, equal those of successive linear programs. Utility-optimal
# rates and prices meet the optimality conditions. See
# `test_rates_and_prices_meet_the_conditions_of_karush_kuhn_and_tucker`.
@examples(60)
@given(networks())
def test_rates_equal_those_of_successive_linear_programs(network):
    routes, capacities, weights = network
    assert maxmin(routes, capacities, weights) == pytest.approx(
        by_linear_programs(routes, capacities, weights), rel=1e-5
    )


@examples(300)
@given(networks())
def test_every_flow_has_a_saturated_link_on_which_none_has_more(network):
    routes, capacities, weights = network
    rates = maxmin(routes, capacities, weights)
    matrix = incidence(routes, len(capacities))
    used = matrix @ rates
    assert (used <= np.array(capacities) * (1 + 1e-9)).all()
    for flow, link in enumerate(bottlenecks(routes, capacities, weights)):
        assert link in routes[flow]
        assert used[link] == pytest.approx(capacities[link], rel=1e-9)
        levels = (rates / weights)[matrix[link] > 0]
        assert rates[flow] / weights[flow] >= levels.max() * (1 - 1e-9)


@examples(200)
@given(networks(), st.integers(0, 7), st.floats(0.01, 0.99))
def test_unfairness_is_zero_at_the_fair_rates_and_locates_reduced_flows(network, flow, part):
    routes, capacities, weights = network
    rates = maxmin(routes, capacities, weights)
    assert unfairness(routes, capacities, rates, weights) == pytest.approx(0, abs=1e-9)
    flow %= len(routes)
    rates[flow] *= part
    alone = all(len({other for other in range(len(routes)) if link in routes[other]}) == 1 for link in routes[flow])
    lacking = unfairness(routes, capacities, rates, weights)
    assert lacking[flow] >= (1 - part) * (1 - 1e-9) if alone else lacking[flow] > 0


def test_parking_lot_of_the_dissertation():
    # Zhang 2008, section V.4.4: x1 crosses links of 300, 200 and 180 Mb/s. x2, x3 and x4 cross one link each.
    assert maxmin([[0, 1, 2], [0], [1], [2]], [300, 200, 180]).tolist() == [90, 210, 110, 90]


def test_a_flow_of_weight_three_is_three_flows():
    together = maxmin([[0], [0, 1]], [12, 2], weights=[3, 1])
    apart = maxmin([[0], [0], [0], [0, 1]], [12, 2])
    assert together.tolist() == [apart[:3].sum(), apart[3]]


def test_a_small_weight_is_not_lost_beside_a_large_one():
    assert maxmin([[0, 1], [0]], [10, 1], weights=[1e9, 1e-9]).tolist() == [1, 9]
    routes, weights = [[0, 1], [0, 1], [0, 1], [0, 1], [1], [0, 1]], [1, 1, 1, 1e9, 1e-8, 1]
    assert maxmin(routes, [1, 1], weights)[4] == pytest.approx(1e-17, rel=1e-6, abs=0)


@examples(200)
@given(networks(), st.data())
def test_very_unequal_weights_are_kept(network, data):
    routes, capacities, _ = network
    decades = data.draw(st.lists(st.floats(-9, 9), min_size=len(routes), max_size=len(routes)))
    weights = 10 ** np.array(decades)
    rates = maxmin(routes, capacities, weights)
    assert (incidence(routes, len(capacities)) @ rates <= np.array(capacities) * (1 + 1e-12)).all()
    assert unfairness(routes, capacities, rates, weights) == pytest.approx(0, abs=1e-12)


def test_a_link_without_capacity_leaves_its_flows_nothing():
    assert maxmin([[0, 1], [1]], [0, 5]).tolist() == [0, 5]


def test_rates_of_ten_thousand_flows_over_a_thousand_links_are_fair():
    draw = np.random.default_rng(1)
    routes = [draw.choice(1000, size=5, replace=False).tolist() for _ in range(10_000)]
    capacities = draw.uniform(1, 100, size=1000)
    rates = maxmin(routes, capacities)
    assert unfairness(routes, capacities, rates) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("capacity", [-1.0, float("nan"), float("inf")])
def test_an_invalid_capacity_is_rejected(capacity):
    with pytest.raises(CapacityError, match=r"link 1: capacity .* needs a finite number >= 0"):
        maxmin([[0]], [1.0, capacity])


def test_capacities_are_a_list_of_numbers():
    with pytest.raises(CapacityError, match=r"capacity 1.0 for all links is not allowed; needs one per link"):
        maxmin([[0]], 1.0)
    with pytest.raises(ParameterError, match="capacity 'many' is not allowed; needs numbers"):
        maxmin([[0]], "many")


@pytest.mark.parametrize(
    ("routes", "line"),
    [
        ([[0], []], "flow 1 crosses no link"),
        ([[3]], "there is no link 3"),
        ([[0.5]], "not lists of links"),
        ([0], "not lists of links"),
    ],
)
def test_an_invalid_route_is_rejected(routes, line):
    with pytest.raises(RouteError, match=line):
        maxmin(routes, [1.0, 1.0])


@pytest.mark.parametrize("weights", [[0.0], [float("nan")], [1.0, 1.0]])
def test_an_invalid_weight_is_rejected(weights):
    with pytest.raises(ParameterError):
        maxmin([[0]], [1.0], weights)
