"""Roots of systems with integer delays, compared with polynomials, with iteration of the system, and with each
other.
"""

import math

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability import delays as theory
from levelflow.theory.stability.delays import (
    critical_gain,
    directional,
    is_stable,
    kelly_roots,
    roots,
    stability,
)
from levelflow.theory.stability.equations import iterate
from levelflow.theory.stability.matrices import MatrixError


def draw(seed, size, longest=20, spread=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(size, size)) * spread / math.sqrt(size), rng.integers(1, longest + 1, size)


def run(matrix, delays, steps):
    """Iterates a system from a state of ones; `delays` has one value per flow, or one per pair of flows."""
    pairs = np.broadcast_to(delays if delays.ndim == 2 else delays[:, None], matrix.shape)
    longest = int(pairs.max())
    return iterate(
        lambda n, past: (matrix * past(pairs)).sum(axis=1), np.ones(len(matrix)), steps, longest=longest
    ).states


@pytest.mark.parametrize(
    ("delays", "problem"),
    [
        ([1, 0], "delay 1: 0.0 is"),
        ([1, -3], "delay 1: -3.0 is"),
        ([1, 1.5], "delay 1: 1.5 is"),
        ([1, math.nan], "delay 1: nan is"),
        ([1, math.inf], "delay 1: inf is"),
        ([1], "shape"),
        ([[1, 2]], "shape"),
        (["a", "b"], "not allowed"),
    ],
)
def test_delays_that_are_no_whole_steps_are_refused_in_one_line(delays, problem):
    for call in (roots, stability, is_stable):
        with pytest.raises(ParameterError, match=problem) as error:
            call(np.eye(2), delays)
        assert "\n" not in str(error.value)


def test_questions_without_an_answer_are_rejected():
    with pytest.raises(MatrixError):
        roots([[1.0, 2.0]], [1, 2])
    with pytest.raises(ParameterError, match="too many"):
        roots(np.ones((2, 2)), [300, 301])
    with pytest.raises(ParameterError, match="too long"):
        stability(np.ones((2, 2)), [100_000, 100_001])
    for delay in (0, 1.5, math.nan):
        with pytest.raises(ParameterError):
            critical_gain(delay)
    with pytest.raises(ParameterError):
        kelly_roots(math.nan, 3)
    with pytest.raises(ParameterError, match="one of each per flow"):
        directional([1, 2], [1])
    with pytest.raises(ParameterError, match="delay 0, 0"):
        directional([0, 2], [0, 1])


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
@examples(30)
def test_the_roots_of_two_flows_are_those_of_a_polynomial(seed, d1, d2):
    a, _ = draw(seed, 2)
    coefficients = np.zeros(d1 + d2 + 1)
    for place, value in ((0, 1.0), (d1, -a[0, 0]), (d2, -a[1, 1]), (d1 + d2, np.linalg.det(a))):
        coefficients[place] += value
    expected = np.sort(np.abs(np.roots(coefficients)))
    found = np.sort(np.abs(roots(a, [d1, d2])))
    assert found == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 5))
@examples(30)
def test_a_root_is_a_solution_and_the_largest_one_rules_the_run(seed, size):
    a, delays = draw(seed, size, longest=8)
    found = stability(a, delays)
    assert found.residual < 1e-12
    n = 3 * int(delays.max())
    solution = [found.vector * found.root ** float(k) for k in range(n + 1)]
    later = [sum(a[i, j] * solution[n - delays[i]][j] for j in range(size)) for i in range(size)]
    assert np.abs(later - solution[n]).max() <= 1e-9 * np.abs(solution[n]).max() + 1e-300
    assert found.stable == (abs(found.root) < 1)
    states = np.abs(run(a, delays, 400)).max(axis=1)
    if abs(abs(found.root) - 1) > 0.05:
        assert (states[-20:].max() < states[:20].max() * 1e-2) == found.stable


@given(st.integers(0, 10**6), st.integers(1, 5))
@examples(25)
def test_the_product_of_all_roots_is_the_determinant(seed, size):
    a, delays = draw(seed, size, longest=12)
    found = roots(a, delays)
    assert found.size == delays.sum()
    assert np.abs(found).prod() == pytest.approx(abs(np.linalg.det(a)), rel=1e-6)
    assert (np.diff(np.abs(found)) <= 1e-12).all()


