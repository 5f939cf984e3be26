"""Matplotlib figures that notebooks display."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from levelflow.style import LOG_STYLE, STYLE

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from matplotlib.figure import FigureBase

SVG = "image/svg+xml"
#: Limit on an SVG that a notebook embeds, in characters. Longer pictures are embedded as PNG.
LONGEST_SVG = 400_000


class Picture(Figure):
    """Figure that notebooks display. Plain matplotlib figures need pyplot for display."""

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str | bytes]:
        """Returns the figure as SVG, or as PNG if the SVG is too long or excluded."""
        if SVG not in (exclude or ()) and (not include or SVG in include):
            drawn = self._drawn("svg").decode()
            if len(drawn) <= LONGEST_SVG:
                return {SVG: drawn}
        return {"image/png": self._drawn("png")}

    def _drawn(self, kind: str) -> bytes:
        buffer = io.BytesIO()
        undated = {"Date": None} if kind == "svg" else {"Software": None}
        with mpl.rc_context(LOG_STYLE), any_sign():
            self.savefig(buffer, format=kind, metadata=undated)
        return buffer.getvalue()


def write(figure: Figure, target: Path, **options: Any) -> None:
    """Writes a figure in the format of the file extension.

    Raises:
        OSError: If the file is not writable.
        ValueError: If the file extension is not a picture format.
    """
    if not target.suffix:
        raise ValueError("needs the file extension of a picture format, such as .png, .svg or .pdf")
    drawn = io.BytesIO()
    with any_sign():
        figure.savefig(drawn, format=target.suffix.removeprefix(".").lower(), **options)
    from levelflow import files  # imported late: it needs the compiled engine, and theory works without it

    files.replace(target, drawn.getvalue())


@contextmanager
def any_sign() -> Iterator[None]:
    """Suppresses warnings about characters that no font contains; they are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


@contextmanager
def drawn_on(canvas: FigureBase | None, width: float, height: float, style: dict[Any, Any] = STYLE) -> Iterator[Any]:
    """Yields `canvas`, or a new `Picture` of this size in inches if `canvas` is None. The style is active."""
    with mpl.rc_context(style):
        yield Picture(figsize=(width, height), layout="constrained") if canvas is None else canvas
