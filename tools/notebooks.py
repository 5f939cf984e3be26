"""Runs the notebooks of `docs/notebooks` and stores their output: `python -m tools.notebooks`.

A lesson with predictions is stored without output, because the output is the answer.
"""

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
        notebook = executed(path)
        nbformat.write(cleared(notebook) if predicts(notebook) else notebook, path)
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


def predicts(notebook: Any) -> bool:
    """Returns whether a notebook has predictions."""
    return any("**Predict:**" in cell.source for cell in notebook.cells)


def cleared(notebook: Any) -> Any:
    """Returns a notebook without its output."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def words(notebook: Any) -> list[list[str]]:
    """Returns the output of each cell, without pictures: text as text, tables as HTML."""
    return [[_words(output) for output in cell.get("outputs", [])] for cell in notebook.cells]


def _words(output: Any) -> str:
    shown = output.get("data", {})
    return str(output.get("text") or shown.get("text/html") or shown.get("text/plain"))


if __name__ == "__main__":
    main()
