"""Parallel runs of many scenarios, and their progress."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from levelflow.ending import handled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType, TracebackType

    from levelflow.results import Result
    from levelflow.scenario import Scenario

#: Time window of the progress bar's speed estimate, in seconds. It is long because runs differ in length.
ESTIMATE_S = 300.0


class StoppedError(Exception):
    """Signals that a run was cancelled."""


class Workers:
    """Simulates scenarios in parallel and reports progress.

    Within the context, SIGINT and SIGTERM only cancel the runs, because Polars would panic at an exception inside its
    code. If a signal cancelled a run, the context raises `KeyboardInterrupt` at its end.

    The second argument of the constructor is a progress callback. It receives the finished and the total work.

    Args:
        count: Number of parallel runs.
        work: Function that returns the work of a scenario in any unit; by default 1 per scenario.
    """

    def __init__(
        self, count: int | None, report: Callable[[float, float], None], work: Callable[[Scenario], float] | None = None
    ) -> None:
        self._pool = ThreadPoolExecutor(count)
        self._report = report
        self._work = work or (lambda _scenario: 1.0)
        self._lock = threading.Lock()
        self._stopped = False  # an Event has a lock, which signal handlers cannot use
        self._interrupted = False
        self._handling = ExitStack()
        self._asked = self._expected = self._done = self._settled = 0.0

    def __enter__(self) -> Self:
        self._handling.enter_context(handled(self._interrupt))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)
        self._handling.close()
        if self._interrupted and kind is StoppedError:
            raise KeyboardInterrupt from None

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        self._stopped = True

    def expect(self, work: float) -> None:
        """Sets the expected total work; 0 means the work requested up to now."""
        with self._lock:
            self._expected = work
            self._show()

    def settle(self, work: float) -> None:
        """Counts the expected `work` as finished, even if the runs needed another amount of work."""
        with self._lock:
            self._settled += work
            self._asked = self._done = self._settled
            self._show()

    def __call__(self, scenarios: Sequence[Scenario]) -> list[Result]:
        """Runs scenarios and returns their results in order.

        Raises:
            StoppedError: If the runs were cancelled.
        """
        weighed = [(scenario, self._work(scenario)) for scenario in scenarios]
        with self._lock:
            self._asked += sum(work for _, work in weighed)
            if self._stopped:
                raise StoppedError
            futures = [self._pool.submit(self._run, *one) for one in weighed]
        return [future.result() for future in futures]

    def _run(self, scenario: Scenario, work: float) -> Result:
        before = 0.0

        def report(share: float) -> None:
            nonlocal before
            if self._stopped:
                raise StoppedError
            with self._lock:
                self._done += work * (share - before)
                before = share
                self._show()

        result = scenario.run(progress=report)
        report(1.0)
        return result

    def _show(self) -> None:
        self._report(self._done, max(self._expected, self._asked))


class Bar:
    """Progress bar on a terminal with the remaining time, as a callback for `Workers`."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self._bar = Progress(
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            speed_estimate_period=ESTIMATE_S,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def __call__(self, done: float, of: float) -> None:
        """Updates the finished and the total amount of work."""
        self._bar.update(self._task, completed=done, total=of)

    def print(self, *lines: str) -> None:
        """Prints lines to stdout, above the bar."""
        self._bar.stop()
        print(*lines, sep="\n", flush=True)
        self._bar.start()
