"""Controller of Ying, Dullerud and Srikant, which is stable under any delay (Zhang 2008, eq 8).

    x_i' = kappa_i x_i(t-D_i) (1/x_i^n - x_i^m eta_i)      eta_i = sum_j p_j      p_j = (y_j/C_j)^B

It is globally stable for `m + n > B`. Then the undelayed effect of a flow's own rate exceeds the delayed effect of all
rates. Rates are in packets/s, delays in s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.stability.loops import Loop
from levelflow.theory.validate import explained, positive, read_number, read_numbers
from zhang_models.vinnicombe import lags_in_parallel


@dataclass(frozen=True)
class Parameters:
    """Parameters of the controller and of the link's price. The defaults are the values used here.

    Attributes:
        kappa: gain.
        n: exponent of the increase.
        m: exponent of the decrease; `n + m` is above 0.
        buffer: `B`, the exponent of the price.

    Raises:
        ParameterError: if a parameter is out of range.
    """

    kappa: float = 0.05
    n: float = 6.0
    m: float = 6.0
    buffer: float = 10.0

    def __post_init__(self) -> None:
        for name in ("kappa", "buffer"):
            read_number(name, getattr(self, name))
        read_number("n", self.n, low=-np.inf)
        read_number("m", self.m, low=-self.n)

    @property
    def delay_independent(self) -> bool:
        """True if the controller is stable in any network under any delays, `m + n > B`."""
        return self.m + self.n > self.buffer


DEFAULTS = Parameters()


@explained
def change(rate: Numbers, before: Numbers, feedback: Numbers, law: Parameters = DEFAULTS) -> Numbers:
    """Returns `x'` (eq 8) from the current rate, the rate one delay ago and the feedback, in packets/s^2."""
    positive(rate=rate)
    return law.kappa * before * (rate**-law.n - rate**law.m * feedback)


def rest(capacity: float, flows: int, law: Parameters = DEFAULTS) -> float:
    """Returns the equilibrium rate of each flow on one link, `((C/N)^B)^(1/(m+n+B))`, packets/s.

    Raises:
        ParameterError: if the capacity or the number of flows is not finite or not above 0.

    >>> rest(5.0, 5)
    1.0
    """
    share = read_number("capacity", capacity) / read_number("number of flows", flows)
    return float(share ** (law.buffer / (law.m + law.n + law.buffer)))


def loop(capacity: float, delays: ArrayLike, law: Parameters = DEFAULTS) -> Loop:
    """Returns the open loop at the equilibrium of one link: the sum of `(g B/N) e^(-s D_i)/(s + g (m + n))`.

    Raises:
        ParameterError: if a number is not finite or not above 0.

    >>> loop(5.0, [0.01, 0.1, 1.0, 5.0, 20.0]).stable
    True
    """
    delay: Floats = np.atleast_1d(read_numbers("delay", delays))
    gain = law.kappa * rest(capacity, delay.size, law) ** -law.n
    ones = np.ones(delay.size)
    return lags_in_parallel(gain * law.buffer / delay.size * ones, gain * (law.m + law.n) * ones, delay)
