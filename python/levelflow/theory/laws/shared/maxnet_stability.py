"""When MaxNet is stable under delay (Andrew et al., section VIII), with pure delays taken exactly.

Near its equilibrium, what a flow of round-trip time `tau` does to the price it sees is, once around the loop,

    F(s, tau; alpha) = alpha e^(-s tau)/(s tau) (s tau + eta)/(s tau + eta alpha T/tau)                    (13)

times its share of the capacity. Flows that see the price of a link add up; flows that a link with a larger price
limits do not see it. So a network whose bottlenecks have different prices is stable if and only if each of its links
is: if `1 + sum_i share_i F(s, tau_i)` has no zero right of the axis. Shares of a link sum up to `mu` at most, so its
Nyquist curve stays in the hull of the curves of `F` and 0, and no network is unstable if that hull does not meet the
real axis left of -1 (lemma 1). Algorithm 3 finds a line above the hull for all delays up to a bound.

`Compensator.line` is that algorithm. Its proof in the paper takes two things for granted that do not hold where the
lag of a long delay makes the phase rise with the frequency (lemma 2, items 3 and 4; see `slopes`). The result holds
all the same. Let `phi = w tau`: at the same `phi`, the phase of `F` falls and its size grows with `tau` (items 5 and
6), and the size falls with `phi`. So `F` at `w > w_low` and `tau < tau_bar` is shorter and less turned than a point of
the same `phi` of the tail, if `phi < w_low tau_bar`, or else of the spiral. Before half a turn, that is further below
the line; after it, the spiral has had this phase at a smaller `phi`, and was longer there.
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

#: Points of spiral and tail between which an extremum is sought.
SPIRAL_POINTS, TAIL_POINTS = 2000, 4000
#: Delays of the tail reach down to this part of the longest: its end, -j/(w alpha T), is met by far.
SHORTEST_DELAY = 1e-12
#: The inverse slope of the steepest line that is tried, over that of the flattest.
STEEPEST = 1e-12
#: What counts as touching, as a share.
ROUNDING = 1e-12
#: Frequencies from which to which a Nyquist curve is followed, over those of its corners; steps to begin with per
#: factor of e, and the shortest.
NEAR_ORIGIN, FAR_OUT, STEPS_EACH, SHORTEST_STEP = 1e-3, 1e3, 4, 1e-12


class Slopes(NamedTuple):
    """The derivatives of lemma 2, with the size of `F` in logarithms.

    Attributes:
        size_by_phi: of the size by `phi = w tau` at a constant phase; item 2.
        size_by_delay: of the size by `tau` at a constant phase, 1/s; item 3.
        size_by_frequency: of the size by `w` at a constant phase, s; item 4.
        phase_by_delay: of the phase by `tau` at constant `phi`, rad/s; item 5.
        size_by_delay_alone: of the size by `tau` at constant `phi`, 1/s; item 6.
    """

    size_by_phi: Floats
    size_by_delay: Floats
    size_by_frequency: Floats
    phase_by_delay: Floats
    size_by_delay_alone: Floats


@dataclass(frozen=True)
class Compensator:
    """What makes a MaxNet flow fair and keeps it stable: a lead where the delay is below `alpha T`, else a lag.

    `alpha T` is one constant, so that `F` has `alpha` as a factor.

    Attributes:
        eta: over the delay, the zero.
        alpha_t: `alpha T`, s.

    Raises:
        ParameterError: if one is not a finite number above 0.
    """

    eta: float
    alpha_t: float

    def __post_init__(self) -> None:
        read_number("eta", self.eta)
        read_number("alpha T", self.alpha_t)

    @classmethod
    def of(cls, law: Parameters) -> Compensator:
        """Returns that of a law's parameters."""
        return cls(law.eta, law.alpha * law.scale)

    def __call__(self, s: ArrayLike, delay: ArrayLike) -> Complexes:
        """Returns `F(s, tau; 1)` (13) at points off 0, 1/s, for delays in s."""
        return general(s, delay, self.eta / np.asarray(delay, dtype=np.float64), self.ratio(delay))

    def response(self, frequency: ArrayLike, delay: ArrayLike) -> Complexes:
        """Returns `F(jw, tau; 1)` at frequencies in rad/s.

        Raises:
            ParameterError: if a frequency or a delay is not above 0.
        """
        return self(1j * read_numbers("frequency", frequency), read_numbers("delay", delay))

    def ratio(self, delay: ArrayLike) -> Floats:
        """Returns `alpha T/tau`: above 1 a lead, below 1 a lag."""
        return self.alpha_t / read_numbers("delay", delay)

    def phase(self, phi: ArrayLike, delay: ArrayLike) -> Floats:
        """Returns the phase of `F` at `phi = w tau`, without jumps (15), rad."""
        turned = np.asarray(phi, dtype=np.float64)
        return np.arctan(turned / self.eta) - np.arctan(turned / (self.eta * self.ratio(delay))) - np.pi / 2 - turned

    def frequency_at(self, delay: float, angle: float) -> float:
        """Returns the lowest frequency at which `F` has a phase below -pi/2, rad/s, exactly: none is stepped over.

        Raises:
            ParameterError: if the delay is not above 0, or the angle not below -pi/2, rad.
        """
        from scipy.optimize import brentq

        tau = read_number("delay", delay)
        if not -np.inf < angle < -np.pi / 2:
            raise ParameterError(f"angle {angle} is not allowed; needs a number below -pi/2 = {-np.pi / 2:.6f}")
        # At 0 the phase is -pi/2, and it is below -phi; between the zeros of its slope it goes one way.
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
        """Returns the gain `alpha` at which one delay alone has a phase margin, rad; with 0, the largest stable one.

        `alpha T` does not change with it. Since the size of `F` falls with the frequency, it is that where the phase
        first reaches `margin - pi` (section VIII-E; the -3 pi/2 printed there would be no margin).

        Raises:
            ParameterError: if the delay is not above 0, or the margin not from 0 to pi/2.
        """
        if not 0 <= margin < np.pi / 2:
            raise ParameterError(f"phase margin {margin} is not allowed; needs a number from 0 to below pi/2")
        found = self.response(self.frequency_at(delay, margin - np.pi), delay)
        return 1 / float(np.abs(found))

    def slopes(self, phi: ArrayLike, delay: ArrayLike) -> Slopes:
        """Returns the derivatives of lemma 2, at the point with `phi = w tau`, from partial derivatives in closed form.

        Items 3 and 4 take `F` for a function of phase and delay, or of phase and frequency. It is none where the phase
        rises with the frequency, between two zeros of its slope: there a phase has three points. On the middle one both
        items are false.
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
                # By phi, the frequency phi/tau grows by 1/tau - phi tau'/tau^2, with tau' where the phase stays.
                size_by_frequency=along / (1 / tau + p / tau**2 * phase_by_phi / phase_by_delay),
                phase_by_delay=phase_by_delay,
                size_by_delay_alone=size_by_delay,
            )

    def line(self, longest: float, shortest: float = 0.0) -> Line:
        """Runs algorithm 3: the line above spiral and tail that allows the largest gain, their common upper tangent.

        Args:
            longest: `tau_bar`, the longest delay, s.
            shortest: delays of the tail below this are left out, s.

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
        # Both begin where F is first real. Every line is above that point, steep ones touch the spiral only there.
        both = float(np.abs(self.response(low, tau))) * (1 + ROUNDING)

        def excess(log: float) -> float:
            return spiral.farthest(np.exp(log)) - max(tail.farthest(np.exp(log)), both)

        flattest = 2 * max(tail.farthest(0.0), both) / spiral.values.imag.max()
        k = float(np.exp(brentq(excess, np.log(flattest * STEEPEST), np.log(flattest), xtol=1e-12, maxiter=1000)))
        return Line(self, tau, low, 1 / k, 1 / max(spiral.farthest(k), tail.farthest(k)))

    def _turns(self, delay: float) -> list[float]:
        """Returns the zeros of the phase's slope by `phi`, in rising order: there are two or none."""
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
    """What algorithm 3 proves: every gain below `alpha_max` is stable in every network with delays below `longest`.

    It is checked without the algorithm: `F(jw, tau; 1)` is below the real axis for `w < frequency`, and below the line
    `y = gamma (x + 1/alpha_max)` above that, for all `tau < longest`.

    Attributes:
        compensator: the other parameters.
        longest: `tau_bar`, s.
        frequency: `w_low`, rad/s.
        gamma: slope of the line.
        alpha_max: what its crossing with the real axis, `-1/alpha_max`, allows.
    """

    compensator: Compensator
    longest: float
    frequency: float
    gamma: float
    alpha_max: float

    def room(self, frequency: ArrayLike, delay: ArrayLike) -> Floats:
        """Returns how far `F(jw, tau; 1)` is below the line, or the axis; negative where it is above."""
        w = np.asarray(frequency, dtype=np.float64)
        values = self.compensator.response(w, delay)
        return np.where(w < self.frequency, -values.imag, self.gamma * (values.real + 1 / self.alpha_max) - values.imag)

    @property
    def needed_tail(self) -> float:
        """The delay below which the tail does not matter, s: from there on it is below the parallel line through 0.

        It is the smallest delay at which `F(j w_low, tau)` is on that line. The text has the largest (proposition 2),
        but where a long delay makes the tail cross that line more than once, that leaves out points that matter.
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
    """Returns `F(s, tau; 1)` with any zero `z` and `kappa/nu` (11), at points off 0.

    Args:
        s: 1/s.
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
    """Returns `kappa/nu`: the steepest stable slope `alpha x/tau` over the demand's `-D'(q)` at a rate.

    With (12) it is `alpha T/tau` at every rate; with other demand functions it depends on the rate, and so do dynamics.

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
    """Points of a curve, and where it goes farthest in a direction."""

    def __init__(self, function: Callable[[ArrayLike], Complexes], grid: Floats) -> None:
        self.function, self.grid = function, grid
        self.values = function(grid)

    def farthest(self, k: float) -> float:
        """Returns the largest `k y - x`."""
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
    """Returns how many roots of a link's loop, `1 + sum_i share_i F(s, tau_i; alpha)`, are right of the axis.

    By Nyquist's criterion: the loop has one pole, at 0, so the argument of `1 + L(jw)` grows by `pi/2 - pi` times that
    number. It is followed in steps of the logarithm of `w`, which are halved until a bound on the slope shows that
    `1 + L` stays on one side of a line through 0. So it counts all roots, however unlike the delays are.

    Args:
        delays: of the flows that the link limits, s.
        shares: their parts of the link's capacity.
        compensator: the parameters besides the gain.
        alpha: the gain.

    Raises:
        ParameterError: if a delay, a share or the gain is not above 0, or there is not one share for each delay.
        AxisError: if a root is on the axis, or nearer to it than rounding can tell.

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
        """Bounds the slope by the logarithm of the frequency: the size of `F` falls, its factor grows."""
        return (size * (3 + np.exp(high)[:, None] * tau)) @ weight

    # Below, the loop is much like 1/s and large; above, it is too small to matter.
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
    """Returns the same loop as quasi-polynomials, for margins, curves and the roots themselves.

    Meant for few flows: the degree is one more than their number, and delays and their poles should not differ by many
    decades; `unstable_roots` knows no such limits.

    Args:
        delays: of the flows that the link limits, s.
        shares: their parts of the link's capacity.
        compensator: the parameters besides the gain.
        alpha: the gain.
        averaged: whether receivers average prices over a round trip (section VI), which (13) leaves out:
            `1/(1 + s tau)`.

    Raises:
        ParameterError: as `unstable_roots`.

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
        # alpha share (s + eta/tau)/(s tau (s + pole)) over the common denominator, s prod (s + pole).
        others = _product([part for j, part in enumerate(each) if j != i])
        gain = weight[i] / (own**2 if averaged else own)
        numerator.append((gain * np.convolve([1.0, compensator.eta / own], others), own))
    return Loop(QuasiPolynomial(numerator), QuasiPolynomial([(np.append(_product(each), 0.0), 0.0)]))


@explained
def boundary(phi: ArrayLike, scale: float, share: float = 1.0, *, averaged: bool = False) -> tuple[Floats, Floats]:
    """Returns `alpha` and `eta` for which the loop of one delay has a root at `j phi/tau`.

    There the loop is -1, two real equations that are linear in `alpha` and `alpha eta`. Unlike for a `Compensator`, `T`
    is constant, so that `alpha T` grows with `alpha`.

    Args:
        phi: `w tau`, above 0.
        scale: `T/tau`.
        share: of the capacity that the flows have.
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
    """Returns how many unstable roots each link of a network contributes: all 0 if the equilibrium is stable.

    Ordered by price, links see only flows of their own price and of larger ones, so that the network's equations are
    triangular and its roots are those of its links.

    Args:
        point: the equilibrium.
        delays: round-trip time of each flow, s.
        law: the parameters.

    Raises:
        ParameterError: if two bottlenecks have equal prices, or a delay is not above 0.
        AxisError: if a root is on the axis.

    >>> from levelflow.theory.laws.shared.maxnet_model import PAPER, fixed_point
    >>> network_roots(fixed_point([[0], [0, 1], [1]], [622e6, 400e6]), [0.029, 0.179, 0.15], PAPER).tolist()
    [0, 0]
    """
    if not point.separate:
        raise ParameterError("two bottlenecks have equal prices, where no linear model holds; needs different ones")
    tau = read_each("delay", delays, point.rates.size)
    compensator, roots = Compensator.of(law), np.zeros(point.prices.size, dtype=np.int64)
    for link in np.unique(point.bottlenecks):
        here = point.bottlenecks == link
        roots[link] = unstable_roots(tau[here], point.shares[here], compensator, law.alpha)
    return roots


def _flows(delays: ArrayLike, shares: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Returns delays, and shares times the gain."""
    tau, share = read_numbers("delay", np.atleast_1d(delays)), read_numbers("share", np.atleast_1d(shares))
    if tau.ndim != 1 or tau.shape != share.shape:
        raise ParameterError(f"{share.size} shares for {tau.size} delays; needs one each")
    return tau, share * read_number("gain", alpha)


def _product(polynomials: Iterable[ArrayLike]) -> Floats:
    product: Floats = np.ones(1)
    for factor in polynomials:
        product = np.convolve(product, np.asarray(factor, dtype=np.float64))
    return product
