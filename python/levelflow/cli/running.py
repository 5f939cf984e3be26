"""The command `run`."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from levelflow.cli import drawing
from levelflow.cli.choosing import (
    PATH,
    Whole,
    choose,
    format_option,
    law_file_option,
    scenario_argument,
    set_option,
    shortened,
    width_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.records import ScenarioRecord
    from levelflow.results import Result
    from levelflow.scenario import Scenario

#: Limit on the number of letters that `--set` adds to the name of a directory.
LONGEST_CHANGES = 80


@click.command()
@scenario_argument
@set_option
@law_file_option
@click.option("--seed", type=Whole(0), help="Seed of all random streams.")
@click.option("--out", type=PATH, help="Result directory [default: results/NAME-CHANGES-seedSEED].")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--no-plots", is_flag=True, help="Write no pictures.")
@format_option
@width_option
@click.option("--log", is_flag=True, help="Draw rates, queues and losses on logarithmic axes.")
@click.option(
    "--threads", type=Whole(1, 64), help="Number of threads; has no effect on results [default: the fastest]."
)
@click.option("--pcap", type=PATH, help="Write the headers of packets to this file, for Wireshark.")
@click.option("--pcap-link", multiple=True, metavar="NAME", help="Only packets of this link; may be repeated.")
def run(
    scenario: str,
    changes: tuple[str, ...],
    law_files: tuple[Path, ...],
    seed: int | None,
    out: Path | None,
    as_json: bool,
    no_plots: bool,
    kinds: list[str],
    width: str,
    log: bool,
    threads: int | None,
    pcap: Path | None,
    pcap_link: tuple[str, ...],
) -> None:
    """Simulate a scenario; print and draw the results."""
    if pcap_link and not pcap:
        raise click.BadParameter("needs --pcap FILE", param_hint="--pcap-link")
    chosen = choose(scenario, changes, seed, law_files)
    resolved = chosen.resolve()
    from levelflow.capture import Capture  # imported late, so that typos are reported fast
    from levelflow.running import Interrupted

    target = out or Path("results") / directory(resolved["name"], changes, resolved["seed"])
    if replaced := _replaced(target, chosen, resolved):
        click.echo(f"levelflow: {target}: replaces {replaced}", err=True)
    try:
        capture = Capture(pcap, pcap_link) if pcap else None
        result = chosen.run(out=target, progress=sys.stderr.isatty(), capture=capture, threads=threads)
    except Interrupted as stopped:
        kept = "" if stopped.result.path == target else f", and {target} keeps its earlier result"
        click.echo(f"levelflow: {stopped}; {stopped.result.path} is complete up to then{kept}", err=True)
        sys.exit(128 + stopped.signal)
    for line in shortened(result.summary["warnings"], "warnings"):
        click.echo(f"levelflow: warning: {line}", err=True)
    if seed is not None and not resolved["random"]:
        click.echo(
            "levelflow: warning: --seed: the scenario is not random, so all seeds give the same result", err=True
        )
    pictures = [] if no_plots else _draw(result, kinds, width, log, _command(scenario, changes, law_files, seed))
    if as_json:
        click.echo(json.dumps(result.summary, indent=2, sort_keys=True))
        return
    from levelflow.cli.show import show_result

    show_result(result, pictures)


def directory(name: str, changes: Sequence[str], seed: int) -> str:
    """Returns the directory name of a run: name of the scenario, changes by `--set`, and seed.

    Spaces and quotes are removed. Other characters that a file system may reject become `_`, and a digest keeps names
    distinct.

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


def _replaced(target: Path, chosen: Scenario, resolved: ScenarioRecord) -> str | None:
    """Returns a description of the result in a directory if it is from another run; None otherwise."""
    try:
        manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
        scenario, name, seed = manifest["raw"], manifest["scenario"]["name"], manifest["seed"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if (scenario, seed) == (json.loads(chosen.to_json()), resolved["seed"]):
        return None
    return f"a result of {name}{' with other values' if name == resolved['name'] else ''}, seed {seed}"


def _command(scenario: str, changes: Sequence[str], law_files: Sequence[Path], seed: int | None) -> str:
    """Returns the command line of a run without its output directory."""
    chosen = [word for change in changes for word in ("--set", change)]
    chosen += [word for file in law_files for word in ("--law-file", str(file))]
    return shlex.join(["levelflow", "run", str(scenario), *chosen, *([] if seed is None else ["--seed", str(seed)])])


def _draw(result: Result, kinds: list[str], width: str, log: bool, command: str) -> list[Path]:
    drawing.load()
    from levelflow.report import plots

    return plots.write(result, kinds, width, log=log, command=command)
