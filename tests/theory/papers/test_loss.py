"""Lossy queues: exact distributions, compared with other formulas and a simulation in this file."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from levelflow.theory.errors import ParameterError
from levelflow.theory.queues.marking import mm1b_loss
from zhang_models.loss import (
    Arrivals,
    interrupted_bernoulli,
    interrupted_bernoulli_loss,
    loss_from_unlimited,
    queue,
    tcp_loss,
)
from zhang_models.markov import ChainError


def random_arrivals(seed, phases, silent=1):
    """Returns random arrivals of up to three packets per slot, with `silent` states without arrivals."""
    rng = np.random.default_rng(seed)
    moves = rng.random((phases, phases)) ** 3
    moves[:, 0] += phases * rng.random()
    packets = rng.integers(1, 4, phases)
    packets[:silent] = 0
    return Arrivals(moves / moves.sum(axis=1, keepdims=True), packets)


@given(st.floats(0.1, 100), st.integers(0, 150))
def test_mm1b_losses_are_one_over_a_sum_of_powers(load, places):
    assert mm1b_loss(load, places) == pytest.approx(1 / (load ** -np.arange(places + 1.0)).sum(), rel=1e-10)


@given(st.floats(0.5, 1.5), st.integers(0, 50))
def test_mm1b_losses_fall_with_places_and_solve_the_balance_of_flows(load, places):
    assert mm1b_loss(load, places + 1) < mm1b_loss(load, places)
    # Erlang's recursion gives the loss rate with `places + 1` from the loss rate with `places`.
    before = mm1b_loss(load, places)
    assert mm1b_loss(load, places + 1) == pytest.approx(load * before / (1 + load * before), rel=1e-9)


def test_mm1b_losses_do_not_overflow_and_are_continuous():
    assert mm1b_loss([1e-3, 1e3], 10_000).tolist() == pytest.approx([0, 0.999])
    near = 1 + np.array([-1e-9, 0, 1e-9])
    assert mm1b_loss(near, 9) == pytest.approx(0.1, rel=1e-7)


def test_tcp_losses_are_those_of_a_saw_tooth():
    window = 40.0  # largest window of a flow, which loses one packet per cycle of window/2 rounds
    rounds = np.arange(window / 2, window)
    assert tcp_loss(25, 400, 600) == pytest.approx(1 / rounds.sum(), rel=0.03)
    assert (np.diff(tcp_loss(25, 400, np.arange(0, 1000, 100))) < 0).all()


@examples(60)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(0, 12))
def test_with_one_silent_state_the_unlimited_queue_gives_the_loss(seed, phases, buffer):
    arrivals = random_arrivals(seed, phases)
    if arrivals.mean < 0.9:
        assert loss_from_unlimited(arrivals, buffer) == pytest.approx(queue(arrivals, buffer).loss, rel=1e-8)


def test_with_several_silent_states_the_unlimited_queue_only_approximates_the_loss():
    arrivals = Arrivals(random_arrivals(1, 4).moves, [0, 0, 0, 3])
    error = loss_from_unlimited(arrivals, 4) / queue(arrivals, 4).loss - 1
    assert 1e-4 < abs(error) < 0.1


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 10), st.integers(1, 3))
@example(641, 5, 7, 2)  # extremely low probability of an empty queue
def test_what_arrives_leaves_or_is_lost(seed, phases, buffer, service):
    arrivals = random_arrivals(seed, phases, silent=0)
    if (arrivals.packets == service).all():
        return  # the queue does not change
    found = queue(arrivals, buffer, service)
    before = found.law @ arrivals.moves  # joint distribution: queue length before a slot, and state in this slot
    ready = np.arange(buffer + 1)[:, None] + arrivals.packets
    served = (before * np.minimum(ready, service)).sum()
    assert served == pytest.approx(arrivals.mean * (1 - found.loss))
    assert found.law.sum(axis=0) == pytest.approx(arrivals.moves.T @ found.law.sum(axis=0))
    assert found.residual < 1e-12
    assert queue(arrivals, buffer + 1, service).loss <= found.loss + 1e-12


def test_independent_batches_wait_as_by_pollaczek_and_khinchine():
    chances, packets = np.array([0.6, 0.25, 0.15]), np.arange(3)
    arrivals = Arrivals(np.tile(chances, (3, 1)), packets)
    load, second = chances @ packets, chances @ packets**2
    mean = queue(arrivals, 300).law.sum(axis=1) @ np.arange(301)
    assert mean == pytest.approx((second - load) / (2 * (1 - load)), rel=1e-9)


def test_sources_lose_what_a_simulation_loses():
    sources, on, off, places = 4, 0.02, 0.08, 8
    rng = np.random.default_rng(1)
    active = rng.random((500, sources)) < on / (on + off)
    held, lost, came = np.zeros(500), 0.0, 0.0
    for n in range(3000):
        active = np.where(active, rng.random(active.shape) >= off, rng.random(active.shape) < on)
        held += active.sum(axis=1)
        if n >= 500:
            lost += np.maximum(held - places, 0).sum()
            came += active.sum()
        held = np.maximum(np.minimum(held, places) - 1, 0)
    assert interrupted_bernoulli_loss(sources, on, off, places) == pytest.approx(lost / came, rel=0.02)
    assert interrupted_bernoulli(sources, on, off).mean == pytest.approx(sources * on / (on + off))


@pytest.mark.parametrize(("on", "off"), [(0.3, 0.5), (1.0, 0.5), (0.3, 1.0), (1.0, 0.9)])
def test_sources_switch_as_binomial_laws_say(on, off):
    moves = interrupted_bernoulli(5, on, off).moves.toarray()
    for n in range(6):
        stay, come = binom.pmf(range(n + 1), n, 1 - off), binom.pmf(range(6 - n), 5 - n, on)
        assert moves[n] == pytest.approx(np.convolve(stay, come))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mm1b_loss(0.0, 3),
        lambda: mm1b_loss(np.nan, 3),
        lambda: mm1b_loss(0.5, -1),
        lambda: mm1b_loss(0.5, 2.5),
        lambda: tcp_loss(0, 10, 10),
        lambda: tcp_loss(1, 10, -1),
        lambda: tcp_loss(1, np.inf, 1),
        lambda: interrupted_bernoulli(0, 0.1, 0.1),
        lambda: interrupted_bernoulli(2, 0.0, 0.1),
        lambda: interrupted_bernoulli(2, 0.1, 1.5),
        lambda: interrupted_bernoulli_loss(2, 0.1, 0.1, 0),
        lambda: queue(interrupted_bernoulli(2, 0.1, 0.1), -1),
        lambda: queue(interrupted_bernoulli(2, 0.1, 0.1), 3, service=0),
        lambda: loss_from_unlimited(interrupted_bernoulli(2, 0.1, 0.1), 3),
        lambda: loss_from_unlimited(Arrivals(np.eye(1), [1]), 3),
        lambda: loss_from_unlimited(Arrivals([[0.5 + 1e-9, 0.5 - 1e-9]] * 2, [0, 2]), 3),
        lambda: Arrivals(np.eye(1), [0]),
        lambda: Arrivals(np.full((2, 2), 0.5), [1]),
        lambda: Arrivals(np.full((2, 2), 0.5), [1, -1]),
        lambda: Arrivals(np.full((2, 2), 0.5), [1, 0.5]),
    ],
)
def test_invalid_parameters_of_lossy_queues_are_rejected(wrong):
    with pytest.raises(ParameterError, match="needs"):
        wrong()


def test_arrivals_that_end_in_different_ways_are_refused():
    with pytest.raises(ChainError, match="2 sets"):
        Arrivals(np.eye(2), [0, 1])
