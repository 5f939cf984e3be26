import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory import validate as checked
from levelflow.theory.errors import ParameterError

NUMBERS = st.floats(width=32) | st.integers(-5, 5)


# **Invariant** (Theory): ill-posed input raises a `TheoryError` with a one-line message: the value, its place and the
# allowed values. Most of these errors are a `ParameterError` of `validate.py`. See
# `test_garbage_in_an_option_gets_an_answer_or_one_line`.
@pytest.mark.parametrize(
    ("line", "attempt"),
    [
        ("x 0, 1: 0.0 is not allowed; needs a finite number > 0", lambda: checked.positive(x=[[1.0, 0.0]])),
        ("x inf is not allowed; needs a finite number > 0", lambda: checked.positive(x=np.inf)),
        ("y 1: -1.0 is not allowed; needs a finite number >= 0", lambda: checked.not_negative(x=[1], y=[1, -1])),
        ("x 1.1 is not allowed; needs a number from 0 to 1", lambda: checked.share(x=1.1)),
        ("x nan is not allowed; needs a number from 0 to 1", lambda: checked.share(x=np.nan)),
        ("x 1.5 is not allowed; needs a whole number >= 1", lambda: checked.whole(1, x=1.5)),
        ("x 1: 0.0 is not allowed; needs a whole number >= 1", lambda: checked.read_whole("x", [3, 0], 1)),
        ("x inf is not allowed; needs a whole number from 1 to 9007199254740992", lambda: checked.whole(1, x=np.inf)),
        ("x 2.0 is not allowed; needs a finite number > 0 and <= 1", lambda: checked.read_number("x", 2, high=1)),
        ("x 2.0 is not allowed; needs a finite number <= 1", lambda: checked.read_number("x", 2, -np.inf, 1)),
        ("x nan is not allowed; needs a finite number", lambda: checked.read_number("x", np.nan, -np.inf)),
        ("x of shape (1,) is not allowed; needs one number", lambda: checked.read_number("x", [1.0])),
        ("x of shape (3,) is not allowed; needs one number, or 2", lambda: checked.read_each("x", [1, 2, 3], 2)),
        ("x 1: 0.0 is not allowed; needs a finite number > 0", lambda: checked.read_each("x", [1, 0], 2)),
        ("an empty x is not allowed; needs at least one number", lambda: checked.positive(x=[])),
        ("x 'a' is not allowed; needs numbers", lambda: checked.positive(x="a")),
        ("x 1e+200 is not allowed; needs a size of 1e-150 to 1e+150", lambda: checked.positive(x=1e200)),
        ("x [[1], [1, 2]] is not allowed; needs numbers", lambda: checked.positive(x=[[1], [1, 2]])),
        ("x 1j is not allowed; needs numbers", lambda: checked.positive(x=1j)),
    ],
)
def test_numbers_out_of_range_are_refused_in_one_line(line, attempt):
    with pytest.raises(ParameterError) as refused:
        attempt()
    assert str(refused.value) == line


@given(
    st.lists(NUMBERS, min_size=1, max_size=4), NUMBERS.filter(np.isfinite), NUMBERS.filter(np.isfinite), st.booleans()
)
def test_values_are_accepted_exactly_if_they_lie_in_the_range(values, low, high, closed):
    inside = [np.isfinite(x) and (low <= x if closed else low < x) and x <= high for x in values]
    try:
        assert checked.read_each("x", values, len(values), low, high, closed=closed).tolist() == values
        assert all(inside)
    except ParameterError:
        assert not all(inside)


def test_one_number_is_for_all():
    assert checked.read_each("x", 2, 3).tolist() == [2.0, 2.0, 2.0]
    assert checked.read_each("x", [], 0).size == 0


def test_values_that_are_read_are_copies():
    given = np.ones(2)
    checked.read_numbers("x", given)[0] = 5.0
    checked.read_each("x", given, 2)[0] = 5.0
    assert given.tolist() == [1.0, 1.0]
