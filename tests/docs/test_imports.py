"""Imports between the modules of the Python package."""

import ast
from pathlib import Path

import networkx as nx
import pytest
from tools import CHECKOUT


def modules(folder):
    """Returns the files of the modules below a folder, by name; of compiled modules, the stub."""
    files = [path for path in folder.glob("levelflow/**/*.py*") if path.suffix in {".py", ".pyi"}]
    files = [path for path in files if not {"papers", "scenarios"} & set(path.relative_to(folder).parts)]
    return {".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imported(path):
    """Yields the names that a module imports anywhere: at its top, in functions, and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def cycles(folder):
    """Returns the sets of modules that import each other, directly or through others."""
    files = modules(folder)
    graph = nx.DiGraph()
    for name, path in files.items():
        for needed in imported(path):
            module = needed if needed in files else needed.rpartition(".")[0]
            if module in files and module != name:
                graph.add_edge(name, module)
    return sorted((found for found in nx.strongly_connected_components(graph) if len(found) > 1), key=sorted)


# **Invariant** (Dependencies): no Python modules import each other in a cycle, at run time or for types.
def test_modules_import_each_other_in_no_cycle():
    assert cycles(CHECKOUT / "python") == []


@pytest.mark.parametrize("line", ["from levelflow.b import x", "if TYPE_CHECKING:\n    import levelflow.b"])
def test_a_cycle_for_types_is_found(tmp_path: Path, line):
    (tmp_path / "levelflow").mkdir()
    (tmp_path / "levelflow" / "a.py").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "levelflow" / "b.py").write_text("def f():\n    from levelflow import a\n", encoding="utf-8")
    assert cycles(tmp_path) == [{"levelflow.a", "levelflow.b"}]