@given(st.integers(0, 10**6), st.integers(1, 5))
@examples(25)
def test_directional_delays_have_the_roots_of_round_trips(seed, size):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(size, size))
    forward, backward = rng.integers(0, 8, size), rng.integers(1, 8, size)
    trips = np.abs(roots(a, forward + backward))
    ways = np.abs(roots(a, directional(forward, backward)))[: trips.size]
    assert ways[trips > 0.5] == pytest.approx(trips[trips > 0.5], abs=1e-7)
    assert is_stable(a, forward + backward) == is_stable(a, directional(forward, backward))


@given(st.integers(0, 10**6), st.integers(2, 4))
@examples(25)
def test_delays_per_pair_rule_the_run(seed, size):
    rng = np.random.default_rng(seed)
    a, delays = rng.normal(size=(size, size)) * 0.6, rng.integers(1, 6, (size, size))
    found = stability(a, delays)
    if abs(abs(found.root) - 1) > 0.05:
        states = np.abs(run(a, delays, 400)).max(axis=1)
        assert (states[-20:].max() < states[:20].max() * 1e-2) == found.stable


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([1, 2]))
@examples(20)
def test_counting_finds_the_root_that_eigenvalues_find(seed, size, axes):
    a, delays = draw(seed, size)
    if axes == 2:
        delays = np.random.default_rng(seed).integers(1, 10, (size, size))
    (block, steps, _factor), *_ = theory._blocks(a, delays)
    largest = np.abs(roots(a, delays // np.gcd.reduce(delays, axis=None))).max()
    assert abs(theory._largest_by_counting(block, steps)) == pytest.approx(largest, abs=1e-7)


def test_long_delays_are_judged_and_the_root_proves_it():
    a, _ = draw(3, 5)
    a *= 0.9 / np.linalg.norm(a, 2)
    delays = np.array([1000, 1501, 777, 1900, 1234])
    below, above = stability(a, delays), stability(a * 1.5, delays)
    assert below.stable
    assert below.residual < 1e-9
    if not above.stable:
        assert abs(above.root) > 1
    swapped = np.array([[0.5, 0.7], [-0.7, -0.5]])  # ||A||_s is 1.2, attained if delays differ in parity
    found = stability(swapped, [2001, 3000])
    assert not found.stable
    assert found.residual < 1e-9


def test_equal_delays_take_roots_of_eigenvalues():
    a, _ = draw(5, 4)
    assert np.abs(roots(a, [7] * 4)) == pytest.approx(np.repeat(np.abs(roots(a, [1] * 4)), 7) ** (1 / 7))
    assert stability(a, [10**6] * 4).stable == (np.abs(np.linalg.eigvals(a)).max() < 1)


def test_a_system_without_feedback_has_only_the_root_zero():
    chain = 5.0 * np.eye(4, k=1)
    assert stability(chain, [3000, 2000, 1001, 7]).root == 0
    assert np.abs(roots(chain, [3, 2, 1, 7])).max() == 0


def test_kelly_control_is_on_the_boundary_at_the_critical_gain():
    for delay in range(1, 41):
        gain = critical_gain(delay)
        assert abs(kelly_roots(gain, delay)[0]) == pytest.approx(1.0, abs=1e-9)
        assert abs(kelly_roots(gain * 0.999, delay)[0]) < 1 < abs(kelly_roots(gain * 1.001, delay)[0])
    radii = [abs(kelly_roots(0.5, delay)[0]) for delay in (1, 2, 3, 4)]
    assert radii == pytest.approx([0.5, 0.7071, 0.9406, 1.0242], abs=1e-4)


def test_kelly_control_is_a_system_of_two_with_delays_per_pair():
    matrix, delays = [[1.0, -0.5], [1.0, 0.0]], [[1, 1], [3, 1]]  # x(n) = x(n-1) - y(n-1) / 2, y(n) = x(n-3)
    assert abs(stability(matrix, delays).root) == pytest.approx(abs(kelly_roots(0.5, 4)[0]))
