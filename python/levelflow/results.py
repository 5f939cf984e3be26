"""Results: tables and a manifest, in memory or in a directory that is valid at any time during a run."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import polars as pl

from levelflow import _core, files
from levelflow._core import ScenarioError
from levelflow.measure.transfers import OUTCOMES, finished, with_wire_bytes
from levelflow.report.summary import summarise
from levelflow.rundata import RunData, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from levelflow.picture import Picture
    from levelflow.records import Counters, ScenarioRecord
    from levelflow.summary import Manifest, Summary

TABLES = ("flows", "links", "transfers", "members")
LEADING = ("t", "flow", "member", "link")
#: Number of attempts to read a directory while other processes replace its result.
LOAD_TRIES = 20
#: Summary of a run that was killed.
NO_SUMMARY = cast("Summary", {})


class Result(RunData):
    """Result of a run.

    Attributes:
        flows: One row per sample and flow entry: `t` and `rtt_s` in seconds, rates in bit/s, number of `active` flows.
        links: One row per sample and link: rates in bit/s, queues in bytes and packets, drops.
        transfers: One row per transfer: `outcome`; `start_s`, `fct_s`, `ideal_s` and `rtt_s` in seconds; `slowdown`,
            `bytes`, `hops`, `retransmitted`. `fct_s` and `slowdown` of unfinished transfers are NaN.
        summary: See `levelflow.report.summary`; empty if the run was killed.
        manifest: Version, build, seed and status; `raw`, the scenario as written, with the contents of the files that
            it names; `scenario`, the resolved scenario.
        scenario: Resolved scenario: links and flows with numbers in base units.
        path: Result directory, or None for a result in memory.
        members: One row per sample and single flow, for flow entries with a `count` of at most 1000 and unlimited
            data: `member` from 0, `throughput_bps`, `law_rate_bps`.
        division: Division of the run among threads, or the reason for a single thread; empty for a loaded result.
    """

    @property
    def completions(self) -> pl.DataFrame:
        """Finished transfers, with their `wire_bytes`. Means over these exclude aborted and unfinished transfers."""
        return with_wire_bytes(finished(self.transfers), self.scenario["flows"])

    def __repr__(self) -> str:
        rows = ", ".join(f"{getattr(self, name).height} {name}" for name in TABLES)
        where = "in memory" if self.path is None else f"in {self.path}"
        ended = f"{self.manifest['simulated_s']:g} s, {self.manifest['status']}"
        return f"<Result of {self.scenario['name']!r}: {ended}; rows: {rows}; {where}>"

    def _repr_html_(self) -> str:
        """Returns the tables of `levelflow run` as HTML, in the colours of the notebook."""
        from levelflow.report.tables import html_table, tables, verdict

        shown, said = "", ["No summary: the run did not end."]
        if self.summary:
            shown = "".join(html_table(*table) for _, table in tables(self.summary))
            said = [verdict(self.summary), *(f"Warning: {line}" for line in self.summary["warnings"])]
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
        from levelflow.style import WIDTHS
        from levelflow.words import nearest

        if what not in plots.NAMES:
            raise ScenarioError(f"plot: no picture {what!r}; {nearest(str(what), list(plots.NAMES))}")
        if width not in WIDTHS:
            raise ScenarioError(f"plot: no width {width!r}; {nearest(str(width), list(WIDTHS))}")
        return plots.draw(self, what, width, log=log)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a result directory, also of a run that was killed or is in progress.

        Raises:
            ScenarioError: If it is not a result directory, or the result is damaged.
        """
        path = Path(path)
        for _ in range(LOAD_TRIES):
            state = _State(path)
            try:
                result = cls._read(path, state.manifest)
            except ScenarioError:
                if state.is_current():
                    raise
            else:
                if state.is_current():
                    return result
        raise ScenarioError(f"{path}: another process keeps replacing this result")

    @classmethod
    def _read(cls, path: Path, manifest: Manifest) -> Self:
        """Reads the files of a manifest. Other processes can replace files during the call."""
        if manifest.get("format") != _core.RESULT_FORMAT:
            raise ScenarioError(f"{path}: not a result directory; needs a manifest.json of {_core.RESULT_FORMAT!r}")
        with _undamaged(path):
            tables = _read_tables(path, manifest)
            summary: Summary = _read_json(path / "summary.json")
            counters: Counters | None = None if summary else _read_json(path / "counters.json")
            if counters:
                summary = _summary_of_network(tables, manifest, counters, path)
        return cls(**tables, summary=summary, manifest=manifest, path=path)


