"""Style of pictures."""

from __future__ import annotations

from typing import Any

from cycler import cycler

#: Keyword arguments of matplotlib for the look of a line, a text or a legend.
Look = dict[str, Any]

# Colours of Okabe and Ito, "Color Universal Design" (2008), darkened to a contrast of 4.5:1 on white; also used by the
# lab.
COLOURS = ("#0072B2", "#C24E00", "#007F5C", "#A6467F", "#5D4FC4", "#846000", "#333333")
GREY = "#767676"
#: Dashes of the i-th line, which distinguish lines in black-and-white print.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (5, 1.5, 1, 1.5)), (0, (1.6, 1.2)))
#: Widths of a picture on a screen, in a column and on a page of a paper, in inches.
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
    "pdf.fonttype": 42,  # embeds TrueType fonts, which journals require
    "svg.fonttype": "none",
    "svg.hashsalt": "levelflow",
    "text.parse_math": False,  # names are text, dollars included
}
#: Style with math text, which the labels of logarithmic axes need.
LOG_STYLE = STYLE | {"text.parse_math": True}
#: Style of a picture in a paper: 8 pt type.
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
    """Returns the style for one of `WIDTHS`."""
    return STYLE if width == "screen" else PAPER
