"""MaxNet's stability: algorithm 3 compared with the bounded curves, root counts compared with roots, lemmas on random
inputs.
"""

import numpy as np
import pytest
from conftest import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from andrew_models.maxnet_fluid import Network, Start, run
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.laws.shared.maxnet_model import Parameters
from levelflow.theory.laws.shared.maxnet_stability import (
    Compensator,
    general,
    link_loop,
    network_roots,
    static_ratio,
    unstable_roots,
)
from levelflow.theory.stability.loops import Loop
from levelflow.theory.stability.quasi import AxisError

PAPER = Compensator.of(maxnet.PAPER)
FIGURE_10 = Compensator(eta=0.7, alpha_t=0.1)

compensators = st.builds(Compensator, eta=st.floats(0.01, 3.0), alpha_t=st.floats(1e-3, 10.0))
delays = st.floats(1e-3, 1e3)
links = st.lists(st.tuples(st.floats(0.05, 2.0), st.floats(0.05, 1.0)), min_size=1, max_size=3)


def split(flows):
    """Returns delays, and shares of flows that sum to at most 0.9."""
    tau, share = np.array(flows).T
    return tau, 0.9 * share / max(share.sum(), 1.0)


def test_the_particular_loop_is_the_general_one():
    s, tau, law = 0.3 + 2j, 0.8, maxnet.PAPER
    ratio = static_ratio(5e6, maxnet.demand(maxnet.price_of(5e6)) / law.scale, tau, law.alpha)
    assert ratio == pytest.approx(law.alpha * law.scale / tau)
    printed = np.exp(-s * tau) / (s * tau) * (s * tau + law.eta) / (s * tau + law.eta * ratio)
    assert general(s, tau, law.eta / tau, ratio) == pytest.approx(printed)
    assert PAPER(s, tau) == pytest.approx(printed)


@given(compensators, st.floats(1e-3, 10.0), delays)
def test_size_and_phase_are_those_of_the_loop(own, phi, delay):
    value = own.response(phi / delay, delay)
    turned = (np.angle(value) - own.phase(phi, delay)) / (2 * np.pi)
    assert turned == pytest.approx(round(float(turned)), abs=1e-9)


@given(compensators, delays, st.floats(-2 * np.pi, -np.pi / 2 - 0.01))
def test_no_lower_frequency_has_the_phase(own, delay, angle):
    phi = own.frequency_at(delay, angle) * delay
    assert own.phase(phi, delay) == pytest.approx(angle, abs=1e-9)
    assert (own.phase(phi * np.geomspace(1e-9, 1 - 1e-9, 3000), delay) > angle).all()


@examples(20)
@given(compensators, st.floats(0.05, 5.0))
def test_the_gain_of_one_delay_is_its_gain_margin(own, delay):
    loop = link_loop([delay], [1.0], own, 1.0)
    assert own.gain(delay) == pytest.approx(min(1 / abs(c.value) for c in loop.margins.phase_crossings), rel=1e-9)
    gain = own.gain(delay, np.pi / 4)
    assert link_loop([delay], [1.0], own, gain).margins.phase == pytest.approx(np.pi / 4, rel=1e-6)


@given(delays, st.floats(0.01, 3.0))
def test_a_matched_delay_may_have_a_gain_of_a_quarter_of_pi_for_45_degrees(delay, eta):
    assert Compensator(eta, delay).gain(delay, np.pi / 4) == pytest.approx(np.pi / 4, rel=1e-9)


def test_algorithm_3_gives_the_numbers_of_figure_10_and_of_1000_s():
    line = FIGURE_10.line(3.0)
    assert (line.frequency, line.gamma, line.alpha_max) == pytest.approx((0.32317, 0.3654, 0.7138), rel=2e-4)
    line = PAPER.line(1000.0)
    assert (line.frequency, line.gamma, line.alpha_max) == pytest.approx((0.00153165, 0.3523, 0.8575), rel=1e-4)
    assert line.alpha_max > maxnet.PAPER.alpha


@examples(30)
@given(compensators, delays, st.integers(0, 2**31))
def test_curves_of_shorter_delays_stay_below_the_line(own, longest, seed):
    line = own.line(longest)
    random = np.random.default_rng(seed)
    delay = longest * 10 ** random.uniform(-6, 0, (200, 1))
    frequency = line.frequency * 10 ** random.uniform(-4, 7, (1, 300))
    rooms = line.room(frequency, delay) / np.abs(own.response(frequency, delay))
    assert rooms.min() > -1e-9


@examples(30)
@given(compensators, delays, st.floats(-4, 4))
def test_no_other_line_allows_a_larger_gain(own, longest, slope):
    line = own.line(longest)
    phi = np.linspace(line.frequency * longest, 2 * np.pi, 3000)
    tail = own.response(line.frequency, longest * np.geomspace(1e-9, 1, 3000))
    points = np.concatenate([own.response(phi / longest, longest), tail])
    other = 1 / (points.imag * np.exp(slope) / line.gamma - points.real).max()
    assert other <= line.alpha_max * (1 + 1e-5)


