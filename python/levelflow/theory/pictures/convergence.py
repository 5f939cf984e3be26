"""How rates converge, step by step (Zhang 2008, figures 14, 16 and 17).

Rates and capacities are in any one unit, delays in steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from levelflow.style import COLOURS, GREY, STYLE
from levelflow.theory.laws import aimd, emkc, kelly
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.fairness import steps_to_fairness, unfair
from levelflow.theory.validate import explained, finite, positive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats

    #: The next rates of flows on one link, from those before.
    Step = Callable[[Floats], Floats]

#: Arrows of a phase plane along each side, and how long the longest is over the way between two.
ARROWS, LENGTH = 15, 0.9


@explained
def rates_by_step(rates: ArrayLike, equilibrium: ArrayLike, names: Sequence[str] | None = None) -> Figure:
    """Draws rates against steps, and their equilibrium.

    Args:
        rates: by step and flow, as the laws iterate them.
        equilibrium: per flow.
        names: of the flows.
    """
    finite(rates=rates, equilibrium=equilibrium)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 4), layout="constrained")
        draw_rates(figure.subplots(), rates, equilibrium, names)
    return figure


def draw_rates(axes: Axes, rates: ArrayLike, equilibrium: ArrayLike, names: Sequence[str] | None = None) -> None:
    """Draws what `rates_by_step` returns."""
    rate = np.asarray(rates, dtype=np.float64)
    for flow, name in enumerate(names or [f"flow {flow + 1}" for flow in range(rate.shape[1])]):
        axes.plot(rate[:, flow], color=COLOURS[flow % len(COLOURS)], label=name)
    for level in np.unique(np.asarray(equilibrium)):
        axes.axhline(level, color=GREY, linestyle="--", linewidth=1, zorder=0)
    axes.set(xlabel="step", ylabel="rate", xlim=(0, len(rate) - 1))
    axes.legend()


@explained
def phase_plane(step: Step, capacity: float, starts: ArrayLike, steps: int = 200) -> Figure:
    """Draws the rates of two flows on one link against each other, without delay.

    Dots are steps of the paths from the starts, arrows point where a step leads. On the diagonal the flows are equal,
    on the falling line they fill the link.

    Args:
        step: the next rates of the two, from those before.
        capacity: of the link.
        starts: pairs of rates.
        steps: how many.
    """
    finite(starts=starts)
    positive(capacity=capacity)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 5), layout="constrained")
        draw_phase_plane(figure.subplots(), step, capacity, starts, steps)
    return figure


def draw_phase_plane(axes: Axes, step: Step, capacity: float, starts: ArrayLike, steps: int = 200) -> None:
    """Draws what `phase_plane` returns."""
    paths = [_path(step, start, steps) for start in np.atleast_2d(np.array(starts, dtype=np.float64))]
    top = 1.05 * max(capacity, *(float(path.max()) for path in paths))
    places = (np.arange(ARROWS) + 0.5) * top / ARROWS
    grid = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    moves = np.array([step(point) - point for point in grid])
    longest = np.hypot(*moves.T).max()
    # Roots, so that short moves are seen beside long ones.
    sizes = np.sqrt(np.hypot(*moves.T) / longest)[:, None]
    arrows = moves / np.maximum(np.hypot(*moves.T), longest * 1e-12)[:, None] * sizes * LENGTH * top / ARROWS
    axes.quiver(*grid.T, *arrows.T, angles="xy", scale_units="xy", scale=1, color=GREY, alpha=0.6, width=0.003)
    axes.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1, label="equal rates")
    axes.plot([0, capacity], [capacity, 0], color="black", linewidth=1, label="full link")
    for path in paths:
        axes.plot(*path.T, ".-", markersize=4, linewidth=1)
    axes.set(xlabel="rate of flow 1", ylabel="rate of flow 2", xlim=(0, top), ylim=(0, top), aspect="equal")
    axes.legend(loc="upper right")


@explained
def kelly_delays(capacity: float, gains: tuple[float, float], delays: Sequence[int]) -> Figure:
    """Draws one flow of classic Kelly control under several delays (figure 14).

    Args:
        capacity: of its link.
        gains: `kappa` and `omega`.
        delays: of the round trip, steps; 1 is none.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 5), layout="constrained")
        draw_kelly(figure, capacity, gains, delays)
    return figure


