"""Builds the documentation as a site, in strict mode: `make site`. Pages and linked files are copied unchanged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tools import CHECKOUT

SITE = CHECKOUT / "target" / "site"
PAGES = SITE / "pages"
LAB = CHECKOUT / "apps" / "lab" / "page"
STYLE = Path("docs/site.css")
LINK = re.compile(r"\]\(([^)#:\s]+)")
#: Public Python modules, and for each module the names that the page also documents.
API = {
    "levelflow.scenario": ["Scenario"],
    "levelflow.keywords": [],
    "levelflow.records": [],
    "levelflow.summary": [],
    "levelflow.results": ["Result"],
    "levelflow.running": ["Interrupted"],
    "levelflow.law": ["Law", "Ack", "Loss", "Timeout", "FlowStart"],
    "levelflow.testing": ["check_law"],
    "levelflow.laws": ["Router", "Sender", "BufferAlgorithm"],
    "levelflow.capture": [],
    "levelflow.report.compare": [],
    "levelflow.buffers.candidates": [],
    "levelflow.measure": [],
    "levelflow.theory": [],
}


def main() -> None:
    """Copies pages, adds the Python API, and builds the site. Adds the Rust API and the lab if they were built."""
    shutil.rmtree(SITE, ignore_errors=True)
    copy()
    examples()
    (PAGES / "docs" / "reference" / "python.md").write_text(python(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build"], cwd=CHECKOUT, check=True)
    rust = Path(os.environ.get("CARGO_TARGET_DIR", CHECKOUT / "target")) / "doc"
    if rust.is_dir():
        shutil.copytree(rust, SITE / "html" / "rust")
    if (LAB / "engine.wasm").is_file():
        shutil.copytree(LAB, SITE / "html" / "lab")
    sys.stdout.write(f"{SITE / 'html' / 'index.html'}\n")


def copy() -> None:
    """Copies the pages of the tree, their pictures, and the files to which they link."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    names = [Path(name) for name in listed.stdout.split("\0") if name.endswith((".md", ".ipynb")) and name[0] != "."]
    wanted = {name for name in names if not (CHECKOUT / name).is_symlink()}
    for name in list(wanted):
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        targets = (CHECKOUT / name.parent / target for target in LINK.findall(text))
        wanted |= {target.resolve().relative_to(CHECKOUT) for target in targets if target.is_file()}
    for name in wanted:
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        if name.suffix == ".ipynb":
            notebook(name)
        elif name.suffix == ".md":
            text = (CHECKOUT / name).read_text(encoding="utf-8").replace(".ipynb)", ".md)")
            (PAGES / name).write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(CHECKOUT / name, PAGES / name)
    shutil.copyfile(CHECKOUT / STYLE, PAGES / STYLE)


def examples() -> None:
    """Copies the package and adds headings above docstring examples. mkdocstrings renders bare examples as prose."""
    block = re.compile(r"^( +)(>>> .*\n(?:(?! *\n| *\"\"\").*\n)*)", re.MULTILINE)
    for path in (CHECKOUT / "python" / "levelflow").rglob("*.py"):
        if {"papers", "scenarios"} & set(path.parts):
            continue
        copied = SITE / "python" / path.relative_to(CHECKOUT / "python")
        copied.parent.mkdir(parents=True, exist_ok=True)
        text = block.sub(_headed, path.read_text(encoding="utf-8"))
        copied.write_text(text, encoding="utf-8")


def _headed(found: re.Match[str]) -> str:
    return f"{found[1]}Examples:\n{textwrap.indent(found[0], '    ')}"


def notebook(name: Path) -> None:
    """Writes a notebook as a page with pictures. The page has the cells and their output."""
    parts = []
    predicted = False  # hides the output below a question until the reader opens it
    for number, cell in enumerate(json.loads((CHECKOUT / name).read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            predicted = "**Predict" in source
            continue
        parts.append(f"```python\n{source}\n```")
        shown = [_shown(name, number, output) for output in cell.get("outputs", [])]
        if predicted and shown:
            shown = ['<details markdown="1"><summary>Output: predict first, then open</summary>', *shown, "</details>"]
        parts += shown
    (PAGES / name).with_suffix(".md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _shown(name: Path, number: int, output: dict[str, Any]) -> str:
    """Returns an output of a cell as Markdown. Writes a picture to a file."""
    shown = output.get("data", {})
    if "image/svg+xml" in shown:
        picture = name.with_name(f"{name.stem}-{number}.svg")
        (PAGES / picture).write_text("".join(shown["image/svg+xml"]), encoding="utf-8")
        return f"![What the cell draws]({picture.name})"
    if "text/html" in shown:
        return "".join(shown["text/html"])
    return f"```text\n{''.join(output.get('text') or shown['text/plain'])}\n```"


def python() -> str:
    """Returns the page of the Python API."""
    lines = ["# Python", "", "The public names, from their docstrings.", ""]
    for module, members in API.items():
        lines += [f"::: {module}", "    options:", "      heading_level: 2"]
        lines += [f"      members: [{', '.join(members)}]"] if members else []
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
