"""Where runs are made: threads, processes of this machine, or the workers of a Dask cluster."""

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

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.library import PACKAGE
from levelflow.study.task import Row, Task, measure, prepare
from levelflow.workers import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Rows of a run, or why there are none and whether another attempt may go better.
Outcome = list[Row] | tuple[str, bool]
WAIT_S = 20
#: Processes that start before there is a run for them.
READY = 8
#: What a process runs; it imports this very package, wherever it starts, and looks for next to no garbage meanwhile.
SERVE = (
    f"import gc, sys; gc.set_threshold(100_000); sys.path.insert(0, {str(PACKAGE.parent)!r}); "
    "from levelflow.study.pools import serve; serve()"
)


class Pool(Protocol):
    """Makes runs; what comes out of each is put into `done`, in any order."""

    done: queue.SimpleQueue[tuple[Task, Outcome]]
    room: int

    def submit(self, task: Task) -> None:
        """Has a run made."""

    def close(self) -> None:
        """Ends what still goes on."""


def attempt(call: Callable[[], list[Row]]) -> Outcome:
    """Returns the rows, or why there are none: what the scenario does not allow will not go better."""
    try:
        return call()
    except ScenarioError as error:
        return str(error), False
    except BaseException as error:  # a run that fails is listed, whatever of
        return f"{type(error).__name__}: {error}", True


class Threads:
    """Runs in threads of this process; the engine leaves the interpreter free."""

    def __init__(self, count: int | None) -> None:
        self.done: queue.SimpleQueue[tuple[Task, Outcome]] = queue.SimpleQueue()
        self.count = count or len(os.sched_getaffinity(0))
        self.room = 4 * self.count
        self._stopped = False
        self._pool = ThreadPoolExecutor(self.count)

    def submit(self, task: Task) -> None:
        """Has a run made."""
        self._pool.submit(lambda: self.done.put((task, attempt(lambda: self._run(task)))))

    def close(self) -> None:
        """Ends what still goes on."""
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)

    def _run(self, task: Task) -> list[Row]:
        return measure(task.text, task.warm_up, _core.build(), self._tell)

    def _tell(self, _share: float) -> None:
        if self._stopped:
            raise StoppedError


class Processes(Threads):
    """Runs in processes of their own: one that dies takes no other with it."""

    def __init__(self, count: int | None) -> None:
        super().__init__(count)
        self._own = threading.local()
        self._all: list[subprocess.Popen[str]] = []
        self._ready = [self._start() for _ in range(min(self.count, READY))]

    def close(self) -> None:
        """Ends what still goes on."""
        self._stopped = True
        for process in self._all:
            process.kill()
        super().close()
        for process in self._all:
            process.communicate()

    def _run(self, task: Task) -> list[Row]:
        process: Any = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            if self._stopped:
                raise StoppedError
            process = self._own.process = self._ready.pop() if self._ready else self._start()
        line = ""
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps([task.text, task.warm_up, _core.build()]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith("\n"):
            raise RuntimeError(f"its process ended with status {process.wait()}")
        kind, found = json.loads(line)
        if kind == "rows":
            return [(of, name, at, metric, value) for of, name, at, metric, value in found]
        raise RuntimeError(found[0]) if found[1] else ScenarioError(found[0])

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
    """Makes the runs that come in by standard input, a line each, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides
    prepare()
    for line in sys.stdin:
        outcome = attempt(partial(measure, *json.loads(line)))
        print(json.dumps(["rows" if isinstance(outcome, list) else "failed", outcome]), flush=True)


class Dask:
    """Runs on the workers of a Dask cluster, which takes runs of a worker that dies to another one."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise ScenarioError(f"--scheduler {address}: needs Dask; pip install 'levelflow[cluster]'") from None
        try:
            self._client: Any = distributed.Client(address, timeout=WAIT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ScenarioError(f"--scheduler {address}: no scheduler of Dask answers there ({error})") from None
        self.done: queue.SimpleQueue[tuple[Task, Outcome]] = queue.SimpleQueue()
        self.room = 4 * max(1, sum(self._client.nthreads().values()))
        self._futures: set[Any] = set()

    def submit(self, task: Task) -> None:
        """Has a run made."""
        future = self._client.submit(measure, task.text, task.warm_up, _core.build(), pure=False)
        self._futures.add(future)
        future.add_done_callback(lambda ended: self._take(task, ended))

    def close(self) -> None:
        """Ends what still goes on."""
        self._client.cancel(list(self._futures))
        self._client.close()

    def _take(self, task: Task, future: Any) -> None:
        self._futures.discard(future)
        self.done.put((task, attempt(lambda: [tuple(row) for row in future.result()])))


def pool(scheduler: str, workers: int | None) -> Pool:
    """Returns where runs are made: "processes", "threads", or the address of a Dask scheduler.

    Raises:
        ScenarioError: if it is none of these, or does not answer.
    """
    if scheduler == "processes":
        return Processes(workers)
    if scheduler == "threads":
        return Threads(workers)
    if "://" in scheduler:
        return Dask(scheduler)
    raise ScenarioError(f"--scheduler {scheduler}: is not allowed; needs processes, threads, or tcp://HOST:PORT")
