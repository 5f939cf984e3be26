"""Candidate buffers on the same traffic: rules, algorithms, and the best fixed size."""

from __future__ import annotations

import copy
import functools
import json
import math
from typing import TYPE_CHECKING, NamedTuple

from levelflow import library
from levelflow._core import ScenarioError
from levelflow.keywords import Table
from levelflow.measure.intervals import interval
from levelflow.measure.utilisation import Use, batches, use
from levelflow.theory.queues import buffers
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from levelflow.measure.series import Window
    from levelflow.results import Result
    from levelflow.scenario import Scenario

    Runs = Callable[[Sequence[Scenario]], Sequence[Result]]

#: Value of a link's `buffer`.
Buffer = str | Table

#: Largest buffer of algorithms and of the search, packets. 1024 flows need more than 10 000.
LARGEST = 20_000
#: Relative precision of the search for the smallest buffer that meets the targets.
PRECISION = 0.05
#: Approximate number of search runs per seed, for the progress bar.
SEARCH = 12
#: Names of the rows: rules, algorithms, and the result of the search.
BDP, STANFORD, AVRACHENKOV, ENACHESCU = "C R", "Stanford, 2 C R/sqrt(N)", "Avrachenkov", "Enachescu"
BSCL, EUN_WANG = "BSCL", "Eun and Wang, least"
ADT, PRINTED, OURS, BEST = "ADT", "ABS as printed", "abs_log", "best fixed"
BUFFER_ALGORITHMS = (ADT, PRINTED, OURS)
#: Tolerances of the targets: absolute for utilisation, relative for loss and delay.
POINT, TENTH = 0.01, 0.1
#: Defaults of algorithms for the largest and the initial buffer, in packets.
USUAL, FIRST = (int(library.number(library.of_algorithm(OURS, name), "default")) for name in ("largest", "initial"))


class Targets(NamedTuple):
    """Targets of a buffer; 0 means no target.

    Attributes:
        utilisation: Minimum utilisation of the link.
        loss: Maximum fraction of the arriving bytes that is dropped.
        delay: Maximum mean queueing delay, in seconds.
    """

    utilisation: float = 0.0
    loss: float = 0.0
    delay: float = 0.0

    def parts(self, used: Use, *, point: float = 0.0, tenth: float = 0.0) -> dict[str, float]:
        """Returns `measured/allowed` for idle time, loss and delay, by target.

        `point` is added to the allowed fraction of idle time. The allowed loss and delay are multiplied by `1 + tenth`.
        """
        idle = {"utilisation": (1 - used.utilisation) / (1 - self.utilisation + point)} if self.utilisation else {}
        lost = {"loss": used.loss / (self.loss * (1 + tenth))} if self.loss else {}
        return idle | lost | ({"delay": used.wait / (self.delay * (1 + tenth))} if self.delay else {})

    def miss(self, used: Use) -> float:
        """Returns `max(0, r - 1)`, where `r` is the largest ratio of `parts`. It is 0 if all targets are met."""
        return max([1.0, *self.parts(used).values()]) - 1.0

    def missed(self, used: Use) -> list[str]:
        """Returns the targets missed by more than a percentage point (utilisation) or a tenth (loss, delay).

        >>> Targets(0.98, 0.02, 0.1).missed(Use(0.975, 0.0225, 0, 0, 0.105))
        ['loss']
        """
        return [name for name, part in self.parts(used, point=POINT, tenth=TENTH).items() if part > 1]

    def fit(self, used: Use) -> str:
        """Returns `no` if a target is missed, `too large` if a smaller buffer would suffice, otherwise `yes`.

        A buffer is too large if utilisation and loss are both better than their targets by more than the tolerance.

        >>> [Targets(0.98, 0.02).fit(Use(u, p, 0, 0, 0)) for u, p in ((0.96, 0.02), (0.975, 0.004), (1.0, 0.01))]
        ['no', 'yes', 'too large']
        """
        if self.missed(used):
            return "no"
        idle, lost = used.utilisation - self.utilisation, used.loss - self.loss * (1 - TENTH)
        return "yes" if (self.utilisation and idle <= POINT) or (self.loss and lost >= 0) else "too large"

    def excess(self, used: Use) -> float:
        """Returns the largest ratio of `parts` with tolerances. It is above 1 if a target is missed."""
        return max(self.parts(used, point=POINT, tenth=TENTH).values(), default=0.0)


