"""Laws and queues on lines whose capacity changes: `python -m experiments.changing_line [LINE ...] [--testbed]`.

A download and a call share the line of a ready scenario for 30 s. If the law has routers, they are notified of each
change of the capacity. With `--testbed` (root, Linux), each scenario also runs on a network inside this machine, where
CUBIC and BBR are the kernel's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow import Result, Scenario
from levelflow.dataplane import DataPlaneError, usable

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = ("lte", "leo", "wifi")
DURATION_S, START_S = 30, 1
#: Law of the flows and queue discipline of the line.
ROWS = (
    ("jetmax", "drop_tail"),
    ("level", "drop_tail"),
    ("abc", "drop_tail"),
    ("prague", "dualpi2"),
    ("bbr", "drop_tail"),
    ("bbr", "fq_codel"),
    ("bbr", "cake"),
    ("cubic", "drop_tail"),
    ("cubic", "fq_codel"),
    ("cubic", "cake"),
)
#: Laws of the Linux kernel, and rate of a `cbr` flow. The testbed supports no applications with these laws, so the
#: `cbr` flow replaces the call.
KERNEL, CALL = ("bbr", "cubic"), "200 kb/s"
HEAD = ("law", "queue", "download", "capacity lost", "queueing delay, p99", "call's round trip, p99", "loss")


def main() -> int:
    """Prints a Markdown table of simulated results for each line.

    With `--testbed`, also prints a table of results on Linux.
    """
    parser = argparse.ArgumentParser(prog="python -m experiments.changing_line", description=__doc__)
    parser.add_argument("line", nargs="*", metavar="LINE", help=f"of {', '.join(LINES)}; all if none")
    parser.add_argument("--testbed", action="store_true", help="run on a network inside this machine, too")
    arguments = parser.parse_args()
    if unknown := set(arguments.line) - set(LINES):
        parser.error(f"no line {', '.join(sorted(unknown))}; allowed: {', '.join(LINES)}")
    try:
        program = usable() if arguments.testbed else None
    except DataPlaneError as error:
        print(f"changing_line: {error}", file=sys.stderr)
        return 2
    for line in arguments.line or LINES:
        _table(f"`{line}` in the simulator", line, lambda under: under.run().summary)
        if program:
            _table(f"`{line}` on Linux", line, partial(on_linux, program))
    return 0


def scenario(line: str, law: str, queue: str) -> Scenario:
    """Returns the download and the call of a ready scenario, with the given law and queue."""
    found = Scenario.named(line)
    found.raw["flow"] = [flow for flow in found.raw["flow"] if flow["name"] in ("download", "call")]
    for flow in ("download", "call"):
        found.set(f"flow.{flow}.law", law)
    found.set("flow.download.start", f"{START_S} s").set("duration", f"{DURATION_S} s").set("link.1.queue", queue)
    found.raw = found.complete()
    return found


def on_linux(program: Path, under: Scenario) -> dict[str, Any] | None:
    """Runs a scenario in network namespaces. Returns its summary, or None if the testbed cannot run it."""
    call = next(flow for flow in under.raw["flow"] if flow["name"] == "call")
    if call["law"] in KERNEL:
        under.set("flow.call.law", "cbr").set("law.cbr", {"rate": CALL, "acks": True})
        del call["application"]
    with tempfile.TemporaryDirectory() as directory:
        file, out = Path(directory) / "scenario.toml", Path(directory) / "out"
        file.write_text(under.to_toml())
        command = [str(program), "testbed", str(file), "--out", str(out), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 2:
            print(done.stderr.strip(), file=sys.stderr)
            return None
        done.check_returncode()
        return Result.load(out).summary


def _table(title: str, line: str, run: Callable[[Scenario], dict[str, Any] | None]) -> None:
    print(f"{title}:\n\n| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for law, queue in ROWS:
        print(f"| {law} | {queue} | " + " | ".join(_cells(run(scenario(line, law, queue)))) + " |", flush=True)
    print()


def _cells(summary: dict[str, Any] | None) -> list[str]:
    if summary is None:
        return ["not in the testbed", *[""] * 4]
    download, call = summary["flows"]
    link = summary["links"][0]
    rate = 8e-6 * download["delivered_bytes"] / (DURATION_S - START_S)
    return [
        f"{rate:.1f} Mb/s",
        f"{1 - link['utilisation']:.0%}",
        f"{1e3 * link['queueing_delay_s']['p99']:.0f} ms",
        f"{1e3 * call['rtt_s']['p99']:.0f} ms",
        f"{download['loss']:.2%}",
    ]


if __name__ == "__main__":
    sys.exit(main())
