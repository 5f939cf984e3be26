"""Square matrices: spectral radii, induced norms, and irreducible blocks.

Everywhere in this package, weights `w` scale a matrix to `W A W^-1` with `W = diag(w)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import TheoryError
from levelflow.theory.validate import explained, read_each

Matrix = NDArray[Any]  # of floats or of complex numbers

#: Largest logarithm of the ratio of two weights. Within this range, weights scale couplings between blocks down.
_SPAN = 600.0

#: Largest allowed element, so that sums of elements stay finite.
LARGEST_ELEMENT = 1e300


class MatrixError(TheoryError):
    """Matrix that is not square, is empty or is not finite, or a singular scaling."""


@dataclass(frozen=True)
class Bound:
    """Infimum of a norm over all positive diagonal scalings, between two bounds that are easy to verify.

    Attributes:
        upper: norm of `W A W^-1` with `weights`.
        lower: lower bound of the norm for all scalings.
        weights: diagonal of W.
        attained: True if a scaling attains the infimum. Otherwise `weights` approximate the infimum as closely as
            floating point allows.
    """

    upper: float
    lower: float
    weights: Floats
    attained: bool

    @property
    def gap(self) -> float:
        """Difference between the upper and the lower bound."""
        return self.upper - self.lower


def read_matrix(matrix: ArrayLike) -> Matrix:
    """Returns a square matrix of floats or complex numbers.

    Raises:
        MatrixError: if the matrix is empty or not square, or an element is infinite, too large, or not a number.

    >>> read_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    return read_matrices(matrix, dimensions=2)


@explained
def read_matrices(matrices: ArrayLike, dimensions: int = 3) -> Matrix:
    """Returns square matrices, numbered by the first axes.

    Args:
        matrices: the last two axes are rows and columns.
        dimensions: total number of axes.

    Raises:
        MatrixError: as for `read_matrix`.
    """
    try:
        array = np.array(matrices)
    except ValueError as error:
        raise MatrixError("rows of different length; a matrix needs as many rows as columns") from error
    if array.ndim != dimensions or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        of = "a matrix" if dimensions == 2 else "a list of matrices"
        raise MatrixError(f"{of} of shape {array.shape} is not allowed; needs as many rows as columns, at least 1")
    if array.dtype.kind not in "biufc":
        raise MatrixError(f"elements of type {array.dtype} are not allowed; a matrix needs finite numbers")
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        where = tuple(int(i) for i in bad[0])
        raise MatrixError(f"element {list(where)}: {array[where]} is not allowed; a matrix needs finite numbers")
    large = np.argwhere(np.maximum(np.abs(array.real), np.abs(array.imag)) > LARGEST_ELEMENT)
    if large.size:
        where = tuple(int(i) for i in large[0])
        raise MatrixError(
            f"element {list(where)}: {array[where]} is not allowed; a matrix needs sizes up to {LARGEST_ELEMENT:g}"
        )
    return array


def scaled(matrix: ArrayLike, weights: ArrayLike) -> Matrix:
    """Returns `W A W^-1`.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: if there is not one finite weight above 0 for each row. The scaling is then singular or
            undefined.

    >>> scaled([[1, 2], [3, 4]], [1, 2]).tolist()
    [[1.0, 1.0], [6.0, 4.0]]
    """
    a = read_matrix(matrix)
    w = read_each("scaling", weights, len(a))
    return a * (w[:, None] / w)


