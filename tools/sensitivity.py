"""Over which range of a parameter that a paper does not print do its claims hold? `python -m tools.sensitivity`.

Measures figures again with other values, by the same checks, and prints a table in Markdown.
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
from levelflow.scenario import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Parameter:
    """A parameter that is not printed, and the figures whose claims may depend on it.

    Attributes:
        what: in words, with the value that the figures have.
        path: of the value in their scenarios.
        values: others, from small to large.
        figures: folders or entries.
    """

    what: str
    path: str
    values: tuple[str, ...]
    figures: tuple[str, ...]


PARAMETERS = (
    Parameter(
        "JetMax: first rate (40 kb/s)",
        "law.jetmax.initial_rate",
        ("10 kb/s", "100 kb/s", "300 kb/s", "1 Mb/s"),
        ("jetmax-fig35a", "jetmax-fig37"),
    ),
    Parameter(
        "JetMax: packets in an interval (10)",
        "law.jetmax.packets_per_interval",
        ("3", "30"),
        ("jetmax-fig35a", "jetmax-fig37"),
    ),
    Parameter(
        "JetMax: zero-price band (0.05)", "law.jetmax.eps_p", ("0.01", "0.1"), ("jetmax-fig37", "jetmax-fig38-39b")
    ),
    Parameter(
        "EMKC: first rate (100 kb/s)", "law.emkc.initial_rate", ("20 kb/s", "500 kb/s", "2 Mb/s"), ("emkc-senders",)
    ),
    Parameter("Kunniyur and Srikant: kappa (0.1)", "law.ks.kappa", ("0.01", "0.03", "0.3", "1"), ("experiment-2",)),
    Parameter("XCP: longest interval (none)", "law.xcp.longest_interval", ("1 s", "10 s"), ("xcp-baselines",)),
    Parameter("RCP: buffer (C x RTPD)", "link.A->B.buffer", ("0.5 BDP", "4 BDP"), ("rcp-fig5",)),
)


def table(parameters: tuple[Parameter, ...], workers: int | None) -> Iterator[str]:
    """Yields a row for each parameter, figure and value: what came out, and which verdicts changed."""
    yield "| parameter | figure | value | checks that hold | changed |"
    yield "|---|---|---|---|---|"
    for parameter in parameters:
        claims = model.select(model.discover(PAPERS), parameter.figures)
        usual = measured(claims, (), workers)
        for value in ("as it is", *parameter.values):
            changes = () if value == "as it is" else ((parameter.path, value_of(value)),)
            found = measured(claims, changes, workers) if changes else usual
            for name, verdicts in found.items():
                held = Counter(verdict in FAILED for verdict in verdicts.values())[False]
                turned = [
                    f"{check} {verdict}"
                    for check, verdict in verdicts.items()
                    if (verdict in FAILED) != (usual[name][check] in FAILED)
                ]
                yield f"| {parameter.what} | {name} | {value} | {held} of {len(verdicts)} | {', '.join(turned)} |"


def measured(
    claims: list[model.Claim], changes: tuple[tuple[str, Any], ...], workers: int | None
) -> dict[str, dict[str, str]]:
    """Returns the verdicts of the checks of each figure."""
    figures = runner.measure_all(claims, workers=workers, changes=changes)
    return {
        figure.claim.folder.name: {f"{o.entry.id}[{o.index}]": o.verdict for o in figure.outcomes} for figure in figures
    }


def main(arguments: list[str] | None = None) -> None:
    """Prints the table of all parameters, or of those whose path contains a text."""
    parser = argparse.ArgumentParser(prog="python -m tools.sensitivity", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="parameters whose path contains this")
    parser.add_argument("--workers", type=int, help="runs side by side; one per processor")
    options = parser.parse_args(arguments)
    chosen = tuple(parameter for parameter in PARAMETERS if options.only in parameter.path)
    if not chosen:
        parser.error(f"--only {options.only}: needs a part of {', '.join(p.path for p in PARAMETERS)}")
    for line in table(chosen, options.workers):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
