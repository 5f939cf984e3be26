"""Storage of studies: a Parquet data set of finished runs, which is valid at any time, and a cache of runs."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shutil
import sqlite3
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import polars as pl

from levelflow import _core, files
from levelflow._core import ScenarioError
from levelflow.study.schedule import Measured, Run
from levelflow.study.task import DIGEST, Row, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Finished run: its task and its rows.
Finished = tuple[Task, list[Row]]

FORMAT = "levelflow-study-1"
#: Directories of a study that replaces another one: first until its schedule is complete, then until its files are
#: moved.
NEW, COMMIT = ".new", ".commit"
#: Number of points per partition of the data set.
POINTS_PER_PARTITION = 1000
#: Limits on the time between two writes, s, and on the number of unsaved runs. A killed process loses unsaved runs.
MAX_UNSAVED_S = 2.0
MAX_UNSAVED_RUNS = 2000
SCHEMA: dict[str, type[pl.DataType]] = {
    "point": pl.UInt32,
    "replication": pl.UInt32,
    "seed": pl.UInt64,
    "of": pl.String,
    "name": pl.String,
    "at": pl.Float64,
    "metric": pl.String,
    "value": pl.Float64,
}


class Failure(TypedDict):
    """Failed run, with the first line of the reason."""

    point: int
    replication: int
    seed: int
    why: str


class Store:
    """Results directory of a study.

    Another study stays in the directory until the study that replaces it is complete. A `Store` with the same identity
    continues an interrupted replacement.

    Args:
        path: Path of the directory.
        identity: Identity of the study. A directory with another study is rejected.
        replace: True to overwrite another study.

    Raises:
        ScenarioError: If the directory has other contents, or another process writes to it.
    """

    def __init__(self, path: Path, identity: Mapping[str, object], replace: bool) -> None:
        self.path = path
        try:
            self._lock = files.lock(path)
        except BlockingIOError:
            raise ScenarioError(f"--out {path}: another process is executing this study") from None
        except OSError as error:
            raise ScenarioError(f"--out {path}: is not writable: {(error.strerror or str(error)).lower()}") from None
        try:
            self._base = self._claim({"format": FORMAT, **identity}, replace)
        except OSError as error:
            self.close()
            raise ScenarioError(f"--out {path}: {(error.strerror or str(error)).lower()}") from None
        except ScenarioError:
            self.close()
            raise

    def _claim(self, identity: dict[str, object], replace: bool) -> Path:
        """Returns the directory of the study's runs. Finishes an interrupted replacement."""
        self._finish()
        if (self.path / COMMIT).exists():
            raise ScenarioError(f"--out {self.path}: its entry {COMMIT} is not of a study; choose another directory")
        found = self._found(self.path)
        if found is None and any(not entry.name.startswith(".") for entry in self.path.iterdir()):
            raise ScenarioError(f"--out {self.path}: contains files that are not a study; choose another directory")
        if found not in (None, identity) and not replace:
            reason = "contains another study"
            if found | {"engine": identity["engine"]} == identity:
                reason = "was written by another build of Levelflow"
            raise ScenarioError(f"--out {self.path}: {reason}; choose another directory, or use --replace")
        base = self.path if found in (None, identity) else self.path / NEW
        if base != self.path and self._found(base) != identity:
            _remove(base)
        files.replace(base / "study.json", json.dumps(identity, indent=1))
        _core.create_dirs(base / "runs")
        return base

    @staticmethod
    def _found(folder: Path) -> dict[str, object] | None:
        """Returns the identity of the study in a folder; None if there is no study."""
        with contextlib.suppress(OSError, ValueError, RecursionError, ScenarioError):
            found = json.loads(files.read(folder / "study.json"))
            return found if isinstance(found, dict) and found.get("format") == FORMAT else None
        return None

    def commit(self) -> None:
        """Replaces the earlier study by the complete one. The rename of its directory is the commit point."""
        if self._base != self.path:
            self._base.rename(self.path / COMMIT)
            _core.sync(self.path)
            self._finish()
            self._base = self.path

    def _finish(self) -> None:
        """Moves a committed study to its place, and its identity last.

        A folder without a study stays unless it is empty.
        """
        folder = self.path / COMMIT
        if self._found(folder) is not None:
            for name in ("failures.json", "runs", "study.json"):
                if (folder / name).exists():
                    if (self.path / name).is_dir():
                        shutil.rmtree(self.path / name)
                    (folder / name).replace(self.path / name)
            _core.sync(self.path)
        with contextlib.suppress(OSError):
            folder.rmdir()

    def write(self, finished: list[Finished]) -> None:
        """Adds finished runs in one new file per partition. A file gets its final name after it is complete."""
        blocks: dict[int, list[tuple[object, ...]]] = {}
        for task, of_run in finished:
            block = blocks.setdefault(task.run.point // POINTS_PER_PARTITION, [])
            block += [(*task.run, task.seed, *row) for row in of_run]
        for number, rows in blocks.items():
            folder = self._base / "runs" / f"block={number}"
            task = finished[0][0]
            target = folder / f"{rows[0][0]}-{rows[0][1]}-{task.key[:12]}.parquet"
            table = io.BytesIO()
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(table)
            files.replace(target, table.getvalue())

    def write_failures(self, failures: list[Failure]) -> None:
        """Writes the list of failed runs."""
        files.replace(self._base / "failures.json", json.dumps(failures, indent=1))

    def runs(self, metric: str) -> dict[Run, Measured]:
        """Returns the stored runs with their digests and their values of a metric."""
        found = self._files()
        if not found:
            return {}
        rows = pl.scan_parquet(found).filter(of="run").select("point", "replication", "metric", "value")
        digests, values = (rows.filter(metric=name).drop("metric") for name in (DIGEST, metric))
        joined = digests.join(values, on=["point", "replication"], how="left", suffix="_of_metric").collect()
        return {
            Run(point, replication): Measured(math.nan if value is None else value, digest)
            for point, replication, digest, value in joined.iter_rows()
        }

    def rows(self) -> pl.DataFrame:
        """Returns all rows sorted by point and replication. The rows of a run keep their order."""
        found = self._files()
        if not found:
            return pl.DataFrame(schema=SCHEMA, orient="row")
        return pl.read_parquet(found).sort("point", "replication", maintain_order=True)

    def _files(self) -> list[Path]:
        return sorted((self._base / "runs").glob("block=*/*.parquet"))

    def close(self) -> None:
        """Releases the lock on the directory."""
        self._lock.close()


class Cache:
    """Rows of runs by cache key, in an SQLite file that several processes can share.

    A study runs without the cache if the file is unusable.

    Args:
        path: Path of the file; None disables the cache.

    Attributes:
        faults: Warning about an unusable file; empty if there is none.
    """

    def __init__(self, path: Path | None) -> None:
        self._base: sqlite3.Connection | None = None
        self._path = path
        self.faults: list[str] = []
        if path is not None:
            with self._usable():
                path.parent.mkdir(parents=True, exist_ok=True)
                self._base = sqlite3.connect(path, timeout=60)
                self._base.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, rows BLOB)")

    def get(self, key: str) -> list[Row] | None:
        """Returns the rows of a run; None if the run is not cached."""
        with self._usable():
            query = "SELECT rows FROM runs WHERE key = ?"
            if self._base and (found := self._base.execute(query, (key,)).fetchone()):
                return [Row(*row) for row in json.loads(zlib.decompress(found[0]))]
        return None

    def put(self, finished: list[Finished]) -> None:
        """Adds runs."""
        with self._usable():
            if self._base:
                packed = [(task.key, zlib.compress(json.dumps(rows).encode(), 1)) for task, rows in finished]
                with self._base:
                    self._base.executemany("INSERT OR IGNORE INTO runs VALUES (?, ?)", packed)

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        """Disables the cache after an error of the file or of its contents."""
        try:
            yield
        except (OSError, sqlite3.Error, zlib.error, ValueError, TypeError) as error:
            self.close()
            self._base = None
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            self.faults = [f"{self._path}: the cache of runs is not used: {reason}"]

    def close(self) -> None:
        """Closes the file."""
        if self._base:
            self._base.close()


class Writer:
    """Buffer of finished runs that writes them to the store and the cache in batches."""

    def __init__(self, store: Store, cache: Cache) -> None:
        self._store, self._cache = store, cache
        self._unsaved: list[Finished] = []
        self._uncached: list[Finished] = []
        self._flushed_s = time.monotonic()

    def add(self, task: Task, rows: list[Row], is_cached: bool) -> None:
        """Adds a finished run; `is_cached` is True if its rows came from the cache."""
        self._unsaved.append((task, rows))
        if not is_cached:
            self._uncached.append((task, rows))
        if len(self._unsaved) >= MAX_UNSAVED_RUNS or time.monotonic() - self._flushed_s > MAX_UNSAVED_S:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered runs."""
        if self._unsaved:
            self._store.write(self._unsaved)
            self._cache.put(self._uncached)
            self._unsaved, self._uncached = [], []
        self._flushed_s = time.monotonic()


def cache_file() -> Path:
    """Returns the path of the cache file, below `$XDG_CACHE_HOME`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "levelflow" / "runs.sqlite"


def _remove(folder: Path) -> None:
    """Removes a folder if it exists."""
    if folder.exists():
        shutil.rmtree(folder)
