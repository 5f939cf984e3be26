"""Pictures of norms show the computed values, on a given canvas or on a new canvas."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from levelflow.theory.errors import ParameterError
from levelflow.theory.pictures import norms
from levelflow.theory.stability.delay_batches import experiment
from levelflow.theory.stability.delays import critical_gain, is_stable
from levelflow.theory.stability.matrices import MatrixError

MATRIX = [[0.5, 0.7], [-0.7, -0.5]]


def test_a_scatter_shows_every_matrix_once():
    found = experiment(1, 300)
    figure = norms.scatter(found, "norm2")
    points = [axes.lines[-1].get_xydata() for axes in figure.axes]
    assert sum(map(len, points)) == len(found.matrices)
    assert points[0] == pytest.approx(np.stack([found.radius, found.norm2], axis=1)[found.stable])


def test_the_plane_of_delays_shows_which_are_stable():
    shown = np.asarray(norms.plane(MATRIX, 4).axes[0].collections[0].get_array()).reshape(4, 4)
    for first in range(1, 5):
        for second in range(1, 5):
            assert shown[second - 1, first - 1] == is_stable(MATRIX, [first, second])


def test_gains_are_the_critical_ones():
    assert norms.gains(6).axes[0].lines[0].get_ydata() == pytest.approx([critical_gain(k) for k in range(1, 7)])


def test_pictures_take_a_canvas():
    canvas = Figure()
    for part, draw in zip(
        canvas.subfigures(2, 2).flat,
        (
            lambda part: norms.plane(MATRIX, 5, part),
            lambda part: norms.scalings(MATRIX, part),
            lambda part: norms.spectrum(MATRIX, [3, 4], part),
            lambda part: norms.gains(canvas=part),
        ),
        strict=True,
    ):
        assert draw(part) is part
        assert len(part.axes) == 1
    canvas.savefig(io.BytesIO())


def test_invalid_input_of_pictures_is_rejected():
    with pytest.raises(MatrixError, match="norms are"):
        norms.scatter(experiment(1, 20), "norm3")
    for draw in (norms.plane, norms.scalings):
        with pytest.raises(MatrixError, match="needs 2"):
            draw(np.eye(3))
    with pytest.raises(ParameterError):
        norms.spectrum(MATRIX, [0, 1])
