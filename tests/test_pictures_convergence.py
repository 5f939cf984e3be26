import numpy as np

from levelflow.theory.laws import emkc
from levelflow.theory.networks.paths import paths
from levelflow.theory.pictures import convergence


def lines(axes):
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


def test_rates_are_drawn_by_step_with_their_rest_points():
    went = emkc.iterate(paths([[0], [0]], 1), [1.0, 8.0], 50, [10.0], (0.5, 0.5)).rates
    drawn = lines(convergence.rates_by_step(went, [6.0, 6.0], ["a", "b"]).axes[0])
    assert np.array_equal(drawn["a"][1], went[:, 0])
    assert np.array_equal(drawn["b"][1], went[:, 1])
    assert [6.0, 6.0] in [list(line[1]) for line in drawn.values()]


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


def test_models_are_drawn_beside_iterations():
    drawn = lines(convergence.steps_against_eps(2, 1000.0, 10.0, 0.5).axes[0])
    assert abs(drawn["EMKC, model"][1] / drawn["EMKC, iteration"][1] - 1).min() < 0.01
    assert abs(drawn["AIMD, model"][1] / drawn["AIMD, iteration"][1] - 1).min() < 0.01


def test_steps_grow_with_capacity_and_their_ratio_does_not():
    figure = convergence.steps_against_capacity([1e3, 1e4], {"two": lambda _: 2}, (10.0, 0.5))
    steps, ratio = (lines(axes)["two"][1] for axes in figure.axes)
    assert steps.tolist() == [152, 1477]
    assert abs(ratio / (2 * np.log(2)) - 1).max() < 0.05
