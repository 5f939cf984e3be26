"""ABS: hand-computed equations, gradients by finite differences, and behaviour of the controllers on simple plants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.queues.buffers import adaptive_drop_tail, largest_gain
from zhang_models.adaptive_buffer import (
    Plant,
    Settings,
    damping_factor,
    loss_controller,
    loss_gradient,
    measured,
    run,
    size,
    start,
    trained,
    update,
    utilisation_controller,
    utilisation_gradient,
)

UNIT = st.floats(0, 1)


def exponential(b):
    return 1 - 0.25 * np.exp(-b / 40)


def test_a_step_is_thirty_packets_for_five_per_cent():
    assert loss_controller(100, 0.07, 0.02, 3000, 0.2) == pytest.approx(130)
    assert utilisation_controller(100, 0.93, 0.98, 3000, 0.2) == pytest.approx(130)
    assert utilisation_controller(100, 0.93, 0.98, 3000, 0.2, 0.5) == pytest.approx(115)
    assert utilisation_controller(100, 0.93, 0.98, 3000, 0.2) == adaptive_drop_tail(100, 0.93, 0.98, 600)


def test_counters_give_loss_and_utilisation_and_an_idle_link_has_no_loss():
    loss, busy = measured([9000, 0, 45_000], [1000, 0, 0], 1.8e6, 0.2)
    assert loss.tolist() == [0.1, 0, 0]
    assert busy.tolist() == [0.2, 0, 1.0]


@given(UNIT, UNIT, UNIT, UNIT, st.floats(1, 1e4), st.sampled_from(["signed", "absolute", "none"]))
def test_the_full_gradient_is_the_derivative_of_the_error(u, before, after, target, gain, damping):
    factor = damping_factor(u, before, damping)

    def error(g):
        return utilisation_controller(7, u, after, g, 0.2, factor) - utilisation_controller(
            7, u, target, g, 0.2, factor
        )

    assert error(gain + 1) - error(gain) == pytest.approx(utilisation_gradient(after, target, 0.2, factor), abs=1e-8)
    other = loss_controller(7, u, after, gain + 1, 0.2) - loss_controller(7, u, target, gain + 1, 0.2)
    other -= loss_controller(7, u, after, gain, 0.2) - loss_controller(7, u, target, gain, 0.2)
    assert other == pytest.approx(loss_gradient(after, target, 0.2), abs=1e-8)


def test_two_intervals_worked_by_hand():
    abs_both = Settings(utilisation=0.95, loss=0.02, gain=1000, training="percent", gradient="full")
    first = update(abs_both, start(abs_both, 100.0), 0.90, 0.05)
    assert (first.buffer_u, first.buffer_p) == (100, pytest.approx(106))  # u: no change yet; p: 1000 * 0.2 * 0.03
    assert (first.gain_u, first.gain_p) == (1000, 1000)
    second = update(abs_both, first, 0.92, 0.04)
    assert second.gain_u == pytest.approx(1000)  # the factor of the first interval was 0
    assert second.gain_p == pytest.approx(1000 - 100 * 0.2 * (0.02 - 0.04))
    assert second.factor == pytest.approx(0.02)
    assert second.buffer_u == pytest.approx(100 - 1000 * 0.2 * 0.02 * -0.03)
    assert second.buffer_p == pytest.approx(106 + second.gain_p * 0.2 * 0.02)
    third = update(abs_both, second, 0.96, 0.04)
    assert third.gain_u == pytest.approx(1000 - 0.2 * (100 * 0.02) * (100 * 0.01))
    assert size(abs_both, third) == max(third.buffer_u, third.buffer_p)


def test_states_stay_between_their_limits():
    both = Settings(utilisation=0.95, loss=0.02, damping="none", largest=150)
    state = update(both, start(both, 100.0), 0.0, 0.0)
    assert (state.buffer_u, state.buffer_p) == (150, 88)
    state = update(both, start(both, 5.0), 1.0, 0.0)
    assert (state.buffer_u, state.buffer_p) == (1, 1)
    assert trained(3.0, 100.0) == 1


def test_one_target_is_one_controller():
    alone = Settings(loss=0.02)
    state = update(alone, start(alone, 100.0), 0.5, 0.05)
    assert size(alone, state) == state.buffer_p == pytest.approx(118)
    assert state.buffer_u == 100


@pytest.mark.parametrize("target", [0.002, 0.02, 0.3])
@pytest.mark.parametrize("part", [0.1, 0.5])
def test_the_loss_controller_is_at_equilibrium_at_its_target(target, part):
    rest = 1 / target - 1  # buffer at equilibrium: 1 / (rest + 1) = target
    gain = part * float(largest_gain(target**2)) / 0.2
    went = run(Settings(loss=target, gain=gain), Plant(loss=lambda b: 1 / (b + 1)), 1.5 * rest, 300)
    assert went.losses[-1] == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("lag", [0.2, 0.5, 1.0])
def test_the_undamped_controller_oscillates_beyond_its_largest_gain(lag):
    target = 0.95
    slope = (1 - target) / 40
    for part, settles in ((0.9, True), (1.1, False)):
        gain = part * float(largest_gain(slope, lag)) / 0.2
        regulator = Settings(utilisation=target, gain=gain, damping="none")
        went = run(regulator, Plant(exponential, lag=lag), 40 * np.log(5) + 0.1, 3000).buffers
        assert (abs(went[-200:] - 40 * np.log(5)).max() < 0.1) == settles


def test_printed_damping_loses_the_target_and_the_modulus_keeps_it():
    noisy = Plant(exponential, lag=0.5, noise=0.02)
    starts = np.full(20, 150.0)
    ends = {
        way: run(Settings(utilisation=0.98, damping=way), noisy, starts, 3000).buffers[2000:].mean()
        for way in ("signed", "absolute")
    }
    assert ends["signed"] < 10
    assert ends["absolute"] == pytest.approx(40 * np.log(12.5), rel=0.03)


def test_noise_moves_the_printed_controller_by_its_variance():
    # If utilisation equals the target for each buffer, only noise moves the buffer. It moves by `-I T s^2` per step,
    # with the gain I, the interval T and the standard deviation s of the noise.
    flat = Plant(lambda b: np.full_like(b, 0.9), noise=0.02)
    went = run(Settings(utilisation=0.9), flat, np.full(4000, 5000.0), 100).buffers
    assert (went[-1] - went[0]).mean() / 99 == pytest.approx(-3000 * 0.2 * 0.02**2, rel=0.1)


def test_any_buffer_of_constant_utilisation_is_at_rest_with_damping():
    for way in ("signed", "absolute"):
        went = run(Settings(utilisation=0.98, damping=way), Plant(exponential), [5.0, 50.0, 5000.0], 50).buffers
        assert (went == went[0]).all()


def test_a_link_that_is_never_full_winds_up_without_damping_only():
    idle = Plant(lambda b: np.full_like(b, 0.3))
    ends = {way: run(Settings(utilisation=0.9, damping=way), idle, 10.0, 200).buffers[-1] for way in ("none", "signed")}
    assert ends == {"none": 10_000, "signed": 10}


def test_training_in_shares_of_one_does_nothing_beside_the_gain():
    plant = Plant(exponential, lambda b: 1 / (b + 1))
    for unit, least, most in (("fraction", 0.0, 30.0), ("percent", 30.0, 3000.0)):
        both = Settings(utilisation=0.9, damping="none", training=unit)
        gains = run(both, plant, 1000.0, 100).gains_u
        assert least < gains[0] - gains[-1] < most


def test_equal_seeds_are_equal_runs():
    noisy = Plant(exponential, noise=0.02)
    runs = [run(Settings(utilisation=0.98), noisy, 100.0, 50, seed=seed).buffers for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (Settings, "there is no target"),
        (lambda: Settings(utilisation=98), "utilisation 98.0 .* from 0 to 1"),
        (lambda: Settings(loss=-0.1), "loss -0.1"),
        (lambda: Settings(loss=0.1, interval=0), "interval 0"),
        (lambda: Settings(loss=0.1, gain=float("nan")), "gain nan"),
        (lambda: Settings(loss=0.1, largest=0.5), "largest 0.5 .* >= 1"),
        (lambda: Settings(loss=0.1, damping="some"), "signed, absolute, none"),
        (lambda: Settings(loss=0.1, training="some"), "none, fraction, percent"),
        (lambda: Settings(loss=0.1, gradient="some"), "printed, full"),
        (lambda: start(Settings(loss=0.1), 0.0), "buffer 0.0 .* from 1 to 10000"),
        (lambda: Plant(lag=0), "lag 0"),
        (lambda: Plant(lag=1.5), "lag 1.5"),
        (lambda: Plant(noise=-1), "noise -1"),
        (lambda: run(Settings(loss=0.1), Plant(), 10.0, 0), "steps 0"),
        (lambda: measured(-1, 0, 1.0, 1.0), "admitted -1"),
        (lambda: measured(1, 0, 0.0, 1.0), "capacity 0"),
    ],
)
def test_invalid_settings_are_rejected(wrong, text):
    with pytest.raises(ParameterError, match=text):
        wrong()
