"""Norms and radii of matrices. The tests verify the certificates without the code that found them."""

import math

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.matrices import (
    MatrixError,
    absolute_radius,
    blocks,
    norm,
    read_matrices,
    scaled,
    spectral_radius,
)
from levelflow.theory.stability.scaled_norm import lower_bound, scaled_norm, scaled_norms

ELEMENTS = st.sampled_from([0.0, 0.0, 1.0, -1.0]) | st.floats(-2, 2).map(lambda x: round(x, 3))
MATRICES = st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=ELEMENTS))


def scaled_by(matrix, weights):
    return np.diag(weights) @ matrix @ np.diag(1 / np.asarray(weights))


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        ([[1.0, 2.0]], "shape"),
        ([], "shape"),
        ([[[1.0]]], "shape"),
        (3.0, "shape"),
        ([[1.0, 2.0], [3.0]], "rows of different length"),
        ([[1.0, math.nan], [0.0, 1.0]], r"element \[0, 1\]"),
        ([[math.inf]], "inf"),
        ([["a"]], "type"),
        ([[None]], "type"),
    ],
)
def test_input_other_than_a_square_matrix_is_rejected_in_one_line(matrix, problem):
    for call in (spectral_radius, norm, absolute_radius, scaled_norm):
        with pytest.raises(MatrixError, match=problem) as error:
            call(matrix)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -1.0], [1.0, math.inf], [math.nan, 1.0], [1.0]])
def test_a_singular_scaling_is_refused(weights):
    with pytest.raises(ParameterError, match="scaling"):
        norm(np.eye(2), 2, weights)
    with pytest.raises(ParameterError, match="scaling"):
        scaled(np.eye(2), weights)


def test_an_order_without_norm_is_refused():
    with pytest.raises(MatrixError, match="order 3"):
        norm(np.eye(2), 3)


def test_a_list_of_matrices_has_three_axes():
    with pytest.raises(MatrixError, match="list of matrices"):
        read_matrices(np.eye(2))


@given(MATRICES, st.sampled_from([1, 2, math.inf]), st.data())
@examples(100)
def test_a_norm_is_the_largest_stretch_of_weighted_vectors(matrix, order, data):
    size = len(matrix)
    weights = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=size, max_size=size)))
    value = norm(matrix, order, weights)
    vectors = np.random.default_rng(1).normal(size=(size, 50)) / weights[:, None]
    vectors = np.concatenate([vectors, np.eye(size), np.sign(scaled_by(matrix, weights)).T / weights[:, None]], axis=1)
    vectors = vectors[:, np.abs(vectors).max(axis=0) > 0]

    def length(v):
        return np.linalg.norm(weights[:, None] * v, order, axis=0)

    stretch = (length(matrix @ vectors) / length(vectors)).max()
    assert stretch <= value * (1 + 1e-9) + 1e-12
    if order != 2:  # for the other two orders, unit vectors and sign vectors attain the norm
        assert stretch >= value * (1 - 1e-9)


@given(MATRICES)
@examples(100)
def test_rho_of_the_moduli_is_the_least_weighted_sum_of_a_row(matrix):
    bound = absolute_radius(matrix)
    assert np.abs(scaled_by(matrix, bound.weights)).sum(axis=1).max() == pytest.approx(bound.upper)
    scale = np.abs(matrix).max()
    assert bound.lower <= bound.upper * (1 + 1e-12)
    assert bound.gap <= 1e-7 * scale
    # The error of the eigenvalues of a nilpotent matrix of size 6 is the sixth root of the precision.
    assert spectral_radius(np.abs(matrix)) == pytest.approx(bound.upper, abs=3e-3 * scale)


# **Invariant** (Theory): each result includes its certificate. See `test_a_decision_is_proven`,
# `test_a_root_is_a_solution_and_the_largest_one_rules_the_run`,
# `test_the_nyquist_curve_counts_the_roots_that_are_found`,
# `test_weighted_max_min_rates_fit_and_every_flow_has_a_bottleneck`, `test_optimal_rates_and_prices_prove_each_other`,
# `test_a_rest_point_carries_its_proof`.
@given(MATRICES)
@examples(100)
def test_the_scaled_norm_is_proven_from_both_sides(matrix):
    found = scaled_norm(matrix)
    scale = np.abs(matrix).max()
    assert np.linalg.norm(scaled_by(matrix, found.weights), 2) == pytest.approx(found.upper)
    assert np.linalg.eigvalsh(found.dual).min() >= -1e-9 * np.abs(found.dual).max()
    diagonal = np.diag(found.dual)
    ratio = np.diag(matrix @ found.dual @ matrix.T)[diagonal > 0] / diagonal[diagonal > 0]
    assert found.lower == pytest.approx(math.sqrt(max(ratio.min(), 0)))
    assert found.gap <= 5e-6 * scale
    assert found.lower <= min(absolute_radius(matrix).upper, norm(matrix)) * (1 + 1e-9)
    rng = np.random.default_rng(1)
    for _ in range(20):
        near = found.weights * np.exp(rng.normal(0, 0.3, len(matrix)))
        assert np.linalg.norm(scaled_by(matrix, near), 2) >= found.lower * (1 - 1e-9)


