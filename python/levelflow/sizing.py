"""Buffers beside each other on the same traffic: rules, sizers, and the best of fixed size."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, NamedTuple

from levelflow.claims.metrics.sizing import Use, batches, half_width, use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from levelflow.claims.metrics.series import Window
    from levelflow.results import Result
    from levelflow.scenario import Scenario

    Runs = Callable[[Sequence[Scenario]], Sequence[Result]]

#: Largest buffer that sizers and the search may come to, packets.
LARGEST = 20_000
#: The search ends when the smallest buffer that meets the targets is known to this part.
PRECISION = 0.05
#: Names of what is compared.
BDP, STANFORD, BSCL = "C R", "Stanford, 2 C R/sqrt(N)", "BSCL"
PRINTED, OURS, BEST = "ABS as printed", "abs_log", "best fixed"


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
    """What one way to size a buffer came to, over the second half of runs that differ in their seed alone.

    Attributes:
        name: of the rule or sizer.
        used: means over the runs.
        half: of their 95 % intervals: by Student's distribution over the runs; of a single run, by batch means.
        miss: how far the means are from the targets.
        each: every run, in the order of the seeds.
    """

    name: str
    used: Use
    half: Use
    miss: float
    each: tuple[Use, ...]


def candidates(targets: Targets, largest: int = LARGEST) -> dict[str, object]:
    """The rules and sizers to compare, as values of a link's `buffer`."""
    words = {"utilisation": targets.utilisation, "loss": targets.loss, "largest": f"{largest} packets"}
    rules: dict[str, object] = {BDP: {"thumb": {}}, STANFORD: {"stanford": {}}}
    if targets.loss:
        rules[BSCL] = {"bscl": {"loss": targets.loss}}
    return rules | {PRINTED: {"abs": words}, OURS: {"abs_log": words}}


def with_buffer(scenario: Scenario, link: str, buffer: object, seed: int | None = None) -> Scenario:
    """A copy of a scenario in which a link has another buffer, and draws another seed if one is given."""
    other = copy.deepcopy(scenario).set(f"link.{link}.buffer", buffer)
    return other if seed is None else other.set("seed", seed)


def compare(
    scenario: Scenario,
    link: str,
    targets: Targets,
    buffers: Mapping[str, object],
    runs: Runs,
    seeds: Sequence[int | None] = (None,),
) -> list[Line]:
    """Runs a scenario with each buffer and each seed, its own if none are given; `runs` simulates several scenarios."""
    results = runs([with_buffer(scenario, link, buffer, seed) for buffer in buffers.values() for seed in seeds])
    count = len(seeds)
    return [line(name, results[i * count : (i + 1) * count], link, targets) for i, name in enumerate(buffers)]


def line(name: str, results: Sequence[Result], link: str, targets: Targets) -> Line:
    """The means over the second halves of runs of the same traffic."""
    each = tuple(_used(result, link) for result in results)
    parts = each if len(results) > 1 else _used_in_parts(results[0], link)
    used = Use(*(sum(column) / len(each) for column in zip(*each, strict=True)))
    half = Use(*(half_width(column) for column in zip(*parts, strict=True)))
    return Line(name, used, half, targets.miss(used), each)


def _second_half(result: Result, link: str) -> tuple[float, Window]:
    """Capacity of a link, bit/s, and the second half of a run."""
    link_of = next(item for item in result.scenario["links"] if item["name"] == link)
    end = float(result.scenario["duration_s"])
    return float(link_of["capacity_bps"]), (end / 2, end)


def _used(result: Result, link: str) -> Use:
    return use(result.links, link, *_second_half(result, link))


def _used_in_parts(result: Result, link: str) -> list[Use]:
    return batches(result.links, link, *_second_half(result, link))


def best_fixed(
    scenario: Scenario,
    link: str,
    targets: Targets,
    runs: Runs,
    seeds: Sequence[int | None] = (None,),
    largest: int = LARGEST,
) -> Line:
    """The smallest buffer of fixed size that meets the targets, to 5 %; where none does, the one that misses least.

    With several seeds, their mean is to meet them. Use grows and loss falls with the buffer, as long as it is not so
    large that a run is over before it is full: the search comes from below, then halves between what is too small and
    what is enough.
    """

    def of(size: int) -> Line:
        return compare(scenario, link, targets, {BEST: f"{size} packets"}, runs, seeds)[0]

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
