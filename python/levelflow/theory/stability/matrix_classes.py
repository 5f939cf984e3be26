"""Classes of matrices that are stable under all diagonal delays if and only if rho(A) < 1 (Zhang 2008, theorem 5).

rho(A) is the spectral radius, the largest modulus of an eigenvalue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.stability.matrices import Matrix, MatrixError, blocks, coupled, norm, read_matrix, spectral_radius
from levelflow.theory.stability.scaled_norm import balance, scaled_norm
from levelflow.theory.validate import explained, whole

#: Largest relative residual that counts as 0: the precision of `scaled_norm`.
TOLERANCE = 2e-6


@dataclass(frozen=True)
class Membership:
    """Membership of a matrix in a class.

    Attributes:
        holds: True if the residual counts as 0.
        residual: distance of `S A S^-1` from the class, relative to its size.
        scaling: diagonal of S; 1 for classes without scaling. The signs of S (phases if A is complex) give all elements
            the same sign. The moduli of S balance rows and columns.
    """

    holds: bool
    residual: float
    scaling: Matrix


def classify(matrix: ArrayLike) -> dict[str, Membership]:
    """Returns the membership in each class of Zhang 2008, section IV.3.4, by class name.

    N is the class of normal matrices (`A A* = A* A`). P is the class of matrices whose elements all have the same sign
    or are 0. R is the class of radial matrices (`||A||_2 = rho(A)`). DN, DP and DR are the classes of matrices that are
    diagonally similar to a matrix of N, P and R.

    Raises:
        MatrixError: if the matrix is not allowed.

    >>> [name for name, member in classify([[0.5, 4.0], [0.01, 0.5]]).items() if member.holds]
    ['P', 'DN', 'DP', 'DR']
    """
    a = read_matrix(matrix)
    one = np.ones(len(a))
    return {
        "N": _membership(abnormality(a), one),
        "P": _membership(mixed_signs(a), one),
        "R": _membership(excess(a), one),
        "DN": _like_normal(a),
        "DP": _like_sign_definite(a),
        "DR": _like_radial(a),
    }


@explained
def random_member(name: str, size: int, rng: np.random.Generator) -> Matrix:
    """Returns a random member of a class. Members of DN, DP and DR have a random scaling.

    A normal matrix is drawn symmetric, skew-symmetric, Hermitian, circulant or orthogonal. Only Hermitian matrices are
    complex.

    Args:
        name: name of the class.
        size: number of rows, at least 2.
        rng: random number generator.

    Raises:
        MatrixError: if the class does not exist, or the size is below 2.
    """
    whole(1, size=size)
    if name.removeprefix("D") not in {"N", "P", "R"} or size < 2:
        raise MatrixError(f"class {name} of size {size} is not known; classes are N, P, R, DN, DP and DR, sizes from 2")
    free = rng.normal(size=(size, size))
    turn = np.linalg.qr(free)[0]
    if name[-1] == "N":
        circulant = rng.normal(size=size)[(np.arange(size)[:, None] - np.arange(size)) % size]
        kinds: list[Matrix] = [free + free.T, free - free.T, free + free.T + 1j * (free - free.T), circulant, turn]
        member: Matrix = kinds[rng.integers(len(kinds))]
    elif name[-1] == "P":
        member = np.abs(free) * rng.choice([-1, 1])
    else:
        inner = rng.normal(size=(size, size))
        inner[0, 1:] = inner[1:, 0] = 0.0
        inner[0, 0] = np.linalg.norm(inner[1:, 1:], 2) / rng.uniform(0.1, 0.9)
        member = turn @ inner @ turn.T
    if name[0] == "D":
        scaling = np.exp(rng.normal(0, 1, size)) * rng.choice([-1, 1], size)
        member = member * (scaling[:, None] / scaling)
    return member


def abnormality(matrix: ArrayLike) -> float:
    """Returns `||A A* - A* A||_F / ||A||_F^2`, which is 0 for normal matrices.

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    a = _normalised(matrix)
    adjoint = a.conj().T
    return float(np.linalg.norm(a @ adjoint - adjoint @ a) / max(np.linalg.norm(a) ** 2, np.finfo(float).tiny))


def mixed_signs(matrix: ArrayLike) -> float:
    """Returns `min(p, n)/max(p, n)`. `p` and `n` are the largest sizes of positive and of negative elements.

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    a = _normalised(matrix)
    return float(min(np.abs(a - np.abs(a)).max(), np.abs(a + np.abs(a)).max()) / 2)


def excess(matrix: ArrayLike) -> float:
    """Returns `1 - rho(A) / ||A||_2`, which is 0 for radial matrices.

    Raises:
        MatrixError: if the matrix is not allowed.
    """
    a = _normalised(matrix)
    largest = norm(a)
    return 1 - spectral_radius(a) / largest if largest else 0.0


def _membership(residual: float, scaling: Matrix) -> Membership:
    return Membership(residual <= TOLERANCE, residual, scaling)


def _normalised(matrix: ArrayLike) -> Matrix:
    a = read_matrix(matrix)
    return a / (np.abs(a).max() or 1.0)


def _like_normal(a: Matrix) -> Membership:
    """Returns the membership in DN. Only one scaling makes the 2-norms of rows and columns of each block equal.

    A normal matrix has only zeros between its blocks.
    """
    scaling = _balanced(a)
    residual = abnormality(a * (scaling[:, None] / scaling))
    return Membership(residual <= TOLERANCE and not coupled(a, blocks(a)), residual, scaling)


def _balanced(a: Matrix) -> Matrix:
    scaling = np.ones(len(a))
    for part in blocks(a):
        scaling[part] = balance(a[None][:, part[:, None], part])[0]
    return scaling


def _like_sign_definite(a: Matrix) -> Membership:
    """Returns the membership in DP. Non-zero elements fix the phases of the scaling within each connected part.

    The residual is computed for the balanced matrix, in which every element of a cycle counts.
    """
    moduli = _balanced(a)
    found = []
    for sign in (1, -1):
        scaling = moduli * _phases(sign * a)
        found.append(_membership(mixed_signs(a * (scaling[:, None] / scaling)), scaling))
    return min(found, key=lambda member: member.residual)


def _phases(a: Matrix) -> Matrix:
    """Returns S with `S A S^-1 >= 0` if S exists. Otherwise, the largest elements take precedence."""
    import networkx as nx

    phases = np.ones(len(a), dtype=a.dtype)
    size = np.abs(a)
    graph = nx.from_numpy_array(np.maximum(size, size.T) * (1 - np.eye(len(a))))
    tree = nx.maximum_spanning_tree(graph)
    for part in nx.connected_components(tree):
        for i, j in nx.bfs_edges(tree, min(part)):
            element = a[i, j] if size[i, j] >= size[j, i] else a[j, i].conj()
            phases[j] = phases[i] * element / np.abs(element)
    return phases


def _like_radial(a: Matrix) -> Membership:
    bound = scaled_norm(a)
    balanced = _normalised(a * (bound.weights[:, None] / bound.weights))
    residual = excess(balanced)
    return Membership(residual <= TOLERANCE and bound.attained, residual, bound.weights)
