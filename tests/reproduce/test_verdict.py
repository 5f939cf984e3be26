"""Verdicts of reproduced statements, and errors in the files of a figure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.reproduce.verdict import Against, Seeds, meets, over_seeds

numbers = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("op", "expected", "measured", "tol_rel", "tol_abs", "met"),
    [
        ("==", 6, 6, 0, 0, True),
        ("==", 6, 7, 0, 0, False),
        ("~=", 4.0, 5.9, 0.5, 0, True),
        ("~=", 4.0, 6.1, 0.5, 0, False),
        ("->", 0.5, 0.5 + 1e-9, 1e-6, 0, True),
        ("==", 0.0, 2e-9, 0, 1e-9, False),
        ("==", 2.4, 2.8, 0.01, 0.45, True),
        ("<=", 2.0, 2.4, 0.25, 0, True),
        ("<=", 2.0, 2.6, 0.25, 0, False),
        ("<", 1.0, 1.0, 0, 0, False),
        (">", 0.0, 1e-300, 0, 0, True),
        (">=", 200.0, 199.9, 0, 0, False),
        ("between", [3.0, 5.0], 3.0, 0, 0, True),
        ("between", [3.0, 5.0], 5.1, 0, 0, False),
        ("==", [17.0, 10.0], [17.1, 9.9], 0.02, 0, True),
        ("==", [17.0, 10.0], [17.1, 9.7], 0.02, 0, False),
        ("<=", 2.0, [0.0, 1.9], 0, 0, True),
        ("<=", 2.0, [0.0, 2.1], 0, 0, False),
        ("==", ["R2", "R1"], ["R2", "R1"], 0, 0, True),
        ("==", ["R2", "R1"], ["R2"], 0, 0, False),
        ("==", ["TCP", "XCP"], ["XCP", "TCP"], 0, 0, False),
        ("true", None, True, 0, 0, True),
        ("true", None, [True, False], 0, 0, False),
        ("false", None, False, 0, 0, True),
        ("==", False, False, 0, 0, True),
        ("==", "non-increasing in beta", "non-increasing in beta", 0, 0, True),
        ("==", "C/N", Against(5.0, 5.0), 0, 0, True),
        ("==", "C/N", Against(5.0, 5.1), 0.01, 0, False),
        ("<", "RCP value", Against(1.0, 2.0), 0, 0, True),
        ("==", "C/N", Against([1.0, 2.0], [1.0, 2.1]), 0.01, 0, False),
        ("<=", 2.0, math.inf, 0, 0, False),
    ],
)
def test_comparison_operators_respect_tolerances(op, expected, measured, tol_rel, tol_abs, met):
    assert meets(op, expected, measured, tol_rel, tol_abs) is met


@pytest.mark.parametrize("op", ["==", "~=", "<=", ">=", "<", ">", "->"])
def test_nan_passes_no_check(op):
    assert not meets(op, 1.0, math.nan, 0.5, 1e9)


@pytest.mark.parametrize(
    ("op", "expected", "measured"),
    [
        ("==", 1.0, True),
        ("true", None, 1),
        ("<", 1.0, "0.5"),
        ("==", "initial rate", 0.04),
        ("<", "RCP value", "less"),
        ("==", [1.0, 2.0], [1.0]),
        ("==", None, 1.0),
        ("<=", 1.0, []),
        ("between", [1.0], 1.0),
        ("=<", 1.0, 1.0),
        ("<=", 1.0, Seeds([])),
    ],
)
def test_values_of_the_wrong_kind_get_no_verdict(op, expected, measured):
    with pytest.raises((TypeError, ValueError)):
        meets(op, expected, measured)


def test_seeds_need_the_median_and_four_of_five():
    assert meets("<=", 2.0, Seeds([1, 1, 1, 1, 9]))
    assert not meets("<=", 2.0, Seeds([1, 1, 1, 9, 9]))
    assert not meets("<=", 2.0, Seeds([9, 9, 9, 1, 1]))
    assert meets("true", None, Seeds([True, True, False, True, True]))
    assert not meets("true", None, Seeds([True, True, False, True, False]))
    assert meets("==", [5.0, 5.0], Seeds([[5.0, 5.0]] * 4 + [[9.0, 1.0]]), 0.01)
    assert not meets("==", [5.0, 5.0], Seeds([[5.0, 5.0]] * 3 + [[9.0, 1.0]] * 2), 0.01)


@given(numbers, numbers, st.floats(0, 1), st.floats(0, 1e6))
def test_an_equality_is_both_inequalities(expected, measured, tol_rel, tol_abs):
    both = all(meets(op, expected, measured, tol_rel, tol_abs) for op in ("<=", ">="))
    assert meets("==", expected, measured, tol_rel, tol_abs) is both


@given(numbers, numbers, st.floats(0, 1))
def test_a_wider_tolerance_never_refuses_more(expected, measured, tol):
    for op in ("==", "<=", ">=", "<", ">"):
        assert meets(op, expected, measured, 2 * tol) or not meets(op, expected, measured, tol)


def test_sequences_of_seeds_may_differ_in_length() -> None:
    there_and_back, stayed = ["R2", "R1", "R2"], ["R2"]
    assert meets("==", there_and_back, Seeds([there_and_back] * 4 + [stayed]))
    assert not meets("==", there_and_back, Seeds([there_and_back] * 2 + [stayed] * 3))


@pytest.mark.parametrize(("op", "value"), [("==", 5.0), ("<=", [5.0, 6.0]), ("between", [1, 9]), ("true", None)])
def test_a_figure_cannot_replace_a_printed_value_by_a_target_of_its_own(op, value):
    with pytest.raises(TypeError, match="the check itself states what is expected"):
        meets(op, value, Against(7.0, 7.0))


def test_values_of_each_seed_become_seeds_of_each_key():
    runs = ({"rate": 1.0, "pair": [1, 2]}, {"pair": [3, 4], "rate": 2.0})
    assert over_seeds(iter(runs)) == {"rate": Seeds([1.0, 2.0]), "pair": Seeds([[1, 2], [3, 4]])}
