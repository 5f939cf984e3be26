"""Loops with pure delays: Nyquist's criterion, compared with roots, closed forms, and Padé results of
python-control.
"""

import control
import numpy as np
import pytest
from conftest import examples
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from scipy.special import lambertw

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.loops import Loop
from levelflow.theory.stability.quasi import AxisError, LoopError, QuasiPolynomial

sizes = st.floats(0.05, 5.0)


def delayed(loop, delay):
    return Loop(loop.numerator * QuasiPolynomial([([1.0], delay)]), loop.denominator)


@st.composite
def loops(draw):
    """Draws stable and unstable, strictly proper loops with a delay and up to three poles. Up to two poles are at 0."""
    origin = draw(st.integers(0, 2))
    poles = draw(
        st.lists(st.floats(-4, 1.5).filter(lambda p: abs(p) > 0.05), min_size=1 - min(origin, 1), max_size=3 - origin)
    )
    zeros = draw(st.lists(st.floats(-4, 4).filter(lambda z: abs(z) > 0.05), max_size=origin + len(poles) - 1))
    denominator = np.poly([0.0] * origin + poles)
    gain = draw(st.sampled_from([1, -1])) * draw(sizes)
    return Loop.rational(np.poly(zeros), denominator, delay=draw(st.one_of(st.just(0.0), sizes)), gain=gain)


def multiple(polynomial, root):
    """Returns True if a zero has a multiplicity above 1. The search finds this zero once, but Nyquist's criterion
    counts its multiplicity.
    """
    slope = polynomial.derivative()
    return abs(slope(root)) < 1e-4 * slope.bound(abs(root), max(-root.real, 0.0))


def right(zeros):
    return sum(zero.value.real > 0 for zero in zeros)


@examples(120)
@given(loops())
def test_encirclements_of_the_nyquist_curve_count_the_unstable_roots(loop):
    on_axis = [root.value for root in loop.roots if abs(root.value.real) < 1e-6]
    if on_axis:
        assert not loop.stable or max(root.value.real for root in loop.roots) < 0
        return
    assert loop.unstable_roots == right(loop.roots) or any(multiple(loop.closed, root.value) for root in loop.roots)
    assert loop.stable == (right(loop.roots) == 0)


@examples(60)
@given(loops(), loops())
def test_sums_of_loops_with_different_delays_are_counted_too(one, other):
    loop = one + other
    if any(abs(root.value.real) < 1e-6 for root in loop.roots):
        return
    assume(loop.numerator(0.0) != 0 or 0 not in loop.poles)
    assert loop.unstable_roots == right(loop.roots) or any(multiple(loop.closed, root.value) for root in loop.roots)


@examples(100)
@given(loops())
def test_each_root_is_one_and_their_polynomial_grows_right_of_them(loop):
    for root in loop.roots:
        sizes = loop.closed.bound(abs(root.value), max(-root.value.real, 0.0))
        assert abs(loop.closed(root.value)) <= 1e-12 * sizes


@examples(80, suppress_health_check=[HealthCheck.filter_too_much])
@given(loops())
def test_margins_bring_a_root_to_the_axis_and_nothing_before_does(loop):
    assume(loop.stable)
    assume(loop.roots[0].value.real < -1e-3)
    margins = loop.margins
    for factor, frequencies in ((margins.gain, margins.phase_crossings), (margins.gain_down, margins.phase_crossings)):
        if 0 < factor < np.inf:
            assert min(abs(factor * c.value + 1) for c in frequencies) < 1e-6
    assert (loop * (1 + 0.99 * min(margins.gain - 1, 5))).stable
    assert (loop * (margins.gain_down + 0.01 * (1 - margins.gain_down))).stable or margins.gain_down == 0
    if margins.delay < 5:
        crossing = min(
            margins.gain_crossings, key=lambda c: abs(c.value * np.exp(-1j * c.frequency * margins.delay) + 1)
        )
        assert abs(crossing.value * np.exp(-1j * crossing.frequency * margins.delay) + 1) < 1e-6
        assert delayed(loop, 0.99 * margins.delay).stable
    else:
        assert all(delayed(loop, delay).stable for delay in (0.5, 4.0))


# **Invariant** (Theory): delays are exact, not approximated. See `test_roots_of_an_integrator_are_those_of_lambert`,
# `test_delays_per_pair_rule_the_run`.
@examples(50, suppress_health_check=[HealthCheck.filter_too_much])
@given(loops(), st.floats(0.2, 1.0))
def test_pade_agrees_where_it_is_good(loop, delay):
    """python-control gives equal results with a Padé delay of order 12, at frequencies for which this delay is
    accurate.
    """
    loop = Loop(QuasiPolynomial([(loop.numerator.terms()[-1][0], delay)]), loop.denominator)
    assume(abs(loop.roots[0].value.real) > 1e-3)
    rational = control.tf(loop.numerator.terms()[-1][0], loop.denominator.terms()[0][0]) * control.tf(
        *control.pade(delay, 12)
    )
    assert (control.feedback(rational).poles().real.max() < 0) == loop.stable
    assume(loop.stable)
    gains, phases, _, _, crossings, _ = control.stability_margins(rational, returnall=True)
    gain_crossings = [c.frequency for c in loop.margins.gain_crossings if c.frequency * delay < 10]
    np.testing.assert_allclose(gain_crossings, np.sort(crossings[crossings * delay < 10]), rtol=1e-4)
    if loop.margins.gain < 20:
        assert min(abs(gains / loop.margins.gain - 1)) < 1e-3
    if gain_crossings:
        np.testing.assert_allclose(np.radians(phases[np.argmin(abs(phases))]), loop.margins.phase, atol=1e-4)


