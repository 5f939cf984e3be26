"""Stability of MaxNet under delay (Andrew et al., section VIII), with exact pure delays.

A flow of round-trip time `tau` reacts to the price that it observes. Near equilibrium, its loop gain is

    F(s, tau; alpha) = alpha e^(-s tau)/(s tau) (s tau + eta)/(s tau + eta alpha T/tau)                    (13)

times the flow's fraction of the capacity. The effects of all flows that observe the price of a link add up. A flow does
not observe this price if another link with a larger price limits it. A network whose bottlenecks have different prices
is therefore stable if and only if each of its links is stable. A link is stable if `1 + sum_i share_i F(s, tau_i)` has
no zero right of the imaginary axis.

The shares of a link sum to at most `mu`. The Nyquist curve of the link therefore stays in the convex hull of 0 and the
curves of `F`. All networks are stable if this hull does not meet the real axis left of -1 (lemma 1). Algorithm 3 finds
a line above the hull for all delays up to a bound `tau_bar`; `Compensator.line` implements it. It considers two curves
that begin where `F` of the longest delay is first real, at the frequency `w_low`. The *spiral* is `F(jw, tau_bar)` for
`w > w_low`. The *tail* is `F(j w_low, tau)` for `tau < tau_bar`.

The proof of algorithm 3 in the paper assumes items 3 and 4 of lemma 2. Both are false where the lag of a long delay
makes the phase rise with the frequency (see `slopes`). The result still holds. Let `phi = w tau`. At constant `phi`, a
larger `tau` lowers the phase of `F` and increases its size (items 5 and 6). The size also falls with `phi`. Take `F` at
any `w > w_low` and `tau < tau_bar`. Compare it with the point of the same `phi` on the tail if `phi < w_low tau_bar`,
and on the spiral otherwise. `F` has a smaller size and a smaller phase lag than this point. Before half a turn, `F` is
therefore further below the line. After half a turn, the spiral had the phase of `F` at a smaller `phi`, where its size
was larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.loops import Loop
from levelflow.theory.stability.quasi import AxisError, QuasiPolynomial
from levelflow.theory.validate import explained, finite, positive, read_each, read_number, read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Complexes, Floats, Ints
    from levelflow.theory.laws.shared.maxnet_model import FixedPoint, Parameters

#: Number of grid points on the spiral and on the tail, for the search of an extremum.
SPIRAL_POINTS, TAIL_POINTS = 2000, 4000
#: Shortest delay of the tail, relative to the longest. At this delay the tail is close to its end, -j/(w alpha T).
SHORTEST_DELAY = 1e-12
#: Inverse slope of the steepest line that is tried, relative to the inverse slope of the flattest line.
STEEPEST = 1e-12
#: Relative distance below which two curves count as touching.
ROUNDING = 1e-12
#: Frequency range of a Nyquist curve relative to its corner frequencies; initial steps per factor of e in frequency;
#: shortest step.
NEAR_ORIGIN, FAR_OUT, STEPS_EACH, SHORTEST_STEP = 1e-3, 1e3, 4, 1e-12


class Slopes(NamedTuple):
    """Derivatives of lemma 2. The size of `F` is the logarithm of its magnitude.

    Attributes:
        size_by_phi: derivative of the size by `phi = w tau` at a constant phase; item 2.
        size_by_delay: derivative of the size by `tau` at a constant phase, 1/s; item 3.
        size_by_frequency: derivative of the size by `w` at a constant phase, s; item 4.
        phase_by_delay: derivative of the phase by `tau` at constant `phi`, rad/s; item 5.
        size_by_delay_alone: derivative of the size by `tau` at constant `phi`, 1/s; item 6.
    """

    size_by_phi: Floats
    size_by_delay: Floats
    size_by_frequency: Floats
    phase_by_delay: Floats
    size_by_delay_alone: Floats


@dataclass(frozen=True)
class Compensator:
    """Dynamics that make a MaxNet flow fair and keep it stable: a lead for delays below `alpha T`, otherwise a lag.

    `alpha T` is one constant, so `F` is proportional to `alpha`.

    Attributes:
        eta: zero of the compensator, times the delay.
        alpha_t: `alpha T`, s.

    Raises:
        ParameterError: if a value is not a finite number above 0.
    """

    eta: float
    alpha_t: float

    def __post_init__(self) -> None:
        read_number("eta", self.eta)
        read_number("alpha T", self.alpha_t)

    @classmethod
    def of(cls, law: Parameters) -> Compensator:
        """Returns the compensator of a law's parameters."""
        return cls(law.eta, law.alpha * law.scale)

    def __call__(self, s: ArrayLike, delay: ArrayLike) -> Complexes:
        """Returns `F(s, tau; 1)` (13) at points other than 0, in 1/s, for delays in s."""
        return general(s, delay, self.eta / np.asarray(delay, dtype=np.float64), self.ratio(delay))

    def response(self, frequency: ArrayLike, delay: ArrayLike) -> Complexes:
        """Returns `F(jw, tau; 1)` at frequencies in rad/s.

        Raises:
            ParameterError: if a frequency or a delay is not above 0.
        """
        return self(1j * read_numbers("frequency", frequency), read_numbers("delay", delay))

    def ratio(self, delay: ArrayLike) -> Floats:
        """Returns `alpha T/tau`: a lead if above 1, a lag if below 1."""
        return self.alpha_t / read_numbers("delay", delay)

    def phase(self, phi: ArrayLike, delay: ArrayLike) -> Floats:
        """Returns the phase of `F` at `phi = w tau`, without jumps (15), rad."""
        turned = np.asarray(phi, dtype=np.float64)
        return np.arctan(turned / self.eta) - np.arctan(turned / (self.eta * self.ratio(delay))) - np.pi / 2 - turned

    def frequency_at(self, delay: float, angle: float) -> float:
        """Returns the lowest frequency at which the phase of `F` is `angle`, in rad/s. The search skips no solution.

        Raises:
            ParameterError: if the delay is not above 0, or `angle` is not below -pi/2, rad.
        """
        from scipy.optimize import brentq

        tau = read_number("delay", delay)
        if not -np.inf < angle < -np.pi / 2:
            raise ParameterError(f"angle {angle} is not allowed; needs a number below -pi/2 = {-np.pi / 2:.6f}")
        # At `phi = 0` the phase is -pi/2, and always below `-phi`. Between zeros of its slope, the phase is monotonic.
        ends = [0.0, *self._turns(tau), -angle]
        for low, high in pairwise(ends):
            if low < high and self.phase(high, tau) <= angle:
                found = brentq(lambda phi: float(self.phase(phi, tau)) - angle, low, high, xtol=1e-300, rtol=1e-15)
                return float(found) / tau
        raise AssertionError("the phase is below -phi")

    def lowest_real(self, delay: float) -> float:
        """Returns `w_0(tau)`, the lowest frequency at which `F` is real (14), rad/s: `F` is negative there."""
        return self.frequency_at(delay, -np.pi)

    def gain(self, delay: float, margin: float = 0.0) -> float:
        """Returns the gain `alpha` at which a single delay has the given phase margin (rad); 0 is the stability limit.

        `alpha T` does not change with the gain. The size of `F` decreases with frequency. The gain therefore follows
        from the frequency at which the phase first reaches `margin - pi`. Section VIII-E prints -3 pi/2, which would be
        no margin.

        Raises:
            ParameterError: if the delay is not above 0, or the margin is not from 0 to pi/2.
        """
        if not 0 <= margin < np.pi / 2:
            raise ParameterError(f"phase margin {margin} is not allowed; needs a number from 0 to below pi/2")
        found = self.response(self.frequency_at(delay, margin - np.pi), delay)
        return 1 / float(np.abs(found))

    def slopes(self, phi: ArrayLike, delay: ArrayLike) -> Slopes:
        """Returns the derivatives of lemma 2 at the point with `phi = w tau`, from closed-form partial derivatives.

        Items 3 and 4 assume that `F` is a function of phase and delay, or of phase and frequency. This does not hold
        between two zeros of the slope, where the phase rises with the frequency. There, three points have the same
        phase. Both items are false at the middle point.
        """
        p, tau = np.broadcast_arrays(read_numbers("phi", phi), read_numbers("delay", delay))
        pole = self.eta * self.ratio(tau)
        zero2, pole2 = self.eta**2 + p**2, pole**2 + p**2
        phase_by_phi = self.eta / zero2 - pole / pole2 - 1
        phase_by_delay = -p * pole / (tau * pole2)
        size_by_phi = -1 / p + p / zero2 - p / pole2
        size_by_delay = pole**2 / (tau * pole2)
        along = size_by_phi - size_by_delay * phase_by_phi / phase_by_delay
        with np.errstate(divide="ignore"):
            return Slopes(
                size_by_phi=along,
                size_by_delay=size_by_delay - size_by_phi * phase_by_delay / phase_by_phi,
                # Derivative of the frequency phi/tau by phi at constant phase: 1/tau - phi tau'/tau^2.
                size_by_frequency=along / (1 / tau + p / tau**2 * phase_by_phi / phase_by_delay),
                phase_by_delay=phase_by_delay,
                size_by_delay_alone=size_by_delay,
            )

    def line(self, longest: float, shortest: float = 0.0) -> Line:
        """Runs algorithm 3: finds the common upper tangent of spiral and tail, which is the line with the largest gain.

        Args:
            longest: `tau_bar`, the longest delay, s.
            shortest: shortest delay of the tail that is considered, s.

        Raises:
            ParameterError: if a delay is not allowed.

        >>> line = Compensator(eta=0.7, alpha_t=0.1).line(3.0)
        >>> round(line.frequency, 5), round(line.gamma, 4), round(line.alpha_max, 4)
        (0.32317, 0.3654, 0.7138)
        """
        from scipy.optimize import brentq

        tau = read_number("longest delay", longest)
        if not 0 <= shortest < tau:
            raise ParameterError(f"shortest delay {shortest} is not allowed; needs a number from 0 to {longest}")
        low = self.lowest_real(tau)
        spiral = _Curve(
            lambda phi: self.response(np.asarray(phi) / tau, tau), np.linspace(low * tau, 2 * np.pi, SPIRAL_POINTS)
        )
        ends = np.log(max(shortest, tau * SHORTEST_DELAY)), np.log(tau)
        tail = _Curve(lambda log: self.response(low, np.exp(log)), np.linspace(*ends, TAIL_POINTS))
        # Spiral and tail begin at the point where F is first real. Every line is above this point. A steep line touches
        # the spiral only there.
        both = float(np.abs(self.response(low, tau))) * (1 + ROUNDING)

        def excess(log: float) -> float:
            return spiral.farthest(np.exp(log)) - max(tail.farthest(np.exp(log)), both)

        flattest = 2 * max(tail.farthest(0.0), both) / spiral.values.imag.max()
        k = float(np.exp(brentq(excess, np.log(flattest * STEEPEST), np.log(flattest), xtol=1e-12, maxiter=1000)))
        return Line(self, tau, low, 1 / k, 1 / max(spiral.farthest(k), tail.farthest(k)))

    def _turns(self, delay: float) -> list[float]:
        """Returns the zeros of the derivative of the phase by `phi`, in ascending order: two or none."""
        pole = self.eta * float(self.ratio(delay))
        half = (self.eta**2 + pole**2 - self.eta + pole) / 2
        rest = self.eta * pole * (self.eta * pole - pole + self.eta)
        if half**2 < rest:
            return []
        outer = -half - np.copysign(np.sqrt(half**2 - rest), half)
        squares = sorted((outer, rest / outer if outer else 0.0))
        return [float(np.sqrt(square)) for square in squares if square > 0]


