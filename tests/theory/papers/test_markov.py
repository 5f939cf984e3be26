"""Stationary distributions, compared with iteration, closed forms and the certificate."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from zhang_models.markov import ChainError, closed_classes, evolve, read_moves, stationary


def random_chain(seed, size, density=0.3):
    rng = np.random.default_rng(seed)
    moves = rng.random((size, size)) * (rng.random((size, size)) < density)
    moves[np.arange(size), rng.integers(0, size, size)] += 0.5  # no row is empty
    return moves / moves.sum(axis=1, keepdims=True)


@examples(200)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_a_step_leaves_the_stationary_law_as_it_is(seed, size):
    moves = random_chain(seed, size)
    if len(closed_classes(moves)) > 1:
        return
    found = stationary(moves)
    assert found.law.sum() == pytest.approx(1)
    assert (found.law >= 0).all()
    assert np.abs(found.law @ moves - found.law).sum() < 1e-11
    assert found.residual < 1e-11
    lazy = (moves + np.eye(size)) / 2  # excludes chains of period 2
    ends = np.linalg.matrix_power(lazy, 2**20)
    assert ends == pytest.approx(np.tile(found.law, (size, 1)), abs=1e-8)


def test_a_walk_between_walls_has_a_geometric_law():
    size, up = 400, 0.4
    moves = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, 1 - up), -1)
    moves[0, 0], moves[-1, -1] = 1 - up, up
    law = stationary(csr_array(moves)).law
    assert law[1:50] / law[:49] == pytest.approx(up / (1 - up))


def test_states_that_are_left_for_good_have_no_part_in_it():
    law = stationary([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.6, 0.4]]).law
    assert law == pytest.approx([0, 3 / 7, 4 / 7])
    assert stationary([[0.0, 1.0], [0.0, 1.0]]).law.tolist() == [0, 1]


def test_laws_evolve_as_matrices_multiply():
    moves = random_chain(3, 7)
    law = np.full(7, 1 / 7)
    assert evolve(moves, law, 5) == pytest.approx(law @ np.linalg.matrix_power(moves, 5))
    assert evolve(moves, law, 0) == pytest.approx(law)


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ([[0.5, 0.5]], "as many rows as columns"),
        ([], "as many rows as columns"),
        ([[1.5, -0.5], [0.0, 1.0]], "a probability of -0.5"),
        ([[np.nan, 1.0], [0.0, 1.0]], "nan"),
        ([[0.5, 0.4], [0.0, 1.0]], "state 0: its probabilities add up to 0.9; needs 1"),
        ([[0.0, 0.0], [0.0, 1.0]], "state 0"),
    ],
)
def test_invalid_chains_are_rejected(moves, text):
    with pytest.raises(ChainError, match=text):
        read_moves(moves)


def test_a_chain_with_two_ends_is_refused():
    with pytest.raises(ChainError, match="one of 2 sets of states"):
        stationary(np.eye(2))


@pytest.mark.parametrize("law", [[1.0], [0.5, 0.4], [1.5, -0.5], [np.nan, 1.0]])
def test_invalid_distributions_are_rejected(law):
    with pytest.raises(ChainError, match="needs 2 probabilities of sum 1"):
        evolve(np.eye(2), law, 1)
