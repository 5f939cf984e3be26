"""Memory of a run per flow, packet and link, in bytes: `python -m tools.memory`.

The documented values are from the build of `make fast`, which contains a separate engine for each law.
Each value is a difference between the peak memory of two processes. One of them has more flows, packets or links.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from levelflow import _core
from levelflow.scenario import Scenario

LAWS = ("jetmax", "rcp", "newreno", "cubic", "bbr")
FLOWS = 100_000
#: Number of 1000-byte packets that fill 10 Gb/s over a round trip of 80 ms.
PACKETS = 100_000
LINKS = 20_000


def flows(law: str, times: int) -> Scenario:
    """Returns flows on one link. Each flow has sent its first packet."""
    scenario = Scenario("flows", "10 ms", sample="10 ms", profile="paper")
    scenario.link("a", "b", "10 Gb/s", "20 ms", duplex=True)
    return scenario.flow("x", law, "a", "b", rtt="1 s", count=times * FLOWS, start="0 s")


def packets(law: str, times: int) -> Scenario:
    """Returns one flow that fills a long link with packets."""
    chosen: object = {law: {"initial_ssthresh": times * PACKETS}} if law in {"newreno", "cubic"} else law
    delay = 40 * times
    scenario = Scenario("packets", f"{50 * delay} ms", sample="1 s", profile="paper")
    scenario.link("a", "b", "10 Gb/s", f"{delay} ms", buffer="1 BDP", duplex=True)
    return scenario.flow("x", chosen, "a", "b")


def links(times: int) -> Scenario:
    """Returns a flow on one link, and additional unused links."""
    scenario = Scenario("links", "10 ms", sample="10 ms", profile="paper").link("a", "b", "1 Mb/s", "1 ms", duplex=True)
    scenario.flow("x", "jetmax", "a", "b")
    for i in range(times * LINKS):
        scenario.link(f"a{i}", f"b{i}", "1 Mb/s", "1 ms")
    return scenario


def main() -> None:
    """Prints a table. With `--peak`, runs the scenario on standard input, and prints the peak memory of the process."""
    if sys.argv[1:] == ["--peak"]:
        print(*_peak(sys.stdin.read()))
        return
    print("| law | bytes per flow | bytes per packet or ACK in flight |\n|---|---|---|")
    for law in LAWS:
        flow = (_measured(flows(law, 2))[0] - _measured(flows(law, 1))[0]) / FLOWS
        few, many = _measured(packets(law, 1)), _measured(packets(law, 2))
        packet = (many[0] - few[0]) / (many[1] - few[1])
        print(f"| {law} | {flow:,.0f} | {packet:,.0f} |", flush=True)
    link = (_measured(links(2))[0] - _measured(links(1))[0]) / LINKS
    million = _measured(flows("jetmax", 10))[0] / 1e6
    print(
        f"\nA link that nothing crosses takes {link:,.0f} bytes, a run of a million flows of JetMax {million:,.0f} MB."
    )


def _measured(scenario: Scenario) -> tuple[int, int]:
    command = [sys.executable, "-m", "tools.memory", "--peak"]
    done = subprocess.run(command, input=scenario.to_json(), capture_output=True, text=True, check=True)
    size, on_the_way = done.stdout.split()
    return int(size), int(on_the_way)


def _peak(scenario: str) -> tuple[int, int]:
    """Returns the peak memory of this process in bytes, and the largest number of packets and ACKs in flight."""
    simulation = _core.Simulation(scenario)
    over, on_the_way = False, 0
    while not over:
        over = simulation.advance(simulation.duration, 20_000)
        simulation.take()
        (flow,) = json.loads(simulation.summary())["flows"]
        acks = flow["acks"]
        now = flow["in_flight"] + acks["sent"] - acks["delivered"] - acks["dropped"] - acks["lost"]
        on_the_way = max(on_the_way, now)
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found
    return 1024 * int(found[1]), on_the_way


if __name__ == "__main__":
    main()
