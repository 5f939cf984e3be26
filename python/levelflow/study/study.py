"""Studies and their results: means with confidence intervals, paired differences and pictures."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from levelflow.study import reading
from levelflow.study.data import StudyData
from levelflow.study.driver import Driver
from levelflow.study.pools import Pool, pool
from levelflow.study.store import Cache, Store, cache_file
from levelflow.study.task import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from levelflow.picture import Picture


class Study:
    """Replicated runs of a design over scenarios.

    Args:
        tables: Contents of a STUDY.toml as a dictionary.
        name: Name of the study if `tables` contains no name.
        law_files: Python files with laws, which flows may name.

    Raises:
        ScenarioError: If the study is invalid. The message has one line per mistake.
    """

    def __init__(self, tables: Mapping[str, object], name: str = "study", law_files: Iterable[Path | str] = ()) -> None:
        self.plan = reading.plan(tables, Path(), name, law_files)

    @classmethod
    def load(cls, path: Path | str, law_files: Iterable[Path | str] = ()) -> Self:
        """Reads a STUDY.toml; flows may name the laws of `law_files`.

        Raises:
            ScenarioError: If the file is unreadable or invalid. The message has one line per mistake.
        """
        study = cls.__new__(cls)
        study.plan = reading.read(Path(path), law_files)
        return study

    def run(
        self,
        out: Path | str | None = None,
        *,
        scheduler: str | Pool = "processes",
        workers: int | None = None,
        replace: bool = False,
        cache: bool = True,
        progress: Callable[[float, float], None] | None = None,
    ) -> StudyResult:
        """Executes the runs that the results directory does not contain yet.

        Args:
            out: Results directory, `results/NAME` by default. Runs of this study in the directory are not repeated.
            scheduler: "processes", "threads", the address of a Dask scheduler such as "tcp://host:8786", or a pool
                that the caller closes.
            workers: Number of parallel runs on this machine; by default the number of processors.
            replace: True to overwrite another study in the directory.
            cache: True to use the cache of runs in `~/.cache/levelflow`, which all studies share.
            progress: Callback with the number of finished runs and the total number of runs.

        Raises:
            ScenarioError: If the directory contains other files than this study, or the scheduler is unreachable.
            KeyboardInterrupt: On Ctrl-C or SIGTERM, after the finished runs were stored.
        """
        path = Path(out or Path("results") / self.plan.name)
        store = Store(path, {**self.plan.identity(), "engine": engine()}, replace)
        runs = Cache(cache_file() if cache else None)
        try:
            own = closing(pool(scheduler, workers)) if isinstance(scheduler, str) else nullcontext(scheduler)
            with own as executor:
                failures = Driver(self.plan, executor, store, runs).execute(progress or (lambda _done, _of: None))
            store.commit()
            return StudyResult(self.plan, store.rows(), tuple(failures), path, tuple(runs.faults))
        finally:
            runs.close()
            store.close()


class StudyResult(StudyData):
    """Results of a study, with its pictures."""

    def plot(self, kind: str = "response", metric: str = "", width: str = "screen") -> Picture:
        """Draws a picture.

        Kinds "response" and "map" show a metric. The other kinds are "completion times", "completion by size" and
        "slowdown by size". The width is "screen", or "column" or "page" of a paper.

        Raises:
            ScenarioError: If the kind, the metric or the width does not exist.
        """
        from levelflow.study import pictures  # matplotlib is loaded only for a picture
        from levelflow.study.table import metrics

        return pictures.draw(self, kind, metric or metrics(self)[0], width)
