"""Equations and equilibrium of flows under Kunniyur and Srikant's law, compared with the printed equations."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws.ks import (
    TCP_BETA,
    TCP_BETA_HALVING,
    Users,
    best,
    equilibrium_rate,
    full_link_rate,
    halved,
    harmful_loss,
    hurley_utility,
    nack_rate,
    program,
    rate_change,
    tcp_users,
    utility_exponent,
    window_change,
)
from levelflow.theory.queues.marking import excess_share

ABOVE_ZERO = st.floats(0.1, 10)
EXPONENTS = st.sampled_from([0.0, 0.5, 1.0, 2.0])


@st.composite
def user(draw):
    return Users(draw(ABOVE_ZERO), draw(EXPONENTS), draw(ABOVE_ZERO), draw(st.floats(0.8, 1)), draw(ABOVE_ZERO))


@given(user(), ABOVE_ZERO, ABOVE_ZERO, st.floats(0, 1))
def test_changes_are_those_of_the_printed_equations(user, beta, x, share):
    w, nu, d, kappa = (float(v) for v in (user.weights, user.exponents, user.delays, user.gains))
    nacks, window, acks = share * x, 3.0 * x, 2.0
    if nu == 0:
        eq9, eq24 = kappa * (w - beta * nacks), kappa / d * (w / d - beta * nacks)
        eq12 = kappa * w * d**2 / window * acks - kappa * beta * d * nacks
        eq20 = kappa * w / window * acks - kappa * beta * nacks
    else:
        eq9 = kappa * (nu * w - beta * x**nu * nacks)
        eq24 = kappa * d ** (nu - 1) * (nu * w / d ** (nu + 1) - nacks * beta * x**nu)
        eq12 = kappa * nu * w * d**2 / window * acks - kappa * beta * window**nu / d ** (nu - 1) * nacks
        eq20 = kappa * nu * w / window * acks - kappa * beta * window**nu * nacks
    assert rate_change(user, beta, x, nacks) == pytest.approx(eq9)
    assert rate_change(user, beta, x, nacks, blind=True) == pytest.approx(eq24)
    assert window_change(user, beta, window, acks, nacks) == pytest.approx(eq12)
    assert window_change(user, beta, window, acks, nacks, blind=True) == pytest.approx(eq20)


@given(user(), ABOVE_ZERO, ABOVE_ZERO, ABOVE_ZERO, st.floats(0, 1), st.booleans())
def test_windows_are_rates_times_delays(user, beta, x, acks, share, blind):
    rates = rate_change(user, beta, x, share * x, blind=blind, acks=acks)
    windows = window_change(user, beta, x * user.delays, acks, share * x, blind=blind)
    assert windows == pytest.approx(rates * user.delays)


def test_tcp_grows_by_one_over_its_window_and_halves():
    assert window_change(tcp_users(0.3), TCP_BETA, 20.0, 1, 0) == pytest.approx(1 / 20)
    assert window_change(tcp_users(0.3), TCP_BETA, 20.0, 0, 1) == pytest.approx(-10)
    assert np.log(halved(1.0, 0, 3)) == pytest.approx(-3 * TCP_BETA_HALVING)
    blind = window_change(Users(exponents=1), TCP_BETA, 20.0, 5, 2, blind=True)
    assert blind == pytest.approx(window_change(tcp_users(0.3), TCP_BETA, 20.0, 5, 2))


@st.composite
def networks(draw):
    links, count = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    routes = draw(
        st.lists(
            st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True), min_size=count, max_size=count
        )
    )
    each = {"min_size": count, "max_size": count}
    users = Users(
        draw(st.lists(ABOVE_ZERO, **each)),
        draw(st.lists(EXPONENTS, **each)),
        draw(st.lists(ABOVE_ZERO, **each)),
        draw(st.lists(st.floats(0.8, 1), **each)),
    )
    return routes, np.array(draw(st.lists(st.floats(1, 100), min_size=links, max_size=links))), users


@examples(100)
@given(networks(), st.floats(0.1, 100), st.booleans(), st.booleans())
def test_users_stand_still_at_the_optimum(network, beta, marks, blind):
    routes, capacities, users = network
    found = best(routes, capacities, users, beta, marks=marks, blind=blind)
    crossings = np.array([[link in route for route in routes] for link in range(capacities.size)], dtype=float)
    shares = excess_share(capacities, crossings @ found.rates)
    assert found.prices / beta == pytest.approx(shares, abs=1e-8)
    nacks = nack_rate(users, found.rates, crossings.T @ (found.prices / beta), marks=marks)
    moves = rate_change(users, beta, found.rates, nacks, blind=blind)
    assert moves / rate_change(users, beta, found.rates, 0.0, blind=blind) == pytest.approx(0 * moves, abs=1e-8)
    assert equilibrium_rate(users, beta, nacks / found.rates, blind=blind) == pytest.approx(found.rates, rel=1e-8)


def test_a_large_beta_makes_capacities_hard():
    users = Users(exponents=[0.5, 0.0, 1.0])
    hard = best([[0, 1], [0], [1]], [156.25, 78.125], users).rates
    assert best([[0, 1], [0], [1]], [156.25, 78.125], users, 1e7).rates == pytest.approx(hard, rel=1e-6)


def test_random_losses_lower_rates_unless_only_marks_count():
    def rate(kept, marks):
        return best([[0]], [50.0], tcp_users(1.0, kept), TCP_BETA, marks=marks).rates[0]

    assert rate(0.95, marks=False) == pytest.approx(6.3246, rel=1e-4)
    assert rate(0.95, marks=True) == pytest.approx(rate(1.0, marks=True), rel=1e-3)
    assert rate(1.0, marks=False) == pytest.approx(full_link_rate(50.0, TCP_BETA, 1.0))


@pytest.mark.parametrize(("beta", "times"), [(TCP_BETA, 4.08), (TCP_BETA_HALVING, 4.80)])
def test_marking_multiplies_the_rate_of_three_users_of_a_lossy_link(beta, times):
    # Experiment 2: 5 % random losses. The capacity is 1 Mb/s, in packets of 32 B per 20 ms.
    users, capacity = Users(exponents=1, kept=0.95), 78.125
    marked = best([[0]] * 3, [0.99 * capacity], users, beta, marks=True).rates
    assert marked / best([[0]] * 3, [capacity], users, beta).rates == pytest.approx([times] * 3, rel=0.01)


@pytest.mark.parametrize("capacity", [10.0, 100.0])
def test_a_link_stays_full_up_to_the_harmful_loss(capacity):
    harmful = harmful_loss(capacity, TCP_BETA, 2.0)
    for part, full in ((0.99, True), (1.01, False)):
        rate = best([[0]], [capacity], tcp_users(2.0, 1 - part * harmful), TCP_BETA).rates[0]
        assert (rate > capacity) == full


def test_blind_windows_favour_the_near():
    rates = best([[0], [0]], [100.0], Users(exponents=1, delays=[1, 2]), TCP_BETA, blind=True).rates
    assert rates[0] / rates[1] == pytest.approx(2)


@pytest.mark.parametrize("nu", [0.0, 0.5, 1.0, 2.0])
def test_throughput_and_losses_give_the_utility_exponent(nu):
    low, high = equilibrium_rate(Users(exponents=nu), 0.5, [0.01, 0.04])
    assert utility_exponent(np.log(low / high) / np.log(4)) == pytest.approx(nu, abs=1e-9)


def test_hurleys_utility_is_near_that_of_tcp():
    x = np.array([10.0, 100.0, 1000.0])
    assert np.abs(hurley_utility(x) + 1 / x) == pytest.approx(1 / (2 * x**2), rel=0.1)
    assert hurley_utility(x) == pytest.approx(np.log(x / (1 + x)))


@pytest.mark.parametrize(
    ("line", "attempt"),
    [
        ("weight 0.0 is not allowed; needs a finite number > 0", lambda: Users(weights=0)),
        ("exponent 1: -1.0 is not allowed; needs a finite number >= 0", lambda: Users(exponents=[0, -1])),
        ("an empty weight is not allowed", lambda: Users(weights=[])),
        ("delay nan", lambda: Users(delays=np.nan)),
        ("kept 1.1 is not allowed; needs a number from 0 to 1", lambda: Users(kept=1.1)),
        ("gain inf", lambda: Users(gains=np.inf)),
        ("beta 0.0 is not allowed", lambda: program(Users(), 0)),
        ("beta nan is not allowed", lambda: best([[0]], [1.0], Users(), np.nan)),
        ("kept 0.9 is not allowed without a beta", lambda: best([[0]], [1.0], Users(kept=0.9))),
        ("3 users for 2 routes; needs one each", lambda: best([[0], [0]], [1.0], Users(weights=[1, 2, 3]))),
        ("loss exponent 0", lambda: utility_exponent(0)),
        ("loss exponent nan", lambda: utility_exponent(np.nan)),
    ],
)
def test_invalid_users_are_rejected(line, attempt):
    with pytest.raises(ParameterError, match=line) as refused:
        attempt()
    assert "\n" not in str(refused.value)
