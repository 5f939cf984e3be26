"""How our pictures look."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cycler import cycler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import FigureBase

# Okabe and Ito, "Color Universal Design" (2008), without the yellow that fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GREY = "#8a8a8a"
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.dpi": 120,
    "font.size": 10,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "levelflow",
    "text.parse_math": False,  # names are text, dollars included
}
#: The labels of logarithmic axes are formulas.
LOG_STYLE = STYLE | {"text.parse_math": True}


@contextmanager
def drawn_on(canvas: FigureBase | None, width: float, height: float, style: dict[Any, Any] = STYLE) -> Iterator[Any]:
    """Gives the canvas, or else a new `Figure` of so many inches, in our style."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style):
        yield Figure(figsize=(width, height), layout="constrained") if canvas is None else canvas