@pytest.mark.parametrize(("gain", "delay"), [(0.3, 1.0), (1.5, 1.0), (1.6, 1.0), (40.0, 0.2), (2e-3, 1e3), (5e6, 1e-7)])
def test_roots_of_an_integrator_are_those_of_lambert(gain, delay):
    loop = Loop.rational([gain], [1, 0], delay=delay)
    expected = [lambertw(-gain * delay, branch) / delay for branch in (0, -1, 1)]
    for root in expected:
        assert min(abs(root - zero.value) for zero in loop.roots) < 1e-9 * abs(root)
    assert loop.roots[0].value.real == pytest.approx(max(root.real for root in expected), rel=1e-9)
    assert loop.stable == (gain * delay < np.pi / 2)
    assert loop.margins.gain == pytest.approx(np.pi / 2 / (gain * delay), rel=1e-9) or not loop.stable


def test_the_curve_goes_around_as_often_as_is_said():
    for loop in (
        Loop.rational([0.4, 0.2], [1, 0, 0], delay=1.0),
        Loop.rational([0.2, 0.4], [1, 0, 0], delay=1.0),
        Loop.rational([4.0], [1, 0, 1], delay=0.5),
        Loop.rational([1.5], [1, -1], delay=0.2),
        Loop.rational([20.0], [1, 1, 0], delay=1.0),
    ):
        curve = loop.nyquist()
        assert (np.diff(curve.s.imag) >= 0).all()
        turned = np.unwrap(np.angle(1 + np.append(np.conj(curve.values[::-1]), curve.values)))
        assert round(-(turned[-1] - turned[0]) / (2 * np.pi)) == loop.encirclements


def test_a_loop_with_delay_in_its_denominator_has_its_unstable_poles_counted():
    """The loop of RCP has the form alpha b / a (Dukkipati 2005, section IV-D)."""
    loop = Loop(QuasiPolynomial([([1, 0], 1.0)]), QuasiPolynomial([([1, 0, 0], 0.0), ([0.3], 1.0)]))
    assert loop.unstable_poles == 2
    for alpha in (0.1, 0.34, 0.345, 1.0, 1.4, 1.41):
        whole = Loop.rational([alpha, 0.3], [1, 0, 0], delay=1.0)
        assert (alpha * loop).unstable_roots == whole.unstable_roots


def test_phase_is_followed_through_whole_turns():
    bode = Loop.rational([0.4, 0.2], [1, 0, 0], delay=3.0).bode(np.array([0.01, 1.0, 300.0]))
    w = bode.frequencies
    np.testing.assert_allclose(bode.phase, -3 * w + np.arctan(2 * w) - np.pi, rtol=1e-12)
    np.testing.assert_allclose(bode.magnitude, np.hypot(0.2, 0.4 * w) / w**2, rtol=1e-12)


def test_a_loop_without_delay_has_the_margins_of_textbooks():
    """The loop 1 / (s (s + 1) (s + 2)) has a gain margin of 6 at the frequency sqrt(2)."""
    margins = Loop.rational([1.0], np.poly([0, -1, -2])).margins
    assert margins.gain == pytest.approx(6.0)
    assert margins.phase_crossings[0].frequency == pytest.approx(np.sqrt(2))
    assert Loop.rational([5.9], np.poly([0, -1, -2])).stable
    assert not Loop.rational([6.1], np.poly([0, -1, -2])).stable


def test_a_root_on_the_axis_is_said_and_is_not_stable():
    loop = Loop.rational([np.pi / 2], [1, 0], delay=1.0)
    assert not loop.stable
    with pytest.raises(AxisError, match=r"1 \+ L is zero at s = 1\.57") as caught:
        _ = loop.encirclements
    assert caught.value.frequency == pytest.approx(np.pi / 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Loop.rational([1, 0], [1, 0], delay=1.0), "neutral"),
        (lambda: Loop.rational([1, 0, 0], [1, 0]), "lower degree"),
        (lambda: Loop.rational([1], [0.0], delay=1.0), "denominator is 0"),
        (lambda: Loop.rational([np.nan], [1, 0], delay=1.0), "finite numbers"),
        (lambda: Loop.rational([1], [1, 0], delay=-1.0), "delay -1.0"),
        (lambda: Loop.rational([1], [1, 0], delay=np.inf), "delay inf"),
        (lambda: Loop.rational([], [1, 0]), "coefficients"),
        (lambda: Loop(QuasiPolynomial([([1], 0)]), QuasiPolynomial([([1, 0], 1.0)])), "highest power has a delay"),
        (lambda: Loop.rational([1, 0], [1, 0, 0], delay=1.0).encirclements, "hides a root"),
        (lambda: Loop.rational([1], [1, 0]).bode([1.0, 0.5]), "rising"),
        (lambda: Loop.rational([1], [1, 0]).bode([0.0]), "positive"),
    ],
)
def test_invalid_loops_are_rejected(make, says):
    with pytest.raises((LoopError, ParameterError), match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
