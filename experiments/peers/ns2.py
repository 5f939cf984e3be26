"""Runs scripts in ns-2."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tools import CHECKOUT

SCRIPTS = CHECKOUT / "benches" / "peers"


def run(binary: str, script: str, *arguments: object) -> str:
    """Returns the output of a script in `benches/peers`.

    Raises:
        RuntimeError: if the script fails.
    """
    command = [binary, str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} failed in {binary}:\n{done.stderr}")
    return done.stdout


def lacks(agent: str) -> Callable[[str], str | None]:
    """Returns a function that returns the missing requirement of an agent, as a clause; None if there is none."""

    def of(binary: str) -> str | None:
        try:
            found = subprocess.run([binary, str(SCRIPTS / "has.tcl"), agent], capture_output=True, check=False)
        except OSError:
            return f"{binary} is no program: --ns2 names an ns-2 with {agent}"
        return f"{Path(binary).name} has no {agent}: --ns2 names an ns-2 with it" if found.returncode else None

    return of


def numbers(text: str) -> list[list[float]]:
    """Returns the numbers in a text, one list per line.

    Raises:
        ValueError: if a line contains anything but numbers.
    """
    return [[float(word) for word in line.split()] for line in text.splitlines()]
