"""Lists checks of packets that do not depend on packets: `python -m tools.blind [--runs FOLDER] [ID]...`.

Each figure is measured with the results of its runs, and again after the numbers in one table of these results have
been changed (*bent*). The value of a check that measures packets then changes. If a number does not change, a formula
determines it, and the check cannot fail. A truth value or a text may also stay the same because the bent tables have
the same property. The code of the measurement shows if this is the reason. The tool also lists checks of theory and
code whose values depend on runs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from levelflow.ending import BAD_INPUT
from levelflow.library import PAPERS
from levelflow.reproduce import runner
from levelflow.reproduce.figure import Figure, Runs, scenario_key
from levelflow.reproduce.model import ClaimError, discover, select
from levelflow.reproduce.verdict import Noted, Readings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from levelflow.reproduce.model import Claim
    from levelflow.results import Result
    from levelflow.scenario import Scenario

TABLES = ("flows", "links", "transfers", "members", "summary")
#: Number of values after which changes repeat, and largest change of a number relative to itself.
PERIOD, PART = 11, 3.0
#: Columns that are no measurement: times of samples and starts, and numbers of members.
KEPT = ("t", "start_s", "member")


class Bent(Runs):
    """Runs whose results have one changed table. The change differs from run to run."""

    table = ""

    def get(self, scenario: Scenario) -> Result:
        """Returns the result of a scenario, with the table changed."""
        result = super().get(scenario)
        shift = int(scenario_key(scenario)[:8], 16)
        return replace(result, **{self.table: bent(getattr(result, self.table), shift)}) if self.table else result


def bent(value: Any, shift: int) -> Any:
    """Returns a table or a summary with other numbers. The change differs from number to number."""
    if isinstance(value, pl.DataFrame):
        numbers = {name: kind for name, kind in value.schema.items() if kind.is_numeric() and name not in KEPT}
        factor = 1 + PART * ((pl.int_range(pl.len()) * 7 + shift) % PERIOD) / PERIOD
        return value.with_columns(
            pl.col(name) * factor if kind.is_float() else ((pl.col(name) + 1) * factor).cast(kind)
            for name, kind in numbers.items()
        )
    places = itertools.count(shift)

    def changed(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: changed(item) for key, item in part.items()}
        if isinstance(part, list):
            return [changed(item) for item in part]
        if isinstance(part, bool) or not isinstance(part, int | float):
            return part
        factor = 1 + PART * (next(places) * 7 % PERIOD) / PERIOD
        return round((part + 1) * factor) if isinstance(part, int) else part * factor

    return changed(value)


def wrong(claim: Claim, runs: Bent) -> Iterator[str]:
    """Yields a line per check of packets that does not depend on runs, and per other check that depends on runs."""
    module = runner._module(claim)

    def values(table: str) -> Mapping[str, Mapping[str, Any]] | None:
        runs.table = table
        figure = Figure(claim, runs, full=False, every_draw=False)
        found = module.measure(figure)
        return found if table or figure.results else None

    laws = runner.available()
    plain, others, known = values(""), [], True
    for table in TABLES if plain else ():
        try:
            others.append(values(table))
        except Exception as error:  # any error of a figure that cannot use the changed table
            known = False
            print(f"{claim.name}: no values with other {table}: {type(error).__name__}: {error}", file=sys.stderr)
    for entry in claim.entries:
        for i, (key, check) in enumerate(zip(entry.keys, entry.check, strict=True)):
            if check.withdrawn or check.missing(laws):
                continue
            depends = any(_plain(other[entry.id][key]) != _plain(plain[entry.id][key]) for other in others)
            if depends is not entry.ground(check).startswith("packets") and (depends or known):
                what = "depends on runs" if depends else "does not depend on runs"
                yield f"{entry.id}[{i}] {check.metric}: {entry.ground(check)}, but it {what}"


def _plain(value: Any) -> str:
    if isinstance(value, Readings):
        return repr({name: _plain(part) for name, part in value.values.items()})
    return repr(runner._plain(value.value if isinstance(value, Noted) else value))


def main(arguments: list[str] | None = None) -> int:
    """Prints the checks with a wrong kind of evidence. Returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tools.blind", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="figures or entries; all if none")
    parser.add_argument("--runs", type=Path, help="folder that keeps results of runs")
    options = parser.parse_args(arguments)
    try:
        claims = select(discover(PAPERS), options.ids)
    except ClaimError as error:
        print(f"tools.blind: {error}", file=sys.stderr)
        return BAD_INPUT
    runs = Bent(1, folder=options.runs)
    found = [line for claim in claims for line in wrong(claim, runs)]
    print("\n".join(found) or "none")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
