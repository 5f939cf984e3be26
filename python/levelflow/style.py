"""How our pictures look."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cycler import cycler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import FigureBase

# Those of Okabe and Ito, "Color Universal Design" (2008), darkened to 4.5:1 on white; the lab has the same.
COLOURS = ("#0072B2", "#C24E00", "#007F5C", "#A6467F", "#5D4FC4", "#846000", "#333333")
GREY = "#767676"
#: Of the i-th line, so that lines differ in grey print.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (5, 1.5, 1, 1.5)), (0, (1.6, 1.2)))
#: Inches: of a picture on a screen, of a column and of a page of a paper.
WIDTHS = {"screen": 9.0, "column": 3.4, "page": 7.0}
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
    "pdf.fonttype": 42,  # fonts stay fonts, as journals ask
    "svg.fonttype": "none",
    "svg.hashsalt": "levelflow",
    "text.parse_math": False,  # names are text, dollars included
}
#: The labels of logarithmic axes are formulas.
LOG_STYLE = STYLE | {"text.parse_math": True}
#: Of a picture in a paper: letters of 8 pt.
PAPER: dict[Any, Any] = STYLE | {
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "figure.dpi": 300,
    "font.size": 8,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "lines.linewidth": 1.1,
}


def style(width: str) -> dict[Any, Any]:
    """Our style at one of `WIDTHS`."""
    return STYLE if width == "screen" else PAPER


@contextmanager
def drawn_on(canvas: FigureBase | None, width: float, height: float, style: dict[Any, Any] = STYLE) -> Iterator[Any]:
    """Gives the canvas, or else a new `Picture` of so many inches, in our style."""
    import matplotlib as mpl

    from levelflow.picture import Picture

    with mpl.rc_context(style):
        yield Picture(figsize=(width, height), layout="constrained") if canvas is None else canvas
