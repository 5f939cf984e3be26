"""After one or several Ctrl-C, results are kept. The command reports the interruption and exits with status 130."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import COMMAND

from levelflow.library import PAPERS
from levelflow.reproduce import model, report, runner

#: Figures in the order of the catalogue. The first is measured immediately, and the next ones take minutes.
REPRODUCE = ["reproduce", "maxnet-start", "abs-table1", "emkc-parking-lot", "--workers", "1", "--json", "claims.json"]
CONVERGENCE = ["convergence", "run", "jetmax", "rcp", "--workers", "1", "--json", "runs.jsonl", "--networks"]
#: Seconds between two Ctrl-C: one key press, an impatient user, and a stuck key.
AGAIN = pytest.mark.parametrize(
    "pauses",
    [
        pytest.param([], id="once", marks=pytest.mark.full),
        pytest.param([0.2], id="twice"),
        pytest.param([0.001] * 20, id="many times", marks=pytest.mark.full),
    ],
)


def interrupted(words, folder, ready, pauses):
    """Runs a command in a folder, interrupts it once `ready` returns True, and returns its stdout and stderr."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder}
    with subprocess.Popen([COMMAND, *words], **pipes) as process:
        deadline = time.monotonic() + 60
        while not ready():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        for pause in pauses:
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    # Python removes its signal handler just before it exits. After that, SIGINT kills the process, which a shell also
    # reports as status 130.
    assert process.returncode in {130, -signal.SIGINT}
    return printed, said


def opened(pipe):
    """Returns a function that is True once a command reads a pipe. The pipe then has a writer without data."""
    os.mkfifo(pipe)

    def ready():
        try:
            os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        return True

    return ready


@pytest.mark.parametrize("command", ["run", "study"])
def test_an_interruption_ends_the_read_of_a_pipe(tmp_path, command):
    # Python may miss a signal between two of its calls until the second call ends.
    _, said = interrupted([command, "pipe"], tmp_path, opened(tmp_path / "pipe"), [1.0])
    assert "levelflow: interrupted" in said


def test_a_command_that_ignores_ctrl_c_still_ignores_it(tmp_path):
    """A shell starts its background jobs with Ctrl-C ignored."""
    ready = opened(tmp_path / "pipe")
    words = ["sh", "-c", 'trap "" INT; exec "$0" run pipe', COMMAND]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        while not ready():
            time.sleep(0.02)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM


def test_an_interruption_ends_the_wait_for_a_run():
    program = (
        "import levelflow.results, os, signal, threading, time\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "finished = threading.Timer(20, lock.release)\n"
        "finished.daemon = True\n"
        "finished.start()\n"
        "try:\n"
        "    lock.acquire()\n"
        "except KeyboardInterrupt:\n"
        "    raise SystemExit(finished.finished.is_set())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0


@AGAIN
def test_figures_that_were_measured_are_kept(tmp_path, levelflow, pauses):
    verdicts = tmp_path / "claims.json"
    (first,) = model.select(model.discover(PAPERS), ["maxnet-start"])

    def ready():
        return verdicts.exists() and json.loads(verdicts.read_text(encoding="utf-8"))

    printed, said = interrupted(REPRODUCE, tmp_path, ready, pauses)
    rows = json.loads(verdicts.read_text(encoding="utf-8"))
    assert said == "levelflow: interrupted; 1 of 3 figures were measured\n"
    assert [row["id"] for row in rows] == [entry.id for entry in first.entries for _ in entry.check]
    assert printed.endswith("report: results/claims/report.html\n")
    assert (tmp_path / "results/claims/report.html").exists()
    kept = tmp_path.joinpath("results/claims/figures")
    before = {path: path.stat().st_mtime_ns for path in kept.rglob("*")}
    assert levelflow("reproduce", "maxnet-start", "--resume", "--json", "again.json").returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept.rglob("*")} == before != {}
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8")) == rows


@AGAIN
def test_runs_of_laws_on_networks_that_were_made_are_kept(tmp_path, levelflow, pauses):
    runs = tmp_path / "runs.jsonl"

    def ready():
        return runs.exists() and runs.read_text(encoding="utf-8").count("\n") >= 2

    assert interrupted([*CONVERGENCE, "200"], tmp_path, ready, pauses) == ("", "levelflow: interrupted\n")
    lines = runs.read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)["law"] in {"jetmax", "rcp"} for line in lines)
    assert len(lines) < 400
    assert levelflow(*CONVERGENCE, "1").returncode == 0
    assert runs.read_text(encoding="utf-8").splitlines()[: len(lines)] == lines


def test_ctrl_c_again_while_the_report_is_written(tmp_path, levelflow, monkeypatch):
    measure_all = runner.measure_all

    def interrupted_at_the_end(*words, **options):
        yield from measure_all(*words, **options)
        raise KeyboardInterrupt

    def write(*_words):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "measure_all", interrupted_at_the_end)
    monkeypatch.setattr(report, "write", write)
    done = levelflow("reproduce", "maxnet-start", "--json", "claims.json")
    assert done.returncode == 130
    assert done.stderr.splitlines() == [
        "levelflow: interrupted; 1 of 1 figures were measured",
        "",
        "levelflow: interrupted",
    ]
    assert json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))


def test_no_run_continues_while_the_report_is_written(tmp_path, levelflow, monkeypatch):
    ended = []

    def measured(claims, **_options):
        try:
            for claim in claims:
                yield runner.FigureOutcome(claim, (), (), (), 0.0, "quick")
        finally:
            ended.append("runs")

    def save(_json, figures):
        if figures:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "measure_all", measured)
    monkeypatch.setattr("levelflow.cli.reproduce._save", save)
    monkeypatch.setattr(report, "write", lambda *_words: ended.append("report"))
    assert levelflow("reproduce", "maxnet-start", "rcp-router").returncode == 130
    assert ended == ["runs", "report"]
