"""Matplotlib as commands load it."""

from __future__ import annotations


def load() -> None:
    """Loads matplotlib without help texts of its artists, which take half of its time and which no command shows."""
    from matplotlib import artist

    artist.kwdoc = lambda artist: ""  # noqa: ARG005 - the library gives it by name
