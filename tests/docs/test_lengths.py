"""Lengths of files and functions, and widths of comments of Rust; clippy checks functions of Rust (`clippy.toml`)."""

import ast
import subprocess

import pytest
from tools import CHECKOUT

LONGEST = 60


def long_functions(text):
    """Returns names and lengths of functions that are too long."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    lengths = ((node.name, node.end_lineno - node.lineno + 1) for node in functions)
    return [(name, length) for name, length in lengths if length > LONGEST]


@pytest.mark.parametrize("folder", ["python", "tools", "experiments", "papers", "docs", "tests"])
def test_functions_are_short(folder):
    command = ["git", "ls-files", "-z", f"{folder}/*.py"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    texts = {name: (CHECKOUT / name).read_text(encoding="utf-8") for name in listed.split("\0") if name}
    assert len(texts) > 1
    assert {name: found for name, text in texts.items() if (found := long_functions(text))} == {}


def test_a_long_function_is_found():
    body = "    pass\n" * LONGEST
    assert long_functions(f"def f():\n{body}\nclass A:\n    def g(self):\n        pass\n") == [("f", LONGEST + 1)]


LONGEST_FILE = 600
LONGEST_ARCHITECTURE = 220
WIDEST_COMMENT = 120


def sources(*patterns):
    """Yields the names and lines of tracked files."""
    command = ["git", "ls-files", "-z", *patterns]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if not (CHECKOUT / name).is_symlink():
            yield name, (CHECKOUT / name).read_text(encoding="utf-8").splitlines()


def test_files_are_short():
    found = {name: len(lines) for name, lines in sources("*.rs", "*.py", "apps/lab/*.js", "apps/lab/*.mjs")}
    assert len(found) > 500
    assert {name: length for name, length in found.items() if length > LONGEST_FILE} == {}


def test_comments_of_rust_fit_the_width():
    wide = [
        f"{name}:{number}"
        for name, lines in sources("*.rs")
        for number, line in enumerate(lines, 1)
        if len(line) > WIDEST_COMMENT and line.lstrip().startswith("//") and not line.lstrip().startswith("//#")
    ]
    assert wide == []


def test_the_architecture_is_short():
    lines = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST_ARCHITECTURE
