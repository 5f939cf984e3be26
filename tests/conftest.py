import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

# Set before numpy is loaded. For the small matrices of these tests, one thread is faster than several threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pytest
from hypothesis import settings

from levelflow import Scenario, cli

#: Program of `tests/files`, which needs a preloaded library.
collect_ignore = ["files/harness.py"]

#: True if tests that take minutes run, too: `make test FULL=1`.
FULL = bool(os.environ.get("LEVELFLOW_FULL"))

# Each run draws the same examples. Without FULL, their number is that of the property tests in Rust (Makefile). `pytest
# --hypothesis-profile=search` draws new examples. No deadline: the first call of a function may import SciPy.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=100 if FULL else 32)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile("same")


def examples(count, **others):
    """Returns settings with `count` examples in full tests, and otherwise with a fifth of `count`, but at least ten."""
    return settings(max_examples=count if FULL else max(count // 5, 10), **others)


def in_full(*values):
    """Returns values that a parametrised test uses only in full tests."""
    return pytest.param(*values, marks=pytest.mark.full)


COMMAND = Path(sys.executable).with_name("levelflow")
#: Requirements such as `root`, `clang`, `tshark`. If the machine lacks one of these, tests that need it fail. For other
#: missing requirements, tests are skipped.
REQUIRED = {name.strip() for name in os.environ.get("LEVELFLOW_REQUIRE", "").split(",")} - {""}


def lack(names, why):
    """Skips a test, or fails it if LEVELFLOW_REQUIRE contains one of these names of missing requirements."""
    if required := REQUIRED & set(names):
        pytest.fail(f"LEVELFLOW_REQUIRE has {', '.join(sorted(required))}, but {why}")
    pytest.skip(why)


def pytest_configure():
    # Background processes of a shell ignore Ctrl-C. Without this line, programs that tests interrupt would also ignore
    # it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("long") is None)  # long tests start first


def pytest_runtest_setup(item):
    if not FULL and item.get_closest_marker("full"):
        pytest.skip("it takes long; make test FULL=1 runs it")
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if not (os.geteuid() == 0 if name == "root" else shutil.which(name)):
                lack([name], "it takes root" if name == "root" else f"{name} is not installed")


def network(duration="10 s", **options):
    """Two JetMax flows on one link."""
    return (
        Scenario("two flows", duration, **options)
        .link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
        .flow("x1", "jetmax", "R1", "R2", rtt="100 ms")
        .flow("x2", "jetmax", "R1", "R2", rtt="300 ms", start="2 s")
    )


@pytest.fixture
def two_flows():
    return network()


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    return network(duration="20 s").run(out=tmp_path_factory.mktemp("runs") / "finished")


@pytest.fixture
def process(tmp_path):
    """Runs the command in an empty directory, as a separate process."""

    def call(*arguments):
        return subprocess.run(
            [COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    return call


@pytest.fixture
def levelflow(tmp_path, monkeypatch, capfd):
    """Runs the command in an empty directory, within this process.

    Starting a process takes longer than most commands.
    """

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["levelflow", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        return subprocess.CompletedProcess(arguments, end.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Runs `levelflow reproduce` on the figures in an empty directory, where JetMax is the only law."""
    from click.testing import CliRunner
    from figures import LAWS

    from levelflow import library
    from levelflow.cli import app
    from levelflow.reproduce import runner

    monkeypatch.setattr(library, "PAPERS", tmp_path / "papers")
    monkeypatch.setattr(runner, "available", lambda: LAWS)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["reproduce", *args])
