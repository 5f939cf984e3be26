"""Parallel calls in threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from levelflow.workers import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Job = TypeVar("Job")
Found = TypeVar("Found")


def in_parallel(
    workers: int | None, work: Callable[[Job, Callable[[float], None]], Found], jobs: Sequence[Job]
) -> Iterator[Found]:
    """Yields the results of jobs in order of completion.

    Args:
        workers: Number of parallel calls.
        work: Function of a job and a progress callback. The callback raises `StoppedError` to cancel the job.
        jobs: Jobs to run.
    """
    stopped = threading.Event()

    def progress(_share: float) -> None:
        if stopped.is_set():
            raise StoppedError

    pool = ThreadPoolExecutor(workers)
    try:
        for future in as_completed([pool.submit(work, job, progress) for job in jobs]):
            yield future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
