"""Results: tables and a manifest, in memory or in a directory that is valid at any moment of a run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.report.summary import summarise

if TYPE_CHECKING:
    from levelflow.scenario import Scenario

FORMAT = "levelflow result 1"
TABLES = ("flows", "links", "completions")
LEADING = ("t", "flow", "link")
PICTURES = ("rates.png", "queues.png", "losses.png", "report.html")
ROWS_PER_GROUP = 1 << 18


@dataclass(frozen=True)
class Result:
    """What a run left behind.

    Attributes:
        flows: one row per sample and flow entry: `t` and `rtt_s` in seconds, rates in bit/s, `active` flows.
        links: one row per sample and link: rates in bit/s, queues in bytes and packets, drops.
        completions: one row per finished flow: `start_s`, `fct_s` and `rtt_s` in seconds, `bytes`, `retransmitted`.
        summary: see `levelflow.report.summary`; empty if the run was killed.
        manifest: version, build, seed, status, the scenario as written, files read (`raw`), and resolved (`scenario`).
        path: the directory, or None for a result in memory.
    """

    flows: pl.DataFrame
    links: pl.DataFrame
    completions: pl.DataFrame
    summary: dict[str, Any]
    manifest: dict[str, Any]
    path: Path | None = None

    def __repr__(self) -> str:
        rows = ", ".join(f"{getattr(self, name).height} {name}" for name in TABLES)
        seconds, status = (self.manifest.get(key) for key in ("simulated_s", "status"))
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"<Result of {self.scenario['name']!r}: {seconds:g} s, {status}; rows: {rows}; {where}>"

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a result directory, also one of a run that was killed or still goes on.

        Raises:
            ValueError: if it is no result directory.
        """
        path = Path(path)
        manifest = _read_json(path / "manifest.json")
        if manifest.get("format") != FORMAT:
            raise ValueError(f"{path}: not a result directory; needs a manifest.json of {FORMAT!r}")
        tables = (pl.read_parquet(path / f"{name}.parquet", glob=False) for name in TABLES)
        flows, links, completions = (_by_name(table, manifest["scenario"]) for table in tables)
        summary = _read_json(path / "summary.json")
        counters = {} if summary else _read_json(path / "counters.json")
        if counters:
            summary = _summary_of_network(flows, links, completions, manifest, counters, path)
        return cls(flows, links, completions, summary, manifest, path)

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario: links and flows with numbers in base units."""
        resolved: dict[str, Any] = self.manifest["scenario"]
        return resolved


class Recording:
    """The tables of a run while it goes on; on disk they are parts, each complete once it bears its name."""

    def __init__(self, scenario: Scenario, resolved: dict[str, Any], out: Path | str | None) -> None:
        self.manifest = {
            "format": FORMAT,
            "version": _core.build().split()[0],
            "build": _core.build(),
            "raw": scenario.complete(),
            "scenario": resolved,
            "scenario_hash": hashlib.sha256(scenario.to_json().encode()).hexdigest(),
            "seed": resolved["seed"],
        }
        self.path = None if out is None else Path(out)
        self.pending: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
        self.parts = 0
        if self.path:
            _clear(self.path, scenario.origin)
            self._write_manifest("partial", 0.0)

    def append(self, taken: dict[str, dict[str, tuple[str, bytes]]]) -> None:
        """Adds the columns that the engine recorded."""
        for name in TABLES:
            self.pending[name].append(_frame(taken[name], self.manifest["scenario"]))

    def flush(self, now_s: float) -> None:
        """Writes what was added since the last time as one part per table, then that the run came to `now_s`."""
        if self.path is None or not self.pending["flows"]:
            return
        for name in TABLES:
            folder = self.path / f"{name}.parquet"
            folder.mkdir(exist_ok=True)
            _write_parquet(self._drain(name), folder / f"part-{self.parts:05}.parquet", self.path)
        self.parts += 1
        self._write_manifest("partial", now_s)

    def close(self, now_s: float, status: str, counters: str | None) -> Result:
        """Merges the parts, so that the files depend on the scenario alone, and states how the run ended."""
        self.flush(now_s)
        flows, links, completions = (self._merged(name) for name in TABLES)
        self._write_manifest(status, now_s)
        summary = {}
        if counters:
            resolved = self.manifest["scenario"]
            summary = summarise(flows, links, completions, resolved, now_s, json.loads(counters))
            if self.path:
                _write_json(summary, self.path / "summary.json")
        return Result(flows, links, completions, summary, self.manifest, self.path)

    def _drain(self, name: str) -> pl.DataFrame:
        frames, self.pending[name] = self.pending[name], []
        return pl.concat(frames, rechunk=True)

    def _merged(self, name: str) -> pl.DataFrame:
        if self.path is None:
            return self._drain(name)
        folder = self.path / f"{name}.parquet"
        table = pl.concat([pl.read_parquet(part) for part in sorted(folder.iterdir())], rechunk=True)
        merged, parts = self.path / f".{name}.merged", self.path / f".{name}.parts"
        _write_parquet(table, merged, self.path)
        folder.rename(parts)
        merged.rename(folder)
        shutil.rmtree(parts)
        return table

    def _write_manifest(self, status: str, simulated_s: float) -> None:
        self.manifest |= {"status": status, "simulated_s": simulated_s}
        if self.path:
            _write_json(self.manifest, self.path / "manifest.json")


def _frame(columns: dict[str, tuple[str, bytes]], resolved: dict[str, Any]) -> pl.DataFrame:
    """Turns the engine's columns into a frame in which flows and links go by their names."""
    names = {kind: [item["name"] for item in resolved[f"{kind}s"]] for kind in ("flow", "link")}
    kinds = {"flow": names["flow"], "link": names["link"], "bottleneck": names["link"]}
    series = []
    for column in sorted(columns, key=lambda name: (name not in LEADING, name)):
        kind, data = columns[column]
        values = np.frombuffer(data, f"<{kind}")
        series.append(_named(values, kinds[column]) if column in kinds else pl.Series(values=values))
        series[-1] = series[-1].alias(column)
    return pl.DataFrame(series)


