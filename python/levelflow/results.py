"""Results: tables and a manifest, in memory or in a directory that is valid at any time during a run."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.measure.transfers import OUTCOMES, finished
from levelflow.report.summary import summarise

if TYPE_CHECKING:
    from levelflow.picture import Picture
    from levelflow.scenario import Scenario

TABLES = ("flows", "links", "transfers", "members")
LEADING = ("t", "flow", "member", "link")


@dataclass(frozen=True)
class Result:
    """Result of a run.

    Attributes:
        flows: One row per sample and flow entry: `t` and `rtt_s` in seconds, rates in bit/s, number of `active` flows.
        links: One row per sample and link: rates in bit/s, queues in bytes and packets, drops.
        transfers: One row per transfer: `outcome`; `start_s`, `fct_s`, `ideal_s` and `rtt_s` in seconds; `slowdown`,
            `bytes`, `hops`, `retransmitted`. `fct_s` and `slowdown` of unfinished transfers are NaN.
        summary: See `levelflow.report.summary`; empty if the run was killed.
        manifest: Version, build, seed, status, the scenario as written with the contents of files (`raw`), and the
            resolved scenario (`scenario`).
        path: Result directory, or None for a result in memory.
        members: One row per sample and flow of each group (`count`) of up to 1000 unlimited flows: `member` from 0,
            `throughput_bps`, `law_rate_bps`.
        division: Division of the run among threads, or the reason for a single thread; empty for a loaded result.
    """

    flows: pl.DataFrame
    links: pl.DataFrame
    transfers: pl.DataFrame
    summary: dict[str, Any]
    manifest: dict[str, Any]
    path: Path | None = None
    members: pl.DataFrame = field(default_factory=pl.DataFrame)
    division: str = field(default="", compare=False)

    @property
    def completions(self) -> pl.DataFrame:
        """Finished transfers. Means over these exclude aborted and unfinished transfers."""
        return finished(self.transfers)

    def __repr__(self) -> str:
        rows = ", ".join(f"{getattr(self, name).height} {name}" for name in TABLES)
        seconds, status = (self.manifest.get(key) for key in ("simulated_s", "status"))
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"<Result of {self.scenario['name']!r}: {seconds:g} s, {status}; rows: {rows}; {where}>"

    def _repr_html_(self) -> str:
        """Returns the tables of `levelflow run` as HTML, in the colours of the notebook."""
        from levelflow.report.tables import html_table, tables, verdict

        shown = "".join(html_table(*table) for _, table in tables(self.summary)) if self.summary else ""
        said = [verdict(self.summary)] if self.summary else ["No summary: the run did not end."]
        said += [f"Warning: {line}" for line in self.summary.get("warnings", ())]
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in said)
        head = f"<p>{html.escape(repr(self)[1:-1])}</p>"
        return f'<div style="overflow: auto; max-height: 40em">{head}{shown}{lines}</div>'

    def plot(
        self,
        what: Literal["rates", "queues", "losses", "round-trips", "utilisation", "transfers", "overview"] = "rates",
        width: Literal["screen", "column", "page"] = "screen",
        *,
        log: bool = False,
    ) -> Picture:
        """Draws a picture of the run as a matplotlib figure.

        Notebooks display it. `result.plot("queues", width="column").savefig("queues.pdf")` saves it for a paper.

        Args:
            what: Rates or round trips of flows; queues, losses or utilisation of links; completion times of transfers;
                or an overview that stacks rates, round trips, queues and losses.
            width: "screen", or "column" (3.4 in) or "page" (7 in) of a paper in 8 pt type without a title.
            log: True for a logarithmic y axis.

        Raises:
            ScenarioError: If the picture or the width does not exist, or no transfer finished.
        """
        from levelflow.report import plots
        from levelflow.scenario import nearest
        from levelflow.style import WIDTHS

        if what not in plots.NAMES:
            raise ScenarioError(f"plot: no picture {what!r}; {nearest(str(what), list(plots.NAMES))}")
        if width not in WIDTHS:
            raise ScenarioError(f"plot: no width {width!r}; {nearest(str(width), list(WIDTHS))}")
        return plots.draw(self, what, width, log=log)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a result directory, also of a run that was killed or is in progress.

        Raises:
            ScenarioError: If it is not a result directory.
        """
        path = Path(path)
        manifest = _read_json(path / "manifest.json")
        if manifest.get("format") != _core.RESULT_FORMAT:
            raise ScenarioError(f"{path}: not a result directory; needs a manifest.json of {_core.RESULT_FORMAT!r}")
        tables = _read_tables(path, manifest["scenario"])
        summary = _read_json(path / "summary.json")
        counters = {} if summary else _read_json(path / "counters.json")
        if counters:
            summary = _summary_of_network(tables, manifest, counters, path)
        return cls(**tables, summary=summary, manifest=manifest, path=path, division="")

    @property
    def scenario(self) -> dict[str, Any]:
        """Resolved scenario: links and flows with numbers in base units."""
        resolved: dict[str, Any] = self.manifest["scenario"]
        return resolved