@dataclass(frozen=True)
class Line:
    """Result of algorithm 3: every gain below `alpha_max` is stable in every network with delays below `longest`.

    The result is verified without the algorithm, for all `tau < longest`. For `w < frequency`, `F(jw, tau; 1)` is below
    the real axis. For larger `w`, it is below the line `y = gamma (x + 1/alpha_max)`.

    Attributes:
        compensator: compensator without the gain.
        longest: `tau_bar`, s.
        frequency: `w_low`, rad/s.
        gamma: slope of the line.
        alpha_max: largest gain. The line crosses the real axis at `-1/alpha_max`.
    """

    compensator: Compensator
    longest: float
    frequency: float
    gamma: float
    alpha_max: float

    def room(self, frequency: ArrayLike, delay: ArrayLike) -> Floats:
        """Returns the distance of `F(jw, tau; 1)` below the line or the real axis; negative if `F` is above."""
        w = np.asarray(frequency, dtype=np.float64)
        values = self.compensator.response(w, delay)
        return np.where(w < self.frequency, -values.imag, self.gamma * (values.real + 1 / self.alpha_max) - values.imag)

    @property
    def needed_tail(self) -> float:
        """Delay below which the tail has no effect, s.

        At shorter delays, the tail is below the parallel line through 0.

        This is the smallest delay at which `F(j w_low, tau)` is on the parallel line. The paper uses the largest such
        delay (proposition 2). If the tail of a long delay crosses the line more than once, this omits relevant points.
        """
        from scipy.optimize import brentq

        def turned(log: ArrayLike) -> Floats:
            tau = np.exp(log)
            return self.compensator.phase(self.frequency * tau, tau) - (np.arctan(self.gamma) - np.pi)

        logs = np.linspace(np.log(self.longest * SHORTEST_DELAY), np.log(self.longest), TAIL_POINTS)
        past = int(np.argmax(turned(logs) <= 0))
        return float(np.exp(brentq(turned, logs[past - 1], logs[past], xtol=1e-12)))


