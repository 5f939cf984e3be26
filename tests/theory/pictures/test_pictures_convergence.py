import numpy as np

from levelflow.theory.pictures import convergence


def test_a_phase_plane_shows_the_paths_of_both_flows():
    figure = convergence.phase_plane(lambda x: 0.4 * x + 0.6 * 5.0, 10.0, [[0.0, 10.0], [1.0, 2.0]], steps=20)
    ends = [line.get_xydata()[-1] for line in figure.axes[0].get_lines()[2:]]
    assert np.allclose(ends, 5.0, atol=1e-6)
    moves = figure.axes[0].collections[0]
    where, arrows = moves.get_offsets(), np.column_stack((moves.U, moves.V))
    assert (np.sum(arrows * (5 - where), axis=1) > 0).all()


def test_kelly_control_is_drawn_for_each_delay_with_its_largest_root():
    figure = convergence.kelly_delays(1000.0, (0.5, 10.0), [1, 2, 3, 4])
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"D = {delay}: largest root {radius:.3f}" for delay, radius in ((1, 0.5), (2, 0.707), (3, 0.941), (4, 1.024))
    ]
    assert figure.axes[1].get_lines()[0].get_ydata().max() == 1262.5
