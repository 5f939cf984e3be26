"""`tools/real_time.py`: tests that fail on a busy machine are repeated on a calm one."""

import subprocess
import sys

import pytest
from tools import real_time
from tools.real_time import LATE, MAX_ATTEMPTS, MIN_WAKE_UPS, OFTEN_LATE, Clock, failed_tests, repeat

RUST = """running 2 tests
test link::a ... FAILED
failures:

---- link::a stdout ----
failures:
    this line is printed by the test

failures:
    link::a
    link::b

test result: FAILED. 0 passed; 2 failed
"""
PYTEST = """FAILED tests/test_x.py::test_y[a user] - assert 1 == 2
ERROR tests/test_x.py::test_z - OSError
2 failed
"""


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (RUST, ["link::a", "link::b"]),
        (PYTEST, ["tests/test_x.py::test_y[a user]", "tests/test_x.py::test_z"]),
        ("Segmentation fault\n", []),
    ],
)
def test_failed_tests_are_those_that_a_program_lists(output, names):
    assert failed_tests(output) == names


def attempts(*planned):
    """Returns the outcome and the number of attempts. Each planned attempt is a pair of flags: the test passes, the
    machine is busy.
    """
    made = []

    def attempt():
        made.append(None)
        return planned[min(len(made), len(planned)) - 1]

    return repeat(attempt), len(made)


def test_only_a_calm_machine_fails_a_test():
    assert attempts((True, True)) == (True, 1)
    assert attempts((False, False)) == (False, 1)
    assert attempts((False, True), (True, False)) == (True, 2)
    assert attempts((False, True), (False, False)) == (False, 2)
    assert attempts((False, True)) == (None, MAX_ATTEMPTS)


def test_a_machine_is_busy_if_more_than_a_tenth_of_many_wake_ups_are_late():
    def busy(late, wake_ups, delay=OFTEN_LATE):
        clock = Clock()
        for i in range(wake_ups):
            clock.add(delay if i < late else 0)
        return clock.is_busy()

    assert not busy(MIN_WAKE_UPS - 1, MIN_WAKE_UPS - 1)
    assert not busy(MIN_WAKE_UPS // 10, MIN_WAKE_UPS)
    assert busy(MIN_WAKE_UPS // 10 + 1, MIN_WAKE_UPS)
    assert busy(1, 1, LATE)
    assert not busy(1, 1, LATE / 2)


#: Source of a test program. The program fails until a file exists. With `passes`, a run of one test by name creates the
#: file.
PROGRAM = """
import pathlib, sys
name = sys.argv[-1] if "--exact" in sys.argv else None
done = pathlib.Path("done").exists()
if name and sys.argv[1] == "passes":
    assert name == "link::a"
    pathlib.Path("done").touch()
    done = True
if sys.argv[1] == "crashes":
    sys.exit("Aborted")
if not done:
    print("failures:\\n    link::a\\n", flush=True)
sys.exit(0 if done else 101)
"""


@pytest.mark.parametrize(
    ("kind", "busy", "first", "again", "says"),
    [
        ("passes", True, 0, 0, "passed when repeated: link::a"),
        ("fails", True, 0, 1, "FAILED on a calm machine: link::a"),
        ("passes", False, 0, 1, "FAILED on a calm machine: link::a"),
        ("crashes", True, 1, 0, ""),
    ],
)
def test_only_what_failed_on_a_busy_machine_is_repeated_alone(
    kind, busy, first, again, says, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(real_time, "NOTES", tmp_path / "notes")
    monkeypatch.setattr(real_time, "wait_for_calm", lambda: None)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setattr(Clock, "is_busy", lambda _: busy)
    assert real_time.first([sys.executable, "program.py", kind]) == first
    monkeypatch.setattr(Clock, "is_busy", lambda _: False)
    assert real_time.again() == again
    assert says in capfd.readouterr().out
    assert not (tmp_path / "notes").exists()


def test_a_command_without_a_program_is_explained():
    done = subprocess.run([sys.executable, real_time.__file__], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "again" in done.stderr
