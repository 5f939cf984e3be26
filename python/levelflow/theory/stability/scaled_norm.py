"""Smallest 2-norm of a matrix under diagonal scaling, `||A||_s` (Zhang 2008, eq 48), with a proof of both bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.stability.matrices import Bound, Matrix, blocks, decouple, norm, read_matrices, read_matrix

#: Successive parameters of the barrier, relative to the norm. Below the last parameter, rounding errors exceed the
#: gain.
_STAGES = 10.0 ** -np.arange(10)
#: Barrier parameter below which the barrier also provides the proof.
_PROOF = 1e-5
#: Singular values within this relative distance of the largest one belong to its cluster.
_CLUSTER = 1e-6


@dataclass(frozen=True)
class ScaledNorm(Bound):
    """`||A||_s` between two bounds.

    Any positive semidefinite X gives a lower bound: the square root of the smallest `(A X A*)_ii / X_ii` over all i
    with `X_ii > 0`. The reason: if `||W A W^-1||_2 < s`, then `(A X A*)_ii < s^2 X_ii` for some i.

    Attributes:
        dual: matrix X of the lower bound.
    """

    dual: Matrix


def scaled_norm(matrix: ArrayLike) -> ScaledNorm:
    """Returns bounds of `||A||_s`, the infimum of `||W A W^-1||_2` over positive diagonal W.

    `||A||_s` is the largest of the infima of the irreducible blocks of A. If blocks are coupled, possibly no scaling
    attains the infimum. The norm is convex in the logarithms of the weights. Usually, the upper and the lower bound
    differ by less than a millionth. In one of a thousand cases, they differ by a few millionths. Both bounds are always
    valid. A matrix with 50 rows takes less than a tenth of a second, one with 200 rows takes a second.

    Raises:
        MatrixError: if the matrix is not allowed.

    >>> round(scaled_norm([[0.5, 4.0], [0.01, 0.5]]).upper, 9)
    0.7
    >>> scaled_norm([[0.5, 1.0], [0.0, 0.5]]).attained
    False
    """
    given = read_matrix(matrix)
    unit = float(np.abs(given).max()) or 1.0
    a = given / unit  # keeps squares in the range of floating point
    parts = blocks(a)
    weights = np.ones(len(a))
    found = []
    for part in parts:
        bound = _irreducible(a[np.ix_(part, part)])
        weights[part] = bound.weights
        found.append(bound)
    largest = max(bound.upper for bound in found)
    best = int(np.argmax([bound.lower for bound in found]))
    dual = np.zeros_like(a)
    dual[np.ix_(parts[best], parts[best])] = found[best].dual
    attained = all(
        _stands_alone(a, part, weights)
        for part, bound in zip(parts, found, strict=True)
        if bound.upper >= largest * (1 - _CLUSTER)
    )
    weights = decouple(a, parts, weights, largest)
    return ScaledNorm(norm(a, 2, weights) * unit, lower_bound(a, dual) * unit, weights, attained, dual)


def scaled_norms(matrices: ArrayLike) -> Floats:
    """Returns the upper bound of `scaled_norm` for each of many matrices of equal size.

    Size 2 has a closed form: `w1 / w2 = sqrt(|c / b|)` balances `[[a, b], [c, d]]`. This also holds in the limits `b =
    0` and `c = 0`.

    Raises:
        MatrixError: if a matrix is not allowed.
    """
    given = read_matrices(matrices)
    size = given.shape[-1]
    unit = np.maximum(np.abs(given).max(axis=(1, 2)), np.finfo(float).tiny)
    a = given / unit[:, None, None]
    if size == 1:
        return np.abs(given[:, 0, 0])
    if size == 2:
        squares = np.abs(a) ** 2
        total = squares[:, 0, 0] + squares[:, 1, 1] + 2 * np.abs(a[:, 0, 1] * a[:, 1, 0])
        product = 4 * np.abs(a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]) ** 2
        return unit * np.sqrt((total + np.sqrt(np.maximum(total**2 - product, 0))) / 2)
    result = np.empty(len(a))
    dense = (a != 0).all(axis=(1, 2))
    for k in np.flatnonzero(~dense):
        result[k] = scaled_norm(a[k]).upper
    if dense.any():
        result[dense] = _minimise(a[dense])[1]
    return result * unit


def lower_bound(matrix: ArrayLike, dual: ArrayLike) -> float:
    """Returns the lower bound of `||A||_s` from a positive semidefinite X; see `ScaledNorm`.

    Raises:
        MatrixError: if a matrix is not allowed.
    """
    a, x = read_matrix(matrix), read_matrix(dual)
    below = np.diagonal(x).real
    above = np.einsum("ij,jk,ik->i", a, x, a.conj()).real
    there = below > 0
    return float(np.sqrt(max((above[there] / below[there]).min(), 0.0))) if there.any() else 0.0


def balance(matrices: Matrix) -> Floats:
    """Returns weights for which each row has the 2-norm of its column, for many irreducible matrices.

    The weights minimise the sum of squares of `W A W^-1`, which is convex in their logarithms (Osborne 1960).
    """
    count, size, _ = matrices.shape
    squares = np.abs(matrices) ** 2
    squares[:, np.arange(size), np.arange(size)] = 0.0
    squares /= np.maximum(squares.sum(axis=(1, 2), keepdims=True), np.finfo(float).tiny)

    def value(y: Floats) -> Floats:
        return (squares * np.exp(y[:, :, None] - y[:, None, :])).sum(axis=(1, 2))

    def model(y: Floats) -> tuple[Floats, Floats]:
        now = squares * np.exp(y[:, :, None] - y[:, None, :])
        rows, columns = now.sum(axis=2), now.sum(axis=1)
        hessian = -now - now.swapaxes(1, 2)
        hessian[:, np.arange(size), np.arange(size)] += rows + columns
        return rows - columns, hessian

    return np.exp(_newton(value, model, np.zeros((count, size)), size, steps=100, enough=1e-28) / 2)


def _irreducible(block: Matrix) -> ScaledNorm:
    """Returns the bounds for an irreducible matrix.

    A scaling attains the infimum, because all scalings near the infimum are bounded.
    """
    if len(block) == 1:
        value = float(np.abs(block[0, 0]))
        return ScaledNorm(value, value, np.ones(1), True, np.ones_like(block))
    weights, uppers, duals = _minimise(block[None], prove=True)
    dual = max(duals, key=lambda x: lower_bound(block, x))
    return ScaledNorm(float(uppers[0]), lower_bound(block, dual), weights[0], True, dual)


def _stands_alone(matrix: Matrix, part: Ints, weights: Floats) -> bool:
    """Returns True if a finite scaling of the other blocks keeps the norm of the matrix at the norm of the given block.

    This is possible if and only if the largest singular vectors of the block are not coupled to other blocks.
    """
    w = weights[part]
    left, values, right = np.linalg.svd(matrix[np.ix_(part, part)] * (w[:, None] / w))
    top = values >= values[0] * (1 - _CLUSTER)
    out = (left.conj().T[top] * w) @ np.delete(matrix[part], part, axis=1)
    into = np.delete(matrix[:, part], part, axis=0) @ (right.conj().T[:, top] / w[:, None])
    seen = max(np.abs(out).max(initial=0), np.abs(into).max(initial=0))
    return bool(seen <= _CLUSTER * np.abs(matrix).max())


def _minimise(a: Matrix, prove: bool = False) -> tuple[Floats, Floats, list[Matrix]]:
    """Minimises the norms of irreducible matrices.

    The method follows a path. For smaller and smaller values of `part`, Newton's method minimises `z / part - log det(1
    - e^-z B B*)` with `B = W A W^-1`. `y` are the logarithms of squared weights, and `z` is the logarithm of a level
    above the squared norm. The objective is jointly convex in `y` and `z`, because `-log det(1 - C C*)` is
    plurisubharmonic in an analytic C and depends on the real parts of y and z only.

    At the minimum, `e^-z (A X A*)_ii` is less than `X_ii` by `w_i^-2`, with `X = W^-1 (1 - e^-z B* B)^-1 W^-1`. This
    difference is small in rows that determine the norm. In some rows with little effect on the norm, it is nearly all
    of `X_ii`. The last stages therefore add `slope y` to the objective. Each difference is then the same fraction of
    its term in the trace of `W X W`.

    Returns:
        Weights and norms of all matrices, and candidates for X of the first matrix if `prove`.
    """
    size = a.shape[-1]
    weights = balance(a)
    best = _norms(a, weights)
    duals = [_cluster_dual(a[0], weights[0])] if prove else []
    if size == 2 or (prove and lower_bound(a[0], duals[0]) >= best[0] * (1 - 1e-12)):
        return weights, best, duals
    x = np.concatenate([2 * np.log(weights), 2 * np.log(best[:, None]) + 0.5], axis=1)
    slope = np.zeros_like(weights)
    for part in _STAGES:
        fine = part < _PROOF
        x = _newton(
            partial(_barrier, a, part, slope),
            partial(_barrier_model, a, part, slope),
            x,
            size,
            steps=30 if fine else 12,
            enough=1e-10 if fine else 1e-3,
        )
        here = np.exp(x[:, :size] / 2)
        norms = _norms(a, here)
        better = norms < best
        best = np.where(better, norms, best)
        weights[better] = here[better]
        if fine:
            inverse = _inverse(a, x)
            trace = np.einsum("kii->ki", inverse).real - 1
            slope = size * trace / trace.sum(axis=1, keepdims=True) - 1
        if prove and fine:
            duals.append(inverse[0] / np.outer(here[0], here[0]))
            if lower_bound(a[0], duals[-1]) >= best[0] * (1 - 1e-9):
                break
    return weights, best, duals


def _newton(
    value: Callable[[Floats], Floats],
    model: Callable[[Floats], tuple[Floats, Floats]],
    x: Floats,
    size: int,
    *,
    steps: int,
    enough: float,
) -> Floats:
    """Minimises convex functions, one per row of x. The first `size` variables matter only by their differences."""
    for _ in range(steps):
        gradient, hessian = model(x)
        diagonal = np.einsum("kii->ki", hessian)
        # A common offset of the first variables changes nothing. A penalty on it makes the Hessian invertible.
        hessian[:, :size, :size] += diagonal[:, :size].mean(axis=1)[:, None, None]
        unit = np.sqrt(np.maximum(diagonal, 1e-100))
        system = hessian / (unit[:, :, None] * unit[:, None, :]) + 1e-14 * np.eye(x.shape[1])
        step = -np.linalg.solve(system, (gradient / unit)[:, :, None])[:, :, 0] / unit
        decrease = -(gradient * step).sum(axis=1)
        if (decrease < enough).all():
            break
        now = value(x)
        slack = 1e-12 * np.abs(now)
        length = np.minimum(1.0, 4 / np.maximum(np.abs(step).max(axis=1), 1.0))
        for _ in range(40):
            ahead = x + length[:, None] * step
            bad = ~(value(ahead) <= now - 0.1 * length * decrease + slack)
            if not bad.any():
                break
            length = np.where(bad, length / 2, length)
        x = np.where(bad[:, None], x, ahead)
    return x


def _scale(a: Matrix, weights: Floats) -> Matrix:
    return a * (weights[:, :, None] / weights[:, None, :])


def _norms(a: Matrix, weights: Floats) -> Floats:
    return np.linalg.norm(_scale(a, weights), 2, axis=(1, 2))


def _contraction(a: Matrix, x: Floats) -> Matrix:
    """Returns `e^(-z/2) B`, whose norm is below 1 inside the barrier."""
    return _scale(a, np.exp(x[:, :-1] / 2)) * np.exp(-x[:, -1] / 2)[:, None, None]


def _barrier(a: Matrix, part: float, slope: Floats, x: Floats) -> Floats:
    with np.errstate(all="ignore"):
        c = _contraction(a, x)
        largest: Floats = np.abs(c).max(axis=(1, 2))
        finite: Matrix = np.where((largest < np.inf)[:, None, None], c, 2.0)
        values: Floats = np.linalg.svd(finite, compute_uv=False)
        barrier: Floats = x[:, -1] / part + (slope * x[:, :-1]).sum(axis=1) - np.log1p(-(values**2)).sum(axis=1)
    return np.where(values[:, 0] < 1, barrier, np.inf)


def _barrier_model(a: Matrix, part: float, slope: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Returns gradient and Hessian, from `(1 - C C*)^-1` for rows and `(1 - C* C)^-1` for columns."""
    size = a.shape[-1]
    c = _contraction(a, x)
    left, values, right = np.linalg.svd(c)
    inverse = 1 / (1 - values**2)
    rows = (left * inverse[:, None, :]) @ left.conj().swapaxes(1, 2)
    columns = (right.conj().swapaxes(1, 2) * inverse[:, None, :]) @ right
    cross = np.abs(columns @ c.conj().swapaxes(1, 2)) ** 2
    of_rows, of_columns = np.einsum("kii->ki", rows).real, np.einsum("kii->ki", columns).real
    rows, columns = np.abs(rows) ** 2, np.abs(columns) ** 2
    along = rows.sum(axis=2) - of_rows
    hessian = np.empty((len(a), size + 1, size + 1))
    hessian[:, :size, :size] = rows + columns - cross - cross.swapaxes(1, 2)
    hessian[:, np.arange(size), np.arange(size)] -= of_rows + of_columns
    hessian[:, :size, size] = hessian[:, size, :size] = columns.sum(axis=2) - of_columns - along
    hessian[:, size, size] = along.sum(axis=1)
    level = 1 / part - (inverse - 1).sum(axis=1)
    return np.concatenate([of_rows - of_columns + slope, level[:, None]], axis=1), hessian


def _inverse(a: Matrix, x: Floats) -> Matrix:
    """Returns `(1 - C* C)^-1`."""
    _, values, right = np.linalg.svd(_contraction(a, x))
    return (right.conj().swapaxes(1, 2) / (1 - values**2)[:, None, :]) @ right


def _cluster_dual(a: Matrix, weights: Floats) -> Matrix:
    """Returns X computed from the singular vectors of the largest singular value."""
    _, values, right = np.linalg.svd(_scale(a[None], weights[None])[0])
    rows = right[values >= values[0] * (1 - _CLUSTER)] / weights
    return rows.conj().T @ rows
