"""Survey of the capacities and delays read from a graph, with warnings about implausible values."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from levelflow.report.tables import rate
from levelflow.report.tables import time as duration
from levelflow.topology import labels
from levelflow.topology.attributes import LABELS, RAW_SPEED, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from levelflow.topology.attributes import Attribute, Key, Value

#: Lowest plausible line rate, bit/s: a channel of the digital telephone network.
SLOWEST_PLAUSIBLE = 64e3
#: Lowest plausible rate of the fastest link, bit/s. If all links are slower, the file probably uses another unit.
SLOWEST_FASTEST = 1e6
#: Highest plausible line rate, bit/s.
FASTEST_PLAUSIBLE = 1e14
#: Longest plausible one-way delay, s. A hop by a geostationary satellite takes 0.24 to 0.28 s.
LONGEST_PLAUSIBLE = 0.3
#: Units to suggest for numbers. The first unit that makes all values plausible is suggested.
UNITS: dict[str, tuple[tuple[str, float], ...]] = {
    "capacity": (("Mb/s", 1e6), ("Gb/s", 1e9), ("kb/s", 1e3)),
    "delay": (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
}
#: Names of attributes that are probably a capacity or delay.
ALIKE = {
    "capacity": re.compile(r"band|capac|speed|rate\b|^bw|throughput", re.IGNORECASE),
    "delay": re.compile(r"delay|latenc|^rtt", re.IGNORECASE),
}
MOST_SHOWN = 8


class Survey:
    """Capacities or delays of the links of a graph, and their sources.

    Attributes:
        attribute: requested edge attribute.
        default: value for links without this attribute.
    """

    def __init__(self, attribute: Attribute, default: str) -> None:
        self.attribute, self.default = attribute, default
        self.found: list[tuple[float, str, bool]] = []
        self.sources: Counter[str] = Counter()
        self.missing, self.unreadable = 0, 0
        self.doubtful: Counter[str] = Counter()
        self.unread: dict[str, list[float]] = {}
        self.differing: list[str] = []

    @property
    def key(self) -> Key:
        """Link key that is surveyed, capacity or delay."""
        return self.attribute.key

    def add(self, link: str, value: Value | None, values: Mapping[str, Any]) -> None:
        """Records the value of one link, and the unused attributes of its edge."""
        if value is None:
            self.missing += 1
            self._look_for_others(values)
            return
        self.sources[value.source] += 1
        if value.number is not None:
            self.found.append((value.number, link, value.bare))
        if value.source == RAW_SPEED and value.number is not None:
            self._compare(link, value.number, values)

    def _look_for_others(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if self.key == "capacity" and name in {*LABELS, self.attribute.name} and labels.read(str(value)).doubtful:
                self.doubtful[str(value)] += 1
            elif ALIKE[self.key].search(name) and (number := number_of(value)) is not None:
                self.unread.setdefault(name, []).append(number)
            elif self.key == "capacity" and ALIKE[self.key].search(name) and labels.speed(str(value)):
                self.unread.setdefault(name, [])

    def _compare(self, link: str, raw: float, values: Mapping[str, Any]) -> None:
        for label in (str(values[name]) for name in LABELS if name in values):
            named = labels.read(label)
            if named.doubtful or (named.rate and not math.isclose(named.rate, raw, rel_tol=labels.SAME_RATE)):
                self.differing.append(f'{link}: {rate(raw)} and "{label}"')

    def lines(self) -> list[str]:
        """Returns lines that list the read, assumed and implausible values."""
        count = self.missing + sum(self.sources.values())
        read = self._range(count)
        lines = [read] if read else []
        if self.missing:
            line = f"{self.missing} of {count} links have no {self.key}; {self.default} is assumed"
            if self.doubtful:
                shown = ", ".join(f'"{label}"' for label, _ in self.doubtful.most_common(MOST_SHOWN))
                line += f"; some labels name no single rate, as {shown}"
            lines.append(line)
            lines += self._hints()
        if self.differing:
            count = len(self.differing)
            lines.append(f"{RAW_SPEED} and label differ {count} times, as at {self.differing[0]}; {RAW_SPEED} is used")
        return lines + self.warnings()

    def _range(self, count: int) -> str | None:
        if not self.found:
            return None
        (low, slow, _), (high, fast, _) = min(self.found), max(self.found)
        show = rate if self.key == "capacity" else duration
        extent = show(low) if show(low) == show(high) else f"{show(low)} ({slow}) to {show(high)} ({fast})"
        sources = ", ".join(f"{number} from {name}" for name, number in self.sources.most_common())
        return f"{self.key}: {extent}; of {count} links, {sources}"

    def _hints(self) -> list[str]:
        option = f"--{self.key}-attribute"
        return [
            f"edges also have {name} ({min(values):g} to {max(values):g}); {option} {name}:UNIT reads it, "
            f"as in {option} {name}:{self._unit(values)}"
            if values
            else f"edges also have {name}; {option} {name} reads it"
            for name, values in self.unread.items()
        ]

    def warnings(self) -> list[str]:
        """Returns a line for each implausible value, with the option that sets another unit for numbers."""
        if not self.found:
            return []
        (low, slow, slow_bare), (high, fast, fast_bare) = min(self.found), max(self.found)
        if self.key == "delay":
            if high <= LONGEST_PLAUSIBLE:
                return []
            problem = f"link {fast} takes {duration(high)} one way, longer than a satellite link"
            return [f"warning: {problem}{self._advice(fast_bare)}"]
        if low < SLOWEST_PLAUSIBLE:
            problem = f"link {slow} has {rate(low)}, less than a telephone line"
        elif high < SLOWEST_FASTEST:
            problem = f"no link has more than {rate(high)}"
        elif high > FASTEST_PLAUSIBLE:
            problem = f"link {fast} has {rate(high)}, more than a fibre"
        else:
            return []
        return [f"warning: {problem}{self._advice(fast_bare if high > FASTEST_PLAUSIBLE else slow_bare)}"]

    def _advice(self, bare: bool) -> str:
        if not bare:
            return ""
        base = {"capacity": "b/s", "delay": "s"}[self.key]
        name, scale = self.attribute.name, self.attribute.scale
        taken = f"numbers of {name} were read in units of {scale:g} {base}"
        unit = self._unit([number / scale for number, _, is_bare in self.found if is_bare])
        return f"; {taken}; if their unit is {unit}, write --{self.key}-attribute {name}:{unit}"

    def _unit(self, numbers: list[float]) -> str:
        """Returns the first unit that makes all numbers plausible, or the first unit if no unit does."""
        low, high = min(numbers), max(numbers)
        for unit, scale in UNITS[self.key]:
            if self.key == "delay" and high * scale <= LONGEST_PLAUSIBLE:
                return unit
            in_range = low * scale >= SLOWEST_PLAUSIBLE and SLOWEST_FASTEST <= high * scale <= FASTEST_PLAUSIBLE
            if self.key == "capacity" and in_range:
                return unit
        return UNITS[self.key][0][0]
