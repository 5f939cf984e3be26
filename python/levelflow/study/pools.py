"""Executors of runs: threads, processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from levelflow import _core, ending
from levelflow._core import ScenarioError
from levelflow.library import PACKAGE
from levelflow.study.schedule import Failed
from levelflow.study.task import Row, Task, measure, prepare
from levelflow.workers import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Rows of a run, or the reason why it failed.
Outcome = list[Row] | Failed
#: Time limit on the connection to a Dask scheduler, s.
CONNECT_TIMEOUT_S = 20
#: Limit on the number of worker processes that start in advance.
MAX_EARLY_PROCESSES = 8
#: Program of a worker process. It imports this package from the path of this process, and rarely collects garbage.
SERVE = (
    f"import gc, sys; gc.set_threshold(100_000); sys.path.insert(0, {str(PACKAGE.parent)!r}); "
    "from levelflow.study.pools import serve; serve()"
)


class Pool(Protocol):
    """Executor of runs. Outcomes arrive in the queue `done` in any order.

    Attributes:
        done: Queue of finished tasks with their outcomes.
        room: Limit on the number of tasks in flight.
    """

    done: queue.SimpleQueue[tuple[Task, Outcome]]
    room: int

    def submit(self, task: Task) -> None:
        """Starts a run."""

    def close(self) -> None:
        """Cancels unfinished runs and releases the workers."""


def attempt(call: Callable[[], Outcome]) -> Outcome:
    """Calls `call` and returns its outcome. A run may be retried after any exception except `ScenarioError`."""
    try:
        return call()
    except ScenarioError as error:
        return Failed(str(error), may_retry=False)
    except BaseException as error:  # any failure of a run is listed
        return Failed(f"{type(error).__name__}: {error}", may_retry=True)


class Threads:
    """Executor in threads of this process. The engine releases the global interpreter lock."""

    def __init__(self, count: int | None) -> None:
        self.done: queue.SimpleQueue[tuple[Task, Outcome]] = queue.SimpleQueue()
        self.count = count or len(os.sched_getaffinity(0))
        self.room = 4 * self.count
        self._stopped = False
        self._pool = ThreadPoolExecutor(self.count)

    def submit(self, task: Task) -> None:
        """Starts a run."""
        self._pool.submit(lambda: self.done.put((task, attempt(lambda: self._run(task)))))

    def close(self) -> None:
        """Cancels unfinished runs and releases the workers."""
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)

    def _run(self, task: Task) -> Outcome:
        return measure(task.text, task.warm_up, _core.build(), self._check)

    def _check(self, _progress: float) -> None:
        if self._stopped:
            raise StoppedError


class Processes(Threads):
    """Executor in separate processes. A crash affects only one run."""

    def __init__(self, count: int | None) -> None:
        super().__init__(count)
        self._own = threading.local()
        self._all: list[subprocess.Popen[str]] = []
        self._ready = [self._start() for _ in range(min(self.count, MAX_EARLY_PROCESSES))]

    def close(self) -> None:
        """Cancels unfinished runs and releases the workers."""
        self._stopped = True
        for process in self._all:
            process.kill()
        super().close()
        for process in self._all:
            process.communicate()

    def _run(self, task: Task) -> Outcome:
        process: subprocess.Popen[str] | None = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            if self._stopped:
                raise StoppedError
            process = self._own.process = self._ready.pop() if self._ready else self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps([task.text, task.warm_up, _core.build()]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith("\n"):
            raise RuntimeError(f"its process ended with status {process.wait()}")
        kind, outcome = json.loads(line)
        return [Row(*row) for row in outcome] if kind == "rows" else Failed(*outcome)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._all.append(process)
        return process


def serve() -> None:
    """Executes the runs from standard input, one per line, until end of file."""
    for number in ending.NUMBERS:
        signal.signal(number, signal.SIG_IGN)  # the parent process handles them
    parent = os.getppid()

    def check(_share: float) -> None:
        if os.getppid() != parent:  # it was killed
            os._exit(ending.BAD_INPUT)

    prepare()
    for line in sys.stdin:
        text, warm_up, build = json.loads(line)
        outcome = attempt(partial(measure, text, warm_up, build, check))
        try:
            print(json.dumps(["rows" if isinstance(outcome, list) else "failed", outcome]), flush=True)
        except BrokenPipeError:
            os._exit(ending.BAD_INPUT)


class Dask:
    """Executor on the workers of a Dask cluster. Dask moves the runs of a lost worker to another worker."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise ScenarioError(f"--scheduler {address}: needs Dask; run pip install 'levelflow[cluster]'") from None
        try:
            self._client: Any = distributed.Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ScenarioError(f"--scheduler {address}: no Dask scheduler is reachable ({error})") from None
        self._closed = False
        self.done: queue.SimpleQueue[tuple[Task, Outcome]] = queue.SimpleQueue()
        self.room = 4 * max(1, sum(self._client.nthreads().values()))

    def submit(self, task: Task) -> None:
        """Starts a run."""
        future = self._client.submit(measure, task.text, task.warm_up, _core.build(), pure=False)
        # After `close`, reading a result would wait for the stopped client.
        future.add_done_callback(lambda ended: None if self._closed else self.done.put((task, attempt(ended.result))))

    def close(self) -> None:
        """Cancels unfinished runs and releases the workers."""
        self._closed = True
        self._client.close()


def pool(scheduler: str, workers: int | None) -> Pool:
    """Returns an executor for "processes", "threads", or the address of a Dask scheduler.

    Raises:
        ScenarioError: If `scheduler` is none of these, or the Dask scheduler is unreachable.
    """
    if scheduler == "processes":
        return Processes(workers)
    if scheduler == "threads":
        return Threads(workers)
    if "://" in scheduler:
        return Dask(scheduler)
    raise ScenarioError(f"--scheduler {scheduler}: is not allowed; needs processes, threads or tcp://HOST:PORT")
