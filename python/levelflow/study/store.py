"""Storage of a study: the run cache, and a partitioned Parquet data set of complete runs that is valid at any time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from levelflow._core import ScenarioError
from levelflow.report import files

if TYPE_CHECKING:
    from levelflow.study.task import Row, Task

FORMAT = "levelflow-study-1"
#: Points per partition.
BLOCK = 1000
SCHEMA: dict[str, Any] = {
    "point": pl.UInt32,
    "replication": pl.UInt32,
    "seed": pl.UInt64,
    "of": pl.String,
    "name": pl.String,
    "at": pl.Float64,
    "metric": pl.String,
    "value": pl.Float64,
}


class Store:
    """Results directory of a study.

    Args:
        path: Path of the directory.
        about: Identity of the study; a directory of another study is rejected.
        replace: True to overwrite another study.

    Raises:
        ScenarioError: If the directory is rejected, or another process writes to it.
    """

    def __init__(self, path: Path, about: dict[str, Any], replace: bool) -> None:
        self.path = path
        try:
            self._claim(about, replace)
        except OSError as error:
            raise ScenarioError(f"--out {path}: {(error.strerror or str(error)).lower()}") from None

    def _claim(self, about: dict[str, Any], replace: bool) -> None:
        manifest = self.path / "study.json"
        about = {"format": FORMAT, **about}
        found: Any = None
        if self.path.exists() and any(self.path.iterdir()):
            with contextlib.suppress(OSError, ValueError):
                found = json.loads(manifest.read_text(encoding="utf-8"))
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise ScenarioError(f"--out {self.path}: holds something else than a study; choose another directory")
            if not replace and found != about and found | {"engine": about["engine"]} == about:
                why = "was made by another build of Levelflow; choose another one, or --replace it"
                raise ScenarioError(f"--out {self.path}: {why}")
            if found != about and not replace:
                raise ScenarioError(f"--out {self.path}: holds another study; choose another one, or --replace it")
        try:
            self._lock = files.lock(self.path)
        except BlockingIOError:
            raise ScenarioError(f"--out {self.path}: another process runs this study") from None
        except OSError as error:
            raise ScenarioError(f"--out {self.path}: cannot be written: {error.strerror}") from None
        if found is not None and found != about:
            shutil.rmtree(self.path / "runs", ignore_errors=True)
        files.replace(manifest, json.dumps(about, indent=1))

    def write(self, made: list[tuple[Task, int, list[Row]]]) -> None:
        """Adds complete runs, as one new file per partition. A file gets its final name once it is complete."""
        blocks: dict[int, list[tuple[Any, ...]]] = {}
        for task, seed, rows in made:
            own = blocks.setdefault(task.point // BLOCK, [])
            own += [(task.point, task.replication, seed, *row) for row in rows]
        for block, rows in blocks.items():
            folder = self.path / "runs" / f"block={block}"
            folder.mkdir(parents=True, exist_ok=True)
            task = made[0][0]
            target = folder / f"{rows[0][0]}-{rows[0][1]}-{task.key[:12]}.parquet"
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(files.part(target))
            files.part(target).replace(target)

    def runs(self) -> set[tuple[int, int]]:
        """Returns the stored runs as pairs of point and replication."""
        found = list((self.path / "runs").glob("block=*/*.parquet"))
        if not found:
            return set()
        pairs = pl.scan_parquet(found).select("point", "replication").unique().collect()
        return set(pairs.iter_rows())

    def rows(self) -> pl.DataFrame:
        """Returns all rows, sorted by point and replication; the rows of one run keep their order."""
        found = sorted((self.path / "runs").glob("block=*/*.parquet"))
        if not found:
            return pl.DataFrame(schema=SCHEMA, orient="row")
        return pl.read_parquet(found).sort("point", "replication", maintain_order=True)

    def close(self) -> None:
        """Releases the lock on the directory."""
        self._lock.close()


class Cache:
    """Rows of runs by cache key, in one SQLite file that several processes can share.

    Args:
        path: Path of the file; None disables the cache.
    """

    def __init__(self, path: Path | None) -> None:
        self._base: sqlite3.Connection | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=60)
            self._base.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, rows BLOB)")

    def get(self, key: str) -> list[Row] | None:
        """Returns the rows of a run; None if it is not cached."""
        query = "SELECT rows FROM runs WHERE key = ?"
        found = self._base.execute(query, (key,)).fetchone() if self._base else None
        return None if found is None else [tuple(row) for row in json.loads(zlib.decompress(found[0]))]

    def put(self, made: list[tuple[Task, int, list[Row]]]) -> None:
        """Adds runs."""
        if self._base:
            packed = [(task.key, zlib.compress(json.dumps(rows).encode(), 1)) for task, _, rows in made]
            with self._base:
                self._base.executemany("INSERT OR IGNORE INTO runs VALUES (?, ?)", packed)

    def close(self) -> None:
        """Closes the file."""
        if self._base:
            self._base.close()


def cache_file() -> Path:
    """Returns the path of the cache file, below `$XDG_CACHE_HOME`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "levelflow" / "runs.sqlite"
