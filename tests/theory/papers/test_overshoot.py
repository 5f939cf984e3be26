"""Overshoot of a full link: closed forms, compared with the equations of motion and with each other."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from levelflow.theory.errors import ParameterError
from zhang_models.overshoot import (
    MarkedTfrc,
    RateAimd,
    ScalableTcp,
    Tfrc,
    TrackedAimd,
    WindowAimd,
    immediate_aimd,
    integrate_excess,
)

CAPACITY = st.floats(1.0, 1e4)
SOME = st.floats(0.5, 100.0)


@examples(20)
@given(CAPACITY, SOME, SOME, st.integers(0, 3))
def test_closed_forms_obey_the_equations_of_motion(capacity, first, second, which):
    law = [
        WindowAimd(capacity, first),
        ScalableTcp(capacity, first, second / 1000),
        RateAimd(capacity, first, second),
        Tfrc(capacity, first, second),
    ][which]
    # A growing quantity must change little in a step. A window changes in the time W^2/C, and TFRC's number of packets
    # in the time M C/omega^2.
    duration = min(3.0, 10 * second * capacity / first**2 if which == 3 else first**2 / capacity)
    went = integrate_excess(law, duration, step=duration / 1000, every=200)
    scale = law.excess(duration)
    assert went.states[:, -1] == pytest.approx(law.excess(went.times), abs=1e-4 * scale + 1e-12)
    kept = {WindowAimd: "windows", ScalableTcp: "windows", RateAimd: "rates", Tfrc: "sent"}[type(law)]
    assert went.states[:, 0] == pytest.approx(getattr(law, kept)(went.times), rel=1e-4)


@given(CAPACITY, SOME, SOME, st.integers(0, 3), st.floats(0.1, 10))
def test_the_excess_is_what_rates_exceed_the_capacity_by(capacity, first, second, which, time):
    law = [
        WindowAimd(capacity, first),
        ScalableTcp(capacity, first, second / 1000),
        RateAimd(capacity, first, second),
        Tfrc(capacity, first, second),
    ][which]
    area = quad(lambda t: float(law.rates(t)) - capacity, 0, time, epsrel=1e-9, limit=200)[0]
    assert law.excess(time) == pytest.approx(area, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("window", [10.0, 14.4, 200.0])
def test_windows_per_ack_are_those_of_the_fluid(window):
    law = WindowAimd(240.4, window)
    windows = law.windows_per_ack(5000)
    assert windows == pytest.approx(law.windows(np.arange(5001) / law.capacity), rel=0.005)
    assert ScalableTcp(240.4, window).windows_per_ack(100)[-1] == pytest.approx(window + 1)


def test_the_tracked_rate_is_the_first_integral_and_faster_with_a_lag():
    law = TrackedAimd(capacity=240.0, gain=12.0, rtt=0.06)

    def integral(queue):
        return law.capacity + np.sqrt(2 * law.gain * law.capacity * np.log1p(queue / (law.capacity * law.rtt)))

    went = integrate_excess(law, 30.0, step=0.002, every=250)
    assert went.states[:, 0] == pytest.approx(integral(went.states[:, 1]), rel=1e-4)
    # At these rates, the queue reaches its final length in the duration of the run, 30 s.
    queue = went.states[-1, 1]
    takes = quad(lambda root: 2 * root / (integral(root**2) - law.capacity), 0, np.sqrt(queue), limit=200)[0]
    assert takes == pytest.approx(30.0, rel=1e-4)
    late = integrate_excess(TrackedAimd(240.0, 12.0, 0.06, lag=1.0), 30.0, step=0.002, longest=1.0, every=250)
    assert (late.states[1:, 0] > went.states[1:, 0]).all()
    blind = RateAimd(240.0, 12.0, 0.06).rates(went.times)
    assert (late.states[1:, 0] <= blind[1:] + 1e-6).all()


@given(st.floats(0.1, 1e6), st.floats(0.1, 1e6))
def test_the_marked_map_has_the_stated_equilibrium_and_slope(capacity, omega):
    law = MarkedTfrc(capacity, omega)
    if law.rest - capacity < 1e-3 * capacity:
        return  # the map is too steep for a difference quotient
    assert law.update(law.rest) == pytest.approx(law.rest, rel=1e-9)
    step = 1e-5 * (law.rest - capacity)
    quotient = (law.update(law.rest + step) - law.update(law.rest - step)) / (2 * step)
    assert quotient == pytest.approx(-capacity / (2 * (law.rest - capacity)), rel=1e-5, abs=1e-9)
    assert (quotient > -1) == (law.loss > 1 / 3) == (law.rest > 1.5 * capacity)


def test_the_marked_map_settles_above_a_loss_of_a_third_and_leaves_its_domain_below():
    calm, wild = MarkedTfrc(1000.0, 1000.0), MarkedTfrc(1000.0, 600.0)
    assert calm.orbit(1.01 * calm.rest, 500)[-1] == pytest.approx(calm.rest)
    assert np.isnan(wild.orbit(1.01 * wild.rest, 500)[-1])
    assert np.isnan(wild.update(999.0))


def test_users_without_delay_become_equal():
    rates = immediate_aimd([1.0, 60.0, 30.0], 100.0, 0.5, 2000)
    assert np.ptp(rates[-1]) < 1e-3
    assert rates.sum(axis=1).max() <= 100 + 3 * 0.5


def test_the_order_of_the_laws_is_that_of_figure_7():
    times = np.array([100.0, 1000.0])
    tcp, scalable, rate = WindowAimd(244, 14.6), ScalableTcp(244, 14.6), RateAimd(244, 1 / 0.06, 0.06)
    assert (tcp.excess(times) < scalable.excess(times)).all()
    assert (scalable.excess(times) < rate.excess(times)).all()


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize(
    ("law", "name"),
    [
        (lambda x: WindowAimd(x, 1.0), "capacity"),
        (lambda x: WindowAimd(1.0, x), "window"),
        (lambda x: ScalableTcp(1.0, 1.0, x), "step"),
        (lambda x: RateAimd(1.0, x, 1.0), "gain"),
        (lambda x: TrackedAimd(1.0, 1.0, x), "rtt"),
        (lambda x: Tfrc(1.0, 1.0, x), "lost"),
        (lambda x: MarkedTfrc(1.0, x), "omega"),
        (lambda x: MarkedTfrc(1.0, 1.0).orbit(x, 3), "start"),
        (lambda x: immediate_aimd([1.0], 1.0, x, 3), "step"),
    ],
)
def test_numbers_that_are_not_positive_are_refused(law, name, value):
    with pytest.raises(ParameterError, match=f"^{name} {value} is not allowed; needs a finite number > 0$"):
        law(value)


def test_negative_times_lags_and_queues_are_refused():
    for wrong in (
        lambda: WindowAimd(1.0, 1.0).excess(-1.0),
        lambda: TrackedAimd(1.0, 1.0, 1.0, lag=-1.0),
        lambda: immediate_aimd([1.0], 1.0, 1.0, 3, keep=1.5),
        lambda: immediate_aimd([], 1.0, 1.0, 3),
    ):
        with pytest.raises(ParameterError):
            wrong()
