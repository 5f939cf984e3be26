"""Measures numbers of the paper's Linux module with its successor, `levelflow-net router --dev`, in namespaces."""

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
        "jetmax-linux-module": {
            "interval_timer_jitter_us": statistics.median(found["worst_late_us"]),
            "load_unload_without_reboot": found["reloaded"],
            "router_forwarding_mbps_without_loss": found["forwarded_mbps"],
        }
    }