def spectral_radius(matrix: ArrayLike) -> float:
    """Returns the largest modulus of an eigenvalue, rho(A).

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    return float(np.abs(np.linalg.eigvals(read_matrix(matrix))).max())


@explained
def norm(matrix: ArrayLike, order: float = 2, weights: ArrayLike = 1.0) -> float:
    """Returns the norm induced by `||W x||` (Zhang 2008, definition 3 and theorem 3), a monotonic norm.

    Args:
        matrix: A.
        order: 1 (largest column sum), 2 (largest singular value) or `math.inf` (largest row sum).
        weights: diagonal of W. Zhang's weighted maximum norm with weights w is this norm with weights 1/w.

    Raises:
        MatrixError: if the matrix or the order is not allowed.
        ParameterError: if weights are not allowed, as for `scaled`.

    >>> norm([[1, -2], [0, 4]], math.inf), norm([[1, -2], [0, 4]], 1), norm([[1, -2], [0, 4]], math.inf, [1, 4])
    (4.0, 6.0, 4.0)
    """
    if order not in {1, 2, math.inf}:
        raise MatrixError(f"order {order} is not allowed; norms have order 1, 2 or inf")
    return float(np.linalg.norm(scaled(matrix, weights), order))


def absolute_radius(matrix: ArrayLike) -> Bound:
    """Returns rho(|A|), the smallest `||W A W^-1||_inf` over positive diagonal W (Zhang 2008, eq 37).

    The weights are the reciprocals of Perron's vector. By Collatz and Wielandt, the smallest row sum of an irreducible
    block of `W |A| W^-1` is a lower bound.

    Raises:
        MatrixError: if the matrix is not allowed.

    >>> absolute_radius([[0.5, -1.0], [0.25, 0.5]]).upper
    1.0
    """
    a = np.abs(read_matrix(matrix))
    parts = blocks(a)
    weights = np.ones(len(a))
    bounds = []
    for part in parts:
        block = a[np.ix_(part, part)]
        weights[part] = 1 / _perron(block)
        sums = scaled(block, weights[part]).sum(axis=1)
        bounds.append((sums.min(), sums.max()))
    lower, upper = max(low for low, _ in bounds), max(high for _, high in bounds)
    # A scaling attains the infimum only if blocks with the largest radius have no coupling in their rows.
    attained = all(
        high < upper * (1 - 1e-12) or not np.delete(a[part], part, axis=1).any()
        for part, (_, high) in zip(parts, bounds, strict=True)
    )
    weights = decouple(a, parts, weights, upper)
    return Bound(norm(a, math.inf, weights), float(lower), weights, attained)


def blocks(matrix: Matrix) -> list[Ints]:
    """Returns the rows of each irreducible diagonal block (Frobenius normal form).

    A block precedes the blocks to which its rows refer.
    """
    import networkx as nx

    graph = nx.from_numpy_array(matrix != 0, create_using=nx.DiGraph)
    condensed = nx.condensation(graph)
    return [np.array(sorted(condensed.nodes[node]["members"])) for node in nx.topological_sort(condensed)]


def coupled(matrix: Matrix, parts: Sequence[Ints]) -> bool:
    """Returns True if a row of one block refers to another block."""
    return any(np.delete(matrix[part], part, axis=1).any() for part in parts)


def decouple(matrix: Matrix, parts: Sequence[Ints], weights: Floats, level: float) -> Floats:
    """Returns weights that make couplings between blocks small, and keep the ratios within blocks.

    Args:
        matrix: matrix to scale.
        parts: blocks of the matrix, in the order of `blocks`.
        weights: weights of each block on its own.
        level: couplings become about a billionth of this level, if floating point allows; 0 means the largest element.
    """
    if not coupled(matrix, parts):
        return weights
    logs = np.log(weights)
    for part in parts:
        logs[part] -= logs[part].mean()
    magnitude = np.abs(matrix)
    aim = 1e-9 * (level or magnitude.max()) / len(matrix)
    depth = np.zeros(len(matrix))
    with np.errstate(divide="ignore"):
        size = np.log(magnitude) - math.log(aim) + logs[:, None] - logs
    for k, part in enumerate(parts):
        for later in parts[k + 1 :]:
            need = size[np.ix_(part, later)].max()
            if np.isfinite(need):
                depth[later] = max(depth[later[0]], depth[part[0]] + max(need, 0.0))
    depth -= (depth.max() + depth.min()) / 2
    depth *= min(1.0, _SPAN / max(float(np.ptp(depth)), 1.0))
    return np.exp(logs + depth)


def _perron(block: Matrix) -> Floats:
    """Returns the positive eigenvector of an irreducible non-negative matrix."""
    if len(block) == 1:
        return np.ones(1)
    values, vectors = np.linalg.eig(block)
    vector = np.abs(vectors[:, np.argmax(values.real)].real)
    shift = values.real.max()
    # Power iteration makes every component positive, and corrects the relative error of tiny components.
    for _ in range(len(block) + 4):
        vector = block @ vector + shift * vector
        vector /= vector.max()
    return np.maximum(vector, np.finfo(float).tiny)
