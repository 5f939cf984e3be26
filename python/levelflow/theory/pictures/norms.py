"""Norms of matrices and stability under delay (Zhang 2008, figures 12 and 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from levelflow.picture import drawn_on
from levelflow.style import COLOURS, DASHES, GREY, LOG_STYLE
from levelflow.theory.stability.delay_batches import are_stable
from levelflow.theory.stability.delays import critical_gain, roots
from levelflow.theory.stability.matrices import MatrixError, absolute_radius, norm, read_matrix, spectral_radius
from levelflow.theory.stability.scaled_norm import scaled_norm
from levelflow.theory.validate import explained, whole

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase
    from numpy.typing import ArrayLike

    from levelflow.theory.stability.delay_batches import Experiment

RHO = "\N{GREEK SMALL LETTER RHO}"
STABLE, UNSTABLE = COLOURS[0], COLOURS[1]
#: Norms in an experiment, and their notation in text and in pictures.
NORMS = {"norm2": "||A||_2", "norm_inf": "||A||_inf", "norm_s": "||A||_s"}
SIGNS = {"norm2": "‖A‖₂", "norm_inf": "‖A‖∞", "norm_s": "‖A‖ₛ"}
_SPREAD = 100.0  # weights range from 1 / _SPREAD to _SPREAD


@explained
def scatter(experiment: Experiment, of: str = "norm_s", canvas: FigureBase | None = None) -> FigureBase:
    """Draws a norm of random matrices against rho(A): stable matrices on the left, unstable matrices on the right.

    Args:
        experiment: matrices and their stability.
        of: "norm2", "norm_inf" or "norm_s".
        canvas: an empty figure to draw on. By default, a new figure.

    Raises:
        MatrixError: if the norm is unknown.

    >>> from levelflow.theory.stability.delay_batches import experiment
    >>> [axes.get_title(loc="left") for axes in scatter(experiment(1, 200)).axes]
    ['stable: 44', 'unstable: 29']
    """
    if of not in NORMS:
        raise MatrixError(f"norm {of} is not known; norms are {', '.join(NORMS)}")
    values = getattr(experiment, of)
    top = max(1.5, float(np.quantile(values, 0.98))) if values.size else 1.5
    with drawn_on(canvas, 9, 4) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, stable, colour in zip(panels, (True, False), (STABLE, UNSTABLE), strict=True):
            shown = experiment.stable == stable
            axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
            axes.axhline(1, color=GREY, linestyle="--", linewidth=1)
            axes.plot(experiment.radius[shown], values[shown], ".", color=colour, markersize=3, alpha=0.6)
            title = f"{'stable' if stable else 'unstable'}: {shown.sum()}"
            axes.set(xlabel=f"{RHO}(A)", title=title, xlim=(0, 1), ylim=(0, top))
        panels[0].set_ylabel(SIGNS[of])
    return figure


@explained
def plane(matrix: ArrayLike, longest: int = 30, canvas: FigureBase | None = None) -> FigureBase:
    """Draws the delays of two flows for which the system is stable.

    Args:
        matrix: A, with two rows.
        longest: largest delay, steps; delays start at 1.
        canvas: an empty figure to draw on. By default, a new figure.

    Raises:
        MatrixError: if the matrix is not allowed or does not have two rows.

    >>> plane([[0.5, 0.7], [-0.7, -0.5]], 6).axes[0].get_title(loc="left").split(", ")[1]
    '‖A‖ₛ 1.20: 13 of 36 stable'
    """
    whole(1, longest=longest)
    a = read_matrix(matrix)
    if len(a) != 2:
        raise MatrixError(f"a matrix of {len(a)} rows is not allowed; a plane of delays needs 2")
    steps = np.arange(1, longest + 1)
    pairs = np.stack(np.meshgrid(steps, steps), axis=-1)
    stable = are_stable(a[None], pairs.reshape(1, -1, 2)).reshape(longest, longest)
    with drawn_on(canvas, 5, 4.6) as figure:
        axes = figure.subplots()
        colours = ListedColormap([UNSTABLE, STABLE])
        axes.pcolormesh(steps, steps, stable.astype(float), cmap=colours, vmin=0, vmax=1, edgecolor="white", lw=0.4)
        title = f"{RHO}(A) {spectral_radius(a):.2f}, ‖A‖ₛ {scaled_norm(a).upper:.2f}"
        axes.set(xlabel="D1 (steps)", ylabel="D2 (steps)", title=f"{title}: {stable.sum()} of {stable.size} stable")
        axes.set_aspect("equal")
        axes.grid(visible=False)
        boxes = [Patch(color=colour, label=name) for name, colour in (("stable", STABLE), ("unstable", UNSTABLE))]
        axes.legend(handles=boxes, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure


def scalings(matrix: ArrayLike, canvas: FigureBase | None = None) -> FigureBase:
    """Draws the norms of `W A W^-1` for two flows over the ratio of their weights, and the lower bounds.

    Args:
        matrix: A, with two rows.
        canvas: an empty figure to draw on. By default, a new figure.

    Raises:
        MatrixError: if the matrix is not allowed or does not have two rows.

    >>> [line.get_label() for line in scalings([[0.5, 2.0], [-0.1, 0.4]]).axes[0].lines][:2]
    ['‖W A W⁻¹‖₂', '‖W A W⁻¹‖∞']
    """
    a = read_matrix(matrix)
    if len(a) != 2:
        raise MatrixError(f"a matrix of {len(a)} rows is not allowed; a single ratio of weights needs 2")
    ratios = np.geomspace(1 / _SPREAD, _SPREAD, 201)
    with drawn_on(canvas, 6, 4.2, LOG_STYLE) as figure:
        axes = figure.subplots()
        for order, name in ((2, "₂"), (np.inf, "∞")):
            axes.plot(ratios, [norm(a, order, [ratio, 1.0]) for ratio in ratios], label=f"‖W A W⁻¹‖{name}")
        levels = {
            "‖A‖ₛ": scaled_norm(a).upper,
            f"{RHO}(|A|)": absolute_radius(a).upper,
            f"{RHO}(A)": spectral_radius(a),
        }
        for number, ((name, level), colour) in enumerate(zip(levels.items(), COLOURS[2:], strict=False), 1):
            axes.axhline(level, color=colour, linestyle=DASHES[number], linewidth=1, label=name)
        axes.axhline(1, color=GREY, linewidth=1)
        top = 3 * levels[f"{RHO}(|A|)"]
        axes.set(xscale="log", xlabel="w1 / w2", ylabel="norm", title="Scaling lowers norms", ylim=(0, top))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, fontsize=9)
    return figure


def spectrum(matrix: ArrayLike, delays: ArrayLike, canvas: FigureBase | None = None) -> FigureBase:
    """Draws all roots of a system with delays, and the unit circle.

    Args:
        matrix: A.
        delays: delays in steps, per flow or per pair of flows.
        canvas: an empty figure to draw on. By default, a new figure.

    Raises:
        MatrixError: if the matrix is not allowed.
        ParameterError: if delays are not allowed, or there are too many roots.

    >>> spectrum([[0.5, 0.7], [-0.7, -0.5]], [2, 1]).axes[0].get_title(loc="left")
    '3 roots, 1 outside'
    """
    found = roots(matrix, delays)
    outside = np.abs(found) >= 1
    with drawn_on(canvas, 5, 4.8) as figure:
        axes = figure.subplots()
        angle = np.linspace(0, 2 * np.pi, 361)
        axes.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=1)
        for some, colour in ((~outside, STABLE), (outside, UNSTABLE)):
            axes.plot(found[some].real, found[some].imag, "o", color=colour, markersize=4)
        title = f"{found.size} roots, {outside.sum()} outside"
        axes.set(xlabel="real part", ylabel="imaginary part", title=title)
        axes.set_aspect("equal")
    return figure


@explained
def gains(longest: int = 30, canvas: FigureBase | None = None) -> FigureBase:
    """Draws the gain below which Kelly control is stable with equal delays (Zhang 2008, eq 3).

    Args:
        longest: largest delay, steps; delays start at 1.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> gains(5).axes[0].get_xlabel()
    'delay D (steps)'
    """
    whole(1, longest=longest)
    delays = np.arange(1, longest + 1)
    bounds = [critical_gain(int(delay)) for delay in delays]
    with drawn_on(canvas, 6, 4.2, LOG_STYLE) as figure:
        axes = figure.subplots()
        axes.plot(delays, bounds, "o-", markersize=4, label="2 sin(pi / (2 (2D - 1)))")
        axes.plot(delays, np.pi / (2 * delays), "--", color=GREY, label="pi / (2D), in continuous time")
        axes.fill_between(delays, bounds, alpha=0.15)
        axes.set(xlabel="delay D (steps)", ylabel="gain", yscale="log", title="Kelly control: stable below the curve")
        axes.legend()
    return figure
