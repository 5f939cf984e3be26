"""Fast import of matplotlib for commands."""

from __future__ import annotations


def load() -> None:
    """Imports matplotlib without the help texts of its artists, which take half of the import time."""
    from matplotlib import artist

    artist.kwdoc = lambda artist: ""  # noqa: ARG005 - matplotlib passes it by name
