"""Commands load only the modules that they need. A command loads a slow library only if it uses this library."""

import subprocess
import sys

import pytest

HEAVY = {"matplotlib", "networkx", "numpy", "polars", "scipy"}
CODE = """
import atexit, sys
from levelflow.cli import main
atexit.register(lambda: print("loaded:", *sys.modules, file=sys.stderr))
sys.argv[0] = "levelflow"
main()
"""


def started(folder, *words):
    """Returns the exit status of a command, and the modules that it loaded."""
    done = subprocess.run([sys.executable, "-c", CODE, *words], cwd=folder, capture_output=True, text=True, check=False)
    modules = done.stderr.splitlines()[-1]
    assert modules.startswith("loaded:"), done.stderr
    return done.returncode, set(modules.split())


def loaded(folder, *words):
    """Returns the exit status of a command, and the heavy libraries that it loaded."""
    status, modules = started(folder, *words)
    return status, HEAVY & modules


@pytest.mark.parametrize(("words", "own"), [(["run", "-h"], "running"), (["theory", "laws", "-h"], "theory.laws")])
def test_a_command_is_loaded_without_the_others(tmp_path, words, own):
    commands = {"buffers", "reproduce", "running", "study", "theory.check", "theory.laws"}
    _, modules = started(tmp_path, *words)
    assert {name for name in commands if f"levelflow.cli.{name}" in modules} == {own}


# **Invariant** (Claims): a command loads only the libraries that it uses. See
# `test_a_run_with_pictures_needs_neither_scipy_nor_networkx`,
# `test_a_study_with_pictures_needs_neither_scipy_nor_networkx`.
@pytest.mark.parametrize("kind", ["scenarios", "claims", "queues", "traffic"])
def test_lists_load_no_library_of_numbers(tmp_path, kind):
    assert loaded(tmp_path, "list", kind) == (0, set())


def test_help_loads_no_library_of_numbers(tmp_path):
    assert loaded(tmp_path, "--help") == (0, set())


@pytest.mark.parametrize(
    "words", [["run", "nothere"], ["run", "nothere.toml"], ["rum", "pair"], ["run", "pair", "--set", "link.9.buffer=1"]]
)
def test_a_typo_gets_its_line_before_anything_is_loaded(tmp_path, words):
    assert loaded(tmp_path, *words) == (2, set())


def test_a_run_without_pictures_loads_tables_alone(tmp_path):
    assert loaded(tmp_path, "run", "t1-jetmax", "--no-plots") == (0, {"numpy", "polars"})


def test_a_run_with_pictures_needs_neither_scipy_nor_networkx(tmp_path):
    assert loaded(tmp_path, "run", "t1-jetmax") == (0, {"matplotlib", "numpy", "polars"})


def test_a_study_with_pictures_needs_neither_scipy_nor_networkx(tmp_path):
    (tmp_path / "mine.toml").write_text('[study]\nscenario = "pair"\nreplications = 2\n', encoding="utf-8")
    assert loaded(tmp_path, "study", "mine.toml", "--no-cache") == (0, {"matplotlib", "numpy", "polars"})
