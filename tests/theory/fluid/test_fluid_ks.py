"""Networks of flows under Kunniyur and Srikant's law, compared with optima, closed forms and hand-written equations."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from kunniyur_models.fluid import Network, nash, random_network, random_windows, run, run_adaptive
from levelflow.theory.errors import ParameterError
from levelflow.theory.fluid import FluidError
from levelflow.theory.laws.ks import Users, best, equilibrium_rate
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.queues.marking import alone_on_a_link, marking_levels
from levelflow.theory.stability.equations import integrate

CONTROLS = ("rate", "window", "blind window")
CHAIN = [[0, 1, 2], [0], [1], [2]]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("marks", [False, True])
def test_rates_climb_to_the_optimum_from_anywhere(control, marks):
    networks = random_network(4, 6, seed=1, batch=(10, 2), control=control, marks=marks)
    start = np.random.default_rng(1).uniform(0.1, 5.0, (10, 2, 6))
    states = run(networks, start, 200.0, step=0.04, every=10).states
    assert states[-1] == pytest.approx(networks.rest(), rel=1e-8)
    worth = networks.worth(states)
    assert (np.diff(worth, axis=0) >= -1e-12 * np.abs(worth).max()).all()


@examples(15)
@given(st.integers(0, 2**32), st.sampled_from(CONTROLS), st.booleans())
def test_no_rate_improves_the_optimum(seed, control, marks):
    network = random_network(3, 4, seed=seed, control=control, marks=marks)
    starts = np.random.default_rng(seed).uniform(0.1, 5.0, (3, 4))
    assert nash(network, starts) == pytest.approx(np.broadcast_to(network.rest(), (3, 4)), rel=1e-6)


@examples(50)
@given(st.integers(0, 2**32), st.sampled_from(CONTROLS), st.booleans())
def test_the_jacobian_is_that_of_small_differences_and_stable(seed, control, marks):
    network = random_network(4, 5, seed=seed, control=control, marks=marks)
    rates, small = np.random.default_rng(seed).uniform(0.5, 4.0, 5), 1e-6
    jacobian = network.jacobian(rates)
    moved = network.change(rates + small * np.eye(5)) - network.change(rates - small * np.eye(5))
    assert jacobian == pytest.approx(moved.T / (2 * small), abs=1e-5 * np.abs(jacobian).max())
    values = np.linalg.eigvals(network.jacobian(network.rest()))
    assert values.real.max() < 0
    assert np.abs(values.imag).max() <= 1e-6 * np.abs(values).max()


def test_a_batch_goes_as_its_members_do():
    networks = random_network(3, 4, seed=3, batch=(2, 2), marks=True)
    start = np.random.default_rng(3).uniform(0.1, 5.0, (2, 2, 4))
    together = run(networks, start, 5.0, step=0.02).states
    alone = Network(
        networks.crossings[1, 0],
        networks.capacities[1, 0],
        Users(*(getattr(networks.users, name)[1, 0] for name in ("weights", "exponents", "delays", "kept", "gains"))),
        beta=1.0,
        marks=True,
    )
    assert run(alone, start[1, 0], 5.0, step=0.02).states == pytest.approx(together[:, 1, 0], rel=1e-12)


def test_lemma_1_no_link_carries_more_than_it_would_alone():
    networks = random_network(4, 6, seed=4, batch=(10,), exponents=(0.0,), marks=True)
    networks = replace(networks, users=replace(networks.users, gains=1.0, kept=1.0))
    start = np.random.default_rng(4).uniform(0.1, 5.0, (10, 6))
    loads = np.random.default_rng(5).uniform(0.0, 5.0, (6, 10, 4))
    went = run(networks, start, 50.0, step=0.02, foreign=lambda time: loads[int(time // 10)])
    found, weights = networks.loads(went.states), networks.loads(networks.users.weights)
    bounds = [
        [
            alone_on_a_link(went.times, load, level, weight, 1.0) if weight else np.inf * went.times
            for load, level, weight in zip(*rows, strict=True)
        ]
        for rows in zip(found[0], networks.capacities, weights, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        assert not (found > np.transpose(bounds, (2, 0, 1)) * (1 + 1e-6)).any()


@pytest.mark.parametrize("part", [0.9, 1.1])
def test_delays_upset_log_users_of_one_link_beyond_a_quarter_turn(part):
    # The sum of rates follows y' = kappa (w - beta (y(t-T) - C)), stable if and only if kappa beta T < pi/2.
    gain, beta, delay = 2.0, 0.5, part * np.pi / 2
    users = Users(delays=delay, gains=gain)
    network = Network.of_routes([[0]] * 3, [20.0], users, beta)
    rest = 20 + 3 / beta
    start = np.full(3, rest / 3 * 1.001)
    went = run(network, start, 80.0, step=0.02, to_links=np.full((1, 3), 0.3), every=10)
    away = np.abs(went.states.sum(axis=-1) - rest)
    assert (away[-100:].max() > away[:100].max()) == (part > 1)


def test_checked_users_are_immutable():
    given = np.array([1.0, 2.0])
    users = Users(delays=given)
    given[0] = -1.0
    assert users.delays.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        users.delays[0] = -1.0


def test_delayed_users_receive_the_marks_of_their_packets():
    # Two users with a round-trip delay of 1, of which 0.2 and 0.7 are before the link.
    users = Users(weights=[1.0, 2.0], exponents=[0.0, 1.0], gains=0.1)
    start, there = [4.0, 7.0], [[0.2, 0.7]]

    def written_out(blind_or_acked):
        def change(_time, x, past):
            sent = past(1.0)
            met = [past(1.0)[0] + past(1.5)[1], past(0.5)[0] + past(1.0)[1]]
            shares = [max(y - 9.0, 0.0) / y for y in met]
            grow = sent / x if blind_or_acked else np.ones(2)
            return [
                0.1 * (1.0 * grow[0] - 0.8 * sent[0] * shares[0]),
                0.1 * (2.0 * grow[1] - 0.8 * x[1] * sent[1] * shares[1]),
            ]

        return integrate(change, start, 10.0, step=0.02, longest=1.5).states

    for control in ("rate", "window"):
        network = Network.of_routes([[0], [0]], [9.0], users, 0.8, control)
        found = run(network, start, 10.0, step=0.02, to_links=there).states
        assert found == pytest.approx(written_out(control == "window"), rel=1e-12)


def test_small_gains_are_stable_under_delays():
    network = random_network(3, 5, seed=6, control="window")
    network = replace(network, users=replace(network.users, gains=0.1))
    there = 0.3 * np.broadcast_to(network.users.delays, network.crossings.shape)
    went = run(network, np.ones(5), 400.0, step=0.1, to_links=there, every=100)
    assert went.states[-1] == pytest.approx(network.rest(), rel=1e-5)


def test_links_find_the_levels_that_make_them_full():
    capacities, nu = [4.0, 6.0, 8.0], [0.0, 1.0, 0.0, 2.0]
    network = Network.of_routes(CHAIN, capacities, Users(exponents=nu), 2.0, marks=True)
    full = best(CHAIN, 0.98 * np.array(capacities), Users(exponents=nu))
    for levels in (None, [0.0, 2.0, 7.0]):
        went = run_adaptive(network, np.ones(4), 150.0, step=0.02, gain=0.2, target=0.98, levels=levels)
        assert went.rates[-1] == pytest.approx(full.rates, rel=1e-6)
        assert went.levels[-1] == pytest.approx(0.98 * np.array(capacities) * (1 - full.prices / 2.0), rel=1e-6)


def test_one_link_finds_the_level_of_proposition_3_and_0_if_there_is_none():
    for count, level in ((30, marking_levels([[0]] * 30, [100.0], beta=0.5)[0]), (60, 0.0)):
        network = Network.of_routes([[0]] * count, [100.0], Users(), 0.5, marks=True)
        went = run_adaptive(network, np.ones(count), 200.0, step=0.05, gain=0.5)
        assert went.levels[-1] == pytest.approx([level], abs=1e-6)
        assert went.rates[-1].sum() == pytest.approx(level + count / 0.5)


def test_windows_that_lose_at_random_have_the_rates_of_the_fluid():
    users = Users(exponents=[[0.0], [1.0], [2.0]], gains=[[0.5], [0.05], [0.005]])
    rest = equilibrium_rate(users, 0.5, 0.02)
    rates = random_windows(users, 0.5, 0.02, np.repeat(rest, 100, axis=1), acks=4000, seed=7)
    assert rates.mean(axis=1) == pytest.approx(rest[:, 0], rel=0.03)


def test_a_step_with_which_the_method_is_wrong_is_refused():
    network = Network.of_routes(CHAIN, [4.0, 6.0, 8.0], Users(exponents=[0.0, 1.0, 0.0, 2.0]), 2.0)
    with pytest.raises(FluidError, match=r"a step of 0.05 is not allowed for these rates"):
        run(network, np.ones(4), 50.0, step=0.05)
    with pytest.raises(FluidError, match=r"a step of 1000.0 is not allowed for these rates"):
        run(network, np.ones(4), 1e5, step=1e3)


#: Users of two networks.
PAIR = Users(weights=np.ones((2, 2)))


def late(to_links, **options):
    return run(one_link(), [1, 1], 1.0, step=0.1, to_links=to_links, **options)


def one_link(**changes):
    return Network(**{"crossings": [[1, 1]], "capacities": [1.0], "users": Users(), "beta": 1.0} | changes)


@pytest.mark.parametrize(
    ("error", "line", "attempt"),
    [
        (FluidError, "crossings need the shape", lambda: one_link(crossings=[1, 1])),
        (FluidError, "whole numbers", lambda: one_link(crossings=[[1, 0.5]])),
        (FluidError, "whole numbers", lambda: one_link(crossings=[[1, np.nan]])),
        (FluidError, "crosses no link", lambda: one_link(crossings=[[1, 0]])),
        (FluidError, "capacities", lambda: one_link(capacities=[0.0])),
        (FluidError, "capacities", lambda: one_link(capacities=[1.0, 2.0])),
        (CapacityError, "link 0: capacity nan", lambda: one_link(capacities=[np.nan])),
        (FluidError, "3 users for 2 routes", lambda: one_link(users=Users(weights=[1, 2, 3]))),
        (FluidError, "several networks do not fit", lambda: one_link(users=PAIR, capacities=np.ones((3, 1)))),
        (FluidError, "control 'windows' is not allowed; needs one of rate,", lambda: one_link(control="windows")),
        (FluidError, "not allowed together with delays", lambda: late([[0, 0]], foreign=lambda time: 1.0)),
        (ParameterError, "gain nan", lambda: run_adaptive(one_link(), [1, 1], 1.0, step=0.1, gain=np.nan)),
        (ParameterError, "target 1.5", lambda: run_adaptive(one_link(), [1, 1], 1.0, step=0.1, gain=1.0, target=1.5)),
        (ParameterError, "loss 1.5", lambda: random_windows(Users(), 1.0, 1.5, [1.0], acks=1, seed=0)),
        (ParameterError, "acks 0.0", lambda: random_windows(Users(), 1.0, 0.5, [1.0], acks=0, seed=0)),
        (ParameterError, "beta -1", lambda: one_link(beta=-1)),
        (RouteError, "no link 1", lambda: Network.of_routes([[1]], [1.0], Users(), 1.0)),
        (ParameterError, "rate 1: 0.0 is not allowed", lambda: run(one_link(), [1.0, 0.0], 1.0, step=0.1)),
        (ParameterError, "rate 1: inf is not allowed", lambda: nash(one_link(), [1.0, np.inf])),
        (FluidError, "rates of shape", lambda: run(one_link(), [1.0], 1.0, step=0.1)),
        (FluidError, r"delays to links need the shape \(1, 2\)", lambda: late([0])),
        (FluidError, r"delay 2.0 from user 1 to link 0 is not in 0 to 1.0", lambda: late([[0, 2]])),
        (FluidError, "levels", lambda: run_adaptive(one_link(), [1, 1], 1.0, step=0.1, gain=1.0, levels=[2.0])),
        (ParameterError, "window 0: 0.0", lambda: random_windows(Users(), 1.0, 0.1, [0.0], acks=1, seed=0)),
    ],
)  # fmt: skip
def test_invalid_networks_are_rejected(error, line, attempt):
    with pytest.raises(error, match=line) as refused:
        attempt()
    assert "\n" not in str(refused.value)
