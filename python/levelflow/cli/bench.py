"""The command `bench`."""

from __future__ import annotations

import sys

import click


@click.command()
def bench() -> None:
    """Measure the speed and size of the engine; needs a checkout of Levelflow."""
    import subprocess

    from levelflow import ScenarioError
    from levelflow.library import checkout

    root = checkout()
    if root is None:
        raise ScenarioError("bench is a tool of the source code: run it in a checkout of Levelflow, as make bench")
    sys.exit(subprocess.run([sys.executable, "-m", "tools.bench"], cwd=root, check=False).returncode)
