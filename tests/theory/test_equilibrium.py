"""Equilibria are fixed points of the equations of the law. An entry with several flows gives the same rates as single
flows.
"""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow import Scenario
from levelflow.theory.competition import competition, listed
from levelflow.theory.errors import TheoryError
from levelflow.theory.laws import emkc, emkc_avq, fast, jetmax, kelly, ks, rcp, rcp_weighted, reno, supporting, xcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.networks.assignment import bottleneck_sets, random_routes
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.paths import scattered
from levelflow.theory.references import equilibrium_of

EQUILIBRIA = supporting("equilibrium")
SEEDS = st.integers(0, 2**32)
SOME = examples(40)


def drawn(seed, most=40):
    random = np.random.default_rng(seed)
    links = int(random.integers(1, most + 1))
    routes = random_routes(random, int(random.integers(1, most + 1)), links, 1, min(links, 5))
    return random, routes, random.uniform(1, 100, links)


def options(law, random, flows):
    """Returns the parameters of a law for a number of flows."""
    each = random.uniform(0.1, 3, flows)
    given = {
        "maxnet": {"x_max": 1e15 * each, "mu": 0.9},
        "emkc": {"alpha_over_beta": each},
        "emkc_avq": {"alpha_over_beta": each},
        "kelly": {"omega": each},
        "rcp_weighted": {"weights": 1 + each},
        "ks": {"weights": each, "exponents": random.choice([0.0, 0.5, 1.0], flows), "costs": 0.01 * each},
        "reno": {"rtts": each, "packets": 8.0, "lost": 0.001 * each},
        "fast": {"backlogs": each},
    }
    return given.get({"tfrc": "reno", "vegas": "fast"}.get(law, law), {})


# **Invariant** (Results): an equilibrium is proven by the equations of its law, on any network. See
# `test_an_entry_of_several_flows_is_as_many_flows`.
@pytest.mark.parametrize("law", EQUILIBRIA)
@examples(25)
@given(seed=SEEDS, most=st.sampled_from([5, 40, 200]))
def test_a_rest_point_carries_its_proof(law, seed, most):
    random, routes, capacities = drawn(seed, most)
    found = EQUILIBRIA[law](routes, capacities, **options(law, random, len(routes)))
    assert found.residual < 1e-8
    assert (found.rates > 0).all()
    loads = np.zeros(capacities.size)
    for route, rate in zip(routes, found.rates, strict=True):
        loads[route] += rate
    assert found.loads == pytest.approx(loads)
    overloaded = loads > capacities * (1 + 1e-8)
    assert found.losses[overloaded] == pytest.approx(1 - capacities[overloaded] / loads[overloaded])
    assert (found.queues[overloaded] == np.inf).all()
    if law not in {"emkc", "kelly", "ks"}:
        assert not overloaded.any()


@pytest.mark.parametrize("law", EQUILIBRIA)
@examples(10)
@given(seed=SEEDS)
def test_an_entry_of_several_flows_is_as_many_flows(law, seed):
    random, routes, capacities = drawn(seed, 6)
    counts = random.integers(1, 5, len(routes))
    given = options(law, random, len(routes))
    every = {name: np.repeat(value, counts) if np.ndim(value) else value for name, value in given.items()}
    apart = EQUILIBRIA[law](
        [route for route, n in zip(routes, counts, strict=True) for _ in range(n)], capacities, **every
    )
    together = EQUILIBRIA[law](routes, capacities, counts=counts, **given)
    assert np.repeat(together.rates, counts) == pytest.approx(apart.rates, rel=1e-6)
    assert together.loads == pytest.approx(apart.loads)
    assert together.residual < 1e-8


@SOME
@given(SEEDS)
def test_jetmax_stays_at_equilibrium(seed):
    random, routes, targets = drawn(seed)
    found = jetmax.equilibrium(routes, targets)
    assert found.rates == pytest.approx(maxmin(routes, targets))
    network = scattered(routes, targets.size, 4, random)
    chosen = [own[0] for own in bottleneck_sets(routes, targets, found.rates)]
    went = jetmax.iterate(network, found.rates, 12, targets, 0.6, bottlenecks=chosen)
    assert went.rates[-1] == pytest.approx(found.rates, rel=1e-6)
    assert went.signals[-1] == pytest.approx(found.signals, rel=1e-6)


@SOME
@given(SEEDS)
def test_emkc_and_kelly_stay_at_equilibrium(seed):
    random, routes, capacities = drawn(seed)
    network = scattered(routes, capacities.size, 4, random)
    alpha, beta = random.uniform(0.1, 3, len(routes)), 0.5
    found = emkc.equilibrium(routes, capacities, alpha_over_beta=alpha / beta)
    assert emkc.iterate(network, found.rates, 40, capacities, (alpha, beta)).rates[-1] == pytest.approx(found.rates)
    found = kelly.equilibrium(routes, capacities, omega=alpha)
    went = kelly.iterate(network, found.rates, 10, lambda load: emkc.price(load, capacities), (0.01, alpha))
    assert went.rates[-1] == pytest.approx(found.rates)


@SOME
@given(SEEDS)
def test_emkc_avq_stays_at_equilibrium(seed):
    random, routes, targets = drawn(seed, 10)
    alpha = random.uniform(0.01, 0.1)
    found = emkc_avq.equilibrium(routes, targets, alpha_over_beta=alpha / 0.5)
    network = scattered(routes, targets.size, 3, random)
    virtual = np.where(found.loads > 0, found.loads * (1 - np.where(found.loads > 0, found.signals, 0)), targets)
    went = emkc_avq.iterate(network, found.rates, 10, targets, (alpha, 0.5, 0.2), first=virtual)
    assert went.rates[-1] == pytest.approx(found.rates, rel=1e-6)


