"""Buffers beside each other on the same traffic: rules, sizers, and the best of fixed size."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, NamedTuple

from levelflow.claims.metrics.sizing import Use, batches, half_width, use

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from levelflow.results import Result
    from levelflow.scenario import Scenario

    Runs = Callable[[Sequence[Scenario]], Sequence[Result]]

#: Largest buffer that sizers and the search may come to, packets.
LARGEST = 20_000
#: The search ends when the smallest buffer that meets the targets is known to this part.
PRECISION = 0.05


class Targets(NamedTuple):
    """What a buffer is for; 0 for no such target."""

    utilisation: float
    loss: float

    def miss(self, used: Use) -> float:
        """How far a buffer is from meeting both: the larger of idle and loss, in parts of what is allowed, above 1."""
        idle = (1 - used.utilisation) / (1 - self.utilisation) if self.utilisation else 0.0
        lost = used.loss / self.loss if self.loss else 0.0
        return max(idle, lost, 1.0) - 1.0


class Line(NamedTuple):
    """What one way to size a buffer came to: means over the second half of a run, and half of their 95 % intervals."""

    name: str
    used: Use
    half: Use
    miss: float


def candidates(targets: Targets, largest: int = LARGEST) -> dict[str, object]:
    """The rules and sizers to compare, as values of a link's `buffer`."""
    words = {"utilisation": targets.utilisation, "loss": targets.loss, "largest": f"{largest} packets"}
    rules: dict[str, object] = {"C R": {"thumb": {}}, "Stanford, 2 C R/sqrt(N)": {"stanford": {}}}
    if targets.loss:
        rules["BSCL"] = {"bscl": {"loss": targets.loss}}
    return rules | {"ABS as printed": {"abs": words}, "abs_log": {"abs_log": words}}


def with_buffer(scenario: Scenario, link: str, buffer: object) -> Scenario:
    """A copy of a scenario in which a link has another buffer."""
    return copy.deepcopy(scenario).set(f"link.{link}.buffer", buffer)


def compare(scenario: Scenario, link: str, targets: Targets, buffers: dict[str, object], runs: Runs) -> list[Line]:
    """Runs a scenario once for each buffer; `runs` simulates several scenarios."""
    results = runs([with_buffer(scenario, link, buffer) for buffer in buffers.values()])
    return [line(name, result, link, targets) for name, result in zip(buffers, results, strict=True)]


def line(name: str, result: Result, link: str, targets: Targets) -> Line:
    """The means of a run over its second half."""
    link_of = next(item for item in result.scenario["links"] if item["name"] == link)
    capacity, end = float(link_of["capacity_bps"]), float(result.scenario["duration_s"])
    window = (end / 2, end)
    used = use(result.links, link, capacity, window)
    parts = batches(result.links, link, capacity, window)
    half = Use(*(half_width([part[i] for part in parts]) for i in range(len(Use._fields))))
    return Line(name, used, half, targets.miss(used))


def best_fixed(scenario: Scenario, link: str, targets: Targets, runs: Runs, largest: int = LARGEST) -> Line:
    """The smallest buffer of fixed size that meets the targets, to 5 %; where none does, the one that misses least.

    Use grows and loss falls with the buffer, as long as it is not so large that a run is over before it is full: the
    search comes from below, then halves between what is too small and what is enough.
    """

    def of(size: int) -> Line:
        result = runs([with_buffer(scenario, link, f"{size} packets")])[0]
        return line("best fixed", result, link, targets)

    lines, low, high = [of(1)], 1, 4
    while lines[-1].miss > 0 and low < largest:
        lines.append(of(high))
        low, high = (low, high) if lines[-1].miss == 0 else (high, min(4 * high, largest))
    if lines[-1].miss > 0 or len(lines) == 1:
        return min(lines, key=lambda item: item.miss)
    while high / low > 1 + PRECISION and high - low > 1:
        middle = max(round(math.sqrt(low * high)), low + 1)
        tried = of(middle)
        lines.append(tried)
        low, high = (low, middle) if tried.miss == 0 else (middle, high)
    return min((item for item in lines if item.miss == 0), key=lambda item: item.used.buffer)
