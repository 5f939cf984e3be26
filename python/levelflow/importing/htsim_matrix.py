"""Connection matrices of htsim and uet-htsim (`.cm`, `.tm`).

Format: `connection_matrix.cpp` of uet-htsim (40ccb05), lines 675-938. The unit of start times
depends on the program that reads the file. `main_ndp.cpp`, and `main_eqds.cpp` of csg-htsim, read picoseconds. The UEC,
EQDS, RoCE and Swift senders of uet-htsim read microseconds (`uec.cpp` 616, `eqds.cpp` 430, `roce.cpp` 134,
`main_swift.cpp` 375).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from levelflow.importing.parts import PS_PER_US, Traffic, Transfer
from levelflow.importing.source import LARGEST

if TYPE_CHECKING:
    from levelflow.importing.source import Source

COUNTS = ("Nodes", "Connections", "Triggers", "Failures")
#: Keywords of a connection that have a number.
NUMBERS = ("id", "start", "size", "prio")
TRIGGERS = ("trigger", "send_done_trigger", "recv_done_trigger")
SWITCHES = ("TOR", "AGG", "CORE")
#: Start times above the first limit are implausible as microseconds, below the second one as picoseconds.
MOST_US, LEAST_PS = 1_000, 1_000_000
UNITS = {"ps": 1, "us": PS_PER_US}


def recognise(source: Source) -> bool:
    """Returns True if the file is a connection matrix."""
    first = {words[0] for words in source.head}
    return source.path.suffix in (".cm", ".tm") or {"Nodes", "Connections"} <= first


def plausible_unit(traffic: Traffic) -> str | None:
    """Returns the plausible unit of start times that were read as picoseconds; None if both units are plausible."""
    latest = max((one.start for one in traffic.transfers), default=0)
    return "us" if 0 < latest <= MOST_US else "ps" if not latest or latest >= LEAST_PS else None


class _Reader:
    """Reader of one file."""

    def __init__(self, source: Source, unit: str) -> None:
        self.source, self.unit = source, UNITS[unit]
        self.traffic = Traffic(source, f"htsim_{unit}", [])
        self.counts: dict[str, int] = {}
        self.priorities: set[int] = set()
        self.messages = 0

    def read(self) -> Traffic:
        for line, words in self.source.lines():
            if "->" in words[0]:
                self._connection(line, words)
            elif words[0] in TRIGGERS:
                self._trigger(line)
            elif words[0] == "failure":
                self._failure(line, words)
            elif words[0] in COUNTS and not self.traffic.transfers:
                self._count(line, words)
            else:
                self.source.unknown(line, "keyword", words[0], [*COUNTS, "SRC->DST", "trigger", "failure"])
        self._check_counts()
        if len(self.priorities) > 1:
            self.traffic.notes.append("not carried over: prio; all transfers have the same priority")
        if self.messages:
            self.traffic.notes.append(f"not carried over: msg; {self.messages} messages are transfers of their own")
        return self.traffic

    def _count(self, line: int, words: list[str]) -> None:
        if len(words) != 2:
            self.source.fail(line, f"{words[0]} needs one number")
        if words[0] in self.counts:
            self.source.fail(line, f"{words[0]} is there twice")
        self.counts[words[0]] = self.source.whole(line, words[0], words[1], high=1 << 31)
        if words[0] == "Nodes":
            self.traffic.hosts = self.counts["Nodes"]

    def _connection(self, line: int, words: list[str]) -> None:
        source = self.source
        a, b = (source.whole(line, "host", word) for word in words[0].split("->", 1))
        self._check_hosts(line, a, b)
        values = self._values(line, words)
        size = values.get("size", 0)
        if not size:
            source.fail(line, "needs a size above 0; connections without end are not supported")
        if "start" not in values:
            source.fail(line, "needs a start")
        self.traffic.transfers.append(Transfer(a, b, size, values["start"] * self.unit))
        self.priorities.add(values.get("prio", -1))

    def _values(self, line: int, words: list[str]) -> dict[str, int]:
        values: dict[str, int] = {}
        rest = iter(range(1, len(words)))
        for place in rest:
            key = words[place]
            value = words[place + 1] if place + 1 < len(words) else ""
            if key == "msg":
                self.messages += 1
                if value.isdigit():  # the number of a message is optional
                    next(rest)
                continue
            if key in TRIGGERS:
                self._trigger(line)
            if key not in NUMBERS:
                self.source.unknown(line, "keyword", key, [*NUMBERS, "msg"])
            if key in values:
                self.source.fail(line, f"{key} is there twice")
            if not value:
                self.source.fail(line, f"{key} needs a number")
            next(rest)
            whole, _, fraction = value.partition(".")
            if key == "start" and not fraction.strip("0"):
                value = whole
            least = int(key == "id")
            values[key] = self.source.whole(
                line, key, value, least, LARGEST // self.unit if key == "start" else LARGEST
            )
        return values

    def _check_hosts(self, line: int, source: int, target: int) -> None:
        hosts = self.traffic.hosts
        if hosts is None:
            self.source.fail(line, "needs Nodes and Connections before the first connection")
        if max(source, target) >= hosts:
            self.source.fail(line, f"host {max(source, target)} does not exist; allowed: 0 to {hosts - 1}")
        if source == target:
            self.source.fail(line, f"host {source} cannot send to itself")

    def _trigger(self, line: int) -> NoReturn:
        self.source.fail(line, "triggers are not supported: a transfer cannot wait for other transfers")

    def _failure(self, line: int, words: list[str]) -> None:
        source = self.source
        keys, values = words[1::2], words[2::2]
        for key in keys:
            if key not in ("switch_type", "switch_id", "link_id"):
                source.unknown(line, "keyword", key, ["switch_type", "switch_id", "link_id"])
        found = dict(zip(keys, values, strict=False))
        if len(keys) != 3 or len(found) != 3:
            source.fail(line, "a failure needs switch_type, switch_id and link_id, each with a value")
        if found["switch_type"] not in SWITCHES:
            source.unknown(line, "switch_type", found["switch_type"], list(SWITCHES))
        if found["switch_type"] != "AGG":
            source.fail(line, f"a failure at {found['switch_type']} is not supported, as in htsim; allowed: AGG")
        switch, link = (source.whole(line, key, found[key]) for key in ("switch_id", "link_id"))
        self.traffic.down.append((switch, link, line))

    def _check_counts(self) -> None:
        for key in ("Nodes", "Connections"):
            if key not in self.counts:
                self.source.fail(0, f"needs {key}")
        found = {
            "Connections": len(self.traffic.transfers),
            "Triggers": 0,
            "Failures": len(self.traffic.down),
        }
        for key, count in found.items():
            if self.counts.get(key, 0) != count:
                self.source.fail(0, f"{key} is {self.counts.get(key, 0)}, but the file has {count}")
        if not self.traffic.transfers:
            self.source.fail(0, "has no connection")


def read(source: Source, unit: str) -> Traffic:
    """Reads a connection matrix.

    Args:
        source: File.
        unit: Unit of the start times, `ps` or `us`.

    Raises:
        ScenarioError: If a line is invalid, a count is wrong, or transfers wait for others; one line.
    """
    return _Reader(source, unit).read()
