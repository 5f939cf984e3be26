"""`levelflow theory maxmin`."""

from __future__ import annotations

import click

from levelflow.cli.choosing import scenario_argument, set_option
from levelflow.cli.theory.shared import at_option, json_option


@click.command(epilog='Example: levelflow theory maxmin parking-lot --at "60 s"')
@scenario_argument
@set_option
@at_option
@json_option
def maxmin(scenario: str, changes: tuple[str, ...], at: str | None, as_json: bool) -> None:
    """Print max-min fair rates: no rate can increase without reducing an equal or smaller rate."""
    from levelflow.cli.theory.shared import competition_of, flow_rows, link_rows, reply, show_rates
    from levelflow.theory.laws import weights
    from levelflow.theory.networks.assignment import bottleneck_sets
    from levelflow.theory.networks.maxmin import maxmin as fill
    from levelflow.theory.networks.maxmin import unfairness

    found = competition_of(scenario, changes, at)
    problem, counted = (found.routes, found.available), weights(found)
    totals = fill(*problem, counted)
    flows, links = flow_rows(found, totals), link_rows(found, totals)
    for row, own in zip(flows, bottleneck_sets(*problem, totals, counted), strict=True):
        row["bottlenecks"] = [found.links[link]["name"] for link in own]
    data = {"flows": flows, "links": links, "unfairness": float(unfairness(*problem, totals, counted).max())}
    limits = [", ".join(row["bottlenecks"]) for row in flows]
    reply(as_json, data, lambda: show_rates(flows, links, "bottleneck", limits))