@explained
def general(s: ArrayLike, delay: ArrayLike, zero: ArrayLike, ratio: ArrayLike) -> Complexes:
    """Returns `F(s, tau; 1)` for any zero `z` and ratio `kappa/nu` (11), at points other than 0.

    Args:
        s: Laplace variable, 1/s.
        delay: `tau`, s.
        zero: `z`, 1/s; `eta/tau` here, `eta/tau_bar` in Paganini et al.
        ratio: `kappa/nu`, see `static_ratio`.
    """
    positive(delay=delay)
    positive(s=np.abs(np.asarray(s, dtype=np.complex128)))
    finite(zero=zero, ratio=ratio)
    z = np.asarray(zero)
    return _general(np.asarray(s, dtype=np.complex128), np.asarray(delay), z, z * np.asarray(ratio))


def _general(at: Complexes, tau: Floats, zero: Floats, pole: Floats) -> Complexes:
    return np.exp(-at * tau) / (at * tau) * (at + zero) / (at + pole)


def static_ratio(rate: ArrayLike, slope: ArrayLike, delay: ArrayLike, alpha: float) -> Floats:
    """Returns `kappa/nu`: the steepest stable slope `alpha x/tau`, divided by the demand's slope `-D'(q)` at a rate.

    With (12), the ratio is `alpha T/tau` at every rate. With other demand functions, the ratio and the dynamics depend
    on the rate.

    Args:
        rate: bit/s.
        slope: size of `D'(q)` at that rate, bit/s^2.
        delay: s.
        alpha: gain.
    """
    positive(alpha=alpha)
    return (
        read_numbers("gain", alpha)
        * read_numbers("rate", rate)
        / read_numbers("delay", delay)
        / read_numbers("slope", slope)
    )


