"""Verifies chapter IV: norms that prove stability under delay, tested on random matrices and delays."""

import numpy as np

from levelflow.theory.pictures import norms
from levelflow.theory.stability.delay_batches import are_stable, largest_modulus
from levelflow.theory.stability.delays import directional, is_stable
from levelflow.theory.stability.equations import iterate
from levelflow.theory.stability.matrices import absolute_radius, norm, scaled, spectral_radius
from levelflow.theory.stability.scaled_norm import scaled_norm, scaled_norms

RANDOM = 1
DRAWS, LONGEST = 20, 30
SIZES, MORE_SIZES = range(2, 9), range(2, 11)
ROTATION = 0.9 * np.array([[0.8, -0.6], [0.6, 0.8]])


def matrices(rng, size, count):
    return rng.normal(size=(count, size, size)) / np.sqrt(size)


def counterexamples(rng, batches):
    """Number of matrices that are unstable for at least one of 20 draws of delays."""
    count = 0
    for batch in batches:
        delays = rng.integers(1, LONGEST + 1, (len(batch), DRAWS, batch.shape[-1]))
        count += int((~are_stable(batch, delays)).any(axis=1).sum())
    return count


def to_norm(batch, values, level=0.99):
    return batch * (level / np.asarray(values))[:, None, None]


def ways_and_trips(rng, count):
    """Lemma 7: the share of systems with the same verdict for directional and for round-trip delays."""
    agree = []
    for size in range(2, 7):
        for matrix in matrices(rng, size, count):
            there, back = rng.integers(0, 16, size), rng.integers(1, 16, size)
            trips = are_stable(matrix[None], (there + back)[None, None])[0, 0]
            agree.append(is_stable(matrix, directional(there, back)) == trips)
    return {"verdict_agreement": float(np.mean(agree))}


def asynchronous(rng, count):
    """Section IV.2.2: delays that change in each step, eq 37, and a matrix stable under diagonal delays only."""
    drawn = [rng.normal(size=(size, size)) for size in rng.integers(2, 11, count)]
    drawn = [matrix * rng.uniform(0.5, 0.95) / absolute_radius(matrix).upper for matrix in drawn]
    bounds = [absolute_radius(matrix) for matrix in drawn]
    gaps = [abs(bound.upper - spectral_radius(np.abs(a))) for a, bound in zip(drawn, bounds, strict=True)]

    rotation = ROTATION[None].repeat(100, axis=0)
    above, diagonal = absolute_radius(ROTATION).upper > 1, counterexamples(rng, [rotation]) == 0
    exists = above and diagonal and not is_stable(ROTATION, [[2, 1], [2, 2]])
    return {
        "stable_when_rho_abs_below_1": dies_out(rng, drawn, bounds),
        "eq37_gap": max(gaps),
        "exists_matrix_with_rho_abs_above_1_stable_under_diagonal_delays": bool(exists),
    }


def dies_out(rng, drawn, bounds, longest=8, steps=2000):
    """True if each system converges. The delays D_ij(n) are drawn anew in each step."""
    padded, weights = np.zeros((len(drawn), 10, 10)), np.zeros((len(drawn), 10))
    for k, (matrix, bound) in enumerate(zip(drawn, bounds, strict=True)):
        padded[k, : len(matrix), : len(matrix)] = matrix
        weights[k, : len(matrix)] = bound.weights
    by_row = padded.swapaxes(0, 1)

    def update(n, past):
        return (by_row * past(rng.integers(1, longest + 1, by_row.shape))).sum(axis=2).T

    start = rng.normal(size=weights.shape)
    end = iterate(update, start, steps, longest=longest, every=steps).states[-1]
    return bool((np.abs(weights * end).max(axis=1) < 1e-3 * np.abs(weights * start).max(axis=1)).all())


def symmetric(rng, every):
    """Theorem 1: the largest modulus of a root, for `every` matrices of several sizes with 50 draws of delays each."""
    largest = []
    for size, part in zip(SIZES, np.array_split(np.arange(every), len(SIZES)), strict=True):
        count = part.size
        free = matrices(rng, size, count)
        batch = free + free.swapaxes(1, 2)
        batch = to_norm(batch, norm_2(batch), 1.0) * rng.uniform(0.5, 0.99, count)[:, None, None]
        largest.append(largest_modulus(batch, rng.integers(1, LONGEST + 1, (count, 50, size)))[0])
    return {"max_root_modulus": max(largest)}


