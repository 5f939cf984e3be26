"""The commands `levelflow import` and `levelflow export`."""

from __future__ import annotations

from pathlib import Path

import click

from levelflow.cli.choosing import PATH, Choice, read_changes, set_option

EXAMPLE = "Example: levelflow import fat_tree_128.topo perm_128.cm"


@click.command("import", epilog=EXAMPLE)
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=PATH,
    help="htsim: .topo, .cm, .tm; HPCC: configuration, topology, flows, trace; SNDlib XML; Rocketfuel .intra.",
)
@click.option("--out", type=PATH, help="The scenario file [default: NAME.toml].")
@click.option("--law", help="Law of all flows [default: dctcp in fabrics, cubic in backbones].")
@click.option("--duration", metavar="TIME", help="Duration of the run [default: from the files].")
@click.option(
    "--start-unit",
    type=Choice(["ps", "us"]),
    metavar="ps|us",
    help="Unit of start times in a connection matrix [default: the plausible one].",
)
@set_option
@click.option("--replace", is_flag=True, help="Replace an existing file.")
def import_(
    paths: tuple[Path, ...],
    out: Path | None,
    law: str | None,
    duration: str | None,
    start_unit: str | None,
    changes: tuple[str, ...],
    replace: bool,
) -> None:
    """Write a scenario for an experiment of another simulator.

    Lists on standard error what is assumed and what is not carried over.
    """
    from levelflow.cli.topology import write
    from levelflow.importing import build

    folder = out.parent if out else Path()
    made = build.read(paths, law=law, duration=duration, start_unit=start_unit, folder=folder)
    for key, value in read_changes(changes):
        made.scenario.set(key, value)
    target = out or Path(f"{made.scenario.raw['name']}.toml")
    made.scenario.origin = str(target)
    resolved = made.scenario.resolve()
    write(made.text(), target, replace)
    for note in [*made.notes, *(f"warning: {line}" for line in resolved["warnings"])]:
        click.echo(f"levelflow: {note}", err=True)
    nodes = len({node for link in made.scenario.raw["link"] for node in (link["from"], link["to"])})
    counts = f"{nodes} nodes, {len(made.scenario.raw['link'])} links, {len(resolved['flows'])} flow entries"
    click.echo(f"{target}: {counts}; levelflow run {target}")


@click.command()
@click.argument("result", type=PATH, metavar="RESULT", help="A result directory of `levelflow run`.")
@click.option("--out", type=PATH, help="The file [default: RESULT/fct.txt].")
@click.option("--replace", is_flag=True, help="Replace an existing file.")
def export(result: Path, out: Path | None, replace: bool) -> None:
    """Write completion times in the format of HPCC's fct.txt."""
    from levelflow import Result
    from levelflow.cli.topology import write
    from levelflow.importing import fct

    text = fct.text(Result.load(result))
    target = out or result / "fct.txt"
    write(text, target, replace)
    click.echo(f"{target}: {text.count(chr(10))} transfers")
