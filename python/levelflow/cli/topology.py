"""The command `levelflow topology`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from levelflow.cli.choosing import PATH, Whole, read_changes, set_option
from levelflow.cli.offered import offered

if TYPE_CHECKING:
    from collections.abc import Callable


def _attribute(key: str, example: str, more: str) -> Callable[[Any], Any]:
    """Returns the command-line option that names the edge attribute for a link key, such as `capacity`."""
    unit = ":UNIT" if ":" in example else ""
    usual = f"{key}, or else {more}" if more else key
    text = f"Edge attribute of the {key}, as in {example} [default: {usual}]."
    return click.option(f"--{key}-attribute", metavar=f"NAME{unit}", default=key, show_default=False, help=text)


@click.command()
@click.argument(
    "what",
    metavar="FILE|KIND:NUMBERS",
    help="A file (GraphML, GML, SNDlib XML, Rocketfuel .intra), or dumbbell:PAIRS, parking-lot:LINKS, star:HOSTS, "
    "leaf-spine:LEAVESxSPINESxHOSTS, fat-tree:K, waxman:NODES, random-regular:NODESxDEGREE.",
)
@click.option("--out", type=PATH, help="The scenario file [default: NAME.toml].")
@click.option(
    "--traffic", default="permutation", help="Traffic matrix: all-to-all, permutation, incast, gravity, random."
)
@click.option("--flows", type=Whole(1), help="Number of flows, for gravity and random.")
@click.option("--law", default="level", help="Law of all flows.")
@click.option(
    "--load", metavar="SHARE", help="Offered load of the busiest link, as in 0.8 or 80%; scales all arrivals."
)
@click.option("--capacity", metavar="RATE", default="1 Gb/s", help="Capacity of links without one.")
@click.option("--delay", metavar="TIME", help="Delay of links without one and without coordinates.")
@_attribute("capacity", "bandwidth:Mb/s", "LinkSpeedRaw, LinkLabel or label")
@_attribute("delay", "latency:ms", "coordinates")
@_attribute("weight", "cost", "")
@click.option("--duration", default="10 s", help="Duration of the run.")
@click.option("--duplex", is_flag=True, help="Add the opposite direction where a directed file lists only one.")
@click.option("--ecmp", is_flag=True, help="Flows share paths of equal weight.")
@click.option("--seed", type=Whole(0), default=1, help="Seed of random graphs and traffic.")
@set_option
@click.option("--replace", is_flag=True, help="Replace an existing file.")
def topology(
    what: str,
    out: Path | None,
    traffic: str,
    flows: int | None,
    law: str,
    load: str | None,
    capacity: str,
    delay: str | None,
    capacity_attribute: str,
    delay_attribute: str,
    weight_attribute: str,
    duration: str,
    duplex: bool,
    ecmp: bool,
    seed: int,
    changes: tuple[str, ...],
    replace: bool,
) -> None:
    """Write a scenario for a topology from a file, such as those of the Topology Zoo, or for a generated topology."""
    from levelflow import Scenario, ScenarioError
    from levelflow.theory.units import ratio
    from levelflow.topology import graphs, links
    from levelflow.topology import traffic as matrices

    wanted = None if load is None else ratio(load)
    path = Path(what)
    is_file = path.suffix.lower() in {".graphml", ".xml", ".gml", ".intra"} or path.exists()
    graph = links.read(path, duplex) if is_file else graphs.generate(what, seed)
    graph, notes = links.largest_part(graph)
    name = path.stem if is_file else what.replace(":", "-")
    usual = "1 ms" if is_file else "10 us"
    attributes = (capacity_attribute, delay_attribute, weight_attribute)
    scenario = Scenario(name, duration)
    scenario.raw["link"], read = links.entries(
        graph, name, capacity=capacity, delay=delay or usual, attributes=attributes
    )
    if ecmp:
        scenario.set("routing", "ecmp")
    matrices.add(scenario, matrices.pairs(graph, traffic, flows, seed), law)
    for key, value in read_changes(changes):
        scenario.set(key, value)
    try:
        if wanted is not None:
            matrices.scale(scenario, wanted)
        resolved = scenario.resolve()
    except ScenarioError as error:
        # A wrong option gives the same mistake at every link or flow, so each mistake is reported only once.
        first = {line.partition(": ")[2]: line for line in reversed(str(error).splitlines())}
        raise ScenarioError("\n".join(reversed(first.values()))) from None
    target = out or Path(f"{scenario.raw['name']}.toml")
    write(scenario.to_toml(), target, replace)
    for note in [*notes, *(read if is_file else []), *(f"warning: {line}" for line in resolved["warnings"])]:
        click.echo(f"levelflow: {note}", err=True)
    nodes, edges, entries = graph.number_of_nodes(), len(scenario.raw["link"]), len(scenario.raw["flow"])
    click.echo(f"{target}: {nodes} nodes, {edges} links, {entries} flows; levelflow run {target}")
    if said := offered(resolved):
        click.echo(said)


def write(text: str, target: Path, replace: bool) -> None:
    """Writes a scenario file.

    Raises:
        ScenarioError: If the file exists and may not be replaced, or is not writable.
    """
    from levelflow import ScenarioError, files

    if target.exists() and not replace:
        raise ScenarioError(f"{target}: is there already; choose another --out, or --replace it")
    try:
        files.replace(target, text)
    except OSError as error:
        raise ScenarioError(f"{target}: {(error.strerror or str(error)).lower()}") from None
