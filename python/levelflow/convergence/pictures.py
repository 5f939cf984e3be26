"""Pictures of a comparison of laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from levelflow.convergence.table import median, share
from levelflow.picture import Picture, write
from levelflow.style import COLOURS, GREY, STYLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from levelflow.convergence.records import Record


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draws both pictures into a folder and returns their paths."""
    pictures: dict[str, Callable[[Sequence[Record]], Picture]] = {"settled.png": settled, "steps.png": steps}
    for name, picture in pictures.items():
        write(picture(records), folder / name, metadata={"Software": None})
    return [folder / name for name in pictures]


@mpl.rc_context(STYLE)
def settled(records: Sequence[Record]) -> Picture:
    """Draws the fraction of networks on which each law settles: a row per law, a column per family."""
    laws = list(dict.fromkeys(record.law for record in records))
    families = ["all", *dict.fromkeys(record.family for record in records)]
    figure = Picture(figsize=(1.6 + 1.15 * len(families), 1.1 + 0.55 * len(laws)), layout="constrained")
    axes: Axes = figure.subplots()
    shares = np.full((len(laws), len(families)), np.nan)
    for (row, law), (column, family) in ((x, y) for x in enumerate(laws) for y in enumerate(families)):
        own = [one for one in records if one.law == law and family in {"all", one.family}]
        if not own:
            continue
        count = sum(one.outcome.settles for one in own)
        shares[row, column] = count / len(own)
        low, high = share(count, len(own))
        text = f"{100 * shares[row, column]:.0f} %\n{100 * low:.0f} to {100 * high:.0f}"
        axes.text(
            column, row, text, ha="center", va="center", fontsize=8, color="white" if count < len(own) / 2 else "k"
        )
    axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(families)), families)
    axes.set_yticks(range(len(laws)), laws)
    axes.axvline(0.5, color="white", linewidth=3)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("networks on which every flow settles within 5 % of its reference, and 95 % interval", fontsize=9)
    return figure


@mpl.rc_context(STYLE)
def steps(records: Sequence[Record]) -> Picture:
    """Draws settling times in steps over the number of bottleneck levels, in a panel per law.

    Networks on which the law does not settle are at the top.
    """
    laws = list(dict.fromkeys(record.law for record in records))
    rows = (len(laws) + 3) // 4
    figure = Picture(figsize=(10, 0.6 + 2.4 * rows), layout="constrained")
    panels: list[Axes] = list(np.ravel(figure.subplots(rows, 4, sharex=True, sharey=True, squeeze=False)))
    most = max((record.steps for record in records if record.steps), default=1.0)
    never = 2 * most
    for axes, (number, law) in zip(panels, enumerate(laws), strict=False):
        _steps(axes, [record for record in records if record.law == law], COLOURS[number % len(COLOURS)], never)
        axes.set_title(law)
    for axes in panels[len(laws) :]:
        axes.set_visible(False)
    figure.supxlabel("levels of bottlenecks", fontsize=10)
    figure.supylabel("steps until all flows stay within 5 %", fontsize=10)
    return figure


def _steps(axes: Axes, records: Sequence[Record], colour: str, never: float) -> None:
    """Draws a point per network, and for each number of levels with enough networks the median with its interval."""
    by_levels: dict[int, list[float]] = {}
    for record in records:
        if record.steps is not None:
            by_levels.setdefault(record.levels, []).append(max(record.steps, 0.5))
    points = [(levels, value) for levels, values in by_levels.items() for value in values]
    axes.plot(*zip(*points, strict=True) if points else ([], []), "o", color=colour, markersize=3, alpha=0.5)
    lost = [record.levels for record in records if record.steps is None]
    axes.plot(lost, [never] * len(lost), "x", color=GREY, markersize=4)
    for levels, values in by_levels.items():
        if found := median(values):
            middle, low, high = found
            axes.errorbar(
                levels, middle, [[middle - low], [high - middle]], fmt="_", color="k", capsize=2, markersize=9
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50) if tick <= max((record.levels for record in records), default=1)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    axes.minorticks_off()
    heights = [tick for tick in (1, 10, 100, 1000) if tick < never / 1.5]
    axes.set_yticks([*heights, never], [*map(str, heights), "never"])
