"""Feedback loops with exact pure delays: Nyquist's criterion, margins, Bode data and the roots of the closed loop.

A loop is given by its open-loop transfer function `L(s)`, a ratio of quasi-polynomials. Negative feedback closes the
loop, so the roots of the closed loop are the zeros of `1 + L`. Two methods verify each other: the encirclements of -1
by the Nyquist curve give the number of unstable roots, and `roots` computes the roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Complexes, Floats
from levelflow.theory.stability.crossings import crossings
from levelflow.theory.stability.quasi import AxisError, LoopError, Piece, QuasiPolynomial, Zero, turn, turns

#: Largest distance from the imaginary axis, relative to the modulus, at which a pole counts as on the axis. This is the
#: rounding error of a double pole.
ON_AXIS = 1e-7
#: Smallest ratio of the highest term of a quasi-polynomial to its other terms, beyond the bound on its zeros.
BEYOND = 2.0
#: Points per decade of the Nyquist curve; points on each arc around a pole; decades below and above the crossings.
DENSITY, ARC, DECADES = 200, 64, 3


class Crossing(NamedTuple):
    """A frequency at which `|L| = 1` or the phase is -180 degrees.

    Attributes:
        frequency: rad/s.
        value: `L(jw)`.
    """

    frequency: float
    value: complex


@dataclass(frozen=True)
class Margins:
    """Distances of a loop from the boundary of stability.

    Attributes:
        gain: smallest factor above 1 that moves a root to the axis; infinite if no factor does.
        gain_down: largest factor below 1 that moves a root to the axis; 0 if no factor does.
        phase: smallest phase change that moves a root to the axis, rad; positive for a phase loss.
        delay: smallest additional delay that moves a root to the axis, s; infinite if no delay does.
        gain_crossings: frequencies with `|L| = 1`.
        phase_crossings: frequencies at which `L` is real and negative, as far as they affect margins.
    """

    gain: float
    gain_down: float
    phase: float
    delay: float
    gain_crossings: tuple[Crossing, ...]
    phase_crossings: tuple[Crossing, ...]


class Bode(NamedTuple):
    """Frequency response.

    Attributes:
        frequencies: rad/s.
        magnitude: `|L|`.
        phase: rad, without jumps of whole turns.
    """

    frequencies: Floats
    magnitude: Floats
    phase: Floats


class Curve(NamedTuple):
    """Upper half of a Nyquist curve. The lower half is its mirror image.

    Attributes:
        s: points of the contour in upward direction, with small arcs to the right of poles on the axis.
        values: `L(s)`.
    """

    s: Complexes
    values: Complexes


@dataclass(frozen=True)
class Loop:
    """Open loop `L(s) = numerator / denominator`, strictly proper.

    The highest power of the denominator must have no delay, and exceed the powers of the numerator. Otherwise the
    closed loop is neutral or advanced. Infinitely many roots may then be relevant. The smallest change of a delay can
    then move infinitely many roots across the axis.

    Raises:
        LoopError: if the loop is not of this form.

    >>> Loop.rational([1.5], [1, 0], delay=1.0).stable, Loop.rational([1.6], [1, 0], delay=1.0).stable
    (True, False)
    """

    numerator: QuasiPolynomial
    denominator: QuasiPolynomial

    def __post_init__(self) -> None:
        if self.denominator.degree < 0:
            raise LoopError("the denominator is 0; needs a coefficient other than 0")
        if not self.denominator.retarded:
            raise LoopError("the denominator's highest power has a delay; needs a highest power without delay")
        if self.numerator.degree >= self.denominator.degree:
            raise LoopError(
                f"degree {self.numerator.degree} over {self.denominator.degree} is not allowed; "
                "needs a numerator of lower degree than the denominator, else the closed loop is neutral"
            )

    @classmethod
    def rational(cls, numerator: ArrayLike, denominator: ArrayLike, *, delay: float = 0.0, gain: float = 1.0) -> Loop:
        """Returns `gain * numerator / denominator * e^(-s delay)`.

        Args:
            numerator: coefficients, highest power first.
            denominator: coefficients, highest power first.
            delay: delay, s.
            gain: factor of the transfer function.

        Raises:
            LoopError: if a number is not allowed or the loop is not strictly proper.
        """
        return cls(QuasiPolynomial([(gain * np.atleast_1d(numerator), delay)]), QuasiPolynomial([(denominator, 0.0)]))

    def __call__(self, s: ArrayLike) -> Complexes:
        """Returns `L(s)`."""
        return self.numerator(s) / self.denominator(s)

    def response(self, frequencies: ArrayLike) -> Complexes:
        """Returns `L(jw)` at frequencies in rad/s."""
        return self(1j * np.asarray(frequencies, dtype=np.float64))

    def __add__(self, other: Loop) -> Loop:
        """Returns the sum of two loops, for example of two flows that share a link."""
        if _equal(self.denominator, other.denominator):
            return Loop(self.numerator + other.numerator, self.denominator)
        first, second = self.numerator * other.denominator, other.numerator * self.denominator
        return Loop(first + second, self.denominator * other.denominator)

    def __mul__(self, factor: float) -> Loop:
        """Returns the loop with its gain multiplied by a factor."""
        return Loop(self.numerator * QuasiPolynomial([([factor], 0.0)]), self.denominator)

    __rmul__ = __mul__

    @cached_property
    def closed(self) -> QuasiPolynomial:
        """Quasi-polynomial whose zeros are the roots of the closed loop."""
        return self.numerator + self.denominator

    @cached_property
    def poles(self) -> tuple[complex, ...]:
        """Poles of the open loop, from right to left. If the denominator has delays, only the rightmost poles."""
        if self.denominator.delays.size == 1:
            found = np.roots(self.denominator.terms()[0][0])
            return tuple(sorted(map(complex, found), key=lambda pole: -pole.real))
        return tuple(zero.value for zero in self.denominator.zeros())

    @property
    def unstable_poles(self) -> int:
        """Number of open-loop poles right of the axis."""
        return sum(pole.real > 0 and not _on_axis(pole) for pole in self.poles)

    @cached_property
    def encirclements(self) -> int:
        """Number of clockwise turns of the Nyquist curve around -1.

        The contour runs up the imaginary axis, to the right of poles on the axis, and back at infinity.

        Raises:
            AxisError: if the curve goes through -1.
            LoopError: if the numerator is 0 at a pole on the axis, because the closed loop then has a root that the
                criterion does not count.
        """
        whole = sum(turn("1 + L", self.closed, piece) for piece in self._contour)
        whole -= sum(turn("the denominator", self.denominator, piece) for piece in self._contour)
        end = self._contour[-1].at(self._contour[-1].end)
        both = self.closed, self.denominator
        ahead, behind = (np.angle(f(end) / (f.coefficients[0, f.degree] * end**f.degree)) for f in both)
        return round(float(ahead - behind - whole) / np.pi)

    @property
    def unstable_roots(self) -> int:
        """Number of closed-loop roots right of the axis, by Nyquist's criterion."""
        return self.encirclements + self.unstable_poles

    @property
    def stable(self) -> bool:
        """True if all closed-loop roots are left of the axis, by Nyquist's criterion."""
        try:
            return self.unstable_roots == 0
        except AxisError:
            return False

    @cached_property
    def roots(self) -> tuple[Zero, ...]:
        """Closed-loop roots from right to left, each with its residual. Roots far to the left are not searched.

        If the first root has a real part above 0, the loop is unstable.
        """
        return tuple(self.closed.zeros())

    @cached_property
    def margins(self) -> Margins:
        """Gain margin, phase margin and delay margin.

        For an unstable loop, the gain and phase margins also move a root to the axis, and the delay margin is 0.
        """
        unity = tuple(
            Crossing(w, complex(self.response(w))) for w in crossings("gain", self.numerator, self.denominator)
        )
        real = tuple(
            Crossing(w, complex(self.response(w))) for w in crossings("phase", self.numerator, self.denominator)
        )
        factors = [1 / abs(crossing.value) for crossing in real]
        lost = [float(np.angle(-crossing.value)) for crossing in unity]
        until = [(angle % (2 * np.pi)) / crossing.frequency for angle, crossing in zip(lost, unity, strict=True)]
        return Margins(
            gain=min((factor for factor in factors if factor > 1), default=np.inf),
            gain_down=max((factor for factor in factors if factor < 1), default=0.0),
            phase=min(lost, key=abs, default=np.inf),
            delay=min(until, default=np.inf) if self.stable else 0.0,
            gain_crossings=unity,
            phase_crossings=real,
        )

    def bode(self, frequencies: ArrayLike) -> Bode:
        """Returns magnitude and phase at the given frequencies, which are above 0 and ascending, rad/s.

        The first phase is within half a turn of the phase of `1/s^m`, where `m` is the number of poles at 0. From
        there, the phase is continuous.

        Raises:
            LoopError: if frequencies are not positive and ascending, or `L` is 0 or infinite between them.
        """
        w = np.atleast_1d(np.asarray(frequencies, dtype=np.float64))
        if w.ndim != 1 or not w.size or not (w[0] > 0 and np.isfinite(w).all() and (np.diff(w) > 0).all()):
            raise LoopError("frequencies must be positive and rising")
        values = self.response(w)
        first = -self._origin * np.pi / 2
        start = first + np.angle(values[0] * np.exp(-1j * first))
        phase = np.full(w.size, start)
        if w.size > 1:
            axis = Piece(0j, 0.0, w[0], w[-1])
            phase += turns("the numerator", self.numerator, axis, w) - turns(
                "the denominator", self.denominator, axis, w
            )
        return Bode(w, np.abs(values), phase)

    def nyquist(self) -> Curve:
        """Returns points of the Nyquist curve, from far below to far above the crossings, dense enough for a plot."""
        margins = self.margins
        known = [c.frequency for c in (*margins.gain_crossings, *margins.phase_crossings) if c.frequency > 0]
        scale = self.closed.reach
        low, high = min(known, default=scale) / 10**DECADES, max(known, default=scale) * 10**DECADES
        parts = []
        for piece in self._contour:
            if piece.radius:
                parts.append(piece.at(np.linspace(piece.start, piece.end, ARC)))
                continue
            start, end = max(piece.start, low), high if piece is self._contour[-1] else min(piece.end, high)
            if start < end:
                parts.append(piece.at(np.geomspace(start, end, int(DENSITY * np.log10(end / start)) + 2)))
        s = np.concatenate(parts)
        return Curve(s, self(s))

    @cached_property
    def _origin(self) -> int:
        """Number of poles at 0."""
        return sum(pole == 0 for pole in self.poles)

    @cached_property
    def _contour(self) -> tuple[Piece, ...]:
        """Upper half of the contour, from the real axis to frequencies at which the highest powers dominate."""
        far = BEYOND * max(self.closed.reach, self.denominator.reach)
        heights: list[float] = []
        for height in sorted(pole.imag for pole in self.poles if _on_axis(pole) and pole.imag >= 0):
            if not heights or height - heights[-1] > 100 * ON_AXIS * height:
                heights.append(height)
        pieces, now = [], 0.0
        for height in heights:
            apart = [abs(pole - 1j * height) for pole in self.poles]
            near = 100 * ON_AXIS * height
            radius = self._detour(1j * height, min((gap for gap in apart if gap > near), default=far))
            if height:
                pieces.append(Piece(0j, 0.0, now, height - radius))
            pieces.append(Piece(1j * height, radius, -np.pi / 2 if height else 0.0, np.pi / 2))
            now = height + radius
        return *pieces, Piece(0j, 0.0, now, far or 1.0)

    def _detour(self, pole: complex, room: float) -> float:
        """Returns the radius of an arc around a pole. The arc encloses no root."""
        size = abs(self.numerator(pole).item())
        if size <= ON_AXIS * float(self.numerator.bound(abs(pole))):
            raise LoopError(f"the numerator is 0 at the pole {pole:.6g}: the loop hides a root there; cancel it first")
        radius = room / 4
        changes = self.numerator.derivative(), self.denominator.derivative()
        while True:
            moved, grown = (float(change.bound(abs(pole) + radius)) * radius for change in changes)
            if size - moved > 2 * grown:
                return radius
            radius /= 2


def _on_axis(pole: complex) -> bool:
    return abs(pole.real) <= ON_AXIS * abs(pole)


def _equal(first: QuasiPolynomial, second: QuasiPolynomial) -> bool:
    return np.array_equal(first.delays, second.delays) and np.array_equal(first.coefficients, second.coefficients)
