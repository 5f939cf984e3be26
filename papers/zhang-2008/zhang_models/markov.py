"""Finite Markov chains: direct solution for the stationary distribution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import TheoryError
from levelflow.theory.validate import explained, whole

#: Tolerance for the sum of probabilities in a row, which should be 1.
ROUNDING = 1e-9
#: Largest number of states for which a step with a dense matrix is faster than with a sparse matrix.
DENSE = 250
#: Number of steps from a uniform distribution, after which the most probable state gets the weight 1.
WARM_UP = 100


class ChainError(TheoryError):
    """Invalid probabilities, a chain without a unique stationary distribution, or a chain with too many states."""


class Stationary(NamedTuple):
    """Distribution that a step of the chain does not change.

    Attributes:
        law: probability of each state.
        residual: sum of the changes in a step, `|law P - law|`.
    """

    law: Floats
    residual: float


@explained
def read_moves(moves: ArrayLike | csr_array) -> csr_array:
    """Returns a matrix of transition probabilities, from row to column.

    Raises:
        ChainError: if the matrix is empty or not square, a probability is negative or not a number, or a row does not
            add up to 1.
    """
    matrix = csr_array(np.asarray(moves, dtype=np.float64)) if not isinstance(moves, csr_array) else moves
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ChainError(f"probabilities of shape {matrix.shape} are not allowed; needs as many rows as columns")
    if matrix.nnz and not matrix.data.min() >= 0:
        raise ChainError(f"a probability of {matrix.data.min()} is not allowed; needs numbers from 0 to 1")
    totals = matrix.sum(axis=1)
    bad = np.flatnonzero(~(np.abs(totals - 1) <= ROUNDING))
    if bad.size:
        raise ChainError(f"state {bad[0]}: its probabilities add up to {totals[bad[0]]}; needs 1")
    return matrix


@explained
def closed_classes(moves: ArrayLike | csr_array) -> list[Ints]:
    """Returns the states of each closed class. A closed class is a smallest set that the chain cannot leave.

    Raises:
        ChainError: as `read_moves`.

    >>> [states.tolist() for states in closed_classes([[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]])]
    [[0], [2]]
    """
    matrix = read_moves(moves)
    parts, part = connected_components(matrix, connection="strong")
    start, end = matrix.nonzero()
    leaves = np.zeros(parts, dtype=bool)
    leaves[part[start[part[start] != part[end]]]] = True
    return [np.flatnonzero(part == number) for number in np.flatnonzero(~leaves)]


@explained
def stationary(moves: ArrayLike | csr_array) -> Stationary:
    """Returns the stationary distribution, to which the mean over time converges from any start.

    Raises:
        ChainError: as `read_moves`, or if there are several sets that the chain cannot leave.

    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).law.round(6).tolist()
    [0.75, 0.25]
    """
    matrix = read_moves(moves)
    classes = closed_classes(matrix)
    if len(classes) > 1:
        raise ChainError(f"the chain ends in one of {len(classes)} sets of states; needs a chain with one")
    states = classes[0]
    inner = matrix if states.size == matrix.shape[0] else matrix[states][:, states]
    law = np.zeros(matrix.shape[0])
    # A frequent state gets the weight 1. The balance of flow into and out of each other state gives the other weights.
    given = int(np.argmax(evolve(inner, np.full(states.size, 1 / states.size), WARM_UP)))
    others = np.delete(np.arange(states.size), given)
    law[states[given]] = 1.0
    if others.size:
        entering = inner[[given]][:, others].toarray().ravel()
        law[states[others]] = splu((eye_array(others.size) - inner[others][:, others]).T.tocsc()).solve(entering)
    law = np.maximum(law, 0.0) / np.maximum(law, 0.0).sum()
    return Stationary(law, float(np.abs(law @ matrix - law).sum()))


@explained
def evolve(moves: ArrayLike | csr_array, law: ArrayLike, steps: int) -> Floats:
    """Returns the distribution of the chain's state after some steps.

    Raises:
        ChainError: as `read_moves`, or if the law does not fit the chain or is not a distribution.
        ParameterError: if a number of steps is not whole, or below 0.

    >>> evolve([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0], 3).tolist()
    [0.0, 1.0]
    """
    whole(0, steps=steps)
    matrix = read_moves(moves)
    now = np.asarray(law, dtype=np.float64)
    if now.shape != matrix.shape[:1] or not (now >= 0).all() or not abs(now.sum() - 1) <= ROUNDING:
        raise ChainError(f"a law of shape {now.shape} is not allowed; needs {matrix.shape[0]} probabilities of sum 1")
    if matrix.shape[0] <= DENSE:
        dense = matrix.toarray()
        for _ in range(steps):
            now = now @ dense
        return now
    transposed = matrix.T  # one transposition here, instead of one in each step
    for _ in range(steps):
        now = transposed @ now
    return now
