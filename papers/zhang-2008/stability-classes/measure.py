"""Verifies lemmas 8 to 12 and theorems 5 and 6: classes of matrices that are stable if rho(A) < 1.

rho(A) is the spectral radius of A.
"""

import numpy as np

from levelflow.theory.pictures import norms
from levelflow.theory.stability.delay_batches import are_stable
from levelflow.theory.stability.matrices import norm, spectral_radius
from levelflow.theory.stability.matrix_classes import classify, random_member
from levelflow.theory.stability.scaled_norm import scaled_norm

RANDOM = 1
CLASSES = ("N", "DN", "P", "DP", "R", "DR")
INCLUSIONS = (("N", "DN"), ("DN", "DR"), ("N", "R"), ("R", "DR"), ("P", "DP"), ("DP", "DR"))
REDUCIBLE = [[0.5, 1.0], [0.0, 0.5]]
SIZES = range(2, 7)
MEMBERS, QUICK_MEMBERS = 100, 40  # matrices per class and size


def members(name, rng, count):
    """Members of each size. Half of them have rho(A) below 1, and half above."""
    for size in SIZES:
        drawn = [random_member(name, size, rng) for _ in range(count)]
        below = np.arange(count) % 2 == 0
        radius = np.where(below, rng.uniform(0.5, 0.99, count), rng.uniform(1.01, 1.5, count))
        scale = radius / [spectral_radius(matrix) for matrix in drawn]
        yield np.array(drawn) * scale[:, None, None], below


def iff(name, rng, count):
    """True if, for each member, stability under all draws is equivalent to rho(A) < 1."""
    outcomes = []
    for matrices, below in members(name, rng, count):
        delays = rng.integers(1, 31, (len(matrices), 21, matrices.shape[-1]))
        delays[:, 0] = delays[:, 0, :1]
        outcomes.append((are_stable(matrices, delays).all(axis=1) == below).all())
    return all(map(bool, outcomes))


def radial(rng, count):
    """True if ||A||_2 = rho(A) for normal matrices (eq 52)."""
    every = [matrix for matrices, _ in members("N", rng, count) for matrix in matrices]
    return all(abs(norm(matrix) / spectral_radius(matrix) - 1) <= 1e-9 for matrix in every)


def included(rng, count):
    """True, per inclusion, if each sample of the inner class belongs to the outer. Samples include general matrices."""
    samples = [random_member(name, size, rng) for name in CLASSES for size in SIZES for _ in range(count)]
    samples += [rng.normal(size=(2, 2)) for _ in range(20)]
    found = [{name for name, member in classify(sample).items() if member.holds} for sample in samples]
    return [all(inner not in some or outer in some for some in found) for inner, outer in INCLUSIONS]


def all_included(matrix):
    """True if a matrix belongs to every class that includes one of its classes."""
    own = {name for name, member in classify(matrix).items() if member.holds}
    return all(inner not in own or outer in own for inner, outer in INCLUSIONS)


def counterexample():
    """A reducible matrix without negative elements: the infimum is rho(A), but no scaling reaches it."""
    member, found = classify(REDUCIBLE), scaled_norm(REDUCIBLE)
    close = abs(found.upper - 0.5) < 1e-6 and abs(found.lower - 0.5) < 1e-6
    return bool(member["DP"].holds and not member["DR"].holds and close and not found.attained)


def measure(figure):
    rng = np.random.default_rng(RANDOM)
    count = figure.draws(MEMBERS, quick=QUICK_MEMBERS)
    return {
        "lemma8-12-thm5-classes": {
            "stable_iff_rho_below_1": [iff(name, rng, count) for name in CLASSES],
            "norm2_equals_rho_for_normal_A": radial(rng, count),
        },
        "thm6-fig11-inclusions": {
            "inclusions_hold_on_samples": included(rng, figure.draws(3, quick=1)),
            "counterexample_reducible_documented": counterexample(),
            "inclusions_hold_without_exception": all_included(REDUCIBLE),
        },
    }


def plot(figure, canvas):
    rng = np.random.default_rng(3)
    canvas.set_size_inches(9, 4)
    left, right = canvas.subfigures(1, 2)
    norms.scalings([[0.5, -2.0], [-0.1, 0.4]], left)
    norms.spectrum(random_member("DN", 4, rng) * 0.4, [7, 12, 5, 9], right)
