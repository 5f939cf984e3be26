"""Numerical solutions of delay equations, compared with closed forms."""

import numpy as np
import pytest

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.equations import Past, integrate, iterate


def test_a_delayed_decay_is_that_of_the_method_of_steps():
    # The solution of x' = -x(t-1) with x = 1 before 0 is 1 - t until t = 1, then 1 - t + (t-1)^2/2. From t = 2 on, it
    # has another term of third order.
    went = integrate(lambda t, x, past: -past(1.0), [1.0], 3.0, step=1e-3, longest=1.0)
    t = went.times
    exact = 1 - t + np.maximum(t - 1, 0) ** 2 / 2 - np.maximum(t - 2, 0) ** 3 / 6
    assert np.abs(went.states[:, 0] - exact).max() < 1e-6


def test_the_error_falls_with_the_square_of_the_step():
    def error(step):
        went = integrate(lambda t, x, past: x * np.cos(t), [1.0], 2.0, step=step)
        return np.abs(went.states[:, 0] - np.exp(np.sin(went.times))).max()

    assert error(0.02) / error(0.01) == pytest.approx(4, rel=0.1)


def test_each_component_has_its_own_lag_and_each_link_sees_it_at_another():
    slopes = np.array([1.0, 2.0, -3.0])
    lags = np.array([[0.05, 0.2, 0.0], [0.33, 0.01, 0.4]])
    seen = []

    def change(t, x, past):
        seen.append((t, past(lags), past(0.25), past(0.1, of=slice(1, 3))))
        return slopes

    integrate(change, np.zeros(3), 1.0, step=0.1, longest=0.4)
    t, by_link, whole, part = seen[-1]
    assert by_link == pytest.approx(slopes * (t - lags))
    assert whole == pytest.approx(slopes * (t - 0.25))
    assert part == pytest.approx(slopes[1:] * (t - 0.1))


def test_prepared_lags_and_elements_give_what_lags_give():
    seen = []

    def update(n, past):
        lags = np.array([1, 3, 2])
        seen.append((past(lags), past(past.steps(lags)), past.elements(lags[[2, 0, 0]], np.array([2, 0, 1]))))
        return np.array([1.0, 10.0, 100.0]) * n

    iterate(update, np.zeros(3), 9, longest=3)
    plain, prepared, elements = seen[-1]
    assert plain.tolist() == prepared.tolist() == [8.0, 60.0, 700.0]
    assert elements.tolist() == [700.0, 8.0, 80.0]


def test_a_batch_advances_as_its_members_do():
    rates = np.array([[0.5], [1.0], [1.4]])
    lags = np.array([[0.1], [0.5], [1.0]])
    together = integrate(lambda t, x, past: -rates * past(lags), np.ones((3, 1)), 5.0, step=0.01, longest=1.0)
    for number, (rate, lag) in enumerate(zip(rates.ravel(), lags.ravel(), strict=True)):
        alone = integrate(lambda t, x, past, r=rate, d=lag: -r * past(d), [1.0], 5.0, step=0.01, longest=1.0)
        assert together.states[:, number] == pytest.approx(alone.states, abs=1e-12)


def test_a_queue_stays_within_its_bounds_and_leaves_them():
    went = integrate(lambda t, x, past: np.cos(t), [0.0], 8.0, step=1e-3, bounds=(0.0, 0.5))
    assert went.states.min() == 0
    assert went.states.max() == 0.5
    # The state is at its upper bound from asin 0.5 to pi/2. After it has drained, it is 0 until cos is positive again.
    assert went.states[np.searchsorted(went.times, [1.5, 4.5, 5.2]), 0] == pytest.approx(
        [0.5, 0, 1 + np.sin(5.2)], abs=2e-3
    )


def test_lags_of_difference_equations_are_exact():
    went = iterate(lambda n, past: [past(3)[0] + 1, past(np.array([1, 2]))[1] * 2], [0.0, 1.0], 9, longest=3, every=3)
    assert went.times.tolist() == [0, 3, 6, 9]
    assert went.states[:, 0].tolist() == [0, 1, 2, 3]
    assert went.states[1:, 1].tolist() == [4, 8, 32]


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("step 0.0 ", {"step": 0.0}),
        ("step nan ", {"step": float("nan")}),
        ("duration -1", {"duration": -1.0, "step": 0.1}),
        ("longest inf", {"step": 0.1, "longest": float("inf")}),
        ("every 0.0 ", {"step": 0.1, "every": 0}),
        ("a lag of 2", {"step": 0.1, "longest": 1.0}),
    ],
)
def test_bad_numbers_are_refused(what, options):
    with pytest.raises(ParameterError, match=what):
        integrate(lambda t, x, past: past(2.0), [1.0], **{"duration": 1.0} | options)


@pytest.mark.parametrize("lag", [0, 0.25, 0.3, 1, 1.7, 2])
def test_one_lag_for_all_is_that_lag_for_each(lag):
    past = Past(np.array([1.0, -2.0]), 0.25, 2.0)
    for n in range(11):
        past.advance(np.array([n**1.5, 1 / (n + 1)]))
        assert past(lag).tolist() == past(np.full(2, lag)).tolist()
