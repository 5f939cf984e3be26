"""Laws in continuous time with unequal delays: Kelly's primal law, Vinnicombe's and Ying's controllers, and XCP."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import xcp
from levelflow.theory.stability.quasi import AxisError
from zhang_models import vinnicombe, ying

numbers = st.floats(0.1, 3.0)
delays = st.lists(st.floats(0.05, 5.0), min_size=1, max_size=3)


def stable(loop):
    """Returns True if the loop is stable, and asserts that the rightmost root and Nyquist's criterion agree."""
    rightmost = loop.roots[0].value.real
    assert loop.stable == (rightmost < 0) or abs(rightmost) < 1e-7
    return loop.stable


@examples(25)
@given(delays, st.floats(1.0, 20.0), st.floats(0.05, 0.95), st.floats(0.5, 3.0))
def test_vinnicombes_controller_is_stable_under_any_delays_below_its_gain(delay, buffer, part, m):
    law = vinnicombe.Parameters(a=part / buffer, buffer=buffer, m=m)
    assert vinnicombe.condition(100.0, delay, law).holds
    assert stable(vinnicombe.loop(100.0, delay, law))


@examples(25)
@given(delays, st.floats(1.0, 12.0), st.floats(1.02, 3.0), st.floats(0.0, 1.0), numbers)
def test_yings_controller_is_stable_under_any_delays(delay, buffer, more, split, kappa):
    law = ying.Parameters(kappa, split * more * buffer, (1 - split) * more * buffer, buffer)
    assert law.delay_independent
    assert stable(ying.loop(float(len(delay)), delay, law))


def test_controllers_beyond_their_conditions_need_not_be_stable():
    assert not vinnicombe.loop(100.0, 1.0, vinnicombe.Parameters(a=0.3, b=1e-4)).stable
    assert not ying.loop(1.0, 20.0, ying.Parameters(0.5, 1.0, 1.0)).stable


@pytest.mark.parametrize(("n", "m"), [(0.0, 1.0), (-1.0, 1.0), (0.5, 2.0)])
def test_vinnicombes_flows_stay_at_equilibrium(n, m):
    law, delay = vinnicombe.Parameters(a=0.03, n=n, m=m), np.array([0.02, 0.3, 2.0])
    rates, feedback = vinnicombe.rest(500.0, delay, law)
    assert feedback == pytest.approx(vinnicombe.price(rates.sum(), 500.0, law.buffer))
    assert vinnicombe.change(rates, rates, feedback, delay, law) == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(rates * delay) < 1e-9


def test_slopes_of_the_loops_are_those_of_the_equations():
    """A small disturbance of the closed loop decays at the rate of the rightmost root."""
    law, delay = vinnicombe.Parameters(), np.array([1.0, 2.0])
    rates, _ = vinnicombe.rest(50.0, delay, law)
    root = vinnicombe.loop(50.0, delay, law).roots[0].value
    run = vinnicombe.follow(
        lambda x, before, eta, d: vinnicombe.change(x, before, eta, d, law),
        (50.0, law.buffer),
        delay,
        rates * 1.0001,
        duration=80.0,
        step=0.02,
    )
    total = run.states.sum(axis=1) / rates.sum() - 1
    if root.imag:
        assert abs(total[-1]) < abs(total[0])
    else:
        tail = slice(len(total) // 2, None)
        slope = np.polyfit(run.times[tail], np.log(np.abs(total[tail])), 1)[0]
        assert slope == pytest.approx(root.real, rel=0.02)


def test_yings_flows_converge_from_distant_starts():
    delay = np.array([0.1, 0.5])
    run = vinnicombe.follow(
        lambda x, before, eta, _: ying.change(x, before, eta),
        (2.0, 10.0),
        delay,
        [0.7, 1.3],
        duration=60.0,
        step=0.02,
    )
    assert run.states[-1] == pytest.approx([ying.rest(2.0, 2)] * 2, rel=1e-3)


@examples(30)
@given(st.floats(0.01, 1.0), st.floats(1e-3, 5.0))
def test_xcp_is_stable_below_its_limit(alpha, delay):
    loop = xcp.aggregate_loop(alpha, xcp.balanced(alpha).item(), delay)
    try:
        assert (loop.unstable_roots == 0) == (alpha < xcp.ALPHA_LIMIT)
    except AxisError:
        assert alpha == pytest.approx(xcp.ALPHA_LIMIT)
    assert loop.margins.phase == pytest.approx(np.pi / 4 - np.sqrt(2) * alpha, abs=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: vinnicombe.Parameters(a=0.0),
        lambda: vinnicombe.Parameters(n=2.0, m=1.0),
        lambda: vinnicombe.rest(np.nan, [1.0]),
        lambda: vinnicombe.loop(1.0, [1.0, -1.0]),
        lambda: vinnicombe.follow(lambda *_: 0.0, (1.0, 1.0), [1.0], [0.0], duration=1.0, step=0.1),
        lambda: ying.Parameters(kappa=-1.0),
        lambda: ying.Parameters(n=1.0, m=-1.0),
        lambda: ying.rest(1.0, 0),
        lambda: ying.loop(1.0, []),
        lambda: xcp.aggregate_loop(0.4, np.inf),
        lambda: xcp.balanced(-0.1),
    ],
)
def test_invalid_parameters_are_rejected(call):
    with pytest.raises(ParameterError, match="needs") as caught:
        call()
    assert "\n" not in str(caught.value)
