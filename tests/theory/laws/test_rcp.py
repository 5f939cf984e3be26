"""RCP: closed forms compared with Nyquist's criterion, and the fluid model compared with simple Euler integration."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import rcp

gains = st.floats(0.02, 2.0)


@examples(40)
@given(gains, gains, st.floats(1e-3, 10.0))
def test_closed_forms_agree_with_nyquist_and_the_roots(alpha, beta, d0):
    loop = rcp.loop(alpha, beta, d0)
    assume(abs(loop.roots[0].value.real * d0) > 1e-7)
    span = rcp.alpha_range(beta)
    assert loop.stable == (loop.roots[0].value.real < 0)
    assert loop.stable == (span is not None and span[0] < alpha < span[1])
    assert [c.frequency * d0 for c in loop.margins.gain_crossings] == [
        pytest.approx(np.sqrt((alpha**2 + np.sqrt(alpha**4 + 4 * beta**2)) / 2), rel=1e-9)  # eq 12
    ]
    if alpha > 1.001 * beta:  # for alpha closer to beta, rounding hides the crossing
        x = loop.margins.phase_crossings[0].frequency * d0
        assert np.arctan(alpha * x / beta) == pytest.approx(x, rel=1e-9)  # eq 13


@given(st.floats(0.01, 1.57), st.booleans())
def test_on_the_boundary_a_root_is_on_the_axis(x, pade):
    alpha, beta = rcp.boundary(x, pade=pade)
    lost = np.polyval(rcp.PADE[0], 1j * x) / np.polyval(rcp.PADE[1], 1j * x) if pade else np.exp(-1j * x)
    assert abs((alpha * 1j * x + beta) * lost / (1j * x) ** 2 + 1) < 1e-9


@examples(60)
@given(gains, gains)
def test_pade_ranges_are_those_of_its_roots(alpha, beta):
    span = rcp.alpha_range(beta, pade=True)
    assume(span is None or min(abs(alpha - end) for end in span) > 1e-6)
    assert rcp.stable_pade(alpha, beta) == (span is not None and span[0] < alpha < span[1])


def test_no_beta_above_the_limit_has_a_stable_alpha():
    assert rcp.beta_limit() == pytest.approx(0.549774, abs=1e-6)
    assert rcp.alpha_range(rcp.beta_limit() * 0.999) is not None
    assert rcp.alpha_range(rcp.beta_limit() * 1.001) is None


def test_alpha_alone_is_the_gain_of_the_other_form():
    loop = rcp.loop_of_alpha(0.3)
    assert loop.unstable_poles == 2
    assert (loop.margins.gain_down, loop.margins.gain) == pytest.approx(rcp.alpha_range(0.3))


def plain(alpha, beta, gamma, waiting, duration, step=2e-4):
    """Integrates one flow rate and one queue by Euler's method, in units of C, d0 and the fair share."""
    one, little = round(1 / step), round(0.05 / step)
    rates, queue, queues = [gamma * 10.0] * (one + 1), waiting, [waiting]
    for _ in range(round(duration / step)):
        load, d = rates[-1 - one], 1 + queue
        rates.append(rates[-1] + step * rates[-1 - little] * (alpha * (1 - load) - beta * queue / d) / d)
        queue = max(queue + step * (load - 1), 0.0)
        queues.append(queue)
    return np.array(rates[one:]), np.array(queues)


@pytest.mark.parametrize(
    ("alpha", "beta", "start"), [(0.6, 0.2, (0.5, 2.0)), (1.4, 0.8, (0.01, 2.0)), (0.6, 0.8, (0.5, 0.0))]
)
def test_the_fluid_is_that_of_a_plain_loop(alpha, beta, start):
    link = rcp.Link()
    rate, queue = start[0] * link.capacity, start[1] * link.capacity * link.d0
    run = rcp.fluid((alpha, beta), (rate, queue), link, duration=12.0)
    expected = plain(alpha, beta, *start, 12.0)
    np.testing.assert_allclose(run.times, np.arange(241) * 0.01)
    np.testing.assert_allclose(
        run.states[:, 0] / link.equilibrium[0], expected[0][::250], atol=0.03 * expected[0].max()
    )
    np.testing.assert_allclose(
        run.states[:, 1] / (link.capacity * link.d0), expected[1][::250], atol=0.03 * expected[1].max()
    )


def test_overshoot_is_scale_invariant_and_batched_cases_are_independent():
    capacity, flows, d0 = np.array([5.6e3, 150e6, 1e12]), np.array([10, 5000, 100]), np.array([0.2, 2.0, 0.2])
    link = rcp.Link(capacity, flows, d0)
    rate, queue = 3 * link.equilibrium[0], 0.5 * capacity * d0
    together = rcp.fluid((1.0, 0.4), (rate, queue), link, duration=30.0).states
    for i in range(3):
        alone = rcp.Link(capacity[i], flows[i], d0[i])
        run = rcp.fluid((1.0, 0.4), (rate[i], queue[i]), alone, duration=30.0).states
        np.testing.assert_allclose(together[..., i], run, rtol=1e-12)
    np.testing.assert_allclose(
        together[:, 0, 0] / link.equilibrium[0][0], together[:, 0, 2] / link.equilibrium[0][2], rtol=1e-9
    )


def test_queues_stay_between_nothing_and_the_buffer():
    link = rcp.Link()
    run = rcp.fluid((0.3, 0.3), (5 * link.equilibrium[0], 0.0), link, duration=100.0, buffer=3.0)
    filled = run.states[:, 1] / (link.capacity * link.d0)
    assert filled.min() == 0.0
    assert filled.max() == pytest.approx(3.0)
    assert rcp.settles(run, link)


def test_small_gains_settle_and_large_ones_do_not():
    found = rcp.settles_from_anywhere([0.5, 1.2, 1.9], [[0.2], [1.0]], duration=400.0)
    assert found.tolist() == [[True, True, False], [True, False, False]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rcp.loop(0.0, 1.0),
        lambda: rcp.loop(1.0, np.nan),
        lambda: rcp.loop(1.0, 1.0, delay=-1.0),
        lambda: rcp.loop_of_alpha(np.inf),
        lambda: rcp.alpha_range(-0.1),
        lambda: rcp.Link(capacity=0.0),
        lambda: rcp.Link(flows=[10, -1]),
        lambda: rcp.fluid(([0.1, np.nan], 0.1), (1e6, 0.0), rcp.Link()),
        lambda: rcp.fluid((0.1, 0.1), (1e6, -1.0), rcp.Link()),
    ],
)
def test_invalid_parameters_are_rejected(call):
    with pytest.raises(ParameterError, match="needs") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_step_of_zero_is_rejected():
    with pytest.raises(ParameterError, match="step 0"):
        rcp.fluid((0.1, 0.1), (1e6, 0.0), rcp.Link(), step=0.0)
