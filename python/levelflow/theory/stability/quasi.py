"""Quasi-polynomials `h(s) = sum_k p_k(s) e^(-s tau_k)`: their zeros decide the stability of loops with delays.

Zeros are computed from the spectrum of the delay equation (Breda, Maset, Vermiglio, Stability of Linear Delay
Differential Equations, 2015, section 5), and refined by Newton's method on `h`. Zeros are counted by the change of the
argument of `h` along a path. Bounds on the slope of `h` prove this change. Delays are exact throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Complexes, Floats
from levelflow.theory.errors import TheoryError
from levelflow.theory.validate import read_number

#: Nodes of the spectral method per unit of |s| times delay; additional nodes; largest size of the matrix.
NODES_EACH, NODES, LARGEST_MATRIX = 0.6, 20, 600
#: Relative size of `h`, compared with the sizes of its terms, below which a point is a zero.
RESIDUAL = 1e-12
NEWTON_STEPS = 80
#: Relative distance below which two zeros are treated as one zero. Computed double zeros are about this far apart.
SAME = 1e-6
#: Rounding error of a value, relative to the size of its terms.
ROUNDING = 1e-14
#: Length of a piece of a path, relative to the distance to 0, below which it is not divided further.
SHORTEST = 1e-13
#: Number of undecided pieces above which rounding errors are assumed to decide.
MOST_PIECES = 500_000
#: Initial pieces of a path per factor of two, and number of factors of two.
PIECES, OCTAVES = 4, 60


class LoopError(TheoryError):
    """Loop for which feedback is not defined, or which is not supported."""


class AxisError(LoopError):
    """Zero on the imaginary axis, at `frequency` (rad/s). It makes a count of zeros on one side impossible."""

    def __init__(self, what: str, frequency: float) -> None:
        super().__init__(f"{what} is zero at s = {frequency:.6g}j; needs values other than 0 on the axis")
        self.frequency = frequency


class Zero(NamedTuple):
    """Zero of a quasi-polynomial.

    Attributes:
        value: position, 1/s.
        residual: size of the sum of the terms, divided by the sum of their sizes; about the rounding error for a zero.
    """

    value: complex
    residual: float


class QuasiPolynomial:
    """Quasi-polynomial `sum_k p_k(s) e^(-s tau_k)`.

    Args:
        terms: pairs of coefficients, highest power first, and a delay in s. Terms with equal delay are added.

    Raises:
        LoopError: if a coefficient is not a finite number.
        ParameterError: if a delay is negative, infinite or NaN.

    >>> QuasiPolynomial([([1, 0], 0.0), ([2], 1.0)])(0.0).item()
    (2+0j)
    """

    def __init__(self, terms: Iterable[tuple[ArrayLike, float]]) -> None:
        by_delay: dict[float, Floats] = {0.0: np.zeros(1)}
        for coefficients, delay in terms:
            values = np.atleast_1d(np.asarray(coefficients, dtype=np.float64))
            if values.ndim != 1 or not values.size or not np.isfinite(values).all():
                raise LoopError(f"coefficients {coefficients!r} are not allowed; needs a list of finite numbers")
            key = read_number("delay", delay, closed=True)
            by_delay[key] = np.asarray(
                polynomial.polyadd(by_delay.get(key, np.zeros(1)), values[::-1]), dtype=np.float64
            )
        kept = {delay: polynomial.polytrim(p) for delay, p in by_delay.items() if delay == 0 or p.any()}
        #: Delays, s; the first is 0.
        self.delays = np.array(sorted(kept))
        #: Coefficients per delay, lowest power first.
        self.coefficients = np.zeros((self.delays.size, max(p.size for p in kept.values())))
        for row, delay in zip(self.coefficients, self.delays, strict=True):
            row[: kept[delay].size] = kept[delay]

    def __call__(self, s: ArrayLike) -> Complexes:
        """Returns the values at complex arguments."""
        at = np.asarray(s, dtype=np.complex128)
        powers = polynomial.polyval(at, self.coefficients.T)
        return (powers * np.exp(-np.multiply.outer(self.delays, at))).sum(axis=0)

    def __repr__(self) -> str:
        return f"QuasiPolynomial({[(row.tolist(), delay) for row, delay in self.terms()]})"

    def __add__(self, other: QuasiPolynomial) -> QuasiPolynomial:
        """Returns the sum."""
        return QuasiPolynomial([*self.terms(), *other.terms()])

    def __mul__(self, other: QuasiPolynomial) -> QuasiPolynomial:
        """Returns the product."""
        return QuasiPolynomial([(np.convolve(p, q), a + b) for p, a in self.terms() for q, b in other.terms()])

    def terms(self) -> list[tuple[Floats, float]]:
        """Returns pairs of coefficients, highest power first, and delay."""
        return [(row[::-1], float(delay)) for row, delay in zip(self.coefficients, self.delays, strict=True)]

    @property
    def degrees(self) -> list[int]:
        """Degree of each term; -1 for a term that is 0."""
        return [int(np.flatnonzero(row)[-1]) if row.any() else -1 for row in self.coefficients]

    @property
    def degree(self) -> int:
        """Highest power of all terms."""
        return max(self.degrees)

    @property
    def retarded(self) -> bool:
        """True if the highest power has no delay. Finitely many zeros are then right of any vertical line."""
        undelayed, *others = self.degrees
        return undelayed > max(others, default=-1)

    def derivative(self) -> QuasiPolynomial:
        """Returns `dh/ds`."""
        return QuasiPolynomial(
            [
                (np.polysub(np.polyder(p), delay * p), delay) if p.size > 1 else (-delay * p, delay)
                for p, delay in self.terms()
            ]
        )

    def bound(self, radius: ArrayLike, growth: ArrayLike = 0.0) -> Floats:
        """Returns an upper bound of `|h(s)|` for `|s| <= radius` and real parts of at least `-growth`."""
        size, rise = np.broadcast_arrays(np.asarray(radius, dtype=np.float64), growth)
        sizes = polynomial.polyval(size, np.abs(self.coefficients).T)
        return (sizes * np.exp(np.multiply.outer(self.delays, rise))).sum(axis=0)

    @property
    def reach(self) -> float:
        """Upper bound of the size of zeros in the right half plane: 2 max |a_j / a_n|^(1 / (n - j)), rad/s."""
        n = self.degree
        sizes = np.abs(self.coefficients).sum(axis=0)
        powers = np.arange(n)
        ratios: Floats = (sizes[:n] / sizes[n]) ** (1 / (n - powers))
        return 2 * float(ratios.max(initial=0.0))

    def zeros(self) -> list[Zero]:
        """Returns the zeros from right to left. A multiple zero is listed once. Zeros far to the left are not searched.

        Raises:
            LoopError: if the highest power has a delay.
        """
        if not self.retarded:
            raise LoopError("the highest power of s has a delay; needs a highest power without delay")
        if self.degree == 0:
            return []
        longest = self.delays[-1]
        near = self._spectrum() / longest if longest else np.roots(self.terms()[0][0])
        upper = self._polished(near[near.imag >= 0].astype(np.complex128))
        mirrored = (
            [zero, Zero(zero.value.conjugate(), zero.residual)] if zero.value.imag else [zero] for zero in upper
        )
        return [zero for pair in mirrored for zero in pair]

    def _spectrum(self) -> Complexes:
        """Returns the eigenvalues of the discretised delay equation, in units of the longest delay."""
        longest, n = self.delays[-1], self.degree
        scale = longest ** (n - np.arange(n))
        rows = -self.coefficients[:, :n] / self.coefficients[0, n] * scale
        count = int(min(NODES + NODES_EACH * self.reach * longest, LARGEST_MATRIX // n - 1))
        nodes, differences = _chebyshev(count)
        system = np.zeros(((count + 1) * n, (count + 1) * n))
        system[n:] = np.kron(differences, np.eye(n))[n:]
        system[: n - 1, 1:n] = np.eye(n - 1)
        for row, delay in zip(rows, self.delays / longest, strict=True):
            system[n - 1] += np.kron(_weights(nodes, -delay), row)
        found = np.linalg.eigvals(system).astype(np.complex128)
        return found[np.abs(found) < 2 * count]

    def _polished(self, near: Complexes) -> list[Zero]:
        slope = self.derivative()
        at = near
        with np.errstate(all="ignore"):
            for _ in range(NEWTON_STEPS):
                step = self(at) / slope(at)
                at = np.where(np.isfinite(step), at - step, at)  # no step at a double zero, where the slope is 0
            at = at[np.isfinite(at)]
            at = at.real + 1j * np.where(np.abs(at.imag) > SAME * np.abs(at), np.abs(at.imag), 0.0)
            sizes = self.bound(np.abs(at), np.maximum(-at.real, 0.0))
            residual = np.where(sizes > 0, np.abs(self(at)) / sizes, 0.0)
        good = residual < RESIDUAL
        at, residual = at[good], residual[good]
        order = np.argsort(-at.real, kind="stable")
        zeros: list[Zero] = []
        for index in order:
            value = complex(at[index])
            if all(abs(value - zero.value) > SAME * max(abs(value), self.reach * SAME) for zero in zeros):
                zeros.append(Zero(value, float(residual[index])))
        return zeros


def _chebyshev(count: int) -> tuple[Floats, Floats]:
    """Returns Chebyshev nodes from 0 to -1 and the differentiation matrix (Trefethen, Spectral Methods, p. 54)."""
    cosines = np.cos(np.pi * np.arange(count + 1) / count)
    nodes = (cosines - 1) / 2
    ends = np.ones(count + 1)
    ends[[0, -1]] = 2
    signs = ends * (-1.0) ** np.arange(count + 1)
    apart = nodes[:, None] - nodes[None, :] + np.eye(count + 1)
    differences = np.outer(signs, 1 / signs) / apart
    return nodes, differences - np.diag(differences.sum(axis=1))


def _weights(nodes: Floats, at: float) -> Floats:
    """Returns the weight of each node in the value of the interpolating polynomial at a point."""
    if np.isclose(nodes, at, rtol=0, atol=1e-15).any():
        return np.isclose(nodes, at, rtol=0, atol=1e-15).astype(np.float64)
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    shares = signs / (at - nodes)
    return shares / shares.sum()


class Piece(NamedTuple):
    """Section of a path in the closed right half plane.

    Attributes:
        centre, radius: circle of an arc. A radius of 0 means a segment of the imaginary axis.
        start, end: angles on an arc, rad; frequencies on the axis, rad/s.
    """

    centre: complex
    radius: float
    start: float
    end: float

    def at(self, t: Any) -> Any:
        """Returns the points of the path at given angles or frequencies."""
        return self.centre + self.radius * np.exp(1j * t) if self.radius else 1j * t

    def cuts(self) -> Floats:
        """Returns the initial cuts: evenly spaced on arcs, increasingly dense towards 0 on the axis."""
        if self.radius:
            return np.linspace(self.start, self.end, 4 * PIECES + 1)
        inside = self.end * np.exp2(-np.arange(PIECES * OCTAVES, 0, -1) / PIECES)
        return np.concatenate([[self.start], inside[inside > self.start], [self.end]])


def turn(what: str, function: QuasiPolynomial, piece: Piece) -> float:
    """Returns the growth of a function's argument along a piece of a path, in rad, including whole turns.

    The piece is divided until a bound of the slope shows that the function stays on one side of a line through 0.

    Raises:
        AxisError: if the function is 0 on the piece, or so close to 0 that rounding decides.
    """
    cuts = piece.cuts()
    return float(turns(what, function, piece, cuts)[-1])


def turns(what: str, function: QuasiPolynomial, piece: Piece, cuts: Floats) -> Floats:
    """Returns the growth of the complex argument from the start of the piece to each of its points `cuts`, rad."""
    slope = function.derivative()
    low, high, owner = cuts[:-1], cuts[1:], np.arange(cuts.size - 1)
    grown = np.zeros(cuts.size - 1)
    speed = piece.radius or 1.0
    least = cuts[-1] * 2.0**-OCTAVES
    while low.size:
        middle = (low + high) / 2
        ends = piece.at(np.stack([low, middle, high]))
        radius = np.abs(ends).max(axis=0) if not piece.radius else abs(piece.centre) + piece.radius
        values = function(ends)
        doubt = slope.bound(radius) * speed * (high - low) / 2 + ROUNDING * function.bound(radius)
        sure = np.abs(values[1]) > doubt
        angles = np.angle(values[::2, sure])
        np.add.at(grown, owner[sure], (angles[1] - angles[0] + np.pi) % (2 * np.pi) - np.pi)
        short = ~sure & (high - low <= SHORTEST * np.maximum(np.abs(high), least))
        if short.any() or sure.size > MOST_PIECES:
            raise AxisError(what, float(abs(piece.at(middle[np.argmax(short)]))))
        low, middle, high, owner = low[~sure], middle[~sure], high[~sure], owner[~sure]
        low, high, owner = np.concatenate([low, middle]), np.concatenate([middle, high]), np.tile(owner, 2)
    return np.concatenate([[0.0], grown.cumsum()])
