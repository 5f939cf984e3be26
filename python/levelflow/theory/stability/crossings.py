"""Frequencies at which a response has magnitude 1 or phase -180 degrees.

All such frequencies are found, not only those on a grid. Frequencies with `|P/Q| = 1` are zeros of `|P|^2 - |Q|^2`.
Frequencies with real `P/Q` are zeros of `Im(P conj(Q))`. An interval is divided until bounds on slope and curvature
show that it contains at most one zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Literal

    from levelflow.theory.arrays import Floats
    from levelflow.theory.stability.quasi import QuasiPolynomial

#: Length of an interval, relative to its frequency, below which only its ends are evaluated.
SHORTEST = 1e-3
#: Number of octaves, and initial intervals per octave.
OCTAVES, PIECES = 40, 8
#: Magnitude relative to the terms of a sum below which the sum has no sign.
ROUNDING = 1e-13
#: Magnitude relative to the terms of a denominator below which the denominator is at a pole.
POLE = 1e-7
#: Factor that extends the search for phase crossings, and magnitude below which phase crossings have no effect.
FURTHER, LEAST = 4.0, 1e-3


def crossings(what: Literal["gain", "phase"], numerator: QuasiPolynomial, denominator: QuasiPolynomial) -> list[float]:
    """Returns the frequencies at which `P/Q` has magnitude 1, or is real and negative, in ascending order, rad/s.

    With delays, infinitely many frequencies have a negative `P/Q`. The list ends at a limit. Above the limit, `|P/Q|`
    is below 1/1000, or below a value less than 1 that `|P/Q|` has at a listed frequency. The list therefore determines
    gain margins. Two crossings closer than a thousandth of their frequency may be missed.

    Args:
        what: `gain` for magnitude 1, `phase` for phase -180 degrees.
        numerator: P.
        denominator: Q, of higher degree.
    """
    search = _Search(what, numerator, denominator)
    if numerator.degree < 0:
        return []
    end = _reach(numerator, denominator)
    if what == "gain":
        return search.zeros(0.0, end)
    negative: list[float] = []
    if denominator(0.0) != 0 and (numerator(0.0) / denominator(0.0)).real < 0:
        negative.append(0.0)
    if numerator.delays.size == denominator.delays.size == 1:
        return negative + search.negative(0.0, _last_real(numerator, denominator))
    negative += search.negative(0.0, end)
    while True:
        sizes = [abs(search.ratio(w)) for w in negative]
        if _most(numerator, denominator, end) <= max([size for size in sizes if size < 1], default=LEAST):
            return negative
        negative += search.negative(end, FURTHER * end)
        end *= FURTHER


class _Bounds(NamedTuple):
    """Bounds of size, slope and curvature of a function up to a frequency."""

    size: Floats
    slope: Floats
    bend: Floats


class _Search:
    """Function of frequency whose zeros are crossings, with its slope and bounds."""

    def __init__(self, what: str, numerator: QuasiPolynomial, denominator: QuasiPolynomial) -> None:
        self.gain = what == "gain"
        self.parts = [(f, f.derivative(), f.derivative().derivative()) for f in (numerator, denominator)]

    def ratio(self, w: float) -> complex:
        p, q = (complex(f(1j * w)) for f, _, _ in self.parts)
        return p / q

    def value(self, w: Floats) -> Floats:
        p, q = (f(1j * w) for f, _, _ in self.parts)
        return np.abs(p) ** 2 - np.abs(q) ** 2 if self.gain else (p * q.conj()).imag

    def slope(self, w: Floats) -> Floats:
        (p, dp), (q, dq) = ((f(1j * w), 1j * d(1j * w)) for f, d, _ in self.parts)
        mixed = 2 * (dp * p.conj() - dq * q.conj()) if self.gain else -1j * (dp * q.conj() + p * dq.conj())
        return np.asarray(mixed.real)

    def bounds(self, w: Floats) -> _Bounds:
        (p, dp, ddp), (q, dq, ddq) = ([f.bound(w) for f in part] for part in self.parts)
        if self.gain:
            return _Bounds(p**2 + q**2, 2 * (p * dp + q * dq), 2 * (dp**2 + p * ddp + dq**2 + q * ddq))
        return _Bounds(p * q, dp * q + p * dq, ddp * q + 2 * dp * dq + p * ddq)

    def zeros(self, start: float, end: float) -> list[float]:
        """Returns the zeros above `start` and up to `end`."""
        least = start or end * 2.0**-OCTAVES
        cuts = np.geomspace(least, end, int(PIECES * np.log2(end / least)) + 2)
        low, high, points = cuts[:-1], cuts[1:], [cuts]
        while low.size:
            middle, half = (low + high) / 2, (high - low) / 2
            bounds = self.bounds(high)
            left = np.abs(self.value(middle)) <= bounds.slope * half
            left &= (np.abs(self.slope(middle)) <= bounds.bend * half) & (2 * half >= SHORTEST * high)
            points.append(middle[left])
            low, high = np.concatenate([low[left], middle[left]]), np.concatenate([middle[left], high[left]])
        at = np.sort(np.concatenate(points))
        values = self.value(at)
        clear = np.abs(values) > ROUNDING * self.bounds(at).size
        at, positive = at[clear], values[clear] > 0
        changes = np.flatnonzero(positive[1:] != positive[:-1])
        return [self.between(float(at[i]), float(at[i + 1])) for i in changes]

    def between(self, low: float, high: float) -> float:
        """Returns the zero between two frequencies at which the function has opposite signs."""
        from scipy.optimize import brentq

        return float(brentq(lambda w: float(self.value(np.asarray(w))), low, high, xtol=1e-300, rtol=1e-15))

    def negative(self, start: float, end: float) -> list[float]:
        """Returns the frequencies at which the ratio is negative, except poles."""
        found = []
        for w in self.zeros(start, end):
            p, q = (complex(f(1j * w)) for f, _, _ in self.parts)
            if (p * q.conjugate()).real < 0 and abs(q) > POLE * float(self.parts[1][0].bound(w)):
                found.append(w)
        return found


def _reach(numerator: QuasiPolynomial, denominator: QuasiPolynomial) -> float:
    """Returns a frequency above which `|P| < |Q|`."""
    n = denominator.degree
    sizes = np.zeros(n + 1)
    for part in (numerator, denominator):
        rows = np.abs(part.coefficients).sum(axis=0)
        sizes[: rows.size] += rows
    return 2 * float(((sizes[:n] / sizes[n]) ** (1 / (n - np.arange(n)))).max())


def _most(numerator: QuasiPolynomial, denominator: QuasiPolynomial, w: float) -> float:
    """Returns an upper bound of `|P/Q|` above a frequency beyond `_reach`."""
    lead = abs(denominator.coefficients[0, denominator.degree]) * w**denominator.degree
    return float(numerator.bound(w) / (2 * lead - denominator.bound(w)))


def _last_real(numerator: QuasiPolynomial, denominator: QuasiPolynomial) -> float:
    """Returns a frequency above which a ratio without delays is never real."""
    turned = [
        f.coefficients[0] * np.resize([1, 1j, -1, -1j], f.coefficients.shape[1]) for f in (numerator, denominator)
    ]
    imaginary = np.trim_zeros(np.convolve(turned[0], turned[1].conj()).imag)
    if imaginary.size < 2:
        return _reach(numerator, denominator)
    n = imaginary.size - 1
    return 2 * float((np.abs(imaginary[:n] / imaginary[n]) ** (1 / (n - np.arange(n)))).max())
