"""Conditions under unlike delays in continuous time, and Vinnicombe's TCP-like controller (Zhang 2008, eq 4, 6, 7).

Kelly's primal law, `x_i' = kappa_i (omega_i - x_i(t-D_i) mu_i(t))`, is stable if for each flow

    kappa_i sum_j (p_j + p_j' y_j) < pi/(2 D_i)                                                  (4)

On one link with one delay, this condition is also necessary. Vinnicombe's controller divides by the delays, and so
removes them from the condition:

    x_i' = x_i(t-D_i)/D_i (alpha_i - (alpha_i + beta_i) eta_i)      alpha_i = a (x_i D_i)^n      (6)
    eta_i = sum_j p_j     p_j = (y_j/C_j)^B                          beta_i = b (x_i D_i)^m

The controller is locally stable if `a (x_i* D_i)^n < 1/B` (7). For `n = 0`, this holds under any delays. Rates are in
packets/s, delays in s, `x_i D_i` in packets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.stability.conditions import Condition, between
from levelflow.theory.stability.equations import Past, Trajectory, integrate
from levelflow.theory.stability.loops import Loop
from levelflow.theory.validate import explained, positive, read_each, read_number, read_numbers


@dataclass(frozen=True)
class Parameters:
    """Parameters of Vinnicombe's controller and of the link's price. The defaults are the values used here.

    Attributes:
        a: factor of the increase. Each ACK adds `a (x D)^n` to the window.
        b: factor of the decrease. Each mark reduces the window by `b (x D)^m`.
        n: exponent of the increase; 0 makes stability independent of delay.
        m: exponent of the decrease; above `n`.
        buffer: `B`, the exponent of the price, which approximates loss with a buffer of `B` packets.

    Raises:
        ParameterError: if a parameter is out of range.
    """

    a: float = 0.05
    b: float = 1.0
    n: float = 0.0
    m: float = 1.0
    buffer: float = 10.0

    def __post_init__(self) -> None:
        for name in ("a", "b", "buffer"):
            read_number(name, getattr(self, name))
        read_number("m", self.m, low=self.n)
        read_number("n", self.n, low=-np.inf)


DEFAULTS = Parameters()


@explained
def price(load: Numbers, capacity: Numbers, buffer: float) -> Numbers:
    """Returns `(y/C)^B`, the price of a link."""
    positive(capacity=capacity)
    return np.maximum(load / capacity, 0.0) ** buffer


@explained
def change(rate: Numbers, before: Numbers, feedback: Numbers, delay: Numbers, law: Parameters = DEFAULTS) -> Numbers:
    """Returns `x'` (eq 6) from the current rate, the rate one delay ago and the feedback, in packets/s^2."""
    positive(delay=delay)
    up, down = law.a * (rate * delay) ** law.n, law.b * (rate * delay) ** law.m
    return before / delay * (up - (up + down) * feedback)


def rest(capacity: float, delays: ArrayLike, law: Parameters = DEFAULTS) -> tuple[Floats, float]:
    """Returns the rates (packets/s) and the feedback at equilibrium on one link. All windows are equal.

    Raises:
        ParameterError: if a number is not finite or not above 0.

    >>> rates, feedback = rest(100.0, [0.1, 0.1])
    >>> bool(np.isclose(feedback, (rates.sum() / 100.0) ** 10))
    True
    """
    delay = np.atleast_1d(read_numbers("delay", delays))
    limit = read_number("capacity", capacity)

    def window(log: float) -> float:
        """Returns the logarithm of the window, from the logarithm of the feedback."""
        return float((np.log(law.a / law.b) + np.log(-np.expm1(log)) - log) / (law.m - law.n))

    def lack(log: float) -> float:
        return (window(log) + float(np.log(np.sum(1 / delay) / limit))) * law.buffer - log

    log = float(brentq(lack, -700.0, -1e-15, xtol=1e-15))
    return np.exp(window(log)) / delay, float(np.exp(log))


def condition(capacity: float, delays: ArrayLike, law: Parameters = DEFAULTS) -> Condition:
    """Returns the condition of eq 7 on one link: `a (x* D)^n` is below `1/B` for each flow.

    Raises:
        ParameterError: if a number is not finite or not above 0.

    >>> condition(100.0, [0.01, 20.0]).holds
    True
    """
    rates, _ = rest(capacity, delays, law)
    return between(law.a * (rates * np.asarray(delays)) ** law.n, 0.0, 1 / law.buffer)


def loop(capacity: float, delays: ArrayLike, law: Parameters = DEFAULTS) -> Loop:
    """Returns the open loop of one link at equilibrium: the sum of `(x_i/y) (alpha_i B/D_i) e^(-s D_i)/(s + c_i/D_i)`.

    The undelayed effect of a flow's own rate gives `c = (m - n) alpha beta/(alpha + beta)`.

    Raises:
        ParameterError: if a number is not finite or not above 0.
    """
    rates, _ = rest(capacity, delays, law)
    delay = np.atleast_1d(np.asarray(delays, dtype=np.float64))
    up, down = law.a * (rates * delay) ** law.n, law.b * (rates * delay) ** law.m
    own = (law.m - law.n) * up * down / (up + down) / delay
    shares = rates / rates.sum() * up * law.buffer / delay
    return lags_in_parallel(shares, own, delay)


def lags_in_parallel(gains: Floats, speeds: Floats, delays: Floats) -> Loop:
    """Returns `sum_i gain_i e^(-s D_i)/(s + speed_i)`."""
    parts = zip(gains, speeds, delays, strict=True)
    return reduce(Loop.__add__, [Loop.rational([gain], [1.0, speed], delay=delay) for gain, speed, delay in parts])


@explained
def follow(
    law: Callable[[Floats, Floats, Floats, Floats], Numbers],
    link: tuple[float, float],
    delays: ArrayLike,
    start: ArrayLike,
    *,
    duration: float,
    step: float,
) -> Trajectory:
    """Returns the rates of flows on one link over time. All delay is on the return path.

    Args:
        law: function that returns `x'` from current rates, rates one delay ago, feedback and delays.
        link: capacity, packets/s, and the exponent of its price.
        delays: round-trip times, s, per flow.
        start: rates of flows up to time 0, packets/s.
        duration: duration, s.
        step: integration step, a small fraction of the shortest delay and time constant, s.

    Raises:
        ParameterError: if a delay, a rate or the step is not finite or not above 0, or their numbers differ.
    """
    rates = read_numbers("rate", np.atleast_1d(start))
    delay = read_each("delay", delays, rates.size)
    lags, own = delay.tolist(), np.arange(rates.size)

    def motion(_: float, rate: Floats, past: Past) -> Numbers:
        seen = np.array([past(lag) for lag in lags])
        return law(rate, seen[own, own], price(seen.sum(axis=1), *link), delay)

    return integrate(motion, rates, duration, step=step, longest=float(delay.max()))