def draw_kelly(canvas: FigureBase, capacity: float, gains: tuple[float, float], delays: Sequence[int]) -> None:
    """Draws what `kelly_delays` returns."""
    rows = -(-len(delays) // 2)
    for axes, delay in zip(canvas.subplots(rows, 2, squeeze=False).flat, delays, strict=False):
        axes.plot(kelly.alone(capacity, delay, gains, 80))
        axes.axhline(capacity + gains[1], color=GREY, linestyle="--", linewidth=1, zorder=0)
        radius = kelly.radius(gains[0], delay)
        axes.set(title=f"D = {delay}: largest root {radius:.3f}", xlabel="step", ylabel="rate")


@explained
def steps_against_eps(flows: int, capacity: float, alpha: float, beta: float) -> Figure:
    """Draws the steps to fairness of EMKC and AIMD: models and iterations (figures 16(a) and 17(a)).

    Args:
        flows: how many, one of which has the whole link at first.
        capacity: of the link.
        alpha: what is added per step, in the unit of the capacity.
        beta: gain of EMKC, and the part that AIMD removes at a loss.
    """
    positive(alpha=alpha, beta=beta)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6, 4), layout="constrained")
        draw_steps_against_eps(figure.subplots(), flows, capacity, alpha, beta)
    return figure


def draw_steps_against_eps(axes: Axes, flows: int, capacity: float, alpha: float, beta: float) -> None:
    """Draws what `steps_against_eps` returns."""
    eps = np.geomspace(0.001, 0.5, 20)
    models = emkc.steps_to_fairness, aimd.steps_to_fairness
    counts = np.array([_counts(flows, capacity, (alpha, beta), e) for e in eps]).T
    for name, model, count, mark, colour in zip(("EMKC", "AIMD"), models, counts, "o^", COLOURS, strict=False):
        axes.semilogx(eps, [model(flows, capacity, alpha, beta, e) for e in eps], color=colour, label=f"{name}, model")
        axes.semilogx(eps, count, mark, color=colour, markersize=4, label=f"{name}, iteration")
    axes.set(xlabel="eps", ylabel="steps to eps-fairness")
    axes.legend()


@explained
def steps_against_capacity(
    capacities: ArrayLike, flows: Mapping[str, Callable[[float], int]], gains: tuple[float, float], eps: float = 0.1
) -> Figure:
    """Draws the steps to fairness of EMKC, and how many times those of AIMD they are (figures 16(b) and 17(b)).

    Args:
        capacities: of the link.
        flows: by label, how many there are at a capacity.
        gains: `alpha`, in the unit of the capacities, and `beta`, also the part that AIMD removes at a loss.
        eps: how far the smallest rate may be below the largest.
    """
    positive(gain=gains)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4), layout="constrained")
        draw_steps_against_capacity(figure.subplots(1, 2), capacities, flows, gains, eps)
    return figure


def draw_steps_against_capacity(
    both: Sequence[Axes],
    capacities: ArrayLike,
    flows: Mapping[str, Callable[[float], int]],
    gains: tuple[float, float],
    eps: float = 0.1,
) -> None:
    """Draws what `steps_against_capacity` returns."""
    steps, ratio = both
    capacity = np.array(capacities, dtype=np.float64)
    for (label, users), mark, colour in zip(flows.items(), "o^sD", COLOURS, strict=False):
        counts = np.array([_counts(users(c), c, gains, eps) for c in capacity]).T
        steps.loglog(capacity, [emkc.steps_to_fairness(users(c), c, *gains, eps) for c in capacity], color=colour)
        steps.loglog(capacity, counts[0], mark, color=colour, markersize=5, label=label)
        ratio.semilogx(capacity, counts[0] / counts[1], mark, color=colour, markersize=5, label=label)
    expected = -np.log1p(-gains[1]) / gains[1]
    ratio.axhline(expected, color="black", linewidth=1, label="corollary 6")
    steps.set(xlabel="capacity", ylabel=f"steps to {eps:g}-fairness, EMKC")
    ratio.set(xlabel="capacity", ylabel="EMKC / AIMD", ylim=(0, 1.3 * expected))
    for axes in both:
        axes.legend()


def _counts(flows: int, capacity: float, gains: tuple[float, float], eps: float) -> tuple[int, int]:
    """Returns the steps of EMKC and AIMD to fairness, by iteration."""
    start = unfair(flows, capacity)
    laws: tuple[Step, Step] = (
        lambda x: mkc.sender(x, emkc.price(x.sum(), capacity), *gains),
        lambda x: aimd.step(x, capacity, *gains, pause=True),
    )
    by_emkc, by_aimd = (steps_to_fairness(law, start, eps) for law in laws)
    return by_emkc, by_aimd


def _path(step: Step, start: Floats, steps: int) -> Floats:
    rates = [start]
    for _ in range(steps):
        rates.append(step(rates[-1]))
    return np.array(rates)
