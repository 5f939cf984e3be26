"""Buffer rules: numbers of the dissertation, fixed points of the rules, and rejected input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.queues.buffers import (
    adaptive_drop_tail,
    avrachenkov,
    bscl,
    bscl_loss,
    bscl_utilisation,
    eun_wang,
    flows_that_lose,
    harmonic_rtt,
    largest_gain,
    pipe,
    stanford,
    window_at_loss,
)

PIPES, FLOWS, SHARES = st.floats(1, 1e6), st.integers(1, 10_000), st.floats(1e-4, 1)


def test_the_comparison_of_the_dissertation():
    flows = np.array([2, 16, 256, 1024])
    room = pipe(10e6, harmonic_rtt(0.03, 0.03 + 0.002 * flows))
    assert room[[1, 3]] == pytest.approx([36.7, 402.7], abs=0.05)
    assert stanford(room, flows, times=2)[[1, 3]] == pytest.approx([18.4, 25.2], abs=0.05)
    assert bscl(room, flows, 0.02) == pytest.approx([9.3, 61.7, 1427.4, 5896.8], abs=0.05)


def test_the_harmonic_mean_is_that_of_many_round_trips():
    many = np.linspace(0.03, 0.062, 100_001)
    assert harmonic_rtt(0.03, 0.062) == pytest.approx(1 / (1 / many).mean(), rel=1e-4)


@given(PIPES, FLOWS, SHARES)
def test_flows_have_the_window_of_their_loss_on_the_way(room, flows, loss):
    on_the_way = room + bscl_loss(room, flows, loss)
    assert on_the_way / flows == pytest.approx(0.87 / np.sqrt(loss), rel=1e-6)
    assert window_at_loss(loss) == pytest.approx(on_the_way / flows, rel=1e-6)


@given(PIPES, FLOWS)
def test_a_full_link_stays_busy_when_some_windows_halve(room, flows):
    # Eq. 9: flows with a loss halve their window, and all other flows add two packets. The sum of the windows must
    # still fill the pipe.
    lose = flows_that_lose(flows, 0.6 * flows)
    b = bscl_utilisation(room, flows)
    assert (room + b) * (1 - lose / 2) + flows * (1 - lose) == pytest.approx(room, rel=1e-6)


@given(st.integers(1, 500), st.integers(0, 500))
def test_flows_that_lose_are_those_of_balls_in_bins(flows, lost):
    assert 0 <= flows_that_lose(flows, lost) <= 1
    assert flows_that_lose(flows, lost + 1) >= flows_that_lose(flows, lost)
    assert flows_that_lose(flows, 1) == pytest.approx(1 / flows)


@given(PIPES, FLOWS, SHARES)
def test_rules_keep_their_order(room, flows, loss):
    low, high = eun_wang(room, flows)
    assert low == stanford(room, flows)
    assert low <= high
    assert low <= room * (1 + 1e-12)
    assert avrachenkov(room, flows + 1) < avrachenkov(room, flows)
    assert bscl(room, flows, loss) >= max(1, bscl_loss(room, flows, loss), bscl_utilisation(room, flows))


@given(st.floats(1e-4, 1), st.floats(0.05, 1))
def test_the_largest_gain_is_where_a_root_leaves_the_unit_disc(slope, lag):
    def radius(gain):
        return np.abs(np.roots([1, -(2 - lag - lag * gain * slope), 1 - lag])).max()

    limit = float(largest_gain(slope, lag))
    assert radius(0.99 * limit) < 1 < radius(1.01 * limit)


def test_adaptive_drop_tail_settles_below_its_limit_only():
    def ends(gain):
        b = 30.0
        for _ in range(3000):
            b = max(float(adaptive_drop_tail(b, 1 - 0.25 * np.exp(-b / 40), 0.9, gain)), 0.0)
        return b

    rest = 40 * np.log(2.5)
    steepest = 0.1 / 40  # slope of the plant at equilibrium
    assert ends(0.9 * largest_gain(steepest)) == pytest.approx(rest)
    assert abs(ends(1.1 * largest_gain(steepest)) - rest) > 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: pipe(0.0, 1.0),
        lambda: pipe(1e6, -1.0),
        lambda: pipe(1e6, 1.0, packet=np.inf),
        lambda: pipe([], 1.0),
        lambda: harmonic_rtt(1.0, 1.0),
        lambda: stanford(10.0, 0),
        lambda: avrachenkov(np.nan, 1),
        lambda: flows_that_lose(0.5, 1),
        lambda: bscl_utilisation(-1.0, 2),
        lambda: bscl_loss(10.0, 2, 0.0),
        lambda: bscl_loss(10.0, 2, 1.5),
        lambda: adaptive_drop_tail(-1.0, 0.5, 0.5, 1.0),
        lambda: adaptive_drop_tail(1.0, 1.5, 0.5, 1.0),
        lambda: largest_gain(0.0),
        lambda: largest_gain(1.0, 1.5),
    ],
)
def test_invalid_parameters_of_buffer_rules_are_rejected(wrong):
    with pytest.raises(ParameterError, match="is not allowed; needs"):
        wrong()
