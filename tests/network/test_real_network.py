"""Commands of the guides that need root and `levelflow-net` run, one after the other."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import lack
from tools import CHECKOUT

from levelflow import dataplane

pytestmark = pytest.mark.real_time

LEVELFLOW = Path(sys.executable).with_name("levelflow")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.needs("root")
@pytest.mark.parametrize(("guide", "block"), [("two-namespaces", "sh"), ("testbed", "bash")])
def test_commands_of_the_guides_compare_a_network_with_its_simulation(tmp_path, guide, block):
    try:
        commands = {"levelflow": LEVELFLOW, "levelflow-net": dataplane.usable()}
    except dataplane.DataPlaneError as error:
        lack(["root"], str(error))
    (tmp_path / "scenarios").symlink_to(CHECKOUT / "scenarios")
    page = (CHECKOUT / f"docs/guides/{guide}.md").read_text(encoding="utf-8")
    text = next(text for language, text in BLOCK.findall(page) if language == block)
    printed = ""
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("sudo .venv/bin/"))
        if words == ["make", "net"]:
            continue
        shorter = ["--set", "duration=6 s"] if words[0] == "levelflow-net" else []
        command = [commands[words[0]], *words[1:], *shorter]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        printed = done.stdout
    assert "x2" in printed
    assert (tmp_path / "results/network/compare.png").exists()
