"""Runs tests that read clocks. Tests that fail on a busy machine are repeated on a calm machine.

python tools/real_time.py first COMMAND...   run a test program; note each test that fails
python tools/real_time.py again              repeat what failed on a busy machine; fail if a test failed on a calm one

COMMAND is a program of `cargo test` or `python -m pytest`. Notes are in `deferred.jsonl` in CARGO_TARGET_DIR.

A thread of normal priority that only sleeps measures the machine. The machine is busy if one wake-up is 10 ms too late,
or if more than a tenth of the wake-ups are 0.5 ms too late. On a busy machine, a failure is no evidence against the
code. `again` makes up to five attempts per test. If all attempts fail and the machine was busy during each of them, the
test is reported as inconclusive, and does not fail.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: Smallest delay of one wake-up that indicates a busy machine, s.
LATE = 0.01
#: Smallest delay in s that indicates a busy machine if more than one wake-up in ten has it.
OFTEN_LATE = 0.0005
#: Smallest number of wake-ups for which a fraction is meaningful.
MIN_WAKE_UPS = 100
#: Largest number of attempts per test.
MAX_ATTEMPTS = 5
#: Longest wait for a calm machine before an attempt, s.
MAX_WAIT = 10.0

#: Outcomes of tests.
WORDS = {True: "passed when repeated", False: "FAILED on a calm machine", None: "inconclusive, busy machine"}

PROMPT = Path(__file__).with_name("prompt")
NOTES = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "deferred.jsonl"


class Clock(threading.Thread):
    """Sleeps in steps of 1 ms, and counts late wake-ups. `largest` is the largest delay, s."""

    STEP = 0.001

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self.wake_ups, self.late, self.over = 0.0, 0, 0, False

    def run(self) -> None:
        """Sleeps until `over`."""
        while not self.over:
            begun = time.monotonic()
            time.sleep(self.STEP)
            self.add(time.monotonic() - begun - self.STEP)

    def add(self, delay: float) -> None:
        """Counts a wake-up that is late by `delay`, in seconds."""
        self.largest = max(self.largest, delay)
        self.wake_ups += 1
        self.late += delay >= OFTEN_LATE

    def is_busy(self) -> bool:
        """Returns True if the machine may be the cause of failures."""
        return self.largest >= LATE or (self.wake_ups >= MIN_WAKE_UPS and 10 * self.late > self.wake_ups)

    def __enter__(self) -> "Clock":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over = True
        self.join()


def wait_for_calm() -> None:
    """Waits until the machine is calm, or until `MAX_WAIT` is over."""
    begun = time.monotonic()
    while time.monotonic() - begun < MAX_WAIT:
        with Clock() as clock:
            time.sleep(1.0)
        if not clock.is_busy():
            return


def failed_tests(output: str) -> list[str]:
    """Returns the names of failed tests, from the end of the output of `cargo test` or pytest."""
    names = re.findall(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", output, re.MULTILINE)
    if not names and (tables := re.findall(r"^failures:\n((?:    \S+\n)+)", output, re.MULTILINE)):
        names = tables[-1].split()
    return names


def first(command: Sequence[str]) -> int:
    """Runs a test program, and notes each failed test. Returns 0 if the program passed or only tests failed."""
    with Clock() as clock, subprocess.Popen([PROMPT, *command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        output = b""
        while part := os.read(process.stdout.fileno(), 65536):
            os.write(sys.stdout.fileno(), part)
            output += part
    names = failed_tests(output.decode(errors="replace"))
    if not process.returncode or not names:
        return process.returncode
    kept = {name: value for name, value in os.environ.items() if re.match("CARGO|RUST|LEVELFLOW|LD_", name)}
    busy = clock.is_busy()
    with NOTES.open("a", encoding="utf-8") as notes:
        for name in names:
            alone = [*command, name] if "pytest" in command else [*command, "--exact", name]
            note = {"name": name, "busy": busy, "command": alone, "in": os.getcwd(), "environment": kept}
            notes.write(json.dumps(note) + "\n")
            print(f"{'to be repeated when the machine is calm' if busy else WORDS[False]}: {name}", flush=True)
    return 0


def repeat(attempt: Callable[[], tuple[bool, bool]]) -> bool | None:
    """Returns True if a test passes on a calm machine; None if the machine was busy at each attempt.

    An attempt returns two flags: the test passed, and the machine was busy.
    """
    for _ in range(MAX_ATTEMPTS):
        passed, busy = attempt()
        if passed or not busy:
            return passed
    return None


def again() -> int:
    """Repeats the tests that failed on a busy machine. Returns 1 if a test failed on a calm machine."""
    if not NOTES.exists():
        return 0

    def run(note: dict[str, Any]) -> tuple[bool, bool]:
        wait_for_calm()
        with Clock() as clock:
            done = subprocess.run(
                [PROMPT, *note["command"]], cwd=note["in"], env=os.environ | note["environment"], check=False
            )
        return not done.returncode, clock.is_busy()

    noted = [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]
    outcomes = [(note["name"], note["busy"] and repeat(lambda note=note: run(note))) for note in noted]
    NOTES.unlink()
    for name, outcome in outcomes:
        print(f"{WORDS[outcome]}: {name}")
    return int(any(outcome is False for _, outcome in outcomes))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["first", *command] if command:
            sys.exit(first(command))
        case ["again"]:
            sys.exit(again())
        case _:
            sys.exit(__doc__)