class _State:
    """Manifest of a result directory at one time, after an interrupted replacement was finished."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            _core.recover(path)
        except OSError as error:
            raise ScenarioError(f"{path}: cannot finish its replacement: {error.strerror or error}") from None
        self._file = self._identity()
        self.manifest: Manifest = _read_json(path / "manifest.json")

    def _identity(self) -> tuple[int, int, int]:
        with contextlib.suppress(OSError):
            found = (self._path / "manifest.json").stat()
            return found.st_ino, found.st_mtime_ns, found.st_size
        return 0, 0, 0

    def is_current(self) -> bool:
        """Returns True if no other result has replaced the files since. New rows of the same run replace no files."""
        if (self._path / ".commit").exists():
            return False
        if self._identity() == self._file:
            return True
        now: Manifest = _read_json(self._path / "manifest.json")
        return "parts" in now and _without_progress(now) == _without_progress(self.manifest)


def _without_progress(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in ("simulated_s", "parts")}


class Recording:
    """Result of a run in progress. Its files replace those of an earlier result at the end of the run.

    Without files, the engine keeps the data.
    """

    def __init__(
        self,
        text: str,
        resolved: ScenarioRecord,
        origin: str | None,
        out: Path | str | None,
        simulation: _core.Simulation,
    ) -> None:
        self.manifest: Manifest = {
            "format": _core.RESULT_FORMAT,
            "version": _core.build().split()[0],
            "build": _core.build(),
            "raw": json.loads(text),
            "scenario": resolved,
            "scenario_hash": hashlib.sha256(text.encode()).hexdigest(),
            "seed": resolved["seed"],
            "status": "partial",
            "simulated_s": 0.0,
        }
        self.simulation = simulation
        self.files = None if out is None else _core.Recording(Path(out), json.dumps(self.manifest), origin)

    def flush(self) -> None:
        """Stores the rows since the last call, and the simulated time."""
        if self.files:
            self.files.flush(self.simulation)

    def discard(self) -> None:
        """Removes the files of the run; an earlier result stays."""
        if self.files:
            self.files.discard()

    def close(self, status: str, counters: str | None) -> Result:
        """Writes tables, summary and manifest, moves them to their place, and returns the result."""
        now_s, resolved = self.simulation.now, self.manifest["scenario"]
        self.manifest["status"], self.manifest["simulated_s"] = status, now_s
        if self.files:
            tables = _read_tables(self.files.finish(self.simulation, status == "complete"), self.manifest)
        else:
            self.simulation.record_end()
            taken = self.simulation.take()
            tables = _tables(lambda name: _frame(taken[name], resolved))
        summary = summarise(tables, resolved, now_s, json.loads(counters)) if counters else NO_SUMMARY
        if self.files and summary:
            self.files.keep("summary.json", _json(summary))
        path = self.files.commit() if self.files else None
        division = self.simulation.division
        return Result(**tables, summary=summary, manifest=self.manifest, path=path, division=division)


def _read_tables(path: Path, manifest: Manifest) -> Tables:
    resolved = manifest["scenario"]
    return _tables(lambda name: _by_name(_read_table(path / f"{name}.parquet", manifest.get("parts")), resolved))


def _read_table(path: Path, parts: int | None) -> pl.DataFrame:
    """Reads a table, or the given number of its parts. Parts without rows do not exist."""
    if parts is None:
        return pl.read_parquet(path, glob=False)
    files = [file for number in range(parts) if (file := path / f"part-{number:05}.parquet").is_file()]
    return pl.read_parquet(files, glob=False)


def _tables(read: Callable[[str], pl.DataFrame]) -> Tables:
    return {"flows": read("flows"), "links": read("links"), "transfers": read("transfers"), "members": read("members")}


def _frame(columns: dict[str, tuple[str, bytes]], resolved: ScenarioRecord) -> pl.DataFrame:
    """Converts the engine's columns to a frame with names of flows, links and outcomes."""
    kinds = _kinds(resolved)
    series = []
    for column in sorted(columns, key=lambda name: (name not in LEADING, name)):
        kind, data = columns[column]
        values = np.frombuffer(data, f"<{kind}")
        series.append(_named(values, kinds[column]) if column in kinds else pl.Series(values=values))
        series[-1] = series[-1].alias(column)
    return pl.DataFrame(series)


def _by_name(table: pl.DataFrame, resolved: ScenarioRecord) -> pl.DataFrame:
    """Converts names of flows, links and outcomes to enumerations, as in a result in memory."""
    kinds = _kinds(resolved)
    texts = [name for name in kinds if name in table.columns and table.schema[name] == pl.String]
    return table.with_columns(pl.col(name).cast(pl.Enum(kinds[name])) for name in texts)


def _kinds(resolved: ScenarioRecord) -> dict[str, list[str]]:
    """Returns the values of each column of names."""
    flows, links = ([item["name"] for item in items] for items in (resolved["flows"], resolved["links"]))
    return {"flow": flows, "link": links, "bottleneck": links, "outcome": list(OUTCOMES)}


def _summary_of_network(tables: Tables, manifest: Manifest, counters: Counters, path: Path) -> Summary:
    """Returns the summary of a run of `levelflow-net testbed` from its counters, and stores it if possible."""
    summary = summarise(tables, manifest["scenario"], manifest["simulated_s"], counters)
    with contextlib.suppress(OSError):
        files.replace(path / "summary.json", _json(summary))
    return summary


@contextlib.contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Converts errors of damaged files to one line."""
    try:
        yield
    except ScenarioError:
        raise
    except (OSError, LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ScenarioError(f"{path}: the result is damaged: {reason}") from None


def _named(index: np.ndarray[Any, np.dtype[Any]], names: list[str]) -> pl.Series:
    """Returns the names at the indices; null for negative indices."""
    return pl.Series([*names, None], dtype=pl.Enum(names)).gather(np.where(index < 0, len(names), index))


def _json(value: Summary) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _read_json(path: Path) -> Any:
    """Returns the contents of a JSON file; an empty table if there is none."""
    try:
        value = json.loads(_core.read(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
