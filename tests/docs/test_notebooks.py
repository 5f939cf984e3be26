"""The notebooks of `docs/notebooks` run, and produce their stored output."""

import nbformat
import pytest
from tools import notebooks


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_holds(path):
    stored = nbformat.read(path, as_version=4)
    held, shown = notebooks.words(stored), notebooks.words(notebooks.executed(path))
    assert any(shown)
    if notebooks.predicts(stored):
        assert not any(held), "the output answers the questions; run `make gen`"
    else:
        assert shown == held, "run `make gen`"


def test_there_are_notebooks():
    assert len(notebooks.NOTEBOOKS) == 3
