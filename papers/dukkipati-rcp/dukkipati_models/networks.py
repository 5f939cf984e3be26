"""Two-way traffic, groups of flows with different round trips, and several bottlenecks (section III-C)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dukkipati_models.arrivals import OneLink, as_in_ns2, bandwidth_delay_product
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

#: Flow entry of the reverse direction.
BACK = "back"
#: Figures 24 to 28: capacity in bit/s, round trip in s, mean size in packets. By figure: forward load; reverse load;
#: duration as printed, s; duration in the quick tier, s.
TWO_WAY = (2.4e9, 0.2, 46)
LOADS = {
    "fig24": (0.75, 0.75, 60, 6),
    "fig25": (0.75, 0.0, 60, 6),
    "fig26": (0.95, 0.95, 120, 12),
    "fig27": (0.95, 0.2, 120, 12),
}
#: Round trips of the groups of figures 22 and 23, ms.
GROUP_RTPDS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200)
#: Figures 29 to 31: capacity in bit/s, round trip in s, load, mean size in bytes; numbers of links; numbers of links in
#: the quick tier; name of the flows that cross all links.
CASCADE = (640e6, 0.1, 0.9, 25_000)
LINKS = (1, 2, 4, 8)
QUICK_LINKS = (1, 2, 8)
THROUGH = "group 0"


def two_way(figure: str, duration: float, seed: int, law: str) -> Scenario:
    """Returns a link that is loaded in one or both directions, as in figures 24 to 27."""
    capacity, rtpd, mean = TWO_WAY
    forward, back = (OneLink(capacity, rtpd, load, mean) for load in LOADS[figure][:2])
    both = forward.scenario(duration, seed, law=law)
    if back.load:
        size = {"pareto": {"mean": f"{mean} kB", "shape": 1.2}}
        both.flow(BACK, law, "B", "A", size=size, arrivals={"poisson": f"{back.arrivals} /s"})
    return both


def groups(duration: float, law: str, drain: float = 0.0) -> Callable[[Scenario], None]:
    """Returns a function that adds the groups of figures 22 and 23 to a scenario. Their round trips differ."""

    def edit(scenario: Scenario) -> None:
        scenario.set("duration", f"{duration + drain:g} s")
        size = {"pareto": {"mean": "25 kB", "shape": 1.2}}
        limit: dict[str, Any] = {"limit": round(288 * duration)} if drain else {}
        for rtpd in GROUP_RTPDS:
            arrivals = {"poisson": "288 /s"}
            scenario.flow(f"{rtpd} ms", law, "A", "B", rtt=f"{rtpd} ms", size=size, arrivals=arrivals, **limit)
        as_in_ns2(scenario, law)

    return edit


def cascade(links: int, duration: float, law: str) -> Scenario:
    """Returns a chain of links, each with the load of `CASCADE`. Group 0 crosses every link, group i only link i."""
    capacity, rtpd, load, mean = CASCADE
    scenario = Scenario(f"{links} bottlenecks", f"{duration} s")
    if law == "rcp":
        scenario.law(law, initial_rtt=f"{rtpd} s")
    crossing = [(THROUGH, 0, links)]
    if links > 1:
        crossing += [(f"group {i + 1}", i, i + 1) for i in range(links)]
    arrivals = load * capacity / (8 * mean) / (1 if links == 1 else 2)
    size = {"pareto": {"mean": f"{mean} B", "shape": 1.2}}
    for i in range(links):
        delay, buffer = f"{rtpd / 2 / links} s", bandwidth_delay_product(capacity, rtpd)
        scenario.link(f"N{i}", f"N{i + 1}", f"{capacity} b/s", delay, buffer=buffer, duplex=True)
    for name, start, end in crossing:
        scenario.flow(name, law, f"N{start}", f"N{end}", size=size, arrivals={"poisson": f"{arrivals} /s"})
    return as_in_ns2(scenario, law)
