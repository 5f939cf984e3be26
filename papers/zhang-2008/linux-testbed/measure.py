"""The module in Linux, as its successor does it: `levelflow-net router --dev` in network namespaces."""

import json
import statistics
import subprocess
import sys

from levelflow import dataplane


def measure(figure):
    command = [sys.executable, str(figure.claim.folder / "path.py"), str(dataplane.usable())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["path.py failed"])[-1])
    found = json.loads(done.stdout)
    return {
        "jetmax-linux-module": [
            statistics.median(found["worst_late_us"]),
            found["reloaded"],
            found["forwarded_mbps"],
        ]
    }
