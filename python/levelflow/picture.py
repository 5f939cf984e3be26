"""Figures that a notebook shows."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from levelflow.style import LOG_STYLE

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

SVG = "image/svg+xml"
#: In characters, of a picture that a notebook keeps as SVG.
LONGEST_SVG = 400_000


class Picture(Figure):
    """A figure that a notebook shows by itself: one of matplotlib takes pyplot for that."""

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str | bytes]:
        """Lines, which stay sharp and small in a notebook's file; dots where lines are too many, or not wanted."""
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


@contextmanager
def any_sign() -> Iterator[None]:
    """Lets a name hold any sign; where no font has it, a box stands for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield
