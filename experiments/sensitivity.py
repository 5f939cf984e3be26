"""Values of an unprinted parameter with which a paper's claims hold: `python -m experiments.sensitivity`.

Measures the figures again with other values of the parameter, and applies the same checks. Prints a Markdown table for
each parameter.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.library import PAPERS
from levelflow.reproduce import model, runner
from levelflow.reproduce.verdict import FAILED
from levelflow.words import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Parameter:
    """A parameter whose value a paper does not print, and the figures whose claims may depend on it.

    Attributes:
        what: description, with the value in the figures.
        paths: paths of the value in the scenarios of the figures.
        values: other values, in ascending order.
        figures: folders or entries of `papers/`.
    """

    what: str
    paths: tuple[str, ...]
    values: tuple[str, ...]
    figures: tuple[str, ...]


PARAMETERS = {
    "jetmax-first-rate": Parameter(
        "JetMax: first rate (40 kb/s)",
        ("law.jetmax.initial_rate",),
        ("10 kb/s", "100 kb/s", "300 kb/s", "1 Mb/s"),
        ("jetmax-fig35a", "jetmax-fig36d"),
    ),
    "jetmax-packets": Parameter(
        "JetMax: target number of packets per flow and interval, which sets the packet size (10)",
        ("law.jetmax.packets_per_interval",),
        ("3", "30"),
        ("jetmax-fig35a", "jetmax-fig36d"),
    ),
    "jetmax-band": Parameter(
        "JetMax: largest price that counts as zero (0.05)",
        ("law.jetmax.eps_p",),
        ("0.01", "0.1"),
        ("jetmax-fig36c", "jetmax-fig37"),
    ),
    "jetmax-jitter": Parameter(
        "JetMax on T2: starts of x1 to x99 (within 1 s)",
        ("flow.1.start",),
        ("0 s", "{ uniform = ['0 s', '0.1 s'] }", "{ uniform = ['0 s', '4 s'] }"),
        ("jetmax-fig36a",),
    ),
    "jetmax-buffer": Parameter(
        "JetMax on T1: buffer (64 kB)", ("link.R1->R2.buffer",), ("5 kB", "20 kB", "2.525 MB"), ("jetmax-fig35a",)
    ),
    "emkc-first-rate": Parameter(
        "EMKC: first rate (100 kb/s)",
        ("law.emkc.initial_rate",),
        ("20 kb/s", "500 kb/s", "2 Mb/s"),
        ("emkc-senders",),
    ),
    "ks-kappa": Parameter(
        "Kunniyur and Srikant: kappa (experiment 1: 1, corrected 0.3; experiment 2: 0.1)",
        ("law.ks.kappa",),
        ("0.01", "0.03", "0.1", "0.3", "1"),
        ("experiment-1", "experiment-2"),
    ),
    "xcp-interval": Parameter(
        "XCP: longest interval (none)", ("law.xcp.longest_interval",), ("1 s", "10 s"), ("xcp-baselines",)
    ),
    "rcp-buffer": Parameter(
        "RCP: buffer (capacity times round-trip propagation delay)",
        ("link.A->B.buffer",),
        ("0.1 BDP", "0.5 BDP", "4 BDP"),
        ("rcp-fig5",),
    ),
    "rcp-interval": Parameter(
        "RCP: control interval T (10 ms)",
        ("law.rcp.interval",),
        ("1 ms", "50 ms", "200 ms"),
        ("onset-of-instability",),
    ),
    "rcp-round-trip": Parameter(
        "RCP, figure 3: round trip of both groups (100 ms)",
        ("flow.A.rtt", "flow.B.rtt", "law.rcp.initial_rtt"),
        ("50 ms", "200 ms", "400 ms"),
        ("rcp-fig3",),
    ),
    "abs-round-trip": Parameter(
        "ABS: round trips (30 to 70 ms)",
        ("flow.x.rtt",),
        ("{ uniform = ['10 ms', '30 ms'] }", "{ uniform = ['100 ms', '200 ms'] }"),
        ("abs-fig46-47",),
    ),
}


def section(name: str, parameter: Parameter, workers: int | None) -> Iterator[str]:
    """Yields a heading, the command, and a row per figure and value, with the verdicts and their changes."""
    yield f"## {parameter.what}"
    yield f"`python -m experiments.sensitivity --only {name}`"
    yield ""
    yield "| figure | value | checks that hold | what changes |"
    yield "|---|---|---|---|"
    claims = model.select(model.discover(PAPERS), parameter.figures)
    usual: Mapping[str, Mapping[str, str]] = {}
    for value in (AS_IT_IS, *parameter.values):
        changes = () if value == AS_IT_IS else tuple((path, value_of(value)) for path in parameter.paths)
        found = measured(claims, changes, workers)
        usual = usual or found
        yield from rows(value, found, usual)
    yield ""


def rows(value: str, found: Mapping[str, Mapping[str, str]], usual: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yields a row per figure: the number of checks that hold as printed, and the verdicts that changed."""
    for name, verdicts in sorted(found.items()):
        held = Counter(verdicts.values())["reproduced"]
        turned = {check: verdict for check, verdict in verdicts.items() if verdict != usual[name][check]}
        lost = ", ".join(check for check, verdict in turned.items() if verdict in FAILED)
        others = ", ".join(f"{check} {verdict}" for check, verdict in turned.items() if verdict not in FAILED)
        said = "; ".join(filter(None, (lost and f"fails: {lost}", others and f"now {others}")))
        yield f"| {name} | {value} | {held} of {len(verdicts)} | {said} |"


def measured(
    claims: Sequence[model.Claim], changes: tuple[tuple[str, Any], ...], workers: int | None
) -> dict[str, dict[str, str]]:
    """Returns the verdicts of each figure's checks."""
    figures = runner.measure_all(claims, workers=workers, changes=changes)
    return {
        figure.claim.folder.name: {f"{o.entry.id}[{o.index}]": o.verdict for o in figure.outcomes} for figure in figures
    }


def main(arguments: list[str] | None = None) -> None:
    """Prints the tables of all parameters, or the table of one parameter."""
    parser = argparse.ArgumentParser(prog="python -m experiments.sensitivity", description=__doc__)
    parser.add_argument("--only", choices=PARAMETERS, metavar="NAME", help=f"one of {', '.join(PARAMETERS)}")
    parser.add_argument("--workers", type=int, help="runs side by side; one per processor")
    options = parser.parse_args(arguments)
    for name in [options.only] if options.only else PARAMETERS:
        for line in section(name, PARAMETERS[name], options.workers):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
