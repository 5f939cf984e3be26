import subprocess
import sys
from pathlib import Path

import pytest

from levelflow import Scenario

COMMAND = Path(sys.executable).with_name("levelflow")


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
def levelflow(tmp_path):
    """Runs the command in an empty directory."""

    def call(*arguments):
        return subprocess.run(
            [COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    return call
