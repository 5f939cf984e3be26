"""Stability of a system under all delays, and the delays that make it unstable (Zhang 2008, chapter IV)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Complexes, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.delay_batches import LARGEST_SIZE, are_stable
from levelflow.theory.stability.delays import Stability, read_delays, stability
from levelflow.theory.stability.matrices import Matrix, absolute_radius, norm, read_matrix, spectral_radius
from levelflow.theory.stability.matrix_classes import classify
from levelflow.theory.stability.scaled_norm import scaled_norm
from levelflow.theory.validate import explained, whole

#: Number of parts of the circle to which phases are rounded; number of full turns added to all delays.
_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)
_TURNS = (0, 1, 2, 4, 8, 16, 32)
#: Distance from 1 below which rounding errors may decide.
_CLEAR = 1e-9


@dataclass(frozen=True)
class Criterion:
    """Sufficient condition for stability under all delays, and its outcome.

    Attributes:
        name: quantity that must be below 1.
        source: source of the proof.
        value: value of this quantity.
        proves: True if the value is below 1, so that stability is proven.
        of: delays for which stability is proven.
    """

    name: str
    source: str
    value: float
    proves: bool
    of: str


@dataclass(frozen=True)
class Independence:
    """Stability of a system under all diagonal delays.

    Attributes:
        stable: True or False. None if no condition proves stability, and no delays were found that make the system
            unstable.
        conditions: every sufficient condition.
        worst: largest rho(U A) found over diagonal U with elements of modulus 1. If it is above 1, delays that turn
            phases by U make the system unstable.
        delays: delays in steps per flow that make the system unstable; None if none were found.
        proof: root outside the unit circle with these delays.
    """

    stable: bool | None
    conditions: tuple[Criterion, ...]
    worst: float
    delays: Ints | None
    proof: Stability | None


@dataclass(frozen=True)
class Margin:
    """Number of steps by which delays may grow without instability.

    Attributes:
        steps: largest number of additional steps; infinite if stability is proven for any number.
        proof: root outside the unit circle with one more step; None if none was found.
    """

    steps: float
    proof: Stability | None


DIAGONAL = "all diagonal delays D_i"
ANY = "all bounded delays D_ij, also varying ones"


@explained
def independence(matrix: ArrayLike, seed: int = 1) -> Independence:
    """Decides if `x_i(n) = sum_j a_ij x_j(n - D_i)` is stable under all delays.

    Args:
        matrix: A.
        seed: seed of the search for a counterexample.

    Raises:
        MatrixError: if the matrix is not allowed.

    >>> found = independence([[0.5, 0.6], [-0.6, -0.5]])
    >>> found.stable, found.delays.tolist()
    (False, [2, 1])
    """
    whole(0, seed=seed)
    a = read_matrix(matrix)
    found = conditions(a)
    if any(condition.proves for condition in found):
        return Independence(True, found, worst_turn(a, seed)[0], None, None)
    worst, turn = worst_turn(a, seed)
    if worst < 1 + _CLEAR:
        return Independence(None, found, worst, None, None)
    delays, proof = _counterexample(a, turn)
    return Independence(False, found, worst, delays, proof)


def conditions(matrix: ArrayLike) -> tuple[Criterion, ...]:
    """Returns every sufficient condition with its outcome, the strongest last.

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    a = read_matrix(matrix)
    rho, scaled, absolute = spectral_radius(a), scaled_norm(a).upper, absolute_radius(a).upper
    values = [
        ("||A||_1", "theorem 2; eq 37", norm(a, 1), ANY),
        ("||A||_inf", "theorem 2; eq 37", norm(a, math.inf), ANY),
        ("||A||_2", "corollary 1", norm(a), DIAGONAL),
        ("rho(|A|)", "section IV.2.2", absolute, ANY),
        ("||A||_s", "corollary 2", scaled, DIAGONAL),
    ]
    named = {"N": "lemma 8", "DN": "lemma 9", "P": "lemma 10", "DP": "lemma 11", "R": "lemma 12", "DR": "theorem 5"}
    members = classify(a)
    classes = [
        Criterion(f"rho(A), A in {name}", source, rho, rho < 1 - _CLEAR, DIAGONAL)
        for name, source in named.items()
        if members[name].holds
    ]
    return *(Criterion(name, source, value, value < 1 - _CLEAR, of) for name, source, value, of in values), *classes