class _Curve:
    """Points of a curve, with a search for the extremum in a given direction."""

    def __init__(self, function: Callable[[ArrayLike], Complexes], grid: Floats) -> None:
        self.function, self.grid = function, grid
        self.values = function(grid)

    def farthest(self, k: float) -> float:
        """Returns the largest `k y - x` on the curve."""
        from scipy.optimize import minimize_scalar

        best = int(np.argmax(k * self.values.imag - self.values.real))
        at = self.values[best]
        around = self.grid[max(best - 1, 0)], self.grid[min(best + 1, self.grid.size - 1)]

        def against(where: float) -> float:
            value = self.function(where)
            return float(value.real - k * value.imag)

        found = minimize_scalar(against, bounds=around, method="bounded", options={"xatol": 1e-10 * abs(around[1])})
        return max(-float(found.fun), float(k * at.imag - at.real))


def unstable_roots(delays: ArrayLike, shares: ArrayLike, compensator: Compensator, alpha: float) -> int:
    """Returns the number of roots of a link's loop, `1 + sum_i share_i F(s, tau_i; alpha)`, right of the axis.

    The method is Nyquist's criterion. The loop has one pole, at 0, so the argument of `1 + L(jw)` grows by `pi/2 - pi
    n` for `n` roots. The argument is followed in steps of the logarithm of `w`. Steps are halved until a bound on the
    slope shows that `1 + L` stays on one side of a line through 0. All roots are therefore counted, for any mix of
    delays.

    Args:
        delays: round-trip times of the flows that the link limits, s.
        shares: fractions of the link's capacity that these flows use.
        compensator: compensator without the gain.
        alpha: gain.

    Raises:
        ParameterError: if a delay, a share or the gain is not above 0, or there is not one share for each delay.
        AxisError: if a root is on the axis, or so close that rounding cannot separate them.

    >>> paper = Compensator(eta=0.06, alpha_t=0.264)
    >>> unstable_roots([0.001, 1.0, 1000.0], [0.3, 0.3, 0.3], paper, 0.66), unstable_roots([1.0], [0.9], paper, 2.0)
    (0, 2)
    """
    positive(alpha=alpha)
    tau, weight = _flows(delays, shares, alpha)
    zero, ratio = compensator.eta / tau, compensator.ratio(tau)
    pole = zero * ratio

    def response(log: Floats) -> Complexes:
        return _general(1j * np.exp(log)[..., None], tau, zero, pole)

    def slope(size: Floats, high: Floats) -> Floats:
        """Returns a bound of the derivative by `log w`: the largest size of `F`, times the largest factor."""
        return (size * (3 + np.exp(high)[:, None] * tau)) @ weight

    # Below this range, the loop is close to 1/s and large. Above this range, the loop is too small to matter.
    corner = tau * np.maximum(1, 1 / compensator.eta) * np.maximum(1, 1 / ratio)
    first = np.log(NEAR_ORIGIN / max(corner.max(), compensator.alpha_t / weight.sum()))
    last = np.log(FAR_OUT * (1 + weight.sum()) * (1 + compensator.eta) / tau.min())
    positive(frequency=np.exp([first, last]))
    cuts = np.linspace(first, last, int(STEPS_EACH * (last - first)) + 2)
    low, high, grown = cuts[:-1], cuts[1:], 0.0
    while low.size:
        middle = (low + high) / 2
        found = response(np.stack([low, middle, high]))
        values = 1 + found @ weight
        sure = np.abs(values[1]) > slope(np.abs(found[0]), high) * (high - low) / 2
        grown += float(np.angle(values[2, sure] / values[0, sure]).sum())
        if (high - low)[~sure].min(initial=1.0) < SHORTEST_STEP:
            raise AxisError("1 + L", float(np.exp(middle[~sure][0])))
        low, middle, high = low[~sure], middle[~sure], high[~sure]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return round(0.5 - grown / np.pi)


