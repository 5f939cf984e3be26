"""Warnings about runs whose results exclude transfers or packets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from levelflow.summary import FlowSummary, LinkSummary

#: Warning threshold for the fraction of a link's packets that are still queued at the end of a run.
WAITING_WARNING_SHARE = 0.01


def of_run(flows: Iterable[FlowSummary], links: Iterable[LinkSummary]) -> list[str]:
    """Returns warnings about unfinished transfers and queued packets that the numbers exclude.

    >>> flow = {"name": "x", "transfers": {"started": 3, "finished": 2, "aborted": 0, "unfinished": 1}}
    >>> of_run([flow, flow, flow], [])
    ['flow x: transfers did not finish; completion times and slowdowns exclude them (same for 2 other flows)']
    """
    found: dict[str, list[str]] = {}
    for flow in flows:
        counts = flow["transfers"]
        if counts and counts["finished"] < counts["started"]:
            ways = {"were aborted": counts["aborted"], "did not finish": counts["unfinished"]}
            text = f"transfers {' or '.join(filter(ways.get, ways))}; completion times and slowdowns exclude them"
            found.setdefault(text, []).append(f"flow {flow['name']}")
    for link in links:
        known = link["queueing_delay_s"]["count"] if link["queueing_delay_s"] else 0
        if link["waiting_packets"] > WAITING_WARNING_SHARE * (known + link["waiting_packets"]):
            text = "packets are queued at the end of the run; queueing delays exclude them"
            found.setdefault(text, []).append(f"link {link['name']}")
    return [f"{names[0]}: {text}{_alike(names[0].split()[0], len(names) - 1)}" for text, names in found.items()]


def _alike(kind: str, others: int) -> str:
    return f" (same for {others:,} other {kind}{'s' * (others > 1)})" if others else ""


def tally(runs: Iterable[Iterable[str]]) -> list[str]:
    """Returns each warning once, with the number of runs that have it.

    Warnings that differ only in numbers count as one.

    >>> tally([["link A1->B: full", "no flow"], ["link A7->B: full"], []])
    ['link A1->B: full (in 2 of 3 runs, with different numbers)', 'no flow (in 1 of 3 runs)']
    """
    alike: dict[str, list[str]] = {}
    total = 0
    for lines in runs:
        total += 1
        own = {re.sub(r"\d+(\.\d+)?", "0", line): line for line in reversed(list(lines))}
        for shape, line in reversed(own.items()):
            alike.setdefault(shape, []).append(line)
    return [
        f"{lines[0]} (in {len(lines):,} of {total:,} runs{', with different numbers' * (len(set(lines)) > 1)})"
        for lines in alike.values()
    ]
