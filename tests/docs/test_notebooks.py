"""The notebooks of `docs/notebooks` run, and produce their stored output."""

import nbformat
import pytest
from tools import notebooks


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_holds(path):
    held = notebooks.words(nbformat.read(path, as_version=4))
    assert any(held)
    assert notebooks.words(notebooks.executed(path)) == held, "run `make gen`"


def test_there_are_notebooks():
    assert len(notebooks.NOTEBOOKS) == 3