@examples(20)
@given(compensators, delays)
def test_the_tail_below_the_parallel_line_does_not_matter(own, longest):
    line = own.line(longest)
    assert own.line(longest, line.needed_tail).alpha_max == pytest.approx(line.alpha_max, rel=1e-7)


@examples(20)
@given(links, compensators, st.floats(0.1, 4.0))
def test_roots_are_counted_as_exact_loops_count_and_find_them(flows, own, alpha):
    tau, share = split(flows)
    loop = link_loop(tau, share, own, alpha)
    try:
        count = loop.unstable_roots
    except AxisError:
        assume(False)
    assert unstable_roots(tau, share, own, alpha) == count
    values = [root.value for root in loop.roots if root.value.real > 0]
    assert len(values) == count


def test_python_control_agrees_up_to_its_pade_forms():
    control = pytest.importorskip("control")
    tau, own, alpha = 0.3, Compensator(0.2, 0.1), 0.9
    rational = control.tf(alpha * np.array([tau, own.eta]), [tau**2, tau * own.eta * own.alpha_t / tau, 0])
    gain, phase, *_ = control.margin(rational * control.tf(*control.pade(tau, 12)))
    assert own.gain(tau) / alpha == pytest.approx(gain, rel=1e-4)
    assert np.degrees(link_loop([tau], [1.0], own, alpha).margins.phase) == pytest.approx(phase, abs=1e-3)


@given(compensators, delays)
def test_a_lone_flow_is_stable_up_to_its_gain(own, delay):
    gain = own.gain(delay)
    assert unstable_roots([delay], [1.0], own, 0.999 * gain) == 0
    assert unstable_roots([delay], [1.0], own, 1.001 * gain) >= 2


@examples(60)
@given(st.integers(0, 2**31), st.floats(0.0, 6.0), st.floats(0.01, 0.999))
def test_any_network_is_stable_below_the_gain_of_algorithm_3(seed, decades, part):
    random = np.random.default_rng(seed)
    eta, alpha_t, longest = 10 ** random.uniform(-2, 0.3), 10 ** random.uniform(-2, 0), 10 ** random.uniform(-1, 3)
    alpha = min(part * Compensator(eta, alpha_t).line(longest).alpha_max, np.pi / 2)
    law = Parameters(alpha=alpha, scale=alpha_t / alpha, eta=eta)
    flows, count = random.integers(1, 201, 2).tolist()
    routes = [random.choice(count, random.integers(1, min(count, 5) + 1), replace=False).tolist() for _ in range(flows)]
    rest = maxnet.fixed_point(routes, 10 ** random.uniform(6, 9, count), law)
    assert rest.separate
    assert not network_roots(rest, longest * 10 ** random.uniform(-decades, 0, flows), law).any()


def leftmost_crossing(curves):
    """Returns the leftmost real point in the convex hull of 0 and the points of all curves at one frequency.

    Each hull contains the points of two adjacent frequencies. So the search finds crossings between these frequencies,
    too.
    """
    points = np.hstack([curves[:-1], curves[1:], np.zeros((len(curves) - 1, 1))])
    first, second = points[:, :, None], points[:, None, :]
    crosses = (first.imag >= 0) & (second.imag < 0)
    rise = np.where(crosses, first.imag - second.imag, 1.0)
    return np.where(crosses, first.real + first.imag / rise * (second.real - first.real), 0.0).min()


@examples(60)
@given(links, st.floats(0.3, 0.99))
def test_links_whose_hull_stays_right_of_minus_one_are_stable(flows, part):
    # Lemma 1 also holds above the gain of algorithm 3.
    tau, share = split(flows)
    curves = PAPER.response(np.geomspace(1e-3, 1e2, 2000)[:, None], tau)
    assert unstable_roots(tau, share, PAPER, -part / leftmost_crossing(curves)) == 0


@given(st.sampled_from([PAPER, FIGURE_10]), st.floats(1e-3, 1e3), st.floats(1e-3, 10.0))
def test_derivatives_of_lemma_2_are_those_of_the_loop(own, delay, phi):
    found = own.slopes(phi, delay)
    angle = own.phase(phi, delay)
    near, reach = 1e-5, 1e-2

    def turned(log, phi):
        return own.phase(phi, delay * np.exp(log)) - angle

    def moved(phi):
        """Returns `log(there/delay)` and `log(size)`. At the delay `there`, this phi has the same phase as the original
        phi at `delay`. `size` is the size of the response at `there`.
        """
        assume(turned(-reach, phi) > 0 > turned(reach, phi))
        log = brentq(turned, -reach, reach, args=(phi,), xtol=1e-15)
        there = delay * np.exp(log)
        return log, float(np.log(np.abs(own.response(phi / there, there))))

    (early, small), (late, large) = moved(phi * (1 - near)), moved(phi * (1 + near))
    assert found.size_by_phi * 2 * near * phi == pytest.approx(large - small, rel=1e-3, abs=1e-9)
    assert found.size_by_delay * delay * (late - early) == pytest.approx(large - small, rel=1e-3, abs=1e-9)
    faster = 2 * near - (late - early)
    assert found.size_by_frequency * phi / delay * faster == pytest.approx(large - small, rel=1e-3, abs=1e-9)


