"""Linear systems with whole delays, `x_i(n) = sum_j a_ij x_j(n - D)`: their roots and their stability.

Delays are a list of `D_i >= 1`, or a square array of `D_ij` (eq 35). With a list, all feedback to flow `i` has the age
`D_i`, its round trip (Zhang 2008, eq 31). `directional` converts directional delays (eq 34) to such an array. A system
is stable if and only if all roots lie inside the unit circle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Complexes, Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.stability.matrices import Matrix, blocks, read_matrix
from levelflow.theory.validate import explained, read_array, read_number, read_whole, whole

#: Largest number of states for which all roots are computed. For more states, counting finds the largest root.
LARGEST_STATE = 400
#: Largest sum of delays for which roots are counted.
_LARGEST_DEGREE = 100_000
#: Largest number of points on a circle for counting roots: per root, and in total.
_POINTS_PER_ROOT = 256
_MOST_POINTS = 2**20
#: Number of points on a circle at which the search for roots starts. With long delays, many roots have nearly equal
#: modulus.
_DIPS = 24


@dataclass(frozen=True)
class Stability:
    """Stability of a system, with its largest root as proof.

    Attributes:
        stable: True if the largest root lies inside the unit circle.
        root: root z with the largest modulus.
        vector: vector of length 1 for which x(n) = vector * root^n solves the system.
        residual: error of this solution, relative to its largest term.
    """

    stable: bool
    root: complex
    vector: Complexes
    residual: float


@explained
def read_delays(delays: ArrayLike, size: int) -> Ints:
    """Returns delays as whole numbers of steps.

    Raises:
        ParameterError: if delays are not whole numbers of at least 1, or not `size` or `size` by `size` numbers.
    """
    whole(1, size=size)
    given = read_array("delay", delays)
    if given.shape not in {(size,), (size, size)}:
        raise ParameterError(f"delays of shape {given.shape} for {size} flows; needs one per flow, or one per pair")
    return read_whole("delay", given, 1)


def directional(forward: ArrayLike, backward: ArrayLike) -> Ints:
    """Returns the delays of `x_i(n) = sum_j a_ij x_j(n - F_j - B_i)` (Zhang 2008, eq 34), per pair of flows.

    Raises:
        ParameterError: if delays are not whole numbers of at least 0, one per flow, or a sum of a pair is 0.

    >>> directional([1, 2], [0, 3]).tolist()
    [[1, 2], [4, 5]]
    """
    there, back = read_whole("forward delay", forward), read_whole("backward delay", backward)
    if there.ndim != 1 or there.shape != back.shape:
        raise ParameterError(f"{there.size} forward and {back.size} backward delays; needs one of each per flow")
    return read_delays(there + back[:, None], there.size)


def roots(matrix: ArrayLike, delays: ArrayLike) -> Complexes:
    """Returns all roots of `det(A - diag(z^D))`, or of `det(1 - a_ij z^-D_ij)` for delays per pair, largest first.

    Roots at 0 (of a singular matrix) are computed as points scattered around 0. For a k-fold root, the scatter is the
    k-th root of the precision, so it grows with the delays.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: if delays are not allowed, or an irreducible block has more than 400 roots after its delays are
            divided by their common factor.

    >>> roots([[0.25]], [2]).real.round(6).tolist()
    [0.5, -0.5]
    """
    a = read_matrix(matrix)
    found = []
    for block, steps, factor in _blocks(a, read_delays(delays, len(a))):
        if _state(block, steps) > LARGEST_STATE:
            raise ParameterError(f"{_state(block, steps)} roots are too many; needs at most {LARGEST_STATE}")
        values = np.linalg.eigvals(_companion(block, steps)).astype(np.complex128)
        turns = np.exp(2j * np.pi * np.arange(factor) / factor)
        found.append((values[:, None] ** (1 / factor) * turns).ravel())
    every: Complexes = np.concatenate(found)
    return every[np.argsort(-np.abs(every), kind="stable")]


def stability(matrix: ArrayLike, delays: ArrayLike) -> Stability:
    """Returns the stability of a system, and its largest root.

    If there are at most 400 roots, all are computed. Otherwise, roots outside a circle are counted by the turns of the
    determinant around 0 along the circle. The circle shrinks to the largest root. The error of this root is about 1e-8.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: if delays are not allowed or add up to more than 100 000 steps.

    >>> stability([[0.5, 1.0], [-1.0, 0.5]], [1, 2]).stable
    False
    """
    a = read_matrix(matrix)
    given = read_delays(delays, len(a))
    largest, root = -1.0, 0j
    for block, steps, factor in _blocks(a, given):
        if _state(block, steps) <= LARGEST_STATE:
            values = np.linalg.eigvals(_companion(block, steps))
            first = _refine(block, steps, complex(values[np.argmax(np.abs(values))]))[0]
        else:
            first = _largest_by_counting(block, steps)
        if abs(first) ** (1 / factor) > largest:
            largest = abs(first) ** (1 / factor)
            root = first ** (1 / factor)
    return Stability(largest < 1, root, *_null(a, given, root))


def is_stable(matrix: ArrayLike, delays: ArrayLike) -> bool:
    """Returns True if all roots lie inside the unit circle.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: as for `stability`.
    """
    return stability(matrix, delays).stable


@explained
def critical_gain(delay: int) -> float:
    """Returns the gain below which `x(n) = x(n-1) - G x(n-D)` is stable, `2 sin(pi / (2 (2D - 1)))`.

    This bounds Kelly control with equal delays: `G = kappa sum(p + p' sum x)` (Zhang 2008, eq 3; Johari and Tan).

    Args:
        delay: D, steps.

    Raises:
        ParameterError: if the delay is not a whole number of at least 1.

    >>> [round(critical_gain(delay), 3) for delay in (1, 2, 3, 4, 5)]
    [2.0, 1.0, 0.618, 0.445, 0.347]
    """
    steps = int(read_whole("delay", delay, 1))
    return 2 * math.sin(math.pi / (2 * (2 * steps - 1)))


@explained
def kelly_roots(gain: float, delay: int) -> Complexes:
    """Returns the roots of `x(n) = x(n-1) - G x(n-D)`, that is, of `z^D - z^(D-1) + G`, the largest first.

    Raises:
        ParameterError: if the gain is not finite, or the delay is not a whole number of at least 1.
    """
    steps = int(read_whole("delay", delay, 1))
    values: Complexes = np.roots(_kelly_polynomial(read_number("gain", gain, -np.inf), steps)).astype(np.complex128)
    return values[np.argsort(-np.abs(values), kind="stable")]


def _kelly_polynomial(gain: float, steps: int) -> Floats:
    coefficients = np.zeros(steps + 1)
    coefficients[:2] = 1.0, -1.0
    coefficients[steps] += gain
    return coefficients


def _blocks(a: Matrix, steps: Ints) -> Iterator[tuple[Matrix, Ints, int]]:
    """Yields irreducible blocks, their delays divided by a common factor, and the factor."""
    for part in blocks(a):
        some = steps[part] if steps.ndim == 1 else steps[np.ix_(part, part)]
        factor = int(np.gcd.reduce(some, axis=None))
        yield a[np.ix_(part, part)], some // factor, factor


def _reach(a: Matrix, steps: Ints) -> Ints:
    """Returns the number of past states that the system needs, per flow."""
    if steps.ndim == 1:
        return steps
    return np.where(a != 0, steps, 1).max(axis=0)


def _state(a: Matrix, steps: Ints) -> int:
    return int(_reach(a, steps).sum())


def _companion(a: Matrix, steps: Ints) -> Matrix:
    """Returns the matrix that advances the vector of current and past states by one step."""
    reach = _reach(a, steps)
    ends = reach.cumsum()
    starts = ends - reach
    state = np.zeros((ends[-1], ends[-1]), dtype=a.dtype)
    inner = np.setdiff1d(np.arange(ends[-1]), starts)
    state[inner, inner - 1] = 1
    if steps.ndim == 1:
        state[np.ix_(starts, ends - 1)] = a
    else:
        rows, columns = np.nonzero(a)
        state[starts[rows], starts[columns] + steps[rows, columns] - 1] = a[rows, columns]
    return state


def _pairs(steps: Ints) -> Ints:
    return steps if steps.ndim == 2 else np.broadcast_to(steps[:, None], (steps.size, steps.size))


def _pencil(a: Matrix, steps: Ints, root: complex) -> Matrix:
    """Returns `1 - a_ij z^-D_ij`. Inside the unit circle, a factor `z^max_j D_ij` per row keeps elements finite."""
    pairs = _pairs(steps)
    if abs(root) >= 1:
        return np.eye(len(a)) - a * root ** -pairs.astype(np.float64)
    longest = np.where(a != 0, pairs, 1).max(axis=1)
    powers = np.where(a != 0, longest[:, None] - pairs, 0)
    return np.diag(root ** longest.astype(np.float64)) - a * root ** powers.astype(np.float64)


def _refine(a: Matrix, steps: Ints, root: complex) -> tuple[complex, float]:
    """Returns a refined root and its residual. Newton's method on the determinant runs while the residual decreases."""
    pairs = _pairs(steps).astype(np.float64)
    best, missing = root, _null(a, steps, root)[1]
    if abs(root) ** pairs.max() < 1e-100:
        return best, missing
    for _ in range(8):
        try:
            slope = np.linalg.solve(np.eye(len(a)) - a * root**-pairs, a * pairs * root ** (-pairs - 1)).trace()
        except np.linalg.LinAlgError:
            break
        if slope == 0 or not np.isfinite(slope):
            break
        root -= 1 / slope
        now = _null(a, steps, root)[1] if np.isfinite(root) and root != 0 else math.inf
        if not now < missing:
            break
        best, missing = complex(root), now
    return best, missing