@explained
def worst_turn(matrix: ArrayLike, seed: int = 1) -> tuple[float, Complexes]:
    """Returns the largest rho(U A) found over diagonal U with elements of modulus 1, and the diagonal of this U.

    This radius is at most `||A||_s`. If it is above 1, some delays make the system unstable. These delays turn phases
    by U at `z = e^(i theta)`. Additional full turns make all delays similar in size. For up to three flows, the largest
    rho(U A) is `||A||_s` (Packard and Doyle 1993, on the structured singular value).

    Args:
        matrix: A.
        seed: seed of the initial vectors, which lie in the range of the certificate of `||A||_s`.

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    whole(0, seed=seed)
    a = read_matrix(matrix)
    size = len(a)
    rng = np.random.default_rng(seed)
    starts = 24 if size <= LARGEST_SIZE else 12
    strengths, vectors = np.linalg.eigh(scaled_norm(a).dual)
    mixed = rng.normal(size=(starts, size)) + 1j * rng.normal(size=(starts, size))
    mixed[0] = np.arange(size) == size - 1
    start = (mixed * np.sqrt(np.maximum(strengths, 0))) @ vectors.T
    turns = np.exp(1j * (np.angle(start) - np.angle(start @ a.T)))
    turns[-1] = 1.0
    best, turn = -1.0, turns[0]
    for _ in range(40):
        radii, args = _turn_on(a, turns)
        if radii.max() > best:
            best, turn = float(radii.max()), turns[np.argmax(radii)].copy()
        turns = turns * np.exp(-1j * args)
    return best, turn


@explained
def delay_margin(matrix: ArrayLike, delays: ArrayLike, flow: int | None = None, limit: int = 1000) -> Margin:
    """Returns the number of steps by which all delays, or one flow's delay, may grow without instability.

    A multiplication of all delays by a whole number `k` does not change stability, because the `k`-th powers of the new
    roots are the old roots.

    Args:
        matrix: A.
        delays: D_i, steps.
        flow: index of the flow whose delay grows; by default all delays grow.
        limit: largest number of additional steps to try.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: if delays are not allowed or not one per flow, there is no such flow, or the system is already
            unstable.

    >>> delay_margin([[0.5, 0.7], [-0.7, -0.5]], [1, 1], flow=0).steps
    0
    """
    a = read_matrix(matrix)
    start = read_delays(delays, len(a))
    if start.ndim != 1 or (flow is not None and not 0 <= flow < len(a)):
        raise ParameterError(f"a margin needs one delay per flow, and a flow from 0 to {len(a) - 1} or none")
    if not stability(a, start).stable:
        raise ParameterError("the system is unstable with these delays; a margin needs a stable one")
    if scaled_norm(a).upper < 1:
        return Margin(math.inf, None)
    growth = np.ones(len(a), dtype=np.int64) if flow is None else np.eye(len(a), dtype=np.int64)[flow]
    step = 50 if len(a) <= LARGEST_SIZE else 1
    for first in range(1, limit + 1, step):
        tried = start + np.arange(first, min(first + step, limit + 1))[:, None] * growth
        stable = are_stable(a[None], tried[None])[0] if step > 1 else [stability(a, tried[0]).stable]
        if not all(stable):
            bad = int(np.argmin(stable))
            return Margin(first + bad - 1, stability(a, tried[bad]))
    return Margin(limit, None)


def _turn_on(a: Matrix, turns: Complexes) -> tuple[Complexes, Complexes]:
    """Returns rho(U A) for each U, and the phase differences between components of left and right eigenvectors.

    The derivative of rho by the phase of U_i is the imaginary part of component i of the product of both eigenvectors.
    At a maximum of rho(U A), the phase differences are therefore 0.
    """
    values, right = np.linalg.eig(turns[:, :, None] * a)
    top = np.abs(values).argmax(axis=1)
    every = np.arange(len(turns))
    try:
        left = np.linalg.inv(right)[every, top]
    except np.linalg.LinAlgError:
        left = right[every, :, top].conj()
    return np.abs(values[every, top]), np.angle(left * right[every, :, top])


def _counterexample(a: Matrix, turn: Complexes) -> tuple[Ints | None, Stability | None]:
    """Returns short delays that turn phases by about U and make the system unstable, and the root as proof."""
    values = np.linalg.eigvals(turn[:, None] * a)
    wanted = -np.angle(turn) + np.angle(values[np.argmax(np.abs(values))])
    for parts in _PARTS:
        delays = np.round(wanted / (2 * np.pi) * parts).astype(np.int64) % parts
        rounded = np.exp(-2j * np.pi * delays / parts)
        if spectral_radius(rounded[:, None] * a) < 1 + _CLEAR:
            continue
        delays[delays == 0] = parts
        for turns in _TURNS:
            proof = stability(a, delays + turns * parts)
            if not proof.stable:
                return delays + turns * parts, proof
    return None, None
