"""Stability of many small systems with many delays each, and the random experiments of Zhang 2008, figs 12-13.

rho(A) is the spectral radius of A. The roots of `det(diag(z^D) - A)` are not computed. The Schur-Cohn recursion decides
from the coefficients if all roots lie inside the unit circle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.delays import roots
from levelflow.theory.stability.matrices import Matrix, MatrixError, read_matrices
from levelflow.theory.stability.scaled_norm import scaled_norms
from levelflow.theory.validate import explained, positive, read_array, read_number, read_whole, whole

#: Largest number of flows. A polynomial has one term per subset of flows.
LARGEST_SIZE = 12
#: Number of coefficients processed at a time. They fit into the CPU cache.
_CHUNK = 120_000


@dataclass(frozen=True)
class Experiment:
    """Random matrices with rho(A) < 1, and their stability under random delays.

    Attributes:
        drawn: number of matrices drawn, including those with rho(A) >= 1.
        matrices: matrices with rho(A) < 1.
        stable: True for each matrix that is stable under all delays drawn for it.
        delays: first delays that make the matrix unstable, steps per flow; 0 for stable matrices.
        radius: rho(A) of each matrix.
        norm2: `||A||_2` of each matrix.
        norm_inf: `||A||_inf` of each matrix.
        norm_s: upper bound of `||A||_s` of each matrix.
    """

    drawn: int
    matrices: Floats
    stable: NDArray[np.bool_]
    delays: Ints
    radius: Floats
    norm2: Floats
    norm_inf: Floats
    norm_s: Floats


@explained
def experiment(
    seed: int, count: int, size: int = 2, *, spread: float = 1.5, draws: int = 100, longest: int = 30
) -> Experiment:
    """Draws random matrices and delays, as for figs 12 and 13 of Zhang 2008.

    The elements are independent and uniform from `-spread` to `spread`. The text does not give the spread. A spread of
    1.5 yields the printed counts.

    Args:
        seed: seed of all random numbers.
        count: number of matrices to draw.
        size: number of rows.
        spread: bound of the elements.
        draws: delay vectors per matrix with rho(A) < 1.
        longest: largest delay, steps; delays are uniform from 1.

    Raises:
        ParameterError: if the size is not 1 to 12, there are no matrices or no draws, the spread is not positive and
            finite, or the longest delay is below 1.
    """
    whole(0, seed=seed)
    whole(1, size=size, count=count, draws=draws, longest=longest)
    positive(spread=spread)
    read_number("size", size, 1, LARGEST_SIZE, closed=True)
    rng = np.random.default_rng(seed)
    every = rng.uniform(-spread, spread, (count, size, size))
    radius: Floats = np.abs(np.linalg.eigvals(every)).max(axis=1)
    kept = radius < 1
    matrices = every[kept]
    delays = rng.integers(1, longest + 1, (len(matrices), draws, size))
    first = _first_unstable(matrices, delays)
    stable = first < 0
    found = delays[np.arange(len(matrices)), first]
    return Experiment(
        drawn=count,
        matrices=matrices,
        stable=stable,
        delays=np.where(stable[:, None], 0, found),
        radius=radius[kept],
        norm2=np.linalg.norm(matrices, 2, axis=(1, 2)),
        norm_inf=np.linalg.norm(matrices, np.inf, axis=(1, 2)),
        norm_s=scaled_norms(matrices) if len(matrices) else np.zeros(0),
    )


@explained
def are_stable(matrices: ArrayLike, delays: ArrayLike, within: float = 1.0) -> NDArray[np.bool_]:
    """Returns True for systems `x_i(n) = sum_j a_ij x_j(n - D_i)` whose roots all lie inside a circle around 0.

    Args:
        matrices: real or complex matrices of up to 12 rows, numbered by the first axis.
        delays: D_i in steps, with axes (matrix, draw, flow); each matrix is combined with its own draws.
        within: radius of the circle.

    Returns:
        One truth value per matrix and draw.

    Raises:
        MatrixError: if a matrix is not allowed or too large.
        ParameterError: if delays are not whole numbers of at least 1, or their shape does not match.

    >>> are_stable([[[0.5, 0.7], [-0.7, -0.5]]], [[[1, 1], [1, 2], [2, 1]]]).tolist()
    [[True, True, False]]
    """
    positive(within=within)
    a = read_matrices(matrices)
    steps = _read_draws(delays, a)
    owner = np.repeat(np.arange(len(a)), steps.shape[1])
    return _all_inside(_minors(a), owner, steps.reshape(-1, a.shape[-1]), within).reshape(steps.shape[:2])


@explained
def largest_modulus(matrices: ArrayLike, delays: ArrayLike, seed: int = 1) -> tuple[float, tuple[int, int]]:
    """Returns the largest modulus of a root of any system, and the indices of the matrix and draw with this root.

    Each round computes the roots of one system, and keeps only systems with larger roots. The search ends when no
    system is left, after few rounds.

    Args:
        matrices: as for `are_stable`.
        delays: as for `are_stable`.
        seed: seed of the choice of the next candidate.

    Raises:
        MatrixError: as for `are_stable`.
        ParameterError: as for `are_stable`, or if a system has more roots than can be computed.
    """
    whole(0, seed=seed)
    a = read_matrices(matrices)
    steps = _read_draws(delays, a)
    rng = np.random.default_rng(seed)
    coefficients = _minors(a)
    left = np.indices(steps.shape[:2]).reshape(2, -1).T
    record, holder = -1.0, (0, 0)
    while len(left):
        k, draw = (int(i) for i in left[rng.integers(len(left))])
        modulus = float(np.abs(roots(a[k], steps[k, draw])[0]))
        if modulus > record:
            record, holder = modulus, (k, draw)
        beyond = max(record, 1e-3) * (1 + 1e-9)
        left = left[~_all_inside(coefficients, left[:, 0], steps[left[:, 0], left[:, 1]], beyond)]
    return record, holder


def _all_inside(coefficients: Matrix, owner: Ints, delays: Ints, within: float) -> NDArray[np.bool_]:
    """Returns True where all roots lie inside a circle, for each row of delays and its matrix.

    Args:
        coefficients: `_minors` of the matrices.
        owner: per row of delays, the index of its matrix.
        delays: D_i in steps, rows by flows.
        within: radius of the circle.
    """
    subsets = _subsets(delays.shape[1])
    total = delays.sum(axis=1)
    order = np.argsort(total, kind="stable")
    result = np.empty(len(delays), dtype=bool)
    start = 0
    while start < len(order):
        end = start + max(1, _CHUNK // (int(total[order[start]]) + 1))
        some = order[start:end]
        powers = delays[some] @ subsets.T
        values = coefficients[owner[some]] * within ** -powers.astype(np.float64)
        result[some] = _schur_cohn(_spread_out(values, powers))
        start = end
    return result


def _first_unstable(matrices: Floats, delays: Ints) -> Ints:
    """Returns the first draw that makes each matrix unstable, or -1. Few draws at a time suffice in most cases."""
    first = np.full(len(matrices), -1)
    step = 5
    for start in range(0, delays.shape[1], step):
        left = np.flatnonzero(first < 0)
        if not left.size:
            break
        unstable = ~are_stable(matrices[left], delays[left, start : start + step])
        hit = unstable.any(axis=1)
        first[left[hit]] = start + unstable[hit].argmax(axis=1)
    return first


def _read_draws(delays: ArrayLike, a: Matrix) -> Ints:
    if a.shape[-1] > LARGEST_SIZE:
        raise MatrixError(f"{a.shape[-1]} rows are too many; batches take up to {LARGEST_SIZE}")
    given = read_array("delay", delays)
    if given.ndim != 3 or given.shape[0] != len(a) or given.shape[2] != a.shape[-1]:
        raise ParameterError(f"delays of shape {given.shape}; needs ({len(a)}, draws, {a.shape[-1]})")
    return read_whole("delay", given, 1)


def _subsets(size: int) -> Ints:
    """Returns all subsets of the flows as rows of 0 and 1."""
    return (np.arange(2**size)[:, None] >> np.arange(size)) & 1


def _minors(a: Matrix) -> Matrix:
    """Returns `det(-A_SS)` for every subset S. It is the coefficient of z to the sum of the delays outside S."""
    values = np.ones((len(a), 2 ** a.shape[-1]), dtype=a.dtype)
    for k, subset in enumerate(_subsets(a.shape[-1])):
        rows = np.flatnonzero(subset)
        if rows.size:
            values[:, k] = np.linalg.det(-a[:, rows[:, None], rows])
    return values


def _spread_out(values: Matrix, powers: Ints) -> Matrix:
    """Returns polynomials by column, leading coefficient first, from terms and their powers below the first."""
    count, degree = len(values), int(powers.max())
    where = (powers * count + np.arange(count)[:, None]).ravel()
    size = (degree + 1) * count
    dense = np.bincount(where, values.real.ravel(), size)
    if np.iscomplexobj(values):
        dense = dense + 1j * np.bincount(where, values.imag.ravel(), size)
    return dense.reshape(degree + 1, count)


def _schur_cohn(polynomials: Matrix) -> NDArray[np.bool_]:
    """Returns True for columns whose polynomials have all roots inside the unit circle.

    A polynomial of degree n has all roots inside the circle under two conditions: `k = a_n / a_0` is inside, and all
    roots of `a_i - k conj(a_(n-i))`, of degree n - 1, are inside. Columns of lower degree end with zeros, which pass
    the test.
    """
    rows = polynomials
    stable = np.ones(rows.shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        while len(rows) > 1:
            k = rows[-1] / rows[0].conj()
            rest = 1 - np.abs(k) ** 2
            stable &= rest > 0
            reverse = k * rows[:0:-1].conj()
            rows = np.subtract(rows[:-1], reverse, out=reverse)
            rows /= rest
    return stable