def _null(a: Matrix, steps: Ints, root: complex) -> tuple[Complexes, float]:
    """Returns the null vector at a root, and its residual."""
    _, values, right = np.linalg.svd(_pencil(a, steps, root))
    scale = max(1.0, float(np.abs(a).max()))
    return right[-1].conj().astype(np.complex128), abs(float(values[-1])) / scale


def _largest_by_counting(a: Matrix, steps: Ints) -> complex:
    """Returns the largest root of an irreducible matrix.

    With `u = 1/z`, the determinant `p(u) = det(1 - a_ij u^D_ij)` is a polynomial. The values of `p` at roots of unity
    determine its coefficients. The coefficients determine the values of `p` on circles.
    """
    pairs = _pairs(steps)
    degree = int(np.where(a != 0, pairs, 0).max(axis=1).sum())
    if degree > _LARGEST_DEGREE:
        raise ParameterError(
            f"delays that add up to {degree} steps are too long; needs a sum of at most {_LARGEST_DEGREE}"
        )
    lowest = math.exp(-18 / degree)  # keeps powers of `lowest` above rounding errors
    unit = 1.0
    for _ in range(40):
        shrunk = a * unit ** -pairs.astype(np.float64)
        coefficients = _determinant(shrunk, pairs, degree)
        if _outside(coefficients, lowest)[0]:
            high = max(1.0, float(np.abs(shrunk).sum(axis=1).max())) ** (1 / pairs.min()) * 1.001
            return _shrink(coefficients, (lowest, high), partial(_refine, shrunk, steps)) * unit
        unit *= lowest
    return 0j


