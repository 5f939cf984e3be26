"""Stability of batches of systems, and proofs of stability for all delays."""

import math

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.delay_batches import are_stable, experiment, largest_modulus
from levelflow.theory.stability.delay_independence import conditions, delay_margin, independence, worst_turn
from levelflow.theory.stability.delays import is_stable, roots, stability
from levelflow.theory.stability.matrices import MatrixError, spectral_radius
from levelflow.theory.stability.scaled_norm import scaled_norm


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
@examples(25)
def test_the_recursion_agrees_with_eigenvalues(seed, size, cplx):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, size, size)) * 0.8 / math.sqrt(size)
    a = a + 1j * rng.normal(size=a.shape) * 0.5 if cplx else a
    delays = rng.integers(1, 31, (4, 5, size))
    expected = [[abs(stability(matrix, d).root) for d in some] for matrix, some in zip(a, delays, strict=True)]
    assert (are_stable(a, delays) == (np.array(expected) < 1)).all()
    assert (are_stable(a, delays, within=1.05) == (np.array(expected) < 1.05)).all()


def test_the_recursion_is_right_close_to_the_boundary():
    rng = np.random.default_rng(1)
    for _ in range(30):
        size = int(rng.integers(2, 7))
        a, delays = rng.normal(size=(size, size)), rng.integers(1, 31, size)
        modulus = abs(stability(a, delays).root)
        for relative in (1e-4, 1e-7, 1e-9):
            near = np.array([a])
            assert not are_stable(near, delays[None, None], modulus * (1 - relative))[0, 0]
            assert are_stable(near, delays[None, None], modulus * (1 + relative))[0, 0]


def test_the_largest_modulus_of_many_systems_is_that_of_one():
    rng = np.random.default_rng(2)
    a, delays = rng.normal(size=(10, 3, 3)) / 2, rng.integers(1, 12, (10, 7, 3))
    found, (k, draw) = largest_modulus(a, delays)
    every = [[abs(roots(a[i], delays[i, j])[0]) for j in range(7)] for i in range(10)]
    assert found == pytest.approx(np.max(every))
    assert np.unravel_index(np.argmax(every), (10, 7)) == (k, draw)


def test_what_a_batch_does_not_take_is_refused():
    with pytest.raises(MatrixError, match="too many"):
        are_stable(np.ones((1, 13, 13)), np.ones((1, 1, 13), dtype=int))
    with pytest.raises(ParameterError, match="shape"):
        are_stable(np.ones((1, 2, 2)), np.ones((2, 1, 2), dtype=int))
    for delays in (np.zeros((1, 1, 2), dtype=int), np.full((1, 1, 2), 1.5)):
        with pytest.raises(ParameterError, match="a whole number"):
            are_stable(np.ones((1, 2, 2)), delays)
    with pytest.raises(ParameterError, match="size 0"):
        experiment(1, 10, 0)
    with pytest.raises(ParameterError, match="count 0"):
        experiment(1, 0)
    with pytest.raises(ParameterError, match="spread"):
        experiment(1, 10, spread=math.nan)
    for bad in ({"draws": 0}, {"longest": 0}):
        with pytest.raises(ParameterError, match="a whole number >= 1"):
            experiment(1, 10, **bad)


def test_an_experiment_may_keep_no_matrix():
    found = experiment(1, 5, spread=1e6)
    assert found.matrices.shape == (0, 2, 2)
    assert found.norm2.shape == found.norm_s.shape == (0,)


def test_delays_that_are_all_doubled_change_nothing():
    rng = np.random.default_rng(6)
    for _ in range(20):
        a, delays = rng.normal(size=(3, 3)) / 2, rng.integers(1, 9, 3)
        assert abs(stability(a, 5 * delays).root) ** 5 == pytest.approx(abs(stability(a, delays).root))


def test_an_experiment_depends_on_its_seed_alone_and_shows_what_breaks_a_matrix():
    found, again, other = experiment(1, 400), experiment(1, 400), experiment(2, 400)
    assert np.array_equal(found.delays, again.delays)
    assert not np.array_equal(found.matrices[:50], other.matrices[:50])
    assert (found.radius < 1).all()
    for matrix, stable, delays in zip(found.matrices, found.stable, found.delays, strict=True):
        assert stable == (delays == 0).all()
        assert stable or not is_stable(matrix, delays)
    assert not (~found.stable & (found.norm_s < 1)).any()
    assert (found.norm_s <= found.norm2 * (1 + 1e-12)).all()


def test_ten_thousand_matrices_of_figure_12_take_seconds():
    found = experiment(3, 10_000)
    assert found.drawn == 10_000
    assert 0.3 < len(found.matrices) / found.drawn < 0.4


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.7, 1.3))
@examples(30)
def test_a_decision_is_proven(seed, size, level):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(size, size))
    a *= level / scaled_norm(a).upper
    found = independence(a)
    assert found.worst <= scaled_norm(a).upper * (1 + 1e-9)
    assert spectral_radius(a) <= found.worst * (1 + 1e-9)
    if found.stable:
        assert level < 1 + 1e-5
        assert are_stable(a[None], rng.integers(1, 40, (1, 20, size))).all()
    elif found.stable is False:
        assert abs(found.proof.root) > 1
        assert found.proof.residual < 1e-9
        assert abs(roots(a, found.delays)[0]) > 1
    else:
        assert found.worst < 1 + 1e-8
    if size <= 2 and abs(level - 1) > 1e-6:
        assert found.stable == (level < 1)


def test_up_to_three_flows_the_scaled_norm_is_exact():
    rng = np.random.default_rng(4)
    for _ in range(20):
        a = rng.normal(size=(3, 3))
        assert worst_turn(a)[0] == pytest.approx(scaled_norm(a).upper, rel=2e-3)


def test_conditions_name_what_proves_stability():
    by_name = {condition.name: condition for condition in conditions([[0.5, 4.0], [0.01, 0.5]])}
    assert by_name["||A||_s"].proves
    assert by_name["rho(|A|)"].proves
    assert not by_name["||A||_2"].proves
    assert "rho(A), A in DN" in by_name
    assert not any(condition.proves for condition in conditions([[0.5, 0.7], [-0.7, -0.5]]))


def test_a_margin_ends_where_the_system_is_unstable():
    a = np.array([[0.45, 0.6], [-0.6, -0.45]])
    assert scaled_norm(a).upper > 1 > spectral_radius(a)
    for flow in (0, 1):
        margin = delay_margin(a, [1, 1], flow)
        assert margin.proof is not None
        grown = np.array([1, 1]) + int(margin.steps) * np.eye(2, dtype=int)[flow]
        assert is_stable(a, grown)
        assert not is_stable(a, grown + np.eye(2, dtype=int)[flow])
    assert delay_margin(a, [1, 1]).steps == 1000  # equal delays do not affect stability
    assert delay_margin(a / 1.3, [3, 4]).steps == math.inf


def test_a_margin_of_zero_is_rejected():
    with pytest.raises(ParameterError, match="unstable"):
        delay_margin(2 * np.eye(2), [1, 1])
    with pytest.raises(ParameterError, match="flow"):
        delay_margin(np.eye(2) / 2, [1, 1], flow=2)
    with pytest.raises(ParameterError, match="one delay per flow"):
        delay_margin(np.eye(2) / 2, np.ones((2, 2), dtype=int))