def test_lemma_2_fails_in_the_tail_where_the_phase_rises_with_the_frequency():
    delay = 1000.0
    bad = PAPER.slopes(0.06, delay)
    assert -np.pi < PAPER.phase(0.06, delay) < -np.pi / 2
    assert bad.size_by_delay < 0
    assert bad.size_by_frequency > 0
    # Verification by hand: with a slightly longer delay, and phi chosen for an equal phase, the size is smaller.
    more = delay * 1.001
    phi = brentq(lambda phi: PAPER.phase(phi, more) - PAPER.phase(0.06, delay), 0.05, 0.07)
    assert abs(PAPER.response(phi / more, more)) < abs(PAPER.response(0.06 / delay, delay))


@examples(200)
@given(compensators, delays, st.floats(1e-6, 10.0))
def test_conditions_of_the_proof_hold_everywhere(own, delay, phi):
    found = own.slopes(phi, delay)
    assert found.phase_by_delay < 0
    assert found.size_by_delay_alone > 0
    assert abs(own.response(phi * 1.01 / delay, delay)) < abs(own.response(phi / delay, delay))


def test_a_common_zero_for_all_delays_would_be_slow():
    # A zero of 1e-3 is needed for delays of 1000 s. Here, it is in the loop of a flow with a round trip of 179 ms.
    def slowest(zero):
        law = maxnet.PAPER
        tau = 0.179
        pole = zero * law.alpha * law.scale / tau
        loop = Loop.rational([1.0, zero], [1.0, pole, 0.0], delay=tau, gain=law.alpha / tau)
        return -1 / loop.roots[0].value.real

    assert slowest(1e-3) > 900
    assert slowest(maxnet.PAPER.eta / 0.179) < 20


def test_networks_on_either_side_of_the_boundary_behave_so():
    # Flow 1 crosses both bottlenecks. The second bottleneck is the first one to become unstable.
    routes, tau, own = [[0], [0, 1], [1]], [0.1, 0.3, 0.25], Compensator(0.7, 0.05)
    rest = maxnet.fixed_point(routes, [60e6, 40e6])
    here = rest.bottlenecks == 1

    def law(alpha):
        return Parameters(alpha=alpha, scale=own.alpha_t / alpha, eta=own.eta)

    margins = link_loop(np.array(tau)[here], rest.shares[here], own, 1.0).margins
    critical = min(1 / abs(crossing.value) for crossing in margins.phase_crossings)
    for part, grows in ((0.95, False), (1.05, True)):
        at = law(part * critical)
        rest = maxnet.fixed_point(routes, [60e6, 40e6], at)
        assert network_roots(rest, tau, at).tolist() == [0, 2 * grows]
        ways = [[0.02], [0.03, 0.2], [0.1]]
        start = Start(rest.rates, rest.prices * (1 + 1e-6))
        went = run(Network(routes, [60e6, 40e6], tau, ways), 40.0, step=0.01, law=at, start=start)
        off = np.abs(went.prices[:, 1] - rest.prices[1])
        early, late = off[1000:2000].max(), off[-1000:].max()
        assert (late > early) == grows


@pytest.mark.parametrize(
    "call",
    [
        lambda: Compensator(0.0, 1.0),
        lambda: Compensator(0.1, np.nan),
        lambda: PAPER.line(0.0),
        lambda: PAPER.line(1.0, 2.0),
        lambda: PAPER.response(0.0, 1.0),
        lambda: PAPER.response(1.0, -1.0),
        lambda: PAPER.frequency_at(1.0, -1.0),
        lambda: PAPER.gain(1.0, 2.0),
        lambda: PAPER.slopes(0.0, 1.0),
        lambda: unstable_roots([], [], PAPER, 1.0),
        lambda: unstable_roots([1.0], [0.5, 0.5], PAPER, 1.0),
        lambda: unstable_roots([1.0], [0.5], PAPER, 0.0),
        lambda: link_loop([1.0], [-0.5], PAPER, 1.0),
        lambda: network_roots(maxnet.fixed_point([[0], [1]], [1e6, 1e6]), 1.0, maxnet.PAPER),
        lambda: network_roots(maxnet.fixed_point([[0]], [1e6]), [1.0, 1.0], maxnet.PAPER),
    ],
)
def test_bad_questions_get_a_typed_exception(call):
    with pytest.raises(ParameterError):
        call()


def test_delays_whose_frequencies_have_no_numbers_are_refused():
    with pytest.raises(ParameterError, match="frequency"):
        unstable_roots([1e-140, 1e140], [0.3, 0.3], PAPER, 0.66)


def test_a_loop_on_the_boundary_is_reported():
    with pytest.raises(AxisError):
        unstable_roots([1.0], [1.0], PAPER, PAPER.gain(1.0))
