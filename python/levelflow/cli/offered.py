"""Offered load of the busiest link, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from levelflow.records import ScenarioRecord


def offered(resolved: ScenarioRecord) -> str | None:
    """Returns a sentence about the link with the largest offered load; None if no link has an offered load.

    >>> links = [{"name": "A->B", "offered_load": 0.8, "offered_bps": 8e6}, {"name": "B->A", "offered_bps": 0.0}]
    >>> offered({"links": links, "flows": []})
    'Offered load of the busiest link: 80 %, at A->B (8 Mb/s).'
    """
    from levelflow.report.tables import percent, rate

    loaded = [link for link in resolved["links"] if link["offered_bps"]]
    if not loaded:
        return None
    most = max(loaded, key=lambda link: float("inf") if link["offered_load"] is None else link["offered_load"])
    share = "infinite" if most["offered_load"] is None else percent(most["offered_load"])
    line = f"Offered load of the busiest link: {share}, at {most['name']} ({rate(most['offered_bps'])})."
    elastic = [flow for flow in resolved["flows"] if not flow["finite"] and not flow["application"]]
    if any(flow["signal"] != "nothing" for flow in elastic):
        line += " Unlimited flows are not counted."
    return line
