"""Single run of a scenario: drives the engine, writes the files, and reports progress."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.ending import handled
from levelflow.results import Recording, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from levelflow.capture import Capture
    from levelflow.lawfile import OwnLaw
    from levelflow.records import ScenarioRecord

EVENTS_PER_STEP = 250_000  # about 20 ms, the delay after which Ctrl-C and the progress bar react
OWN_LAW_EVENTS_PER_STEP = 2_500  # the same, if laws in Python run
FLUSH_EVERY_S = 1.0  # interval between two writes: a killed process loses the results since the last one


class Interrupted(KeyboardInterrupt):
    """Interruption of a run by a signal; its files are complete up to that point.

    Attributes:
        signal: Number of the signal.
        result: Partial result.
    """

    def __init__(self, number: int, result: Result) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name} at {result.manifest['simulated_s']:.6g} s")
        self.signal = number
        self.result = result


class Input(NamedTuple):
    """Input of a run.

    Attributes:
        text: Scenario in JSON for the manifest, including its law files.
        network: Scenario in JSON for the engine.
        laws: Laws of the law files.
        resolved: Resolved scenario.
        origin: File from which the scenario was read.
    """

    text: str
    network: str
    laws: list[OwnLaw]
    resolved: ScenarioRecord
    origin: str | None


def law_error(error: _core.LawError, laws: list[OwnLaw]) -> ScenarioError:
    """Returns the error for an exception in a law in Python."""
    from levelflow.lawfile import fault

    return fault(error, laws)


def run(
    source: Input,
    out: Path | str | None,
    progress: bool | Callable[[float], None],
    capture: Capture | None,
    threads: int | None,
) -> Result:
    """Simulates a scenario; see `Scenario.run`."""
    text, network, laws, resolved, origin = source
    links = capture.check().links if capture else None
    try:
        simulation = _core.Simulation(network, links, threads, [law.engine for law in laws])
    except ScenarioError as error:
        raise ScenarioError(f"{origin}: {error}" if origin else str(error)) from None
    except _core.LawError as error:
        raise law_error(error, laws) from error
    recording = Recording(text, resolved, origin, out, simulation)
    try:
        with _signals() as caught, _reporting(progress, resolved["name"]) as report:
            _advance(
                simulation, recording, capture, caught, report, OWN_LAW_EVENTS_PER_STEP if laws else EVENTS_PER_STEP
            )
    except _core.LawError as error:
        with suppress(OSError):  # the error of the law matters more than files that cannot be removed
            recording.discard()
        raise law_error(error, laws) from error
    except BaseException:
        with suppress(OSError, ScenarioError):  # closing may fail, too, as on a full disk; stored rows stay
            recording.close("partial", None)
        raise
    finally:
        if capture:
            capture.close()
    status = "partial" if caught else "complete"
    result = recording.close(status, simulation.summary())
    if caught:
        raise Interrupted(caught[0], result)
    return result


def _advance(
    simulation: _core.Simulation,
    recording: Recording,
    capture: Capture | None,
    caught: list[int],
    report: Callable[[float], None],
    events_per_step: int,
) -> None:
    flushed = time.monotonic()
    done = False
    while not (done or caught):
        try:
            done = simulation.advance(simulation.duration, events_per_step)
        finally:
            if capture:
                capture.append(simulation.captured())
        report(simulation.now / simulation.duration)
        if time.monotonic() - flushed > FLUSH_EVERY_S:
            recording.flush()
            if capture:
                capture.flush()
            flushed = time.monotonic()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Catches the first SIGINT or SIGTERM; a second one has its usual effect."""
    caught: list[int] = []
    with ExitStack() as handling:

        def catch(number: int, _frame: FrameType | None) -> None:
            caught.append(number)
            handling.close()

        handling.enter_context(handled(catch))
        yield caught


@contextmanager
def _reporting(progress: bool | Callable[[float], None], name: str) -> Iterator[Callable[[float], None]]:
    if progress is not True:
        yield progress or (lambda _share: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share: bar.update(task, completed=share)
