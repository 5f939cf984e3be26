"""Least completion times, and how many times longer transfers took.

No transfer ends before its last bit has passed the narrowest link of its path and all of them have let it propagate:
`L/C` after one way, and a round trip later where a handshake comes first (Dukkipati et al. 2005, section III-A:
`1.5 RTPD + L/C`). Times are in s, capacities in bit/s, sizes in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.theory.queues.sharing import fct_processor_sharing
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    import polars as pl

    from levelflow.theory.arrays import Floats, Numbers


@explained
def fct_bound(rtpd: Numbers, size: Numbers, capacity: Numbers) -> Numbers:
    """Least completion time after a handshake over equal delays there and back, 1.5 RTPD + L/C, s."""
    return fct_processor_sharing(rtpd, size, capacity, 0.0)


def bounds(completions: pl.DataFrame, scenario: dict[str, Any]) -> Floats:
    """Returns the least completion time of each row of a table of completions, s.

    Args:
        completions: with columns `flow`, `bytes` and `rtt_s`.
        scenario: resolved; its flows say `path`, `reverse_path` and whether they `handshake`. Of a link that changes,
            the largest capacity and the shortest delay count.
    """
    links = {link["name"]: link for link in scenario["links"]}
    least = np.empty(completions.height)
    names = completions["flow"].cast(str).to_numpy()
    for flow in scenario["flows"]:
        own = names == flow["name"]
        size, rtt = (completions[column].to_numpy()[own] for column in ("bytes", "rtt_s"))
        there, back = (sum(_shortest(links[name]) for name in flow[path]) for path in ("path", "reverse_path"))
        # Hosts add what the links lack of the round trip; the receiver is half of it away, where that can be.
        one_way = there + np.clip(rtt / 2 - there, 0.0, np.maximum(rtt - there - back, 0.0))
        narrowest = min(_widest(links[name]) for name in flow["path"])
        least[own] = one_way + flow["handshake"] * rtt + 8 * size / narrowest
    return least


def _widest(link: dict[str, Any]) -> float:
    return max(state["capacity_bps"] for state in (link, *link.get("changes", ())))


def _shortest(link: dict[str, Any]) -> float:
    return min(state["delay_s"] for state in (link, *link.get("changes", ())))


def slowdowns(completions: pl.DataFrame, scenario: dict[str, Any]) -> Floats:
    """Returns the completion time of each row over its least one."""
    return np.asarray(completions["fct_s"].to_numpy() / bounds(completions, scenario))
