"""Random members of each class of matrices are recognised after a scaling."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.stability.matrices import MatrixError
from levelflow.theory.stability.matrix_classes import abnormality, classify, excess, mixed_signs, random_member


def holds(matrix):
    return {name for name, found in classify(matrix).items() if found.holds}


@given(st.sampled_from(["N", "P", "R"]), st.integers(2, 8), st.integers(0, 10**6))
@examples(120)
def test_members_are_found_and_so_are_those_that_are_similar(name, size, seed):
    rng = np.random.default_rng(seed)
    matrix = random_member(name, size, rng)
    assert {name, "D" + name, "DR"} <= holds(matrix)
    assert {"D" + name, "DR"} <= holds(random_member("D" + name, size, rng))
    scaling = np.exp(rng.normal(0, 1.5, size)) * rng.choice([-1, 1], size)
    hidden = matrix * (scaling[:, None] / scaling)
    found = classify(hidden)
    assert found["D" + name].holds
    assert found["DR"].holds
    undo = found["D" + name].scaling
    residual = {"N": abnormality, "P": mixed_signs, "R": excess}[name](hidden * (undo[:, None] / undo))
    assert residual <= 1e-5


@given(st.integers(3, 8), st.integers(0, 10**6))
@examples(40)
def test_a_matrix_at_random_is_of_no_class(size, seed):
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    assert not holds(matrix) & {"N", "DN", "R"}


@given(st.integers(2, 6), st.integers(0, 10**6))
@examples(60)
def test_the_classes_include_each_other_for_irreducible_matrices(size, seed):
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    found = holds(matrix)
    for inner, outer in (("N", "DN"), ("DN", "DR"), ("N", "R"), ("R", "DR"), ("P", "DP"), ("DP", "DR")):
        assert inner not in found or outer in found


def test_a_reducible_matrix_without_negative_elements_is_not_similar_to_a_radial_one():
    assert holds([[0.5, 1.0], [0.0, 0.5]]) == {"P", "DP"}


def test_one_wrong_sign_in_a_small_place_is_seen():
    scaling = np.array([1.0, 1e5, 1e-4])
    matrix = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    assert not classify(matrix * (scaling[:, None] / scaling))["DP"].holds


def test_phases_of_a_complex_matrix_are_undone():
    rng = np.random.default_rng(1)
    phases = np.exp(1j * rng.uniform(0, 6, 4))
    found = classify(rng.random((4, 4)) * (phases[:, None] / phases))
    assert found["DP"].holds
    assert not found["P"].holds


def test_a_single_number_and_zero_are_of_every_class():
    for matrix in ([[-3.0]], np.zeros((3, 3)), np.eye(2)):
        assert holds(matrix) == {"N", "P", "R", "DN", "DP", "DR"}


def test_invalid_matrices_and_classes_are_rejected():
    with pytest.raises(MatrixError):
        classify([[1.0, 2.0]])
    for name, size in (("Q", 3), ("DD", 3), ("N", 1)):
        with pytest.raises(MatrixError, match="classes are"):
            random_member(name, size, np.random.default_rng(1))
