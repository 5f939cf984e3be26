"""Feedback loops with pure delays, exactly: Nyquist's criterion, margins, Bode data and the roots of the closed loop.

A loop is its open-loop transfer function `L(s)`, a ratio of quasi-polynomials; it is closed by negative feedback, so
that the closed loop's roots are the zeros of `1 + L`. Two answers check each other: how often the Nyquist curve goes
around -1 says how many roots are unstable, and `roots` finds the roots themselves.
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

#: A pole this near to the imaginary axis, over its size, is on it: as near as rounding leaves a double one.
ON_AXIS = 1e-7
#: Beyond the bound on its zeros, a quasi-polynomial's highest term outweighs the others by this factor at least.
BEYOND = 2.0
#: Points per decade of the Nyquist curve, on each arc around a pole, and decades below and above the crossings.
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
    """How far a loop is from the boundary of stability.

    Attributes:
        gain: the least factor above 1 that brings a root to the axis; infinite if none does.
        gain_down: the largest factor below 1 that does; 0 if none does.
        phase: the least change of phase that does, rad: positive if phase must be lost, negative if gained.
        delay: the least delay that does, s, added to all of `L`; infinite if none does.
        gain_crossings: where `|L| = 1`.
        phase_crossings: where `L` is real and negative, as far as they matter.
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
    """The upper half of a Nyquist curve; the lower half is its mirror image.

    Attributes:
        s: points of the contour, upwards, on small arcs to the right of poles on the axis.
        values: `L(s)`.
    """

    s: Complexes
    values: Complexes


@dataclass(frozen=True)
class Loop:
    """An open loop `L(s) = numerator / denominator`, strictly proper.

    The highest power of the denominator must have no delay and be above those of the numerator. Otherwise the closed
    loop is neutral or worse: the roots that matter need not be finite in number, and the least change of a delay can
    move infinitely many across the axis.

    Raises:
        LoopError: if it is not of this form.

    >>> Loop.rational([1.5], [1, 0], delay=1.0).stable, Loop.rational([1.6], [1, 0], delay=1.0).stable
    (True, False)
    """

    numerator: QuasiPolynomial
    denominator: QuasiPolynomial

    def __post_init__(self) -> None:
        if self.denominator.degree < 0:
            raise LoopError("the denominator is 0; needs a coefficient other than 0")
        if not self.denominator.retarded:
            raise LoopError("the denominator's highest power has a delay; needs one that is alone with it")
        if self.numerator.degree >= self.denominator.degree:
            raise LoopError(
                f"degree {self.numerator.degree} over {self.denominator.degree} is not allowed; "
                "needs a numerator of lower degree than the denominator, else the closed loop is neutral"
            )

    @classmethod
    def rational(cls, numerator: ArrayLike, denominator: ArrayLike, *, delay: float = 0.0, gain: float = 1.0) -> Loop:
        """Returns `gain * numerator / denominator * e^(-s delay)`.

        Args:
            numerator: coefficients, those of the highest powers first.
            denominator: likewise.
            delay: s.
            gain: a factor.

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
        """Returns both in parallel, as two flows that share a link."""
        if _equal(self.denominator, other.denominator):
            return Loop(self.numerator + other.numerator, self.denominator)
        first, second = self.numerator * other.denominator, other.numerator * self.denominator
        return Loop(first + second, self.denominator * other.denominator)

    def __mul__(self, factor: float) -> Loop:
        """Returns the loop with another gain."""
        return Loop(self.numerator * QuasiPolynomial([([factor], 0.0)]), self.denominator)

    __rmul__ = __mul__

    @cached_property
    def closed(self) -> QuasiPolynomial:
        """What the closed loop's roots are the zeros of."""
        return self.numerator + self.denominator

    @cached_property
    def poles(self) -> tuple[complex, ...]:
        """Poles of the open loop, from right to left; with delays in the denominator, the rightmost ones."""
        if self.denominator.delays.size == 1:
            found = np.roots(self.denominator.terms()[0][0])
            return tuple(sorted(map(complex, found), key=lambda pole: -pole.real))
        return tuple(zero.value for zero in self.denominator.zeros())

    @property
    def unstable_poles(self) -> int:
        """Poles of the open loop right of the axis."""
        return sum(pole.real > 0 and not _on_axis(pole) for pole in self.poles)

    @cached_property
    def encirclements(self) -> int:
        """How often the Nyquist curve goes around -1, clockwise.

        The contour runs up the imaginary axis, to the right of poles on it, and back at infinity.

        Raises:
            AxisError: if the curve goes through -1.
            LoopError: if the numerator is 0 at a pole on the axis: the loop hides a root there.
        """
        whole = sum(turn("1 + L", self.closed, piece) for piece in self._contour)
        whole -= sum(turn("the denominator", self.denominator, piece) for piece in self._contour)
        end = self._contour[-1].at(self._contour[-1].end)
        both = self.closed, self.denominator
        ahead, behind = (np.angle(f(end) / (f.coefficients[0, f.degree] * end**f.degree)) for f in both)
        return round(float(ahead - behind - whole) / np.pi)

    @property
    def unstable_roots(self) -> int:
        """Roots of the closed loop right of the axis, by Nyquist's criterion."""
        return self.encirclements + self.unstable_poles

    @property
    def stable(self) -> bool:
        """Whether all roots of the closed loop are left of the axis, by Nyquist's criterion."""
        try:
            return self.unstable_roots == 0
        except AxisError:
            return False

    @cached_property
    def roots(self) -> tuple[Zero, ...]:
        """Roots of the closed loop from right to left, each with its residual; those far to the left are not sought.

        A first root with a real part above 0 disproves stability.
        """
        return tuple(self.closed.zeros())

    @cached_property
    def margins(self) -> Margins:
        """Gain, phase and delay margin.

        For an unstable loop, gain and phase still say what brings a root to the axis, and the delay margin is 0.
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
        """Returns magnitude and phase at frequencies above 0, in rising order, rad/s.

        The phase starts within half a turn of that of `1/s^m`, with `m` poles at 0, and is followed from there.

        Raises:
            LoopError: if frequencies are not positive and rising, or `L` is 0 or infinite between them.
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
        """Returns points of the Nyquist curve, dense enough to draw, from far below the crossings to far above."""
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
        """How many poles are at 0."""
        return sum(pole == 0 for pole in self.poles)

    @cached_property
    def _contour(self) -> tuple[Piece, ...]:
        """The upper half of the contour, from the real axis to where highest powers rule."""
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
        """Returns the radius of an arc around a pole so small that no root is inside it."""
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
