"""Files of HPCC's ns-3: topology, flows, trace and configuration (also the base of SimAI's and PowerTCP's).

Format: `simulation/scratch/third.cc` of alibaba-edu/High-Precision-Congestion-Control, lines 130-165 (flows), 404-640
(configuration), 668-790 (topology, buffers and ECN thresholds); `simulation/mix/config_doc.txt`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from levelflow.importing.parts import PS_PER_S, Fabric, Marks, Traffic, Transfer, Wire, host
from levelflow.importing.source import LARGEST

if TYPE_CHECKING:
    from levelflow.importing.source import Source

#: Keys whose value names an input file.
FILES = {"TOPOLOGY_FILE": "topology", "FLOW_FILE": "flows", "TRACE_FILE": "trace"}
MAPS = ("KMAX_MAP", "KMIN_MAP", "PMAX_MAP")
#: Keys with one value that are carried over, or that only name output files.
USED = {"PACKET_PAYLOAD_SIZE", "SIMULATOR_STOP_TIME", "CC_MODE", "BUFFER_SIZE", "ERROR_RATE_PER_LINK", "LINK_DOWN"}
OUTPUTS = {
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    "ENABLE_TRACE",
}
#: Keys that are not carried over.
OTHER = {
    "ENABLE_QCN",
    "USE_DYNAMIC_PFC_THRESHOLD",
    "CLAMP_TARGET_RATE",
    "PAUSE_TIME",
    "DATA_RATE",
    "LINK_DELAY",
    "L2_CHUNK_SIZE",
    "L2_ACK_INTERVAL",
    "L2_BACK_TO_ZERO",
    "ALPHA_RESUME_INTERVAL",
    "RP_TIMER",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "DCTCP_RATE_AI",
    "HAS_WIN",
    "GLOBAL_T",
    "MI_THRESH",
    "VAR_WIN",
    "FAST_REACT",
    "U_TARGET",
    "INT_MULTI",
    "RATE_BOUND",
    "ACK_HIGH_PRIO",
    "RATE_DECREASE_INTERVAL",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
    "PINT_LOG_BASE",
    "PINT_PROB",
}
#: Laws by CC_MODE (`config_doc.txt`).
LAWS = {"1": "dcqcn", "3": "hpcc", "7": "timely", "8": "dctcp", "10": "hpcc_pint"}
#: Headers of a data packet without INT, and usual payload and buffer of a switch (`third.cc` 46, 88).
HEADERS, PAYLOAD, BUFFER_MB = 48, 1000, 16
BYTES_PER_MB, BYTES_PER_KB = 1024 * 1024, 1000
#: Limit on nodes and links of a topology.
MOST_NODES = 1_000_000
#: Latest start time, s.
LATEST_S = 1_000_000
_RATE = re.compile(r"([0-9.]+)([kKMGT]?)(bps|b/s)")
_DELAY = re.compile(r"([0-9.]+)(s|ms|us|ns|ps)")
_GBPS = {"": 1e-9, "k": 1e-6, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}
_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "ps": 1e-3}


@dataclass
class Config:
    """Configuration.

    Attributes:
        source: File.
        values: Values of each key, and its line.
    """

    source: Source
    values: dict[str, tuple[int, list[str]]]

    def file(self, key: str) -> Path | None:
        """Returns the path of an input file: relative to the working directory, as in HPCC, or to the configuration."""
        if key not in self.values:
            return None
        line, (name, *_) = self.values[key]
        beside = self.source.path.parent
        tried = [Path(name), beside / name, beside.parent / name, beside / Path(name).name]
        found = next((path for path in tried if path.is_file()), None)
        if found is None:
            self.source.fail(line, f"{key}: {self.source.quoted(name)} does not exist")
        return found

    def law(self) -> tuple[str, str] | None:
        """Returns CC_MODE and the name of its law."""
        if "CC_MODE" not in self.values:
            return None
        line, (mode, *_) = self.values["CC_MODE"]
        if mode not in LAWS:
            self.source.fail(line, f"CC_MODE is {self.source.quoted(mode)}; allowed: {', '.join(LAWS)}")
        return mode, LAWS[mode]

    def number(self, key: str, usual: float) -> float:
        """Returns the value of a key with a number."""
        if key not in self.values:
            return usual
        line, (word, *_) = self.values[key]
        return _number(self.source, line, key, word)

    def notes(self) -> list[str]:
        """Returns the lines about keys that are not carried over."""
        line_down = self.values.get("LINK_DOWN", (0, ["0"]))
        if line_down[1][0] not in ("0", "0.0"):
            self.source.fail(line_down[0], "LINK_DOWN is not supported; remove it, and add changes to the link")
        return [f"not carried over: {key} {' '.join(words)}" for key, (_, words) in self.values.items() if key in OTHER]


def recognise_config(source: Source) -> bool:
    """Returns True if the file is a configuration."""
    return any(words[0] in ("TOPOLOGY_FILE", "FLOW_FILE") for words in source.head)


def _are_numbers(words: list[str]) -> bool:
    return all(re.fullmatch(r"[0-9.]+", word) for word in words)


def recognise_topology(source: Source) -> bool:
    """Returns True if the file is a topology."""
    head = source.head
    return bool(head) and len(head[0]) == 3 and _are_numbers(head[0]) and any(len(words) == 5 for words in head[1:])


def recognise_flows(source: Source) -> bool:
    """Returns True if the file is a list of flows."""
    head = source.head
    return len(head) > 1 and len(head[0]) == 1 and len(head[1]) == 6 and _are_numbers([*head[0], *head[1]])


def recognise_trace(source: Source) -> bool:
    """Returns True if the file is a list of nodes to trace."""
    head = source.head
    return len(head) > 1 and len(head[0]) == 1 and _are_numbers([*head[0], head[1][0]]) and len(head[1]) != 6


def read_config(source: Source) -> Config:
    """Reads a configuration.

    Raises:
        ScenarioError: If a key is unknown, or lacks its value.
    """
    known = {*FILES, *MAPS, *USED, *OUTPUTS, *OTHER}
    values: dict[str, tuple[int, list[str]]] = {}
    for line, words in source.lines():
        key, *rest = words
        if key not in known:
            source.unknown(line, "key", key, sorted(known))
        if not rest:
            source.fail(line, f"{key} needs a value")
        values[key] = line, rest
    return Config(source, values)


def read_topology(source: Source, config: Config | None = None) -> Fabric:
    """Reads a topology; `config` has the ECN thresholds, the buffer of a switch, and the payload of a packet.

    Raises:
        ScenarioError: If a line is invalid or a count is wrong.
    """
    words = ((line, word) for line, words in source.lines() for word in words)
    end = source.text.count("\n") + 1

    def following(what: str) -> tuple[int, str]:
        found = next(words, None)
        if found is None:
            source.fail(end, f"the file ends before {what}")
        return found

    def count(what: str) -> int:
        line, word = following(f"the number of {what}")
        return source.whole(line, f"number of {what}", word, high=MOST_NODES)

    nodes, switches, links = count("nodes"), count("switches"), count("links")
    switch = set()
    for number in range(switches):
        line, word = following(f"switch {number + 1} of {switches}")
        switch.add(source.whole(line, "switch", word, 0, nodes - 1))
    names = [f"s{n}" if n in switch else host(n) for n in range(nodes)]
    buffer = int((config.number("BUFFER_SIZE", BUFFER_MB) if config else BUFFER_MB) * BYTES_PER_MB)
    usual_loss = config.number("ERROR_RATE_PER_LINK", 0) if config else 0.0
    wires: list[Wire] = []
    parallel: dict[tuple[int, int], int] = {}
    for number in range(links):
        (line, a), (_, b), (_, rate), (_, delay), (_, loss) = (
            following(f"{what} of link {number + 1} of {links}")
            for what in ("source", "target", "rate", "delay", "loss")
        )
        ends = [source.whole(line, "node", word, 0, nodes - 1) for word in (a, b)]
        if ends[0] == ends[1]:
            source.fail(line, f"node {ends[0]} is linked to itself")
        low, high = sorted(ends, key=lambda n: (n in switch, n))
        pair = low, high
        parallel[pair] = parallel.get(pair, 0) + 1
        ns = _quantity(source, line, "delay", delay, _DELAY, _NS)
        share = _number(source, line, "error rate", loss) or usual_loss
        if share >= 1:
            source.fail(line, f"error rate is {loss}; allowed: 0 to less than 1")
        up, down = (buffer if n in switch else None for n in (low, high))
        gbps = _quantity(source, line, "rate", rate, _RATE, _GBPS)
        wires.append(Wire(names[low], names[high], gbps, ns, ns, parallel[pair], up, down, share))
    left = sum(1 for _ in words)
    payload = int(config.number("PACKET_PAYLOAD_SIZE", PAYLOAD) if config else PAYLOAD)
    notes = [f"not carried over: {left} values after the {links} links of the first line, as in HPCC"] if left else []
    notes.append(f"buffer of each port of a switch: {buffer} B, the memory of the whole switch")
    notes.append("not carried over: PFC; full buffers drop packets instead of pausing the sender")
    notes.append(
        f"not carried over: headers of {HEADERS} B; packets of {payload + HEADERS} B have those of `encapsulation`"
    )
    hosts = [name if n not in switch else "" for n, name in enumerate(names)]
    return Fabric(source, hosts, wires, payload + HEADERS, _marks(config) if config else {}, None, notes)


def _marks(config: Config) -> dict[float | None, Marks]:
    tables = []
    for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
        line, words = config.values.get(key, (0, ["0"]))
        count = config.source.whole(line, key, words[0], 0, 1000)
        if len(words) != 1 + 2 * count:
            config.source.fail(line, f"{key} needs {count} pairs of rate and value")
        pairs = zip(words[1::2], words[2::2], strict=True)
        tables.append({rate: _number(config.source, line, key, value) for rate, value in pairs})
    low, high, most = tables
    line = config.values.get("KMIN_MAP", (0, []))[0]
    for rate in low:
        if rate not in high or rate not in most or low[rate] > high[rate]:
            config.source.fail(line, f"rate {rate} needs values in KMAX_MAP and PMAX_MAP, with KMIN up to KMAX")
        config.source.whole(line, "rate", rate, 1)
    thresholds = {int(rate) / 1e9: (low[rate], high[rate], most[rate]) for rate in low}
    return {gbps: Marks(int(a * BYTES_PER_KB), int(b * BYTES_PER_KB), p) for gbps, (a, b, p) in thresholds.items()}


def read_flows(source: Source, fabric: Fabric | None = None) -> Traffic:
    """Reads a list of flows: count, then source, target, priority group, port, bytes and start time in seconds.

    Raises:
        ScenarioError: If a line is invalid, or the file has fewer flows than its count.
    """
    lines = source.lines()
    line, first = next(lines, (0, []))
    if len(first) != 1:
        source.fail(line, "the first line needs the number of flows")
    count = source.whole(line, "number of flows", first[0], 1)
    traffic = Traffic(source, "hpcc", [])
    groups = set()
    for line, words in islice(lines, count):
        traffic.transfers.append(_flow(source, line, words, fabric))
        groups.add(words[2])
    if len(traffic.transfers) < count:
        source.fail(0, f"the first line promises {count} flows, but the file has {len(traffic.transfers)}")
    if left := sum(1 for _ in lines):
        traffic.notes.append(f"not carried over: {left} lines after the {count} flows of the first line, as in HPCC")
    if len(groups) > 1:
        traffic.notes.append(f"not carried over: priority groups {', '.join(sorted(groups))}")
    return traffic


def _flow(source: Source, line: int, words: list[str], fabric: Fabric | None) -> Transfer:
    if len(words) != 6:
        values = "source, target, priority group, port, bytes, start"
        source.fail(line, f"a flow needs 6 values ({values}), not {len(words)}")
    a, b = (source.whole(line, "host", word) for word in words[:2])
    if a == b:
        source.fail(line, f"host {a} cannot send to itself")
    for end in (a, b) if fabric else ():
        _check_host(source, line, end, fabric)
    size = source.whole(line, "bytes", words[4], 1, (1 << 32) - 1)
    start = _number(source, line, "start", words[5])
    if start > LATEST_S:
        source.fail(line, f"start is {words[5]} s; allowed: up to {LATEST_S} s")
    return Transfer(a, b, size, round(start * PS_PER_S))


def _check_host(source: Source, line: int, number: int, fabric: Fabric | None) -> None:
    hosts = fabric.hosts if fabric else []
    if number >= len(hosts):
        source.fail(line, f"node {number} does not exist; allowed: 0 to {len(hosts) - 1}")
    if not hosts[number]:
        source.fail(line, f"node {number} is a switch; flows need hosts")


def _number(source: Source, line: int, what: str, word: str) -> float:
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{0,20})?(e-?[0-9]{1,2})?", word) or float(word) > LARGEST:
        source.fail(line, f"{what} is {source.quoted(word)}; allowed: a number, at least 0")
    return float(word)


def _quantity(
    source: Source, line: int, what: str, word: str, pattern: re.Pattern[str], units: dict[str, float]
) -> float:
    found = pattern.fullmatch(word)
    number = _number(source, line, what, found[1]) * units[found[2]] if found else 0.0
    if not found or (what == "rate" and number <= 0):
        example = "100Gbps" if what == "rate" else "1000ns"
        source.fail(line, f"{what} is {source.quoted(word)}; allowed: a number with its unit, as in {example}")
    return number