def norm_2(batch):
    return np.linalg.norm(batch, 2, axis=(1, 2))


def monotonic(rng, each):
    """Theorem 2: number of counterexamples for four norms, and True if rho(A) never exceeds a norm."""
    count, below = 0, []
    for order in (1, 2, np.inf, "weighted"):
        for size in SIZES:
            batch = matrices(rng, size, each)
            weights = (
                np.exp(rng.normal(size=(len(batch), size))) if order == "weighted" else np.ones((len(batch), size))
            )
            values = [
                norm(matrix, np.inf if order == "weighted" else order, w)
                for matrix, w in zip(batch, weights, strict=True)
            ]
            below += [spectral_radius(matrix) <= value for matrix, value in zip(batch, values, strict=True)]
            count += counterexamples(rng, [to_norm(batch, values)])
    return {"counterexamples": count, "rho_le_norm": all(map(bool, below))}


def induced(rng, count=200, steps=3000):
    """Theorem 3: True if power iteration finds ||W A W^-1||_2 as the largest ||W A x|| / ||W x||."""
    sizes = rng.integers(2, 7, count)
    drawn, pulls, x = [], np.zeros((count, 6, 6)), np.zeros((count, 6, 1))
    for size, pull, start in zip(sizes, pulls, x, strict=True):
        matrix, w = rng.normal(size=(size, size)), np.exp(rng.normal(size=size))
        # The eigenvalues of this matrix are squares of the ratio ||W A x|| / ||W x||.
        pull[:size, :size] = matrix.T * w**2 @ matrix / (w**2)[:, None]
        start[:size, 0] = rng.normal(size=size)
        drawn.append((matrix, w))
    for _ in range(steps):
        x = pulls @ x
        x /= np.abs(x).max(axis=1, keepdims=True)
    ratios = [
        np.linalg.norm(w * (matrix @ end[: w.size])) / np.linalg.norm(w * end[: w.size]) / norm(scaled(matrix, w))
        for (matrix, w), end in zip(drawn, x[:, :, 0], strict=True)
    ]
    return {"sup_ratio_equals_norm": bool(np.allclose(ratios, 1.0, rtol=1e-6, atol=0))}


def ordering(rng, count):
    """Theorem 4: rho(A) <= ||A||_s <= rho(|A|). The last two are equal for matrices without negative elements."""
    over, under, apart = [], [], []
    for size in MORE_SIZES:
        batch = matrices(rng, size, count)
        values, absolute = scaled_norms(batch), [absolute_radius(matrix).upper for matrix in batch]
        over += [spectral_radius(matrix) - value for matrix, value in zip(batch, values, strict=True)]
        under += list(values - absolute)
        apart += list(np.abs(scaled_norms(np.abs(batch)) - absolute))
    apart.append(abs(scaled_norm([[0.5, 1.0], [0.0, 0.5]]).upper - 0.5))
    return {
        "rho_minus_norm_s_max": float(max(over)),
        "norm_s_minus_rho_abs_max": float(max(under)),
        "abs_norm_s_minus_rho[nonnegative_A]": float(max(apart)),
    }


def measure(figure):
    rng = np.random.default_rng(RANDOM)
    many, some = figure.draws(100, quick=40), figure.draws(50, quick=20)  # number of matrices of each size
    spectral = (to_norm(batch, norm_2(batch)) for batch in (matrices(rng, size, many) for size in SIZES))
    best = (to_norm(batch, scaled_norms(batch), 0.999) for batch in (matrices(rng, n, some) for n in MORE_SIZES))
    return {
        "lemma7-directional": ways_and_trips(rng, figure.draws(40, quick=20)),
        "async-spectral-abs": asynchronous(rng, figure.draws(200, quick=80)),
        "thm1-symmetric": symmetric(rng, figure.draws(1000, quick=350)),
        "cor1-spectral-norm": {"counterexamples": counterexamples(rng, spectral)},
        "thm2-monotonic-norm": monotonic(rng, many),
        "thm3-weighted-2norm": induced(rng),
        "cor2-norm-s": {"counterexamples": counterexamples(rng, best)},
        "thm4-norm-ordering": ordering(rng, some),
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 4)
    left, right = canvas.subfigures(1, 2)
    norms.plane([[0.5, 0.55], [-0.55, -0.5]], 30, left)
    norms.scalings([[0.5, 2.0], [-0.1, 0.4]], right)
