"""The group `levelflow convergence`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import PATH, Whole, read_changes, set_option, workers_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from levelflow.convergence.network import Network
    from levelflow.convergence.records import Record


@click.group()
def convergence() -> None:
    """Test which laws converge to their reference rates on random networks."""


@convergence.command(epilog="Example: levelflow convergence run level jetmax --networks 2 --family chain")
@click.argument(
    "laws", nargs=-1, metavar="[LAW]...", help="Laws to compare [default: all laws whose routers write headers]."
)
@click.option("--networks", type=Whole(1, 1_000_000), default=10, help="Number of networks of each family.")
@click.option("--first", type=Whole(0, 2**31), default=0, help="Seed of the first network.")
@click.option("--family", multiple=True, help="Family of networks; may be repeated [default: all families].")
@set_option
@workers_option
@click.option(
    "--json",
    type=PATH,
    metavar="FILE.jsonl",
    help="Append a line per run to this file. Runs in the file are not repeated.",
)
@click.option("--out", type=PATH, metavar="DIR", help="Directory of the pictures.")
def run(
    laws: tuple[str, ...],
    networks: int,
    first: int,
    family: tuple[str, ...],
    changes: tuple[str, ...],
    workers: int | None,
    json: Path | None,
    out: Path | None,
) -> None:
    """Run laws on random networks. Print the fraction that settles, settling times and drops as Markdown.

    A law settles if the rate of each flow stays within 5 % of its reference. With even seeds, all flows start at time
    0. With odd seeds, they start at random times, and other flows arrive and leave before settling is measured.
    """
    from levelflow.convergence.benchmark import compare, keys_of
    from levelflow.convergence.families import FAMILIES
    from levelflow.convergence.table import table
    from levelflow.report.warned import tally
    from levelflow.workers import Bar

    chosen = _known("law", laws, _laws())
    keys = keys_of(
        chosen, _known("family", family, list(FAMILIES)), range(first, first + networks), read_changes(changes)
    )
    _writable(json)
    _directory(out)

    def execute() -> None:
        with Bar("runs") as bar:
            records.extend(compare(keys, workers, json, bar))

    records: list[Record] = []
    _leave(_stopped(execute))
    for line in tally(record.outcome.warnings for record in records):
        click.echo(f"levelflow: warning: {line}", err=True)
    click.echo("\n".join(table(records)))
    if out is not None:
        from levelflow.convergence.pictures import draw

        for path in draw(records, out):
            click.echo(path)


@convergence.command(epilog="Example: levelflow convergence search jetmax --runs 200 --out smallest")
@click.argument("law", help="The law.")
@click.option("--runs", type=Whole(1, 100_000_000), default=1000, help="Limit on the number of runs.")
@click.option("--minutes", type=Whole(1, 1_000_000), help="Time limit, minutes.")
@click.option("--seed", type=Whole(0, 2**31), default=1, help="Seed of the search.")
@click.option(
    "--start",
    metavar="FAMILY-SEED",
    help="Shrink only this network of `run`, as in ties-5.",
)
@workers_option
@click.option("--out", type=PATH, metavar="DIR", help="Directory for the smallest networks as scenarios.")
def search(
    law: str, runs: int, minutes: int | None, seed: int, start: str | None, workers: int | None, out: Path | None
) -> None:
    """Search for the smallest network on which a law fails.

    The search changes small random trees step by step, as long as the settling time increases. A law fails if a flow
    is not within 5 % of its reference. A lossless law also fails if it drops a packet. A failing network is shrunk as
    long as the law still fails on it.
    """
    import time

    import numpy as np

    from levelflow.convergence.driver import Driver, trial
    from levelflow.convergence.search import Search, report, write
    from levelflow.workers import Bar

    _known("law", [law], _laws())
    given, run_seed = (None, 1) if start is None else _network(start)
    _directory(out)
    until_s = np.inf if minutes is None else time.monotonic() + 60 * minutes

    found = Search(law)
    driver = Driver(trial(law, run_seed), runs, until_s, workers)

    def execute() -> None:
        with Bar("runs at most") as driver.progress:
            driver.execute(found.run(seed) if given is None else found.shrink(given))

    stopped = _stopped(execute)
    click.echo("\n".join(report(found, len(driver.known))))
    for path in write(found, run_seed, out) if out else []:
        click.echo(path)
    _leave(stopped)


def _network(name: str) -> tuple[Network, int]:
    from levelflow import ScenarioError
    from levelflow.convergence.families import FAMILIES, network

    family, _, seed = name.partition("-")
    if family not in FAMILIES or not (seed.isascii() and seed.isdigit() and len(seed) < 10):
        raise ScenarioError(
            f"--start {name!r}: needs a family and a seed, as in ties-5; families: {', '.join(FAMILIES)}"
        )
    return network(family, int(seed))[1], int(seed) + 1


def _laws() -> list[str]:
    from levelflow.convergence.trial import laws

    return laws()


def _known(kind: str, asked: Sequence[str], known: list[str]) -> list[str]:
    from levelflow import ScenarioError
    from levelflow.words import nearest

    for name in asked:
        if name not in known:
            raise ScenarioError(f"no {kind} {name!r}; {nearest(name, known)}")
    return list(dict.fromkeys(asked or known))


def _writable(target: Path | None) -> None:
    """Rejects a file that is not writable, before the runs start."""
    from levelflow import ScenarioError

    if target is not None and (target.is_dir() or not target.parent.is_dir()):
        raise ScenarioError(f"--json {target}: {'is a directory' if target.is_dir() else 'no such directory'}")


def _directory(target: Path | None) -> None:
    """Rejects a directory that cannot be created, before the runs start."""
    from levelflow import ScenarioError

    try:
        if target is not None:
            target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScenarioError(f"--out {target}: {(error.strerror or str(error)).lower()}") from None


def _stopped(work: Callable[[], None]) -> bool:
    """Calls `work` and returns True if Ctrl-C interrupted it."""
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False


def _leave(stopped: bool) -> None:
    if stopped:
        from levelflow.ending import interrupted

        click.echo("levelflow: interrupted", err=True)
        sys.exit(interrupted())
