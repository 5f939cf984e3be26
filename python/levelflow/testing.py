"""Tests that laws in Python have the properties of registered laws."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow import _core, files
from levelflow._core import Ack, FlowStart, Loss, ScenarioError, Timeout
from levelflow.lawfile import OwnLaw, load, own, params_of, shown, table, where
from levelflow.running import Input, run
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from levelflow.law import Law
    from levelflow.results import Result

Event = Ack | Loss | Timeout

EVENTS = 400
SEQUENCES = 8
#: Lowest utilisation of a single flow with the default parameters on an uncongested link.
LOWEST_UTILISATION = 0.01


class LawTestError(AssertionError):
    """Property that a law does not have, in one line with file and line number where possible."""


def check_law(law: type[Law] | Path | str) -> None:
    """Verifies that a law, or each law of a law file, has the properties of registered laws.

    - Its parameter table is valid, and its class has all methods.
    - Rate and window are allowed numbers after each call, for all corners of its parameters and random events.
    - Equal inputs give equal outputs: in a replay, in a copy, with calls for other flows in between, and with another
      state of the module `random`.
    - A flow transfers data through an uncongested link, and two runs are equal bit for bit.

    Raises:
        LawTestError: If the law lacks one of these properties.
    """
    try:
        if isinstance(law, type):
            found: Sequence[OwnLaw] = [own(law, law.on_ack.__code__.co_filename)]
        else:
            found = load(Path(law).name, files.read(Path(law)))
    except ScenarioError as error:
        raise LawTestError(str(error)) from None
    for each in found:
        _check(each)


def _check(law: OwnLaw) -> None:
    kind, file = law.kind, law.file
    corners = list(_corners(kind))
    for seed in range(SEQUENCES):
        events = _events(seed)
        for params in corners:
            _follow(kind, file, params, events)
        _check_replay(kind, file, events)
    _check_run(law)


def _corners(kind: type[Law]) -> Iterator[Any]:
    """Yields the default parameters, and parameters at the ends of their ranges, except rejected combinations."""
    rows, types_of = table(kind.Params)
    ends = [{row["name"]: row[end] for row in rows} for end in ("low", "high")]
    single = [{row["name"]: row[end]} for row, end in itertools.product(rows, ("low", "high"))]
    for changes in [{}, *ends, *single]:
        values = {row["name"]: row["default"] for row in rows} | changes
        try:
            yield params_of(kind, rows, types_of, [values[row["name"]] for row in rows])
        except ValueError:
            continue


def _events(seed: int) -> list[Event]:
    """Returns random events of a flow in order of time: mostly ACKs, also losses and timeouts."""
    draw = random.Random(seed)
    events: list[Event] = []
    now, smallest, smooth, expired = 0.0, math.inf, 0.0, False
    for number in range(EVENTS):
        now += draw.expovariate(100.0)
        chance = draw.random()
        if chance < 0.03:
            events.append(Timeout(now=now, next=number + 1, repeated=expired))
            expired = True
        elif chance < 0.15:
            events.append(Loss(now=now, number=number, next=number + 20, outstanding=19, first=draw.random() < 0.5))
        else:
            expired = False
            rtt = draw.uniform(1e-6, 2.0)
            smallest, smooth = min(smallest, rtt), smooth + (rtt - smooth) / 8 if smooth else rtt
            events.append(
                Ack(
                    now=now,
                    number=number,
                    next=number + 20,
                    rtt=rtt,
                    srtt=smooth,
                    min_rtt=smallest,
                    acked=draw.choice((0, 1, 1, 2, 40)),
                    outstanding=draw.randrange(100),
                    marked=draw.random() < 0.1,
                    round=draw.random() < 0.1,
                    recovering=draw.random() < 0.1,
                    window_used=draw.random() < 0.9,
                    delivered=number,
                    delivery_rate=draw.choice((None, draw.uniform(1.0, 1e10))),
                )
            )
    return events


def _handle(sender: Law, event: Event) -> tuple[float | None, float | None]:
    """Passes an event to a sender, and returns its rate and window."""
    if isinstance(event, Ack):
        sender.on_ack(event)
    elif isinstance(event, Loss):
        sender.on_loss(event)
    else:
        sender.on_timeout(event)
    return sender.rate, sender.window


def _follow(kind: type[Law], file: str, params: Any, events: list[Event]) -> list[tuple[float | None, float | None]]:
    """Returns rates and windows after each event.

    Raises:
        LawTestError: If the law raises an exception, or a rate or a window is not allowed.
    """
    seen = []
    event: Event | str = "start"
    try:
        sender = kind(params, FlowStart(seed=1))
        _core.check_limits(sender)
        for event in events:
            seen.append(_handle(sender, event))
            _core.check_limits(sender)
    except Exception as error:
        raise LawTestError(f"{where(file, error)}: {shown(error)}; with {params} at {event}") from error
    return seen


def _check_replay(kind: type[Law], file: str, events: list[Event]) -> None:
    params, flow = kind.Params(), FlowStart(seed=1)
    expected = _follow(kind, file, params, events)

    def again() -> list[Any]:
        random.seed(len(expected))
        return _follow(kind, file, params, events)

    def copied() -> list[Any]:
        sender = kind(params, flow)
        seen = [_handle(sender, event) for event in events[: EVENTS // 2]]
        copy_of = copy.deepcopy(sender)
        _ = [_handle(sender, event) for event in reversed(events)]
        return seen + [_handle(copy_of, event) for event in events[EVENTS // 2 :]]

    def mixed() -> list[Any]:
        sender, other = kind(params, flow), kind(params, flow)
        seen = []
        for event, of_other in zip(events, reversed(events), strict=True):
            _handle(other, of_other)
            seen.append(_handle(sender, event))
        return seen

    checks: dict[str, Callable[[], list[Any]]] = {
        "a second sender with the same inputs": again,
        "a copy of the sender": copied,
        "a sender next to another flow": mixed,
    }
    for what, check in checks.items():
        if check() != expected:
            hint = "a law uses only its own attributes and its inputs"
            raise LawTestError(f"{file}, class {kind.__name__}: {what} sets another rate or window; {hint}")


def _check_run(law: OwnLaw) -> None:
    scenario = Scenario("check", "5 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True, buffer="1 BDP")
    scenario.flow("x", law.name, "A", "B")
    if law.kind.signal == "marks":
        scenario.set("link.1.queue", {"red": {"ecn": True}})
    first, second = (_simulate(scenario, law) for _ in range(2))
    if not first.flows.equals(second.flows):
        raise LawTestError(f"{law.file}, class {law.kind.__name__}: two runs of one scenario differ")
    used = first.summary["links"][0]["utilisation"]
    if not used >= LOWEST_UTILISATION:
        raise LawTestError(f"{law.file}, class {law.kind.__name__}: a single flow uses {used:.2%} of a link of 10 Mb/s")


def _simulate(scenario: Scenario, law: OwnLaw) -> Result:
    text = scenario.to_json()
    try:
        resolved = json.loads(_core.resolve(text, [law.engine]))
        return run(Input(text, text, [law], resolved, None), None, False, None, 1)
    except ScenarioError as error:
        raise LawTestError(str(error)) from None
