"""Quasi-polynomials `h(s) = sum_k p_k(s) e^(-s tau_k)`: what a linear system with pure delays must not have zeros of.

Zeros come from the spectrum of the delay equation (Breda, Maset, Vermiglio, Stability of Linear Delay Differential
Equations, 2015, section 5), polished by Newton's method on `h` itself; the turn of `h` along a path, from which zeros
can be counted, from bounds on its slope that leave no doubt. Delays are exact throughout.
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

#: Nodes of the spectral method per unit of |s| times delay, those besides, and the size of its matrix at most.
NODES_EACH, NODES, LARGEST_MATRIX = 0.6, 20, 600
#: A zero is one if the terms of `h` cancel to this share of their sizes.
RESIDUAL = 1e-12
NEWTON_STEPS = 80
#: Zeros nearer than this, over their size, are one; double ones are found about so far apart.
SAME = 1e-6
#: What of a value is rounding, over the size of its terms.
ROUNDING = 1e-14
#: Pieces of a path that are shorter than this, over the distance to 0, are not divided further.
SHORTEST = 1e-13
#: So many undecided pieces at a time mean that rounding decides.
MOST_PIECES = 500_000
#: Pieces of a path to begin with per factor of two, and factors of two.
PIECES, OCTAVES = 4, 60


class LoopError(TheoryError):
    """A loop on which feedback is not defined, or not treated here."""


class AxisError(LoopError):
    """A zero on the imaginary axis, so that nothing can be counted on its sides; `frequency` says where, rad/s."""

    def __init__(self, what: str, frequency: float) -> None:
        super().__init__(f"{what} is zero at s = {frequency:.6g}j; needs values other than 0 on the axis")
        self.frequency = frequency


class Zero(NamedTuple):
    """A zero.

    Attributes:
        value: where, 1/s.
        residual: what the terms leave there over the sum of their sizes: rounding, or it is no zero.
    """

    value: complex
    residual: float


class QuasiPolynomial:
    """`sum_k p_k(s) e^(-s tau_k)`.

    Args:
        terms: pairs of coefficients, those of the highest powers first, and a delay in s. Terms of the same delay add.

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
        #: s, the first is 0.
        self.delays = np.array(sorted(kept))
        #: Per delay, lowest power first.
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
        """Adds."""
        return QuasiPolynomial([*self.terms(), *other.terms()])

    def __mul__(self, other: QuasiPolynomial) -> QuasiPolynomial:
        """Multiplies."""
        return QuasiPolynomial([(np.convolve(p, q), a + b) for p, a in self.terms() for q, b in other.terms()])

    def terms(self) -> list[tuple[Floats, float]]:
        """Returns coefficients, highest power first, and delays."""
        return [(row[::-1], float(delay)) for row, delay in zip(self.coefficients, self.delays, strict=True)]

    @property
    def degrees(self) -> list[int]:
        """Of each term; -1 where it is 0."""
        return [int(np.flatnonzero(row)[-1]) if row.any() else -1 for row in self.coefficients]

    @property
    def degree(self) -> int:
        """Highest power."""
        return max(self.degrees)

    @property
    def retarded(self) -> bool:
        """Whether the highest power has no delay: then only finitely many zeros are right of any vertical line."""
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
        """Returns what `|h(s)|` cannot exceed for `|s| <= radius` and real parts of at least `-growth`."""
        size, rise = np.broadcast_arrays(np.asarray(radius, dtype=np.float64), growth)
        sizes = polynomial.polyval(size, np.abs(self.coefficients).T)
        return (sizes * np.exp(np.multiply.outer(self.delays, rise))).sum(axis=0)

    @property
    def reach(self) -> float:
        """What no zero in the right half plane exceeds in size: 2 max |a_j / a_n|^(1 / (n - j)), rad/s."""
        n = self.degree
        sizes = np.abs(self.coefficients).sum(axis=0)
        powers = np.arange(n)
        ratios: Floats = (sizes[:n] / sizes[n]) ** (1 / (n - powers))
        return 2 * float(ratios.max(initial=0.0))

    def zeros(self) -> list[Zero]:
        """Returns zeros, from right to left, multiple ones once; those that are far to the left are not sought.

        Raises:
            LoopError: if the highest power has a delay.
        """
        if not self.retarded:
            raise LoopError("the highest power of s has a delay; needs one that is alone with it")
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
        """Returns eigenvalues of the discretised delay equation, with the longest delay as the unit of time."""
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
                at = np.where(np.isfinite(step), at - step, at)  # double ones have no slope
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
    """Returns Chebyshev nodes from 0 to -1 and the matrix that differentiates (Trefethen, Spectral Methods, p. 54)."""
    cosines = np.cos(np.pi * np.arange(count + 1) / count)
    nodes = (cosines - 1) / 2
    ends = np.ones(count + 1)
    ends[[0, -1]] = 2
    signs = ends * (-1.0) ** np.arange(count + 1)
    apart = nodes[:, None] - nodes[None, :] + np.eye(count + 1)
    differences = np.outer(signs, 1 / signs) / apart
    return nodes, differences - np.diag(differences.sum(axis=1))


def _weights(nodes: Floats, at: float) -> Floats:
    """Returns how much each node counts in the polynomial's value at a point."""
    if np.isclose(nodes, at, rtol=0, atol=1e-15).any():
        return np.isclose(nodes, at, rtol=0, atol=1e-15).astype(np.float64)
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    shares = signs / (at - nodes)
    return shares / shares.sum()


class Piece(NamedTuple):
    """Part of a path in the closed right half plane.

    Attributes:
        centre, radius: of an arc; a radius of 0 is the imaginary axis itself.
        start, end: angles on an arc, rad; frequencies on the axis, rad/s.
    """

    centre: complex
    radius: float
    start: float
    end: float

    def at(self, t: Any) -> Any:
        """Returns the points at angles or frequencies."""
        return self.centre + self.radius * np.exp(1j * t) if self.radius else 1j * t

    def cuts(self) -> Floats:
        """Returns where to cut it to begin with: evenly on arcs, ever finer towards 0 on the axis."""
        if self.radius:
            return np.linspace(self.start, self.end, 4 * PIECES + 1)
        inside = self.end * np.exp2(-np.arange(PIECES * OCTAVES, 0, -1) / PIECES)
        return np.concatenate([[self.start], inside[inside > self.start], [self.end]])


def turn(what: str, function: QuasiPolynomial, piece: Piece) -> float:
    """Returns by how much the argument of a function grows along a piece of a path, rad; whole turns count.

    A part is divided until the slope's bound says that the function stays on one side of a line through 0.

    Raises:
        AxisError: if the function is 0 on the piece, or so near that rounding decides.
    """
    cuts = piece.cuts()
    return float(turns(what, function, piece, cuts)[-1])


def turns(what: str, function: QuasiPolynomial, piece: Piece, cuts: Floats) -> Floats:
    """Returns by how much the argument has grown from the first of some points to each, rad; see `turn`."""
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