@given(st.integers(0, 10**6), st.integers(2, 12), st.booleans())
@examples(60)
def test_rho_is_below_the_scaled_norm_and_that_below_rho_of_the_moduli(seed, size, non_negative):
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    matrix = np.abs(matrix) if non_negative else matrix
    found, absolute = scaled_norm(matrix), absolute_radius(matrix)
    assert spectral_radius(matrix) <= found.upper * (1 + 1e-12)
    assert found.lower <= absolute.upper * (1 + 1e-12)
    assert found.gap <= 2e-6 * found.upper
    if non_negative:
        assert found.upper == pytest.approx(absolute.upper, rel=2e-6)


def test_no_scaling_that_a_semidefinite_programme_finds_is_better():
    import cvxpy as cp

    matrix = np.random.default_rng(3).normal(size=(5, 5))
    found = scaled_norm(matrix)
    for level, feasible in ((found.lower * 0.999, False), (found.upper * 1.001, True)):
        m, margin = cp.Variable(5), cp.Variable()
        weights = cp.diag(m)
        slack = level**2 * weights - matrix.T @ weights @ matrix
        problem = cp.Problem(
            cp.Maximize(margin), [(slack + slack.T) / 2 - margin * np.eye(5) >> 0, m >= margin, cp.sum(m) == 1]
        )
        problem.solve(solver="CLARABEL")
        assert (margin.value > 0) == feasible


def test_a_complex_matrix_has_a_scaled_norm():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    found = scaled_norm(matrix)
    assert found.gap <= 2e-6 * found.upper
    assert spectral_radius(matrix) <= found.upper <= absolute_radius(matrix).upper


def test_many_matrices_at_once_have_the_norms_of_each():
    rng = np.random.default_rng(5)
    for size in (1, 2, 3, 5):
        matrices = rng.uniform(-1.5, 1.5, (40, size, size))
        matrices[:5][rng.random((5, size, size)) < 0.4] = 0
        assert scaled_norms(matrices) == pytest.approx([scaled_norm(a).upper for a in matrices], rel=1e-7, abs=1e-7)


def test_a_matrix_of_size_50_takes_little_time():
    matrix = np.random.default_rng(6).normal(size=(50, 50))
    found = scaled_norm(matrix)
    assert found.gap <= 2e-6 * found.upper


def test_units_do_not_matter():
    matrix = np.random.default_rng(8).normal(size=(4, 4))
    for unit in (1e-200, 1e-3, 1e200):
        assert scaled_norm(matrix * unit).upper == pytest.approx(scaled_norm(matrix).upper * unit, rel=1e-9)
        assert scaled_norms(matrix[None] * unit)[0] == pytest.approx(scaled_norm(matrix).upper * unit, rel=1e-6)
        assert scaled_norms(matrix[None, :2, :2] * unit)[0] == pytest.approx(scaled_norm(matrix[:2, :2]).upper * unit)


def test_scaling_undoes_scaling():
    rng = np.random.default_rng(7)
    matrix, weights = rng.normal(size=(8, 8)), np.exp(rng.normal(0, 4, 8))
    assert scaled_norm(scaled(matrix, weights)).upper == pytest.approx(scaled_norm(matrix).upper, rel=2e-6)


@pytest.mark.parametrize(
    ("matrix", "value", "attained"),
    [
        ([[0.5, 1.0], [0.0, 0.5]], 0.5, False),
        ([[0.0, 1.0], [0.0, 0.0]], 0.0, False),
        ([[0.5, 0.0], [0.0, 0.3]], 0.5, True),
        ([[0.9, 0.0, 0.0], [0.0, 0.1, 1.0], [0.0, 0.0, 0.1]], 0.9, True),  # the largest block is not coupled
        ([[0.5, 0.4, 0.1], [0.4, 0.5, -0.1], [0.0, 0.0, 0.2]], 0.9, True),  # singular vectors not coupled
        ([[0.5, 0.4, 0.1], [0.4, 0.5, -0.2], [0.0, 0.0, 0.2]], 0.9, False),
        (np.zeros((3, 3)), 0.0, True),
        (np.eye(6, k=1), 0.0, False),
    ],
)
def test_an_infimum_that_is_not_attained_says_so(matrix, value, attained):
    found = scaled_norm(matrix)
    assert found.upper == pytest.approx(value, abs=1e-6)
    assert found.lower == pytest.approx(value, abs=1e-6)
    assert found.attained == attained
    if attained:
        assert found.upper == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("matrix", "attained"),
    [([[0.5, 1.0], [0.0, 0.5]], False), ([[0.5, 0.0], [1.0, 0.3]], True), ([[0.5, 1.0], [0.0, 0.3]], False)],
)
def test_perrons_weights_need_not_exist(matrix, attained):
    found = absolute_radius(matrix)
    assert found.attained == attained
    assert found.upper == pytest.approx(0.5, abs=1e-8)


def test_blocks_come_before_those_they_refer_to():
    matrix = np.zeros((5, 5))
    matrix[[3, 0, 0, 1, 4], [0, 3, 1, 2, 4]] = 1.0
    order = [part.tolist() for part in blocks(matrix)]
    assert sorted(map(tuple, order)) == [(0, 3), (1,), (2,), (4,)]
    assert order.index([0, 3]) < order.index([1]) < order.index([2])


def test_a_weak_dual_gives_a_weak_lower_bound():
    assert lower_bound(np.eye(2), np.zeros((2, 2))) == 0.0
    assert lower_bound(np.diag([2.0, 3.0]), np.eye(2)) == 2.0