@SOME
@given(SEEDS)
def test_maxnet_xcp_and_users_of_ks_stay_at_equilibrium(seed):
    random, routes, capacities = drawn(seed)
    capacities = capacities * 1e6
    found = maxnet.equilibrium(routes, capacities, mu=0.9)
    price = np.array([found.signals[route].max() for route in routes])
    assert maxnet.demand(price) == pytest.approx(found.rates, rel=1e-9)
    state = maxnet.source_at_rest(price, 0.1)
    assert maxnet.source_change(state, price, 0.1) == pytest.approx(0, abs=1e-6)
    limiting = found.loads > 0.9 * capacities * (1 - 1e-9)
    assert maxnet.price_change(found.loads[limiting], 0.0, capacities[limiting]) == pytest.approx(0, abs=1e-9)

    found = xcp.equilibrium(routes, capacities)
    assert xcp.offers(routes, capacities, found.rates) == pytest.approx(0, abs=1e-6 * found.rates.min())
    users = ks.Users(
        weights=random.uniform(0.1, 3, len(routes)), exponents=random.choice([0, 1, 2], len(routes)), kept=0.9
    )
    wanted = ks.program(users, 0.5)
    found = ks.equilibrium(
        routes, capacities, weights=wanted.weights / 0.5, exponents=wanted.exponents, costs=wanted.costs / 0.5
    )
    told = [found.signals[route].sum() for route in routes]
    change = ks.rate_change(users, 0.5, found.rates, ks.nack_rate(users, found.rates, told))
    assert change == pytest.approx(0, abs=1e-6)
    assert found.rates == pytest.approx(ks.best(routes, capacities, users, 0.5).rates)


def test_a_lossy_wire_before_a_jetmax_router_raises_rates():  # eq 151, figure 39(a)
    alone = jetmax.equilibrium([[0]], [10.0], survival=[[0.8]])
    both = jetmax.equilibrium([[0], [0]], [10.0], survival=[[0.9], [0.8]])
    assert alone.rates == pytest.approx([12.5])
    assert both.rates == pytest.approx([5.882] * 2, rel=1e-3)
    assert both.loads == pytest.approx([10.0])


def test_what_emkc_loses_is_missing_at_the_next_link():
    passed = emkc.equilibrium([[0, 1], [1]], [5.0, 12.0], alpha_over_beta=1.0)
    thinned = emkc.equilibrium([[0, 1], [1]], [5.0, 12.0], alpha_over_beta=1.0, thinned=True)
    arriving = thinned.rates[0] * (1 - max(thinned.signals[0], 0)) + thinned.rates[1]
    assert thinned.loads[1] == pytest.approx(arriving)
    assert thinned.rates[1] > passed.rates[1]
    assert thinned.residual < 1e-9


@pytest.mark.parametrize("law", supporting("in_scenario"))
def test_the_rest_point_of_a_scenario_is_proven(law):
    queue = {"virtual_queue": {"ecn": True}}
    scenario = Scenario("two links", "10 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True, queue=queue)
    scenario.link("B", "C", "4 Mb/s", "10 ms", duplex=True).flow("long", law, "A", "C", rtt="100 ms")
    scenario.flow("short", law, "A", "B", count=3, rtt="50 ms")
    resolved = scenario.resolve()
    found = equilibrium_of(competition(resolved, listed(resolved)))
    assert found.residual < 1e-8
    assert found.rates.shape == (2,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rcp.equilibrium([[0]], [0.0]),
        lambda: rcp.equilibrium([[0]], [1.0], counts=0),
        lambda: rcp.equilibrium([[]], [1.0]),
        lambda: xcp.equilibrium([[0]], [1.0], counts=1.5),
        lambda: maxnet.equilibrium([[0]], [1.0], mu=1.1),
        lambda: maxnet.equilibrium([[0]], [1.0], x_max=np.nan),
        lambda: emkc.equilibrium([[0]], [1.0], alpha_over_beta=-1),
        lambda: kelly.equilibrium([[0]], [1.0], omega=[1, 2]),
        lambda: ks.equilibrium([[0]], [1.0], weights=1, exponents=-1),
        lambda: reno.equilibrium([[0]], [1.0], rtts=0, packets=1),
        lambda: reno.equilibrium([[0]], [1.0], rtts=1, packets=1, lost=2),
        lambda: fast.equilibrium([[0]], [-1.0], backlogs=1),
        lambda: jetmax.equilibrium([[0]], [1.0], survival=0),
    ],
)
def test_equilibria_of_invalid_input_are_rejected(call):
    with pytest.raises(TheoryError) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert "needs" in str(refused.value) or "limits" in str(refused.value)


@pytest.mark.parametrize("seed", range(10))
def test_weighted_rcp_has_a_full_link_where_no_flow_has_more_per_weight(seed):
    rng = np.random.default_rng(seed)
    capacities = rng.uniform(1, 10, 4)
    routes = [sorted(rng.choice(4, rng.integers(1, 4), replace=False).tolist()) for _ in range(6)]
    weights, counts = rng.uniform(1, 5, 6), rng.integers(1, 4, 6)
    found = rcp_weighted.equilibrium(routes, capacities, weights=weights, counts=counts)
    assert (found.loads <= capacities * (1 + 1e-9)).all()
    share = found.rates / weights
    for flow, route in enumerate(routes):
        full = [link for link in route if found.loads[link] > capacities[link] * (1 - 1e-9)]
        largest = [max(share[other] for other, path in enumerate(routes) if link in path) for link in full]
        assert any(share[flow] > each * (1 - 1e-9) for each in largest)