def _shrink(
    coefficients: Matrix, between: tuple[float, float], refine: Callable[[complex], tuple[complex, float]]
) -> complex:
    """Returns the largest root.

    A circle shrinks until no root has a larger modulus than the root found near the circle.
    """
    low, high = between
    fine = 0.3 / coefficients.size
    while True:
        while high / low - 1 > fine:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _outside(coefficients, middle)[0] else (low, middle)
        tried = [refine(dip) for dip in _outside(coefficients, math.sqrt(low * high))[1]]
        every = [z for z, missing in tried if missing < 1e-9] or [tried[0][0]]
        root = max(every, key=abs)
        alike = {complex(np.round(z, 7)): z for z in every if abs(z) > abs(root) * (1 - 1e-9)}
        found = alike | {z.conjugate(): alike[z].conjugate() for z in alike if np.isrealobj(coefficients)}
        if fine < 1e-9 or (abs(root) >= low and not _outside(coefficients, abs(root), found.values())[0]):
            return root
        low, fine = max(low, min(abs(root), high)), fine / 8


def _determinant(a: Matrix, pairs: Ints, degree: int) -> Matrix:
    """Returns the coefficients of `det(1 - a_ij u^D_ij)`, lowest power first."""
    points = np.exp(2j * np.pi * np.arange(degree + 1) / (degree + 1))
    chunk = max(1, 2_000_000 // a.size)
    values = [
        np.linalg.det(np.eye(len(a)) - a * some[:, None, None] ** pairs)
        for some in np.split(points, range(chunk, degree + 1, chunk))
    ]
    coefficients: Matrix = np.fft.fft(np.concatenate(values)) / (degree + 1)
    return coefficients.real if np.isrealobj(a) else coefficients


def _outside(coefficients: Matrix, radius: float, without: Iterable[complex] = ()) -> tuple[int, Complexes]:
    """Returns the number of roots outside a circle, except `without`, and the points of smallest value on it.

    Roots that are very close to the circle may be counted or not.
    """
    from scipy.signal import lfilter

    shrunk = coefficients * radius ** -np.arange(coefficients.size, dtype=np.float64)
    for root in without:
        shrunk = lfilter([1.0], [1.0, -root / radius], shrunk)  # divides by 1 - root u
    points = 2 ** math.ceil(math.log2(8 * coefficients.size))
    most = min(_MOST_POINTS, _POINTS_PER_ROOT * coefficients.size)
    while True:
        values = np.fft.fft(shrunk, points)
        turns = np.angle(np.roll(values, -1) * values.conj())
        if np.abs(turns).max() < 1.5 or points >= most:
            break
        points *= 2
    size = np.abs(values)
    dips = np.flatnonzero((size <= np.roll(size, 1)) & (size <= np.roll(size, -1)))
    dips = dips[np.argsort(size[dips])[:_DIPS]]
    return round(-turns.sum() / (2 * np.pi)), radius * np.exp(2j * np.pi * dips / points)
