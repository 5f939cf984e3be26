"""The wheel needs no other files: installed into an empty environment, it runs in an empty directory without Rust."""

import fcntl
import os
import subprocess
import sys
import zipfile

import pytest
from tools import CHECKOUT

from levelflow import lab, library

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Returns the `bin` directory of an environment with the wheel and its dependencies. All workers of pytest share
    it.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    folder.mkdir(exist_ok=True)
    with open(folder / ".lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            install(folder)
            (folder / "done").touch()
    return folder / "new" / "bin"


def install(folder):
    """Builds the wheel and installs it into a new environment."""
    subprocess.run([sys.executable, "tools/licences.py"], cwd=CHECKOUT, check=True, timeout=300)
    build = [sys.executable, "-m", "maturin", "build", "--profile", "quick", "--quiet", "--auditwheel", "skip"]
    subprocess.run([*build, "--out", folder], cwd=CHECKOUT, check=True, timeout=1200)
    (wheel,) = folder.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    assert [name for name in zipfile.ZipFile(wheel).namelist() if "__pycache__" in name] == []
    subprocess.run([sys.executable, "-m", "venv", folder / "new"], check=True, timeout=300)
    pip = [folder / "new" / "bin" / "python", "-m", "pip"]
    command = [*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", wheel]
    subprocess.run(command, env=without_checkout(), check=True, timeout=600)


#: Variables that point to this checkout, or make Python compile a module more than once.
LEFT_OUT = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}


def without_checkout():
    """Returns the environment of a user without a checkout."""
    return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}


def levelflow(installed, folder, *words):
    """Runs the command of the wheel, with no other program on its path."""
    return subprocess.run(
        [installed / "levelflow", *words],
        cwd=folder,
        env=without_checkout() | {"PATH": str(installed), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


# **Invariant** (Claims): a wheel is complete: scenarios and papers run from it. See `test_a_wheel_runs_the_demo`,
# `test_a_wheel_reproduces_a_figure`.
def test_a_wheel_lists_and_runs_scenarios(installed, tmp_path):
    listed = levelflow(installed, tmp_path, "list", "scenarios")
    assert listed.returncode == 0, listed.stderr
    assert {row[0] for row in library.scenarios()[2]} <= set(listed.stdout.split())
    ran = levelflow(installed, tmp_path, "run", "t1-jetmax", "--no-plots")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "results" / "t1-jetmax-seed1" / "summary.json").is_file()


def test_a_wheel_runs_the_demo(installed, tmp_path):
    done = levelflow(installed, tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/demo-*/report.html"))) == 3


def test_a_wheel_has_traces_studies_and_topologies(installed, tmp_path):
    study = '[study]\nscenario = "lte"\nreplications = 2\n[[axis]]\npath = "duration"\nvalues = ["10 s", "20 s"]\n'
    (tmp_path / "short.toml").write_text(study + '[measure]\nmetrics = ["throughput_bps"]\n', encoding="utf-8")
    listed = levelflow(installed, tmp_path, "list", "studies")
    assert {"backbone", "laws-and-load"} <= set(listed.stdout.split())
    fabric = ("topology", "fat-tree:4", "--ecmp", "--traffic", "permutation", "--law", "level", "--duration", "1 s")
    for words in (("run", "lte", "--no-plots"), ("study", "short.toml"), fabric, ("run", "fat-tree-4.toml")):
        done = levelflow(installed, tmp_path, *words)
        assert done.returncode == 0, done.stderr


def test_a_wheel_reproduces_a_figure(installed, tmp_path):
    done = levelflow(installed, tmp_path, "reproduce", "rcp-router")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Levelflow: claims" in (tmp_path / "results" / "claims" / "report.html").read_text(encoding="utf-8")


def test_a_wheel_holds_what_the_checkout_holds(installed):
    (site,) = installed.parent.glob("lib/python*/site-packages")
    for folder in ("papers", "scenarios"):
        tracked = subprocess.run(["git", "ls-files", folder], cwd=CHECKOUT, capture_output=True, text=True, check=True)
        assert [name for name in tracked.stdout.split() if not (site / "levelflow" / name).is_file()] == []
    if lab.ENGINE.is_file():
        page = {path.relative_to(lab.PAGE) for path in lab.PAGE.rglob("*") if path.is_file()}
        assert [name for name in page if not (site / "levelflow" / "page" / name).is_file()] == []
    assert not (site / "tools").exists()
    licences = (site / "levelflow" / "third-party.txt").read_text(encoding="utf-8")
    for crate in ("parquet", "pyo3", "serde", "toml"):
        assert f"\n{crate} " in licences
    assert "Permission is hereby granted" in licences
