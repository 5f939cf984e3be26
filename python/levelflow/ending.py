"""Ends of commands: exit statuses, and SIGINT and SIGTERM, which have the same effect."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    Handler = Callable[[int, FrameType | None], None]

#: Exit status after bad input.
BAD_INPUT = 2
#: Signals that end a command.
NUMBERS = (signal.SIGINT, signal.SIGTERM)
#: Last signal (SIGINT or SIGTERM) that this process received, as the only entry; empty before the first signal.
_received: list[int] = []


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt."""
    _received[:] = [number]
    raise KeyboardInterrupt


def interrupted() -> int:
    """Returns the exit status after a signal, 128 plus its number."""
    return 128 + (_received[0] if _received else signal.SIGINT)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt on SIGINT and SIGTERM within the context, in the main thread.

    An ignored signal stays ignored: a shell lets its background jobs ignore Ctrl-C.
    """
    _received.clear()
    usual = {number: signal.getsignal(number) for number in NUMBERS}
    before = {number: old for number, old in usual.items() if old is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Calls a handler on SIGINT and SIGTERM within the context, in the main thread.

    Handlers that other code installed stay in place.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        _received[:] = [number]
        handler(number, frame)

    usual = {number: signal.getsignal(number) for number in NUMBERS}
    own = {n: old for n, old in usual.items() if old in (interrupt, signal.default_int_handler, signal.SIG_DFL)}
    for number in own:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, old in own.items():
            signal.signal(number, old)
