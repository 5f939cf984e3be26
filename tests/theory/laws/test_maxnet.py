"""MaxNet's demand, equilibrium and dynamics, compared with closed forms, roots and the paper's numbers."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from andrew_models.maxnet_fluid import Network, Start, run
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.laws.shared.maxnet_model import Parameters
from levelflow.theory.laws.shared.maxnet_stability import Compensator, link_loop, network_roots
from levelflow.theory.networks.maxmin import unfairness
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.stability.equations import integrate

laws = st.builds(
    Parameters,
    x_max=st.floats(1e6, 1e15),
    scale=st.floats(0.01, 1.0),
    alpha=st.floats(0.05, 1.5),
    eta=st.floats(0.01, 1.0),
    mu=st.floats(0.1, 1.0),
)


@st.composite
def networks(draw):
    links = draw(st.integers(1, 6))
    route = st.lists(st.integers(0, links - 1), min_size=1, max_size=links, unique=True)
    routes = draw(st.lists(route, min_size=1, max_size=12))
    return routes, draw(st.lists(st.floats(1e4, 1e10), min_size=links, max_size=links))


@given(laws, st.floats(1.0, 1e15))
def test_the_price_of_a_rate_is_where_it_is_the_demand(law, rate):
    assert maxnet.demand(maxnet.price_of(rate, law), law) == pytest.approx(rate, rel=1e-9)


@given(laws, st.floats(0.0, 300.0), st.floats(1e-2, 1e3))
def test_the_static_demand_is_as_steep_as_may_be(law, folds, delay):
    price, step = np.array([folds, 1e-6]) * delay / law.alpha  # at most e-fold 300: floats underflow below e^-700
    low, high = maxnet.static_demand([price - step, price + step], delay, law)
    rate = maxnet.static_demand(price, delay, law)
    assert (high - low) / (2 * step) == pytest.approx(maxnet.steepest(rate, delay, law), rel=1e-6)


@examples(200)
@given(networks(), laws)
def test_at_equilibrium_the_state_is_constant_and_rates_are_max_min_fair(network, law):
    routes, capacities = network
    capacity = np.array(capacities)
    rest = maxnet.fixed_point(routes, capacity, law)
    assert unfairness(routes, law.mu * capacity, rest.rates).max() < 1e-9
    delays = np.geomspace(0.001, 10, len(routes))
    states = rest.states(delays, law)
    assert rest.heard == pytest.approx([rest.prices[route].max() for route in routes], abs=1e-9)
    assert maxnet.rate(states, rest.heard, delays, law) == pytest.approx(rest.rates, rel=1e-6)
    moves = maxnet.source_change(states, rest.heard, delays, law) * delays**2 / (law.alpha * law.eta * law.scale)
    assert np.abs(moves).max() < 1e-9 * max(1.0, np.abs(states).max())
    load = np.zeros(capacity.size)
    for route, rate in zip(routes, rest.rates, strict=True):
        load[route] += rate
    change = maxnet.price_change(load, 0.0, capacity, law)
    assert np.abs(change[rest.bottlenecks]).max() < 1e-9
    idle = np.setdiff1d(np.arange(capacity.size), rest.bottlenecks)
    assert (change[idle] < 1e-9).all()
    assert rest.prices[idle] == pytest.approx(maxnet.floor(capacity, law)[idle])


def test_equal_prices_of_two_bottlenecks_are_reported():
    assert not maxnet.fixed_point([[0], [1]], [10e6, 10e6]).separate
    assert maxnet.fixed_point([[0], [1]], [10e6, 20e6]).separate


def test_a_link_that_a_flow_crosses_twice_feels_it_twice():
    twice, law = maxnet.fixed_point([[0, 0]], [1e9]), Parameters(alpha=1.5)
    assert twice.shares.tolist() == [pytest.approx(0.9)]
    assert (
        network_roots(twice, [1.0], law).tolist()
        == network_roots(maxnet.fixed_point([[0]], [1e9]), [1.0], law).tolist()
    )


def test_without_flows_links_rest_at_their_floors():
    empty = maxnet.fixed_point([], [1e9, 2e9])
    assert empty.rates.size == empty.shares.size == 0
    assert empty.prices.tolist() == maxnet.floor([1e9, 2e9]).tolist()


def test_overload_is_a_share_of_the_capacity_and_ends_with_nine_flows():
    assert maxnet.overload([1, 2, 4, 8, 9, 100]) == pytest.approx([0.8, 0.35, 0.125, 0.0125, 0, 0], abs=1e-15)


def test_a_source_converges_to_the_demand_curve_with_its_time_constant():
    delay, price = 0.179, 6.0
    time = delay**2 / (maxnet.PAPER.alpha * maxnet.PAPER.eta * maxnet.PAPER.scale)
    went = integrate(lambda t, x, past: maxnet.source_change(x, price, delay), [-13.0], 3 * time, step=time / 1000)
    rest = maxnet.source_at_rest(price, delay)
    assert went.states[:, 0] - rest == pytest.approx((-13.0 - rest) * np.exp(-went.times / time), rel=1e-5)


@pytest.mark.parametrize("delays", [[0.1], [0.05, 0.4], [1.0, 0.7, 0.3]])
def test_small_deviations_die_out_as_the_slowest_root_says(delays):
    law = Parameters(eta=0.3)
    network = Network([[0]] * len(delays), [10e6], delays, [[0.4 * delay] for delay in delays])
    rest = maxnet.fixed_point(network.routes, network.capacities, law)
    roots = link_loop(delays, rest.shares, Compensator.of(law), law.alpha).roots
    slowest = [root.value for root in roots if root.value.imag >= 0][:2]
    span = 1 / (slowest[0].real - slowest[1].real)
    went = run(
        network,
        min(8 * span, -10 / slowest[0].real),
        step=min(delays) / 40,
        law=law,
        start=Start(rest.rates, rest.prices * (1 + 1e-6)),
    )
    off = np.abs(went.prices[:, 0] - rest.prices[0])
    late, end = np.searchsorted(went.times, [0.7 * went.times[-1], went.times[-1]])
    assert slowest[0].imag == 0
    assert np.log(off[end] / off[late]) / (went.times[end] - went.times[late]) == pytest.approx(
        slowest[0].real, rel=0.02
    )


@pytest.mark.parametrize("seed", range(3))
def test_fluid_rates_converge_to_max_min_from_distant_starts(seed):
    random = np.random.default_rng(seed)
    routes = [random.choice(4, random.integers(1, 4), replace=False).tolist() for _ in range(8)]
    capacities, delays = 10 ** random.uniform(6, 8, 4), random.uniform(0.1, 0.3, 8)
    there = [np.sort(random.uniform(0, delay, len(route))) for route, delay in zip(routes, delays, strict=True)]
    rest = maxnet.fixed_point(routes, capacities)
    began = Start(rest.rates * 10 ** random.uniform(-1, 1, 8), maxnet.floor(capacities) + random.uniform(0, 1, 4))
    went = run(Network(routes, capacities, delays, there), 120.0, step=0.02, start=began, every=500)
    assert went.rates[-1] == pytest.approx(rest.rates, rel=1e-3)
    assert went.prices[-1] == pytest.approx(rest.prices, abs=1e-3)
    assert (went.queues[-1] == 0).all()
    assert (went.prices >= maxnet.floor(capacities)).all()


def test_dynamics_do_not_depend_on_the_capacity():
    runs = []
    for capacity in (1e6, 1e10):
        network = Network([[0], [0]], [capacity], [0.05, 0.2])
        start = Start(np.array([0.8, 0.01]) * capacity, maxnet.floor([capacity / 3]))
        runs.append(run(network, 10.0, step=0.005, start=start).rates / capacity)
    assert runs[0] == pytest.approx(runs[1], rel=1e-6)


def test_cross_traffic_makes_way_as_in_figure_nine():
    law = Parameters(mu=0.94)
    network = Network([[0]], [1e9], [0.029], [[0.0145]])
    start = Start([940e6], maxnet.price_of([940e6]))
    went = run(network, 15.0, step=0.002, law=law, start=start, cross=lambda t: 400e6 * (1 <= t < 11), every=5)
    at = {time: went.rates[round(100 * time), 0] for time in (0.9, 1.5, 10.9, 11.3, 14.9)}
    assert at[0.9] == pytest.approx(940e6)
    assert at[1.5] == pytest.approx(594e6, rel=0.01)  # a window and a constant rate share the full link
    assert at[10.9] == pytest.approx(540e6, rel=0.001)
    assert (at[11.3] - 540e6) / 400e6 == pytest.approx(0.58, abs=0.02)
    assert at[14.9] == pytest.approx(940e6, rel=0.005)
    assert went.queues[(went.times > 3) & (went.times < 10)].max() == 0


def test_a_flow_that_comes_later_ramps_up_from_what_is_spare():
    network = Network([[0], [0]], [100e6], [0.1, 0.1])
    start = Start([90e6, 1.0], maxnet.price_of([90e6]), since=[0.0, 1.0], ramp=True)
    went = run(network, 1.3, step=0.001, start=start)
    assert (went.rates[:1000, 1] == 0).all()
    # The ramp lasts two round trips. After a tenth of the ramp, the flow has no feedback yet.
    assert went.rates[1000, 1] == pytest.approx(2.5e6, rel=1e-6)
    assert went.rates[1020, 1] == pytest.approx(2.5e6 + 0.1 * 87.5e6, rel=1e-3)
    at_once = run(network, 1.3, step=0.001, start=start._replace(ramp=False))
    assert at_once.rates[1000, 1] == pytest.approx(90e6, rel=0.01)
    assert at_once.queues.max() > went.queues.max()


def test_rcp_without_its_queue_term_is_a_change_of_variables():
    loads = np.random.default_rng(1).uniform(0.0, 2.0, 5000)
    step, gain, delay = 1e-3, 0.4, 0.1
    price, told = 0.0, 1.0
    for load in loads:
        price += step * maxnet.price_change(load, 0.0, 1.0, Parameters(mu=1.0))
        told *= 1 + step * gain / delay * (1 - load)
        assert maxnet.advertised(price, delay, gain) == pytest.approx(told, rel=0.05)


@pytest.mark.parametrize(
    "options",
    [{"x_max": 0.0}, {"scale": -1.0}, {"alpha": 1.6}, {"alpha": np.nan}, {"eta": np.inf}, {"mu": 1.1}, {"drain": 0.0}],
)
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Parameters(**options)


def test_numbers_that_make_no_sense_are_refused():
    for call in (
        lambda: maxnet.price_of(0.0),
        lambda: maxnet.floor([1e6, -1.0]),
        lambda: maxnet.steepest(1.0, 0.0),
        lambda: maxnet.overload(0),
        lambda: Network([[0]], [1e6], [0.0]),
        lambda: Network([[0]], [1e6], [0.1, 0.2]),
        lambda: Network([[0]], [1e6], [0.1], [[0.2]]),
        lambda: Network([[0, 1]], [1e6, 1e6], [0.1], [[0.05]]),
        lambda: run(Network([[0]], [1e6], [0.1]), np.inf, step=0.01),
        lambda: run(Network([[0]], [1e6], [0.1]), 1.0, step=0.0),
        lambda: run(Network([[0]], [1e6], [0.1]), 1.0, step=0.01, start=Start(rates=[-1.0])),
        lambda: run(Network([[0]], [1e6], [0.1]), 1.0, step=0.01, start=Start(since=[-1.0])),
        lambda: run(Network([[0]], [1e6], [0.1]), 1.0, step=0.01, start=Start(prices=[1.0, 2.0])),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(CapacityError):
        maxnet.fixed_point([[0]], [0.0])
    with pytest.raises(CapacityError):
        Network([[0]], [np.nan], [0.1])
    with pytest.raises(RouteError):
        maxnet.fixed_point([[]], [1.0])
    with pytest.raises(ParameterError):
        run(Network([[0]], [1e6], [0.1]), 1.0, step=0.01, every=0)
