"""A wheel holds what the program needs: scenarios and papers, too."""

import os
import subprocess
import sys
import zipfile

import pytest
from tools import CHECKOUT

from levelflow import library


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder into which the wheel was unpacked, which is what installing it without its dependencies comes to."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--auditwheel", "skip", "--out", folder]
    subprocess.run(build, cwd=CHECKOUT, check=True, timeout=1200)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def levelflow(installed, folder, *words):
    """Runs the command of the wheel, of which no checkout is in sight."""
    code = "import sys; from levelflow.cli import main; sys.argv[0] = 'levelflow'; main()"
    environment = os.environ | {"PYTHONPATH": str(installed), "COLUMNS": "200"}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_wheel_lists_and_runs_scenarios(installed, tmp_path):
    listed = levelflow(installed, tmp_path, "list", "scenarios")
    assert listed.returncode == 0, listed.stderr
    assert {row[0] for row in library.scenarios()[2]} <= set(listed.stdout.split())
    ran = levelflow(installed, tmp_path, "run", "t1-jetmax", "--no-plots")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "results" / "t1-jetmax-seed1" / "summary.json").is_file()


def test_a_wheel_reproduces_a_figure(installed, tmp_path):
    done = levelflow(installed, tmp_path, "reproduce", "rcp-router")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Levelflow: claims" in (tmp_path / "results" / "claims" / "report.html").read_text(encoding="utf-8")


def test_a_wheel_holds_what_the_checkout_holds(installed):
    for folder in ("papers", "scenarios"):
        tracked = subprocess.run(["git", "ls-files", folder], cwd=CHECKOUT, capture_output=True, text=True, check=True)
        assert [name for name in tracked.stdout.split() if not (installed / "levelflow" / name).is_file()] == []
    assert not list(installed.rglob("*.pyc"))
    assert not (installed / "tools").exists()


def test_bench_says_that_it_needs_a_checkout(installed, tmp_path):
    done = levelflow(installed, tmp_path, "bench")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "checkout" in done.stderr
