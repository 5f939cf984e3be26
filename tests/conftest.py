import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

# Set before numpy is loaded. The matrices are small: threads that wait for each other take longer than the sums.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pytest
from hypothesis import settings

from levelflow import Scenario, cli

# A commit is judged by the same examples each time; `pytest --hypothesis-profile=search` draws new ones.
# No deadline: the first call of a function may import SciPy.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile("same")

#: True if tests that take minutes run, too: `make test FULL=1`.
FULL = bool(os.environ.get("LEVELFLOW_FULL"))


def examples(count, **others):
    """Returns the settings of a property: this number of examples in full, otherwise a fifth, at least ten."""
    return settings(max_examples=count if FULL else max(count // 5, 10), **others)


COMMAND = Path(sys.executable).with_name("levelflow")
#: Requirements for which tests must not skip when the machine lacks them: `root`, `clang`, `tshark`, `time`.
REQUIRED = {name.strip() for name in os.environ.get("LEVELFLOW_REQUIRE", "").split(",")} - {""}


def lack(names, why):
    """Skips a test, or fails it if LEVELFLOW_REQUIRE contains one of these names of missing requirements."""
    if required := REQUIRED & set(names):
        pytest.fail(f"LEVELFLOW_REQUIRE has {', '.join(sorted(required))}, but {why}")
    pytest.skip(why)


#: Delay of a wake-up beyond which the thread shared its processor, s.
LATE = 0.01
#: Largest number of attempts at a measurement in real time.
ATTEMPTS = 5
#: Pause after an attempt on a late machine, s.
CALM = 1.0


class Clock(threading.Thread):
    """Sleeps in steps of 1 ms, and records the largest delay of a wake-up, in seconds.

    The delay is at least `LATE` if more than one wake-up in twenty is 0.5 ms late.
    """

    STEP = 0.001
    OFTEN_LATE = 0.0005

    def __init__(self):
        super().__init__(daemon=True)
        self.late, self.over = 0.0, False

    def run(self):
        wake_ups = often = 0
        while not self.over:
            begun = time.monotonic()
            time.sleep(self.STEP)
            delay = time.monotonic() - begun - self.STEP
            self.late = max(self.late, delay)
            wake_ups, often = wake_ups + 1, often + (delay >= self.OFTEN_LATE)
        if 20 * often > wake_ups:
            self.late = max(self.late, LATE)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.over = True
        self.join()


def on_time(measure):
    """Runs a measurement with its assertions, and repeats it if it fails while the machine is late.

    The machine is late if a thread that only sleeps wakes 10 ms after its time, or 0.5 ms at more than one wake-up in
    twenty. After five late attempts, nothing was measured, and the test is skipped.
    """
    for _ in range(ATTEMPTS):
        try:
            with Clock() as clock:
                measure()
            return
        except AssertionError:
            if clock.late < LATE:
                raise
        print(f"a thread woke {clock.late * 1000:.0f} ms late: measured again")
        time.sleep(CALM)
    lack(["time"], f"the machine was late in {ATTEMPTS} attempts, by {clock.late * 1000:.0f} ms")


def pytest_configure():
    # Background processes of a shell ignore Ctrl-C, and so would the programs that tests interrupt.
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
    """Runs the command in an empty directory, within this process: a process start takes longer than most commands."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["levelflow", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        return subprocess.CompletedProcess(arguments, end.value.code or 0, *capfd.readouterr())

    return call
