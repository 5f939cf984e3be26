"""Max-min Kelly control with any price (Zhang 2008, chapter V.2.1 to V.2.3).

    x_i(n) = x_i(n - D_i) + alpha_i - beta_i eta_i(n) x_i(n - D_i)                   (61, 79)
    eta_i(n) = max over the links j of the path of p_j(n - backward delay from j)    (62)

Flow `i` has the rate `x_i`, the gain `beta_i` and a round trip of `D_i` steps. `p_j` is a function of the load of link
`j`. Rates are in any common unit, and `alpha` is in this unit per step. At equilibrium, `p` is the price of the
bottleneck, and `slope` is `p'`, the derivative of this price by the load.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.paths import Paths, Run, run
from levelflow.theory.stability.conditions import Condition, between
from levelflow.theory.validate import explained, read_each, read_number, read_numbers, whole

#: Number of initial points on the half circle per unit of the sum of delays; largest phase change between two points,
#: rad; largest number of bisections between two points.
POINTS, TURN, HALVINGS = 4, 1.0, 40
#: Distance from the unit circle below which a pole counts as a pole on the circle.
NEAREST = 1e-6
#: Exponent of the largest power of 2 that is tried as equilibrium load.
LARGEST = 1000


def sender(reference: Floats, price: Floats, alpha: Floats | float, beta: Floats | float) -> Floats:
    """Returns the next rate (eq 61).

    Args:
        reference: rate one round trip ago.
        price: largest price of the path at `reference`; minus infinity without load. The rate then grows by `alpha`.
        alpha: rate added per step.
        beta: gain.
    """
    paid = np.where(price == -np.inf, 0.0, price)
    return reference + alpha - beta * paid * reference


def largest(network: Paths, heard: Floats) -> Floats:
    """Returns the largest price that each flow observes on its path (eq 62)."""
    return np.where(network.crosses, heard, -np.inf).max(axis=1)


@explained
def iterate(
    network: Paths,
    start: ArrayLike,
    steps: int,
    price: Callable[[Floats], Floats],
    gains: tuple[ArrayLike, ArrayLike],
    every: int = 1,
) -> Run:
    """Iterates eq 61 and 62 over a network.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        price: maps the loads of all links to their prices.
        gains: `alpha` and `beta`, each for all flows or per flow.
        every: number of steps between two recorded steps.

    Raises:
        ParameterError: if there is not one finite rate per flow, or a number is not allowed.
    """
    flows = len(network.crossings)
    alpha, beta = read_each("alpha", gains[0], flows, closed=True), read_each("beta", gains[1], flows)

    def senders(_: Floats, reference: Floats, heard: Floats) -> Floats:
        return sender(reference, largest(network, heard), alpha, beta)

    def routers(received: Floats, memory: Floats) -> tuple[Floats, Floats]:
        return price(received.sum(axis=0)), memory

    return run(network, start, steps, senders, routers, every=every)


@explained
def fixed_point(price: Callable[[float], float], alpha_over_beta: ArrayLike, flows: int) -> Floats:
    """Returns the equilibrium of flows on one link: each at `alpha / (beta p)` (eq 68).

    Args:
        price: price of the link as a function of its load; increasing, and above 0 from some load on.
        alpha_over_beta: for all flows or per flow, above 0.
        flows: number of flows.

    Raises:
        ParameterError: if a ratio is not positive and finite, or there is no equilibrium load.

    >>> fixed_point(lambda load: 1 - 10 / load, 2.0, 4).round(9).tolist()
    [4.5, 4.5, 4.5, 4.5]
    """
    from scipy.optimize import brentq

    whole(1, flows=flows)
    ratio = read_each("alpha over beta", alpha_over_beta, flows)
    total = float(ratio.sum())

    def excess(load: float) -> float:
        """Returns load times price, minus `total`; 0 at equilibrium."""
        return float(load * price(load)) - total

    powers = np.ldexp(1.0, np.arange(-LARGEST, LARGEST + 1))
    with np.errstate(all="ignore"):
        first = next((n for n, load in enumerate(powers) if excess(load) > 0), 0)
    if not first:
        raise ParameterError(
            "the price is not allowed; needs one that increases with the load, from below 0 or 0 to above 0"
        )
    load = float(brentq(excess, powers[first - 1], powers[first], xtol=powers[first - 1] * 1e-15, rtol=1e-15))
    return ratio * (load / total)


@explained
def jacobian(rates: ArrayLike, beta: ArrayLike, price: float, slope: float) -> Floats:
    """Returns the Jacobian of flows on one link without delay (eq 73, 81).

    >>> jacobian([2.0, 2.0], 0.5, 0.25, 0.125)
    array([[ 0.75 , -0.125],
           [-0.125,  0.75 ]])
    """
    rate = _rates(rates)
    gain = read_each("beta", beta, rate.size)
    return np.diag(1 - gain * price) - (gain * rate * slope)[:, None]


@explained
def symmetric(rates: ArrayLike, beta: ArrayLike, price: float, slope: float) -> Floats:
    """Returns `W A W^-1` with `A` the Jacobian and `W = diag((beta_k x_k)^-1/2)`: symmetric and similar to `A`.

    Theorem 8 prints the inverse of this `W`; with the inverse, the matrix of eq 82 is `W^-1 A W`.
    """
    rate = _rates(rates)
    scale = np.sqrt(read_each("beta", beta, rate.size) * rate)
    return jacobian(rates, beta, price, slope) / scale[:, None] * scale


@explained
def theorem_7(flows: int, rate: float, beta: float, price: float, slope: float) -> Condition:
    """Returns the stability condition of identical flows on one link (eq 66-67).

    The condition applies without delay, and by corollary 3 with any delay. It has two values: `beta p` for differences
    between flows (if there are several), and `beta p + beta N x p'` for the sum of rates. The eigenvalues of the
    Jacobian are 1 minus these values. The condition is therefore also necessary.

    Args:
        flows: number of flows.
        rate: equilibrium rate of each flow.
        beta: gain.
        price: equilibrium price of the link.
        slope: derivative of the price with respect to the load.
    """
    read_number("rate", rate), read_number("slope", slope, -np.inf)
    together = beta * price + beta * flows * rate * slope
    return between([together] if flows == 1 else [beta * price, together])


@explained
def theorem_8(rates: ArrayLike, beta: ArrayLike, price: float, slope: float) -> Condition:
    """Returns a sufficient condition for flows with different gains to be stable under any delays (eq 80).

    The condition is sufficient if price and slope are above 0. The values `beta_i (p + p' sum_k x_k)` are row sums of a
    positive matrix. This matrix is similar to `1 - A`. The eigenvalues of `1 - A` are real and above 0.
    """
    rate = _rates(rates)
    return between(read_each("beta", beta, rate.size) * (price + slope * rate.sum()))


@explained
def unstable_roots(delays: ArrayLike, rates: ArrayLike, beta: ArrayLike, price: float, slope: float) -> int:
    """Returns the number of characteristic roots of flows on one link outside the unit circle; 0 if stable.

    The split of the round trip into forward and backward delay has no effect. With `c_i = 1 - beta_i p` and `b_i =
    beta_i x_i p'`, the roots are those of

        prod_i (z^D_i - c_i) H(z) = 0,   H(z) = 1 + sum_i b_i / (z^D_i - c_i)

    The roots of the factors are known. While `z` goes around the circle, `H` turns backward around 0 a number
    of times: the number of its zeros outside the circle, minus the number of its poles outside. Points are added
    wherever the phase of `H` changes much between two points. `levelflow.theory.stability.delays.stability` handles any
    matrix.

    Raises:
        ParameterError: if a delay is not a whole number above 0, or a root is too near the circle to decide.
    """
    price, slope = read_number("price", price, -np.inf), read_number("slope", slope, -np.inf)
    rate = _rates(rates)
    lags = read_each("delay", delays, rate.size, 1, closed=True)
    gain = read_each("beta", beta, rate.size)
    kept, felt = 1 - gain * price, gain * rate * slope

    def phase(angles: Floats) -> NDArray[np.complex128]:
        terms = felt / (np.exp(1j * angles[:, None] * lags) - kept)
        return np.asarray(1 + terms.sum(axis=1))

    # The spacing of points resolves high powers of z, and poles farther from the circle than one spacing.
    apart = float(np.min(np.abs(1 - np.abs(kept) ** (1 / lags)), initial=np.pi / (POINTS * lags.sum())))
    if apart < NEAREST:
        raise ParameterError("these numbers are not allowed; needs roots that are not on the unit circle")
    angles = np.linspace(0, np.pi, int(np.pi / apart) + 2)
    values = phase(angles)
    for _ in range(HALVINGS):
        with np.errstate(all="ignore"):
            turns = np.angle(values[1:] / values[:-1])
        wide = np.flatnonzero(~(np.abs(turns) < TURN))
        if not wide.size:
            return int(lags[np.abs(kept) > 1].sum()) - round(float(turns.sum()) / np.pi)
        middles = (angles[wide] + angles[wide + 1]) / 2
        angles = np.asarray(np.insert(angles, wide + 1, middles), dtype=np.float64)
        values = np.asarray(np.insert(values, wide + 1, phase(middles)), dtype=np.complex128)
    raise ParameterError("these numbers are not allowed; needs roots that are not on the unit circle")


def _rates(rates: ArrayLike) -> Floats:
    return np.atleast_1d(read_numbers("rate", rates))