def _by_name(table: pl.DataFrame, resolved: dict[str, Any]) -> pl.DataFrame:
    """Gives the names of flows and links the kind of column that they have in tables of the simulator."""
    flows, links = ([item["name"] for item in resolved[kind]] for kind in ("flows", "links"))
    kinds = {"flow": flows, "link": links, "bottleneck": links}
    texts = [name for name in kinds if name in table.columns and table.schema[name] == pl.String]
    return table.with_columns(pl.col(name).cast(pl.Enum(kinds[name])) for name in texts)


def _summary_of_network(
    flows: pl.DataFrame,
    links: pl.DataFrame,
    completions: pl.DataFrame,
    manifest: dict[str, Any],
    counters: dict[str, Any],
    path: Path,
) -> dict[str, Any]:
    """Sums up a run of `levelflow-net testbed`, which leaves its counters, and keeps that where it may."""
    summary = summarise(flows, links, completions, manifest["scenario"], manifest["simulated_s"], counters)
    with contextlib.suppress(OSError):
        _write_json(summary, path / "summary.json")
    return summary


def _named(index: np.ndarray[Any, np.dtype[Any]], names: list[str]) -> pl.Series:
    """Returns the names at some indices; null at a negative one."""
    return pl.Series([*names, None], dtype=pl.Enum(names)).gather(np.where(index < 0, len(names), index))


def _clear(path: Path, origin: str | None = None) -> None:
    """Makes way for a result in `path`; refuses to touch a directory that holds anything else, or the file `origin`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot make this directory: {(error.strerror or '').lower()}") from None
    manifest = _read_json(path / "manifest.json")
    if any(path.iterdir()) and manifest.get("format") != FORMAT:
        raise ScenarioError(f"{path}: not empty and not a result directory; choose another with --out")
    if origin and Path(origin).resolve().parent == path.resolve():
        raise ScenarioError(f"{path}: holds the scenario that is to run, {origin}; choose another with --out")
    written = ["scenario.toml"] if "network" in manifest else []  # by `levelflow-net testbed`
    for name in ("manifest.json", "summary.json", "counters.json", *written, *PICTURES):
        (path / name).unlink(missing_ok=True)
    for name in TABLES:
        table = path / f"{name}.parquet"
        if table.is_dir():
            shutil.rmtree(table)
        table.unlink(missing_ok=True)
    for leftover in path.glob(".*.tmp"):
        leftover.unlink()


def _write_parquet(frame: pl.DataFrame, target: Path, scratch: Path) -> None:
    temporary = scratch / f".{target.name}.tmp"
    frame.write_parquet(temporary, compression="zstd", row_group_size=ROWS_PER_GROUP)
    temporary.rename(target)


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
