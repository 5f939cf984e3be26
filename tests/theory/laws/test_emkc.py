"""Equilibrium and convergence of EMKC, compared with closed forms, equilibrium conditions and iteration."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.routes import CapacityError, RouteError

#: Links C1-C2, C2-C3, C3-C4. Flow x1 crosses all links. Flows x2 to x4 cross one link each (Zhang 2008, section V.4.5).
PARKING_LOT, LINKS = [[0, 1, 2], [0], [1], [2]], [300.0, 200.0, 180.0]


def draw(seed, most=200):
    """Returns routes, and capacities and ratios alpha/beta that differ by orders of magnitude."""
    rng = np.random.default_rng(seed)
    flows, links = rng.integers(1, most + 1, 2)
    routes = [rng.choice(links, rng.integers(1, min(links, 8) + 1)) for _ in range(flows)]
    return routes, 10 ** rng.uniform(-2, 3, links), 10 ** rng.uniform(-4, 2, flows)


@examples(100)
@given(st.integers(0, 2**32))
def test_each_flow_rests_at_what_the_largest_price_of_its_path_asks_for(seed):
    routes, capacities, ratio = draw(seed)
    found = emkc.fixed_point(routes, capacities, ratio)
    loads = np.zeros(len(capacities))
    for route, rate in zip(routes, found.rates, strict=True):
        np.add.at(loads, route, rate)
    for route, rate, wanted, link in zip(routes, found.rates, ratio, found.bottlenecks, strict=True):
        prices = 1 - capacities[route] / loads[route]
        assert rate * prices.max() == pytest.approx(wanted, rel=1e-9, abs=1e-12 * rate)
        assert found.signals[link] == pytest.approx(prices.max(), rel=1e-9, abs=1e-12)


@examples(100)
@given(st.integers(0, 2**32))
def test_lost_data_does_not_reach_downstream_links(seed):
    routes, capacities, ratio = draw(seed, most=60)
    routes = [np.unique(route) for route in routes]
    found = emkc.fixed_point(routes, capacities, ratio, thinned=True)
    loads = np.zeros(len(capacities))
    for route, rate in zip(routes, found.rates, strict=True):
        left = rate
        for link in route:  # data crosses links in the order of their index
            loads[link] += left
            left *= 1 - max(found.signals[link], 0)
    assert loads == pytest.approx(capacities / (1 - found.signals), rel=1e-8)
    for route, rate, wanted in zip(routes, found.rates, ratio, strict=True):
        assert rate * found.signals[route].max() == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize(
    ("flows", "rates"),
    [(1, [191.1]), (2, [161.1, 161.1]), (3, [111.1, 206.0, 111.1]), (4, [101.1, 215.2, 119.4, 101.1])],
)
def test_the_phases_of_the_parking_lot(flows, rates):
    assert emkc.fixed_point(PARKING_LOT[:flows], LINKS, 10 / 0.9).rates == pytest.approx(rates, abs=0.05)


def test_alone_on_a_link_flows_exceed_it_by_alpha_over_beta_each():
    found = emkc.fixed_point([[0]] * 7, [1e9], 4e5)
    assert found.rates == pytest.approx([1e9 / 7 + 4e5] * 7, rel=1e-13)
    assert found.signals == pytest.approx(7 * 4e5 / (1e9 + 7 * 4e5), rel=1e-10)


def test_a_small_ratio_brings_rates_to_those_of_max_min():
    for seed in range(20):
        routes, capacities, _ = draw(seed, most=30)
        assert emkc.fixed_point(routes, capacities, 1e-9).rates == pytest.approx(maxmin(routes, capacities), rel=1e-4)


def test_the_unit_of_rate_does_not_matter():
    small, large = (
        emkc.fixed_point(PARKING_LOT, LINKS, 10.0),
        emkc.fixed_point(PARKING_LOT, [c * 1e100 for c in LINKS], 1e101),
    )
    assert large.rates == pytest.approx(small.rates * 1e100)
    assert large.signals == pytest.approx(small.signals)


def test_links_without_capacity_or_flows_have_prices_of_their_own():
    found = emkc.fixed_point([[0], [0, 1]], [0.0, 5.0, 7.0], [2.0, 3.0])
    assert found.rates.tolist() == [2.0, 3.0]
    assert found.signals == pytest.approx([1.0, 1 - 5 / 3, -np.inf])
    assert emkc.fixed_point([], [1.0], 1.0).rates.size == 0


@pytest.mark.parametrize(
    ("error", "line", "change"),
    [
        (CapacityError, r"link 0: capacity -1.0 is not allowed", {"capacities": [-1.0]}),
        (RouteError, r"flow 1 crosses no link", {"routes": [[0], []]}),
        (ParameterError, r"alpha over beta 0.0 is not allowed; needs a finite number > 0", {"alpha_over_beta": 0.0}),
        (ParameterError, r"alpha over beta 1: nan", {"alpha_over_beta": [1.0, np.nan]}),
        (
            ParameterError,
            r"alpha over beta of shape \(3,\) is not allowed; needs one number, or 2",
            {"alpha_over_beta": [1] * 3},
        ),
    ],
)
def test_invalid_networks_of_emkc_are_rejected(error, line, change):
    with pytest.raises(error, match=line):
        emkc.fixed_point(**{"routes": [[0], [0]], "capacities": [1.0], "alpha_over_beta": 1.0} | change)