class Line(NamedTuple):
    """Measurement of one buffer over the second half of each run. The runs differ only in their seeds.

    Attributes:
        name: Name of the rule or algorithm.
        used: Means over the runs.
        half: Half-widths of the 95 % confidence intervals of `used`: by Student's t for several runs, and by batch
            means for a single run.
        miss: `Targets.miss` of the means.
        each: Values of each distinct run, in the order of the seeds.
    """

    name: str
    used: Use
    half: Use
    miss: float
    each: tuple[Use, ...]


def candidates(
    targets: Targets, largest: int = LARGEST, known: Mapping[str, object] | None = None, rtt: str | None = None
) -> dict[str, Buffer]:
    """Returns all rules and algorithms as values of a link's `buffer`.

    A scenario rejects candidates that need a missing target, or a number of flows that it does not define.

    Args:
        targets: Targets of the algorithms and of BSCL.
        largest: Largest buffer of algorithms, packets.
        known: `flows` and `rtt` for rules, in place of the values of the scenario.
        rtt: Round trip for `abs_log`, such as "50 ms"; None for the default of `abs_log`.
    """
    facts = dict(known or {})
    rules: dict[str, Buffer] = {
        BDP: {"thumb": facts},
        STANFORD: {"stanford": facts},
        AVRACHENKOV: {"avrachenkov": facts},
        ENACHESCU: f"{buffers.ENACHESCU[1]:.0f} packets",
        BSCL: {"bscl": {"loss": targets.loss, **facts}},
        EUN_WANG: {"eun_wang": facts},
    }
    bounds = {} if largest == USUAL else {"largest": f"{largest} packets"}
    bounds |= {} if largest >= FIRST else {"initial": f"{largest} packets"}
    words = {"utilisation": targets.utilisation, "loss": targets.loss, **bounds}
    more = ({"delay": f"{1e3 * targets.delay:.9g} ms"} if targets.delay else {}) | ({"rtt": rtt} if rtt else {})
    adt = {"utilisation": targets.utilisation, **bounds}
    return rules | {ADT: {"adt": adt}, PRINTED: {"abs": words}, OURS: {"abs_log": words | more}}


def with_buffer(scenario: Scenario, link: str, buffer: object, seed: int | None = None) -> Scenario:
    """Returns a copy of a scenario with `buffer` as the link's buffer and, if `seed` is given, with this seed.

    The other direction of a duplex link keeps its buffer.

    Raises:
        ScenarioError: If the link does not exist.
    """
    other = copy.deepcopy(scenario)
    entry, forward = entry_of(other, link)
    if entry.get("duplex"):
        back = entry["reverse"] = entry.get("reverse") or {}
        back["buffer"] = back.get("buffer") or entry.get("buffer", "unlimited")
    (entry if forward else entry["reverse"])["buffer"] = buffer
    return other if seed is None else other.set("seed", seed)


def buffer_of(scenario: Scenario, link: str) -> Buffer:
    """Returns the buffer of a link as written in the scenario.

    Raises:
        ScenarioError: If the link does not exist.
    """
    entry, forward = entry_of(scenario, link)
    both: Buffer = entry.get("buffer", "unlimited")
    back: Buffer | None = (entry.get("reverse") or {}).get("buffer")
    return both if forward else back or both


