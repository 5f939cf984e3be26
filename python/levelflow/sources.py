"""Detection of code whose result differs between runs: clocks, and random numbers without a seed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Generators that need a seed as their argument.
GENERATORS = {
    "random.Random",
    *(
        f"numpy.random.{name}"
        for name in ("default_rng", "Generator", "RandomState", "SeedSequence", "MT19937", "PCG64", "Philox", "SFC64")
    ),
}
#: Prefixes of functions with a hidden state.
HIDDEN_STATE = ("random.", "numpy.random.", "os.urandom", "os.getrandom")
SEED_HINT = "set draws = True and use random.Random(self.flow.seed)"
#: Modules that a law file cannot import, with the reason.
REFUSED = {
    "time": "which reads a clock; a law has only the time of the simulation, such as ack.now",
    "datetime": "which reads a clock; a law has only the time of the simulation, such as ack.now",
    "secrets": f"whose values differ between runs; {SEED_HINT}",
    "uuid": f"whose values differ between runs; {SEED_HINT}",
}


def impure(source: str) -> Iterator[tuple[int, str]]:
    """Yields line numbers and descriptions of code that reads a clock or draws random numbers without a seed.

    The detection is by name, and does not find each such code: `levelflow.testing.check_law` also compares two runs.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # the compiler reports it
    nodes = list(ast.walk(tree))
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = _imported(node)
            names |= imported
            for module in {full.partition(".")[0] for full in imported.values()}:
                if module in REFUSED:
                    yield node.lineno, f"imports {module}, {REFUSED[module]}"
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            full = _full(node, names)
            if full.startswith(HIDDEN_STATE) and full not in GENERATORS:
                yield node.lineno, f"{full} differs between runs; {SEED_HINT}"
        elif isinstance(node, ast.Call) and _full(node.func, names) in GENERATORS and not (node.args or node.keywords):
            yield node.lineno, f"{_full(node.func, names)}() has no seed; {SEED_HINT}"


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Returns the full names of imported names."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {
        alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname else alias.name.partition(".")[0]
        for alias in node.names
    }


def _full(node: ast.AST, names: dict[str, str]) -> str:
    """Returns the full name of an expression such as `np.random.normal`; "" for other expressions."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (of := _full(node.value, names)):
        return f"{of}.{node.attr}"
    return ""
