"""Compares the critical gain of Kelly control under equal delays with the roots of z^D - z^(D-1) + G."""

from scipy.optimize import brentq

from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.pictures import norms
from levelflow.theory.stability.delays import critical_gain, kelly_roots


def largest(gain, delay):
    return abs(kelly_roots(gain, delay)[0])


def largest_stable(delay):
    """Gain at which a root reaches the unit circle, by bisection over the roots."""
    return brentq(lambda gain: largest(gain, delay) - 1, 0.01, 3.0, xtol=1e-13)


def agrees(delay):
    bound = critical_gain(delay)
    at, below, above = (largest(bound * factor, delay) for factor in (1.0, 1 - 1e-6, 1 + 1e-6))
    return bool(below < 1 < above and abs(at - 1) < 1e-9)


def measure(figure):
    return {
        "kelly-eq3-homogeneous": {
            **{f"critical_gain[D={delay}]": largest_stable(delay) for delay in range(1, 5)},
            "bound_agrees_with_roots": [agrees(delay) for delay in range(1, 31)],
        }
    }


def plot(figure, canvas):
    norms.gains(canvas=canvas)
    for number in range(4):
        draw_expected(canvas.axes[0], figure, f"kelly-eq3-homogeneous[{number}]", (number + 1, number + 1))
