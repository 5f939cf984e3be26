"""Windows that share a queue: exact results compared with simulated ones, and conditions and failures of theorem 19."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import example, given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from zhang_models.loss import Arrivals, queue
from zhang_models.markov import ChainError, closed_classes, stationary
from zhang_models.windows import READINGS, Windows, exact, matrix, simulate


def small(buffer, reading, **changes):
    given = {"largest": 12, "chance": 0.05 if reading == "exogenous" else 0.0} | changes
    return Windows(2, 8, buffer, reading, **given)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("buffer", [0, 3, 12])
def test_simulations_agree_with_the_exact_law(reading, buffer):
    solved, seen = exact(small(buffer, reading)), simulate(small(buffer, reading), seed=2)
    assert seen.loss == pytest.approx(solved.loss, abs=4 * seen.error)
    assert seen.error < 0.01
    assert solved.residual < 1e-12
    assert solved.law.sum() == pytest.approx(1)


def test_the_loss_falls_for_unresponsive_windows_and_rises_in_the_literal_chain():
    buffers = range(0, 12, 2)
    found = {reading: [exact(small(b, reading)).loss for b in buffers] for reading in READINGS}
    assert (np.diff(found["exogenous"]) < 0).all()
    assert (np.diff(found["self-clocked"]) < 0).all()
    assert (np.diff(found["literal"]) >= -1e-12).all()
    assert found["literal"][0] == pytest.approx(0.101, abs=5e-4)
    assert found["literal"][-1] == pytest.approx(0.117, abs=5e-4)


def test_unresponsive_windows_have_given_arrivals():
    alone = small(0, "exogenous")
    moves = stationary(matrix(alone))
    packets = np.add.outer(np.arange(1, 13), np.arange(1, 13)).ravel()
    arrivals = Arrivals(matrix(alone), packets)
    assert arrivals.mean == pytest.approx(moves.law @ packets)
    for buffer in (0, 4, 9):
        given_arrivals = queue(arrivals, buffer, service=8).loss
        assert exact(small(buffer, "exogenous")).loss == pytest.approx(given_arrivals, rel=1e-9)


def test_unresponsive_windows_lose_less_with_more_buffer_in_every_run():
    runs = [simulate(small(b, "exogenous"), rounds=400, copies=2, seed=5).loss for b in (0, 1, 5, 20)]
    assert (np.diff(runs) < 0).all()


def test_a_queue_that_is_never_empty_loses_what_exceeds_the_capacity():
    chain = small(16, "literal")
    solved = exact(chain)
    window = np.arange(1, 13)
    mean = (solved.law.sum(axis=2) * np.add.outer(window, window)).sum()
    assert solved.law[..., 0].sum() < 1e-12
    assert solved.loss == pytest.approx(1 - 8 / mean)


@examples(25)
@example(2, 8, 1, 4)
@given(st.integers(1, 2), st.integers(1, 10), st.integers(1, 6), st.integers(1, 8))
def test_nearly_every_chain_ends_in_one_set_of_states(flows, capacity, buffer, largest):
    chain = Windows(flows, capacity, buffer, largest=largest)
    # If the largest windows just fill the link, the queue does not change, and theorem 18 fails.
    ends = buffer + 1 if flows * largest == capacity else 1
    assert len(closed_classes(matrix(chain))) == ends
    if ends == 1:
        assert exact(chain).residual < 1e-10
    else:
        with pytest.raises(ChainError, match=f"one of {ends} sets"):
            exact(chain)


def test_rise_and_fall_functions_define_the_protocol():
    scalable = {"rise": lambda w: w + np.maximum(w // 8, 1), "fall": lambda w: w - np.maximum(w // 4, 1)}
    chain = small(4, "self-clocked", **scalable)
    assert exact(chain).loss == pytest.approx(simulate(chain).loss, rel=0.05)
    assert exact(chain).loss != pytest.approx(exact(small(4, "self-clocked")).loss, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"flows": 0}, "flows 0"),
        ({"capacity": 0}, "capacity 0"),
        ({"buffer": -1}, "buffer -1"),
        ({"buffer": 0.5}, "buffer 0.5"),
        ({"largest": 0}, "largest 0"),
        ({"chance": 2.0}, "chance 2"),
        ({"chance": 0.1}, "a chance of 0.1 is not allowed for literal windows"),
        ({"reading": "exogenous"}, "a chance of 0"),
        ({"reading": "mine"}, "needs one of literal, self-clocked, exogenous"),
    ],
)
def test_invalid_windows_are_rejected(changes, text):
    with pytest.raises(ParameterError, match=text):
        Windows(**{"flows": 2, "capacity": 8, "buffer": 4} | changes)


def test_large_chains_are_for_simulation():
    with pytest.raises(ChainError, match="too many states"):
        exact(Windows(10, 300, 16))
    with pytest.raises(ParameterError, match="rounds 3"):
        simulate(Windows(10, 300, 16), rounds=3)
    with pytest.raises(ParameterError, match="copies 1"):
        simulate(Windows(10, 300, 16), copies=1)