class Recording:
    """Result of a run in progress. Files on disk are valid at any time; a result in memory stays in the engine."""

    def __init__(
        self, scenario: Scenario, resolved: dict[str, Any], out: Path | str | None, simulation: _core.Simulation
    ) -> None:
        self.manifest = {
            "format": _core.RESULT_FORMAT,
            "version": _core.build().split()[0],
            "build": _core.build(),
            "raw": json.loads(scenario.to_json()),
            "scenario": resolved,
            "scenario_hash": hashlib.sha256(scenario.to_json().encode()).hexdigest(),
            "seed": resolved["seed"],
        }
        self.simulation = simulation
        self.path = None if out is None else Path(out)
        self.files = self.path and _core.Recording(self.path, json.dumps(self.manifest), scenario.origin)

    def flush(self) -> None:
        """Writes the rows since the last call as one part per table, then the simulated time."""
        if self.files:
            self.files.flush(self.simulation)

    def close(self, status: str, counters: str | None) -> Result:
        """Merges the parts of each table into one file, records the status, and returns the result."""
        now_s, resolved = self.simulation.now, self.manifest["scenario"]
        if self.files and self.path:
            self.files.close(self.simulation, status == "complete")
            tables = _read_tables(self.path, resolved)
        else:
            self.simulation.record_end()
            taken = self.simulation.take()
            tables = {name: _frame(taken[name], resolved) for name in TABLES}
        self.manifest |= {"status": status, "simulated_s": now_s}
        summary = {}
        if counters:
            summary = summarise(tables, resolved, now_s, json.loads(counters))
            if self.path:
                _write_json(summary, self.path / "summary.json")
        division = self.simulation.division
        return Result(**tables, summary=summary, manifest=self.manifest, path=self.path, division=division)


def _read_tables(path: Path, resolved: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Reads the tables; older results have no `members`."""
    files = {name: path / f"{name}.parquet" for name in TABLES}
    present = {name: file for name, file in files.items() if name != "members" or file.exists()}
    return {name: _by_name(pl.read_parquet(file, glob=False), resolved) for name, file in present.items()}


def _frame(columns: dict[str, tuple[str, bytes]], resolved: dict[str, Any]) -> pl.DataFrame:
    """Converts the engine's columns to a frame with names of flows, links and outcomes."""
    names = {kind: [item["name"] for item in resolved[f"{kind}s"]] for kind in ("flow", "link")}
    kinds = {"flow": names["flow"], "link": names["link"], "bottleneck": names["link"], "outcome": list(OUTCOMES)}
    series = []
    for column in sorted(columns, key=lambda name: (name not in LEADING, name)):
        kind, data = columns[column]
        values = np.frombuffer(data, f"<{kind}")
        series.append(_named(values, kinds[column]) if column in kinds else pl.Series(values=values))
        series[-1] = series[-1].alias(column)
    return pl.DataFrame(series)


def _by_name(table: pl.DataFrame, resolved: dict[str, Any]) -> pl.DataFrame:
    """Converts names of flows, links and outcomes to enumerations, as in a result in memory."""
    flows, links = ([item["name"] for item in resolved[kind]] for kind in ("flows", "links"))
    kinds = {"flow": flows, "link": links, "bottleneck": links, "outcome": list(OUTCOMES)}
    texts = [name for name in kinds if name in table.columns and table.schema[name] == pl.String]
    return table.with_columns(pl.col(name).cast(pl.Enum(kinds[name])) for name in texts)


def _summary_of_network(
    tables: dict[str, pl.DataFrame], manifest: dict[str, Any], counters: dict[str, Any], path: Path
) -> dict[str, Any]:
    """Returns the summary of a run of `levelflow-net testbed` from its counters, and stores it if possible."""
    summary = summarise(tables, manifest["scenario"], manifest["simulated_s"], counters)
    with contextlib.suppress(OSError):
        _write_json(summary, path / "summary.json")
    return summary


def _named(index: np.ndarray[Any, np.dtype[Any]], names: list[str]) -> pl.Series:
    """Returns the names at the indices; null for negative indices."""
    return pl.Series([*names, None], dtype=pl.Enum(names)).gather(np.where(index < 0, len(names), index))


def _write_json(value: dict[str, Any], target: Path) -> None:
    temporary = target.parent / f".{target.name}.tmp"
    temporary.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(temporary, target)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
