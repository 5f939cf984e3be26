"""Commands that simulate: `run`, `reproduce`, `bench`."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelflow.cli import drawing
from levelflow.cli.choosing import Changes, ScenarioName, Width, choose

if TYPE_CHECKING:
    from levelflow.results import Result
    from levelflow.scenario import Scenario

#: Kinds of pictures.
KINDS = ("png", "pdf", "svg")
#: Letters of `--set` in the name of a directory.
LONGEST_CHANGES = 80

app = typer.Typer()


@app.command()
def run(  # noqa: PLR0913, PLR0917 - options of the command line
    scenario: ScenarioName,
    changes: Changes = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    out: Annotated[Path | None, typer.Option(help="Result directory [default: results/NAME-CHANGES-seedSEED].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Write no pictures.")] = False,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="KINDS", help="Kinds of pictures: png, pdf, svg, or several, as in pdf,svg."),
    ] = "png",
    width: Annotated[
        Width, typer.Option(help="For a screen, or for a column (3.4 in) or a page (7 in) of a paper.")
    ] = Width.SCREEN,
    log: Annotated[bool, typer.Option("--log", help="Draw rates, queues and losses on logarithmic axes.")] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=64, help="Threads; results are the same [default: as many as pay].")
    ] = None,
    pcap: Annotated[Path | None, typer.Option(help="Write the headers of packets to this file, for Wireshark.")] = None,
    pcap_link: Annotated[
        list[str] | None, typer.Option("--pcap-link", metavar="NAME", help="Only those of this link; may be repeated.")
    ] = None,
) -> None:
    """Simulate a scenario; print and draw what came out."""
    kinds = _kinds(formats)
    if pcap_link and not pcap:
        raise typer.BadParameter("needs --pcap FILE", param_hint="--pcap-link")
    chosen = choose(scenario, changes, seed)
    resolved = chosen.resolve()
    from levelflow.capture import Capture  # not before the scenario is known to be one: a typo gets its line at once
    from levelflow.running import Interrupted

    target = out or Path("results") / directory(resolved["name"], changes or [], resolved["seed"])
    if replaced := _replaced(target, chosen, resolved):
        typer.echo(f"levelflow: {target}: replaces {replaced}", err=True)
    try:
        capture = Capture(pcap, pcap_link or ()) if pcap else None
        result = chosen.run(out=target, progress=sys.stderr.isatty(), capture=capture, threads=threads)
    except Interrupted as stopped:
        typer.echo(f"levelflow: {stopped}; {target} is complete up to then", err=True)
        raise typer.Exit(128 + stopped.signal) from None
    for line in resolved["warnings"]:
        typer.echo(f"levelflow: warning: {line}", err=True)
    if seed is not None and not resolved["random"]:
        typer.echo(
            "levelflow: warning: --seed: nothing here is drawn at random, so that all seeds come out the same", err=True
        )
    pictures = [] if no_plots else _draw(result, kinds, width, log, _command(scenario, changes, seed))
    if as_json:
        typer.echo(json.dumps(result.summary, indent=2, sort_keys=True))
        return
    from levelflow.cli.show import show_result

    show_result(result, pictures)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def reproduce(context: typer.Context) -> None:
    """Check the numbers that the papers print."""
    from levelflow.cli.reproduce import reproduce as command

    short = {"help_option_names": ["--help", "-h"]}
    claims = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=short)
    claims.command()(command)
    raise typer.Exit(claims(args=context.args, prog_name="levelflow reproduce", standalone_mode=False) or 0)


@app.command()
def bench() -> None:
    """Measure the speed and size of the engine; needs a checkout of Levelflow."""
    import subprocess

    from levelflow import ScenarioError
    from levelflow.library import checkout

    root = checkout()
    if root is None:
        raise ScenarioError("bench is a tool of the source code: run it in a checkout of Levelflow, as make bench")
    raise typer.Exit(subprocess.run([sys.executable, "-m", "tools.bench"], cwd=root, check=False).returncode)


def directory(name: str, changes: list[str], seed: int) -> str:
    """Returns the name of the directory of a run: that of the scenario, what `--set` changes of it, and the seed.

    Spaces and quotes are left out; other signs that a file system may refuse become `_`, and a digest tells them apart.

    >>> directory("pair", ["flow.first.rtt=1 s", "seed=2"], 2)
    'pair-flow.first.rtt=1s-seed2'
    """
    kept = [change for change in changes if change.partition("=")[0].strip() not in {"name", "seed"}]
    text = ",".join(re.sub(r"[\s\"']", "", change) for change in kept)
    safe = re.sub(r"[^A-Za-z0-9.,=-]", "_", text)
    if safe != text or len(safe) > LONGEST_CHANGES:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        safe = f"{safe[:LONGEST_CHANGES]}-{digest}"
    return "-".join([name, *([safe] if safe else []), f"seed{seed}"])


def _replaced(target: Path, chosen: Scenario, resolved: dict[str, Any]) -> str | None:
    """Returns what another scenario or seed left in a directory, if any did."""
    try:
        manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
        scenario, name, seed = manifest["raw"], manifest["scenario"]["name"], manifest["seed"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if (scenario, seed) == (json.loads(chosen.to_json()), resolved["seed"]):
        return None
    return f"a result of {name}{' with other values' if name == resolved['name'] else ''}, seed {seed}"


def _kinds(formats: str) -> list[str]:
    """Reads kinds of pictures, such as `pdf,svg`."""
    kinds = [kind.strip() for kind in formats.split(",")]
    for kind in kinds:
        if kind not in KINDS:
            raise typer.BadParameter(f"{kind!r} is not one of {', '.join(KINDS)}", param_hint="--format")
    return kinds


def _command(scenario: str, changes: list[str] | None, seed: int | None) -> str:
    """The command of a run, wherever it left its result."""
    chosen = [word for change in changes or [] for word in ("--set", change)]
    return shlex.join(["levelflow", "run", str(scenario), *chosen, *([] if seed is None else ["--seed", str(seed)])])


def _draw(result: Result, kinds: list[str], width: Width, log: bool, command: str) -> list[Path]:
    drawing.load()
    from levelflow.report import plots

    return plots.write(result, kinds, width.value, log=log, command=command)
