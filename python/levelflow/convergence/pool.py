"""Calls side by side, in the order in which they end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, TypeVar

from levelflow.workers import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Job = TypeVar("Job")
Found = TypeVar("Found")


def side_by_side(
    workers: int | None, work: Callable[[Job, Callable[[float], None]], Found], jobs: Sequence[Job]
) -> Iterator[Found]:
    """Gives what a function makes of each job, as it is made.

    Args:
        workers: so many at a time.
        work: takes a job, and what it must call now and then; that raises when the rest is no longer wanted.
        jobs: what there is to do.
    """
    stopped = threading.Event()

    def tell(_share: float) -> None:
        if stopped.is_set():
            raise StoppedError

    pool = ThreadPoolExecutor(workers)
    try:
        for future in as_completed([pool.submit(work, job, tell) for job in jobs]):
            yield future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
