"""s-PERC: step model of rounds, compared with progressive filling and hand-computed values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import sperc
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.verdict import Port


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_rates_are_max_min_fair_after_six_rounds_for_each_level(seed, timeout, split):
    rng = np.random.default_rng(seed)
    links, flows = rng.integers(1, 9), rng.integers(1, 25)
    routes = [rng.choice(links, rng.integers(1, min(links, 5) + 1), replace=False) for _ in range(flows)]
    targets = rng.uniform(1, 20, links)
    went = sperc.iterate(routes, targets, sperc.rounds(routes, targets) + 3, rng, timeout=timeout, split=split)
    assert went[-1] == pytest.approx(maxmin(routes, targets), rel=1e-9)
    assert went[-4:].max(axis=0) == pytest.approx(went[-1]), "settled by then, and stays"


def test_updates_by_hand():
    """Two flows cross a link of capacity 6, and the first also crosses a link of capacity 2."""
    rates = sperc.iterate([[0, 1], [0]], [6.0, 2.0], 3, Order([[0, 1]] * 3))
    assert rates[1].tolist() == [2.0, 3.0], "the second counts both as unsatisfied"
    assert rates[2].tolist() == [2.0, 4.0], "the first is satisfied with 2"
    assert rates[3].tolist() == [2.0, 4.0]


class Order:
    """Replacement of a random generator, which returns the given permutations."""

    def __init__(self, orders):
        self.orders = iter(orders)

    def permutation(self, size):
        order = next(self.orders)
        assert sorted(order) == list(range(size))
        return np.array(order)


def test_a_link_below_what_another_gave_is_ignored_until_the_reset():
    """Another link limits the first flow to 4. This link would limit the third flow to 3. It sets no limit, because 3
    is below the rate of the first flow.
    """
    hops = sperc.Hops(np.array([10.0]), np.zeros(3, dtype=int))
    hops.update(0, 4.0)
    assert (hops.satisfied[0], hops.most[0, 0], hops.limits[0]) == (True, 4.0, 10.0)
    hops.update(1, np.inf)
    assert (hops.satisfied[1], hops.limits[1]) == (False, 6.0)
    hops.update(2, np.inf)
    assert hops.limits[2] == np.inf, "3 is below the rate of the first flow"
    assert hops.allocations.tolist() == [4.0, 6.0, 3.0]


def test_a_link_settles_within_six_round_trips():
    (verdict,) = sperc.THEORY.judge([Port(np.array([1.0, 2.0]), np.array([0.1, 0.2]), {}, {})])
    assert verdict.stable
    assert verdict.time == pytest.approx(1.2)


@pytest.mark.parametrize("changes", [{"rounds": -1}, {"timeout": 0}])
def test_bad_rounds_are_refused(changes):
    with pytest.raises(ParameterError):
        sperc.iterate(**{"routes": [[0]], "targets": [1.0], "rounds": 1, "rng": np.random.default_rng(1)} | changes)