def link_loop(
    delays: ArrayLike, shares: ArrayLike, compensator: Compensator, alpha: float, *, averaged: bool = False
) -> Loop:
    """Returns the loop of `unstable_roots` as quasi-polynomials, for margins, curves and the roots themselves.

    Use this function for few flows: the degree is the number of flows plus one. Delays, and also poles, should not
    differ by many orders of magnitude. `unstable_roots` has no such limits.

    Args:
        delays: round-trip times of the flows that the link limits, s.
        shares: fractions of the link's capacity that these flows use.
        compensator: compensator without the gain.
        alpha: gain.
        averaged: True if receivers average prices over a round trip (section VI), which adds a factor `1/(1 + s tau)`
            to (13).

    Raises:
        ParameterError: as for `unstable_roots`.

    >>> paper = Compensator(eta=0.06, alpha_t=0.264)
    >>> slowest = link_loop([0.029], [0.9], paper, 0.66).roots[0].value.real
    >>> round(-1 / slowest, 2)  # s
    0.89
    """
    positive(alpha=alpha)
    tau, weight = _flows(delays, shares, alpha)
    poles = compensator.eta * compensator.ratio(tau) / tau
    each = [np.poly([-pole, -1 / own] if averaged else [-pole]) for pole, own in zip(poles, tau, strict=True)]
    numerator = []
    for i, own in enumerate(tau):
        # Terms are alpha share (s + eta/tau)/(s tau (s + pole)), over the common denominator s prod (s + pole).
        others = _product([part for j, part in enumerate(each) if j != i])
        gain = weight[i] / (own**2 if averaged else own)
        numerator.append((gain * np.convolve([1.0, compensator.eta / own], others), own))
    return Loop(QuasiPolynomial(numerator), QuasiPolynomial([(np.append(_product(each), 0.0), 0.0)]))


