"""Verifies controllers of Adaptive Buffer Sizing (ABS) on a plant of first order, and gradients of their training."""

import numpy as np

from zhang_models import buffer_pictures as buffers
from zhang_models.adaptive_buffer import (
    Plant,
    Settings,
    damping_factor,
    loss_controller,
    loss_gradient,
    run,
    utilisation_controller,
    utilisation_gradient,
)

TARGET, GAIN, INTERVAL = 0.98, 3000.0, 0.2
STARTS = (10.0, 100.0, 300.0)  # packets
STEPS = 10_000
COPIES = 10


def plant(noise):
    return Plant(lambda b: 1 - 0.25 * np.exp(-b / 40), lag=0.5, noise=noise)


def mean_buffer(damping):
    """Mean buffer over the second half of runs, per start."""
    settings = Settings(utilisation=TARGET, damping=damping)
    went = run(settings, plant(0.02), np.repeat(STARTS, COPIES), STEPS).buffers
    return went[STEPS // 2 :].mean(axis=0).reshape(-1, COPIES).mean(axis=1).tolist()


def change_at_rest():
    """Largest change of any of several buffers when the utilisation has no noise."""
    went = run(Settings(utilisation=TARGET), plant(0.0), [1.0, 10.0, 50.0, 500.0, 5000.0], 1000).buffers
    return float(np.abs(went - went[0]).max())


def quotient(error, gain, step=1.0):
    return (error(gain + step) - error(gain - step)) / (2 * step)


def gradients(draws=100):
    """Compares eq 171 and eq 169 with derivatives of F. F is the output for another target minus the actual output."""
    rng = np.random.default_rng(1)
    p, p_after, p_target, u, u_before, u_after, u_target = rng.uniform(0, 1, (7, draws))
    b = rng.uniform(1, 1000, draws)
    factor = damping_factor(u, u_before, "signed")

    def loss_error(gain):
        return loss_controller(b, p, p_after, gain, INTERVAL) - loss_controller(b, p, p_target, gain, INTERVAL)

    def utilisation_error(gain):
        return utilisation_controller(b, u, u_after, gain, INTERVAL, factor) - utilisation_controller(
            b, u, u_target, gain, INTERVAL, factor
        )

    slope_p, slope_u = quotient(loss_error, GAIN), quotient(utilisation_error, GAIN)
    printed = utilisation_gradient(u_after, u_target, INTERVAL)
    full = utilisation_gradient(u_after, u_target, INTERVAL, factor)
    if not np.allclose(slope_u, full, rtol=1e-6, atol=1e-9):
        raise ValueError("the gradient with its factor is not the derivative")
    eq_171 = np.allclose(slope_p, loss_gradient(p_after, p_target, INTERVAL), rtol=1e-6, atol=1e-9)
    eq_169 = np.isclose(slope_u, printed, rtol=1e-6, atol=1e-9).any()
    return {
        "finite_difference_matches[(171)]": bool(eq_171),
        "finite_difference_matches[(169) as printed]": bool(eq_169),
    }


def gain_stays_positive():
    """True, per gain, if the gain stays above 0 while utilisation is above its target and loss is below its target."""
    settings = Settings(utilisation=0.7, loss=0.05, damping="none", training="percent", gain=100.0)
    went = run(settings, Plant(), 1000.0, 1000)
    return [bool((gains > 0).all()) for gains in (went.gains_u, went.gains_p)]


def measure(figure):
    return {
        "abs-damping-regulates": {
            "buffer_mean_pkts[printed sign, noise 2 %]": mean_buffer("signed"),
            "buffer_mean_pkts[with |du|, noise 2 %]": mean_buffer("absolute"),
            "buffer_change_pkts": change_at_rest(),
        },
        "abs-training-gradient": {**gradients(), "gain_positive": gain_stays_positive()},
    }


def plot(figure, canvas):
    buffers.damping(canvas=canvas)
