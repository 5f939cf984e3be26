"""Runs the notebooks of `docs/notebooks` and stores their output: `python -m tools.notebooks`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tools import CHECKOUT

NOTEBOOKS = sorted((CHECKOUT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 120


def main() -> None:
    """Runs each notebook, writes it back, and prints its path."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        sys.stdout.write(f"{path}\n")


def executed(path: Path) -> Any:
    """Returns a notebook with its output from a run in an empty directory, without dates and versions."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "matplotlibrc").write_text("svg.hashsalt: levelflow\n", encoding="utf-8")
        NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            extra_arguments=["--InlineBackend.figure_formats=svg"],
        ).execute(env=os.environ | {"SOURCE_DATE_EPOCH": "0"})
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    return notebook


def words(notebook: Any) -> list[list[str]]:
    """Returns the output of each cell, without pictures: text as text, tables as HTML."""
    return [[_words(output) for output in cell.get("outputs", [])] for cell in notebook.cells]


def _words(output: Any) -> str:
    shown = output.get("data", {})
    return str(output.get("text") or shown.get("text/html") or shown.get("text/plain"))


if __name__ == "__main__":
    main()
