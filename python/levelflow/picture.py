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
    from collections.abc import Iterator


class Picture(Figure):
    """A figure that a notebook shows by itself: one of matplotlib takes pyplot for that."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(LOG_STYLE), any_sign():
            self.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()


@contextmanager
def any_sign() -> Iterator[None]:
    """Lets a name hold any sign; where no font has it, a box stands for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield
