"""Pictures of utilities: what the lines say."""

import numpy as np
import pytest

from kunniyur_models import pictures as utilities
from kunniyur_models.fluid import Network
from levelflow.theory.fluid import FluidError
from levelflow.theory.laws.ks import Users


def test_lines_of_throughput_have_the_slope_of_their_utility():
    left, right = utilities.throughputs((0.0, 2.0), each=1, capacity=6.0).axes
    for line, slope in zip(left.lines, (-1, -1 / 3), strict=True):
        assert np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata())) == pytest.approx(slope)
    others, tcp = (line.get_ydata() for line in right.lines)
    assert others + tcp == pytest.approx(6.0)
    assert ((others > tcp) == (right.lines[0].get_xdata() > 0.5 + 1e-9)).all()


def test_a_climb_ends_at_the_optimum():
    left, right = utilities.climb().axes
    *paths, dot = left.lines
    for path in paths:
        assert [path.get_xdata()[-1], path.get_ydata()[-1]] == pytest.approx(utilities.PAIR.rest().tolist(), rel=1e-4)
    assert [dot.get_xdata()[0], dot.get_ydata()[0]] == pytest.approx(utilities.PAIR.rest().tolist())
    for line in right.lines:
        drops = np.diff(line.get_ydata()[: np.flatnonzero(np.isfinite(line.get_ydata()))[-1]])
        assert (drops <= 0).all()


def test_loads_come_to_the_target():
    left, _ = utilities.levels(target=0.9).axes
    assert [line.get_ydata()[-1] for line in left.lines] == pytest.approx([0.9, 0.9, 0.9, 0.9, 1.0], abs=1e-3)


def test_a_climb_of_three_is_refused():
    with pytest.raises(FluidError, match="needs one network of two users"):
        utilities.climb(Network.of_routes([[0]] * 3, [1.0], Users(), 1.0))
