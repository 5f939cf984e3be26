"""Slowdown of a law in Python: `python -m experiments.own_law`.

The twins of NewReno and Vegas in `tests/laws` are compared with the registered laws. A twin and its law give the same
results, so both process the same events. Each time is the smallest engine time of several runs.
"""

from __future__ import annotations

import time
from pathlib import Path

from levelflow import Scenario, _core

LAWS = Path(__file__).parents[1] / "tests" / "laws" / "windows.py"
TWINS = {"newreno": "pynewreno", "vegas": "pyvegas"}
RUNS = 5


def network(law: str, duration: str = "60 s") -> Scenario:
    """Returns a network of two flows that use the given law."""
    scenario = Scenario("own", duration).link("A", "B", "100 Mb/s", "10 ms", duplex=True, buffer="1 BDP")
    scenario.law_file(LAWS)
    for name in TWINS:
        scenario.law(name, paced=False)
    return scenario.flow("x", law, "A", "B").flow("y", law, "A", "B", start="1 s")


def seconds(scenario: Scenario) -> tuple[float, int]:
    """Returns the processor time that the engine needs for a run, s, and the number of packet-hops."""
    source = scenario.input()
    simulation = _core.Simulation(source.network, None, 1, [law.engine for law in source.laws])
    begin = time.process_time()
    simulation.advance(simulation.duration, 2**62)
    return time.process_time() - begin, simulation.packet_hops


def main() -> None:
    """Prints a row per law."""
    for registered, own in TWINS.items():
        (rust, hops), (python, same) = (min(seconds(network(law)) for _ in range(RUNS)) for law in (registered, own))
        assert hops == same
        print(
            f"{registered}: {1e9 * rust / hops:.0f} ns per packet-hop in Rust, {1e9 * python / hops:.0f} ns in Python, "
            f"{python / rust:.1f} times"
        )


if __name__ == "__main__":
    main()
