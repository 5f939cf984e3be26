"""Runs scripts in ns-2."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tools import CHECKOUT

SCRIPTS = CHECKOUT / "benches" / "peers"


def run(binary: str, script: str, *arguments: object) -> str:
    """What a script of `benches/peers` prints.

    Raises:
        RuntimeError: if it fails.
    """
    command = [binary, str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} failed in {binary}:\n{done.stderr}")
    return done.stdout


def lacks(agent: str) -> Callable[[str], str | None]:
    """Says what a binary lacks to run an agent, in half a sentence; None if nothing."""

    def of(binary: str) -> str | None:
        try:
            found = subprocess.run([binary, str(SCRIPTS / "has.tcl"), agent], capture_output=True, check=False)
        except OSError:
            return f"{binary} is no program: --ns2 names an ns-2 with {agent}"
        return f"{Path(binary).name} has no {agent}: --ns2 names an ns-2 with it" if found.returncode else None

    return of


def numbers(text: str) -> list[list[float]]:
    """The lines of a table of numbers.

    Raises:
        ValueError: if a line has anything else.
    """
    return [[float(word) for word in line.split()] for line in text.splitlines()]
