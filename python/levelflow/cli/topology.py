"""The command `levelflow topology`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def topology(  # noqa: PLR0913, PLR0917 - options of the command line
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE|KIND:NUMBERS",
            help="A GraphML or GML file, or dumbbell:PAIRS, parking-lot:LINKS, star:HOSTS, "
            "leaf-spine:LEAVESxSPINESxHOSTS, fat-tree:K, waxman:NODES, random-regular:NODESxDEGREE.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The scenario file [default: NAME.toml].")] = None,
    traffic: Annotated[
        str, typer.Option(help="Who sends to whom: all-to-all, permutation, incast, gravity, random.")
    ] = "permutation",
    flows: Annotated[int | None, typer.Option(min=1, help="How many, of gravity and random.")] = None,
    law: Annotated[str, typer.Option(help="The law of all flows.")] = "level",
    capacity: Annotated[str, typer.Option(help="Of links that say none.")] = "1 Gb/s",
    delay: Annotated[str | None, typer.Option(help="Of links that say none, nor where they are.")] = None,
    duration: Annotated[str, typer.Option(help="Of the run.")] = "10 s",
    duplex: Annotated[
        bool, typer.Option("--duplex", help="Take links of a directed file for both directions.")
    ] = False,
    ecmp: Annotated[bool, typer.Option("--ecmp", help="Flows share paths of equal weight.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 1,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the file.")] = False,
) -> None:
    """Write a scenario of a topology: of a file, such as those of the Topology Zoo, or generated."""
    from levelflow import ScenarioError
    from levelflow.report import files
    from levelflow.topology import graphs, links
    from levelflow.topology import traffic as matrices

    path = Path(what)
    is_file = path.suffix.lower() in {".graphml", ".xml", ".gml"} or path.exists()
    graph = links.read(path, duplex) if is_file else graphs.generate(what, seed)
    graph, notes = links.largest_part(graph)
    name = path.stem if is_file else what.replace(":", "-")
    usual = "1 ms" if is_file else "10 us"
    scenario, assumed = links.scenario(graph, name, duration, capacity=capacity, delay=delay or usual)
    if ecmp:
        scenario.set("routing", "ecmp")
    matrices.add(scenario, matrices.pairs(graph, traffic, flows, seed), law)
    try:
        scenario.resolve()
    except ScenarioError as error:  # a mistake in an option is one of every link or flow
        first = {line.partition(": ")[2]: line for line in reversed(str(error).splitlines())}
        raise ScenarioError("\n".join(reversed(first.values()))) from None
    target = out or Path(f"{name}.toml")
    if target.exists() and not replace:
        raise ScenarioError(f"{target}: is there already; choose another --out, or --replace it")
    try:
        files.replace(target, scenario.to_toml())
    except OSError as error:
        raise ScenarioError(f"{target}: {(error.strerror or str(error)).lower()}") from None
    for note in [*notes, *(assumed if is_file else [])]:
        typer.echo(f"levelflow: {note}", err=True)
    nodes, edges, entries = graph.number_of_nodes(), len(scenario.raw["link"]), len(scenario.raw["flow"])
    typer.echo(f"{target}: {nodes} nodes, {edges} links, {entries} flows; levelflow run {target}")