def entry_of(scenario: Scenario, link: str) -> tuple[Table, bool]:
    """Returns the `[[link]]` table that defines a link, and True if the link is the table's forward direction."""
    names = {}
    for entry in scenario.raw.get("link", []):
        start, end = entry["from"], entry["to"]
        names[entry.get("name") or f"{start}->{end}"] = entry, True
        if entry.get("duplex"):
            names[(entry.get("reverse") or {}).get("name") or f"{end}->{start}"] = entry, False
    if link not in names:
        raise ScenarioError(f"no link {link!r}; {nearest(link, list(names))}")
    return names[link]


def compare(
    scenario: Scenario,
    link: str,
    targets: Targets,
    buffers: Mapping[str, object],
    runs: Runs,
    seeds: Sequence[int | None] = (None,),
) -> list[Line]:
    """Runs a scenario with each buffer and each seed. A seed of None means the scenario's own seed."""
    results = runs([with_buffer(scenario, link, buffer, seed) for buffer in buffers.values() for seed in seeds])
    count = len(seeds)
    return [line(name, results[i * count : (i + 1) * count], link, targets) for i, name in enumerate(buffers)]


def line(name: str, results: Sequence[Result], link: str, targets: Targets) -> Line:
    """Returns the means over the second halves of runs that differ only in their seeds."""
    own = distinct(results)
    each = tuple(_used(result, link) for result in own)
    parts = each if len(own) > 1 else _used_in_parts(own[0], link)
    used = Use(*(sum(column) / len(each) for column in zip(*each, strict=True)))
    half = Use(*(interval(column).half for column in zip(*parts, strict=True)))
    return Line(name, used, half, targets.miss(used), each)


def distinct(results: Sequence[Result]) -> list[Result]:
    """Returns the distinct results. Seeds without effect give equal runs, which count once."""
    return list({json.dumps(result.summary, sort_keys=True): result for result in reversed(results)}.values())[::-1]


def _second_half(result: Result, link: str) -> tuple[float, Window]:
    """Returns the service rate of a link, bit/s, and the second half of a run."""
    link_of = next(item for item in result.scenario["links"] if item["name"] == link)
    end = float(result.scenario["duration_s"])
    return float(link_of["service_bps"]), (end / 2, end)


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
    """Returns the smallest fixed buffer that meets the targets, to within 5 % of its size.

    If no buffer meets the targets, returns the buffer with the smallest `miss`.

    Utilisation or loss may need a larger buffer than the delay target allows. In this case, the result is the largest
    buffer that meets the delay target. For a delay target alone, the result is one packet. With several seeds, the mean
    over seeds must meet the targets.

    Utilisation grows and loss falls with the buffer size, except for buffers that do not fill during a run. The search
    therefore begins with small sizes. It then bisects between a size that is too small and a size that suffices.
    """

    @functools.cache
    def of(size: int) -> Line:
        return compare(scenario, link, targets, {BEST: f"{size} packets"}, runs, seeds)[0]

    lines = _smallest(of, lambda item: targets._replace(delay=0.0).miss(item.used) == 0, largest)
    enough = [item for item in lines if item.miss == 0]
    if enough:
        return min(enough, key=lambda item: item.used.buffer)
    if targets.delay and lines[0].used.wait <= targets.delay:
        short = _smallest(of, lambda item: item.used.wait > targets.delay, largest)
        return max((item for item in short if item.used.wait <= targets.delay), key=lambda item: item.used.buffer)
    return min(lines, key=lambda item: item.miss)


def _smallest(of: Callable[[int], Line], enough: Callable[[Line], bool], largest: int) -> list[Line]:
    """Searches for the smallest sufficient size, from one packet up. Returns the measurements of all sizes tried."""
    lines, low, high = [of(1)], 1, min(4, largest)
    while not enough(lines[-1]) and low < largest:
        lines.append(of(high))
        low, high = (low, high) if enough(lines[-1]) else (high, min(4 * high, largest))
    if len(lines) == 1 or not enough(lines[-1]):
        return lines
    while high / low > 1 + PRECISION and high - low > 1:
        middle = max(round(math.sqrt(low * high)), low + 1)
        lines.append(of(middle))
        low, high = (low, middle) if enough(lines[-1]) else (middle, high)
    return lines