@explained
def boundary(phi: ArrayLike, scale: float, share: float = 1.0, *, averaged: bool = False) -> tuple[Floats, Floats]:
    """Returns `alpha` and `eta` for which the loop with one delay has a root at `j phi/tau`.

    At this root the loop is -1. This gives two real equations, linear in `alpha` and `alpha eta`. Here `T` is constant,
    so `alpha T` grows with `alpha`, unlike for a `Compensator`.

    Args:
        phi: `w tau`, above 0.
        scale: `T/tau`.
        share: fraction of the capacity that the flows use.
        averaged: as for `link_loop`.

    Raises:
        ParameterError: if a number is not above 0.

    >>> alpha, eta = boundary(1.8, scale=4.0)
    >>> loop = link_loop([1.0], [1.0], Compensator(eta, 4 * alpha), alpha)
    >>> bool(abs(loop.response(1.8) + 1) < 1e-9)
    True
    """
    p, k, part = (read_numbers(name, value) for name, value in (("phi", phi), ("T/tau", scale), ("share", share)))
    turned = part * np.exp(-1j * p)
    average = 1 + 1j * p if averaged else np.ones_like(p)
    # alpha (j phi + eta) e^(-j phi) share = -j phi (j phi + eta alpha k) average
    by_alpha, by_both, right = 1j * p * turned, turned + 1j * p * k * average, p**2 * average
    size = by_alpha.real * by_both.imag - by_alpha.imag * by_both.real
    alpha = (right.real * by_both.imag - right.imag * by_both.real) / size
    both = (by_alpha.real * right.imag - by_alpha.imag * right.real) / size
    return alpha, both / alpha


def network_roots(point: FixedPoint, delays: ArrayLike, law: Parameters) -> Ints:
    """Returns the number of unstable roots of each link of a network: all 0 if the equilibrium is stable.

    Each link depends only on flows that observe its price or a larger price. Ordered by price, the equations of the
    network are therefore triangular, and its roots are the roots of its links.

    Args:
        point: equilibrium of the network.
        delays: round-trip time of each flow, s.
        law: parameters of the law.

    Raises:
        ParameterError: if two bottlenecks have equal prices, or a delay is not above 0.
        AxisError: if a root is on the axis.

    >>> from levelflow.theory.laws.shared.maxnet_model import PAPER, fixed_point
    >>> network_roots(fixed_point([[0], [0, 1], [1]], [622e6, 400e6]), [0.029, 0.179, 0.15], PAPER).tolist()
    [0, 0]
    """
    if not point.separate:
        raise ParameterError("two bottlenecks have equal prices, so no linear model holds; needs different prices")
    tau = read_each("delay", delays, point.rates.size)
    compensator, roots = Compensator.of(law), np.zeros(point.prices.size, dtype=np.int64)
    for link in np.unique(point.bottlenecks):
        here = point.bottlenecks == link
        roots[link] = unstable_roots(tau[here], point.shares[here], compensator, law.alpha)
    return roots


def _flows(delays: ArrayLike, shares: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Returns the delays, and the shares multiplied by the gain."""
    tau, share = read_numbers("delay", np.atleast_1d(delays)), read_numbers("share", np.atleast_1d(shares))
    if tau.ndim != 1 or tau.shape != share.shape:
        raise ParameterError(f"{share.size} shares for {tau.size} delays; needs one each")
    return tau, share * read_number("gain", alpha)


def _product(polynomials: Iterable[ArrayLike]) -> Floats:
    product: Floats = np.ones(1)
    for factor in polynomials:
        product = np.convolve(product, np.asarray(factor, dtype=np.float64))
    return product
