"""Networks of Zhang 2008, chapter VII: flows that meet at a buffer that is to be sized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

LINK = "A->B"

#: The TCP variants of Linux 2.6.16 by their names in the text: a law, and what that kernel set otherwise than we do.
#: Its Scalable TCP grew 1/50 of a packet per answer to make up for delayed answers; ours come for each packet, so
#: 1/100 stays.
LINUX_2_6_16: dict[str, dict[str, dict[str, Any]]] = {
    "Reno": {"newreno": {}},
    "BIC": {"bic": {"search": 4, "s_max": 16, "s_min": 0.2, "cut": 0.2, "initial_ssthresh": 100}},
    "CUBIC": {"cubic": {"beta": 0.8, "initial_ssthresh": 100}},
    "HSTCP": {"highspeed": {}},
    "STCP": {"scalable": {"low_window": 1, "reno_floor": True}},
    "HTCP": {"htcp": {"rtt_scaling": True}},
    "Westwood": {"westwood": {}},
    "TCP-LP": {"lp": {}},
}

#: A user of section VII.3.4; objects of a page come at once, not 10 ms apart.
SESSION = {
    "pages": {"uniform": [10, 2000]},
    "objects": {"uniform": [1, 5]},
    "think": {"exponential": "1 s"},
}
OBJECT = {"pareto": {"mean": "10 kB", "shape": 1.2}}


def marking(law: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The same law with senders that understand marks."""
    return {name: {**params, "ecn": True} for name, params in law.items()}


def one_link(capacity_mbps: float, buffer: object, duration_s: float, sample: str = "1 s", seed: int = 1) -> Scenario:
    """An empty network of one link `A->B`, with a fast way back."""
    scenario = Scenario("sized", f"{duration_s:g} s", seed=seed, sample=sample)
    back = {"buffer": "unlimited", "capacity": "10 Gb/s"}
    return scenario.link("A", "B", f"{capacity_mbps:g} Mb/s", "5 ms", buffer=buffer, duplex=True, reverse=back)


def crowd(
    scenario: Scenario, count: int, rtt_ms: tuple[float, float], law: object = "newreno", name: str = "x"
) -> Scenario:
    """Adds long flows of 1500-byte packets with round trips uniform on a range."""
    low, high = rtt_ms
    rtt = {"uniform": [f"{low:g} ms", f"{high:g} ms"]}
    return scenario.flow(name, law, "A", "B", count=count, packet="1500 B", rtt=rtt)  # type: ignore[arg-type]
