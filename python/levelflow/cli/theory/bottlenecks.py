"""`levelflow theory bottlenecks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import scenario_argument, set_option
from levelflow.cli.theory.shared import at_option, json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.networks.assignment import Assignment


@click.command(epilog="Example: levelflow theory bottlenecks parking-lot --out bottlenecks.png")
@scenario_argument
@set_option
@at_option
@out_option
@json_option
def bottlenecks(scenario: str, changes: tuple[str, ...], at: str | None, out: Path | None, as_json: bool) -> None:
    """Show the link that limits each flow at max-min fair rates, and the order in which links settle.

    A flow follows its bottleneck. On its other links it is unresponsive: it disturbs the flows that follow these links.
    The picture shows links as boxes, and an arrow from each flow to the boxes where it disturbs.
    """
    from levelflow.cli.theory.shared import competition_of, reply
    from levelflow.theory.laws import weights
    from levelflow.theory.networks.assignment import assign, bottleneck_sets
    from levelflow.theory.networks.maxmin import maxmin

    found = competition_of(scenario, changes, at)
    problem, counted = (found.routes, found.available), weights(found)
    sets = bottleneck_sets(*problem, maxmin(*problem, counted), counted)
    # A flow with several bottlenecks follows the first one, so all flows choose in the same order.
    assignment = assign(found.routes, [own[0] for own in sets], len(found.links))
    flows, links = [flow["name"] for flow in found.entries], [link["name"] for link in found.links]
    data = {
        "flows": [
            {"name": name, "bottlenecks": [links[link] for link in own]} for name, own in zip(flows, sets, strict=True)
        ],
        "order": [[links[link] for link in layer] for layer in assignment.layers()],
        "disturbs": [[flows[flow], flows[other]] for flow, other in assignment.graph().edges],
    }

    def draw() -> Figure:
        from levelflow.theory.pictures.graphs import dependency_graph

        return dependency_graph(assignment, flows, links)

    reply(as_json, data, lambda: _show(assignment, sets, flows, links), out, draw)


def _show(assignment: Assignment, sets: list[list[int]], flows: list[str], links: list[str]) -> None:
    from levelflow.cli.show import show_table

    edges = assignment.graph().edges
    rows = [
        [name, ", ".join(links[link] for link in own), ", ".join(flows[o] for f, o in edges if f == flow)]
        for flow, (name, own) in enumerate(zip(flows, sets, strict=True))
    ]
    show_table("Flows", ["flow", "bottlenecks", "disturbs"], rows, numbers=False)
    rows = [
        [
            links[link],
            str(turn),
            ", ".join(flows[flow] for flow in assignment.responsive(link)),
            ", ".join(flows[flow] for flow in assignment.unresponsive(link)),
        ]
        for turn, layer in enumerate(assignment.layers(), 1)
        for link in layer
    ]
    show_table(
        "Links, in the order in which they settle", ["link", "turn", "responsive", "unresponsive"], rows, numbers=False
    )
