"""Scenarios from input files: recognises the files, joins fabric and traffic, and writes the scenario."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.importing import formats, hpcc, htsim_matrix, htsim_topology, rocketfuel, sndlib
from levelflow.importing.parts import PS_PER_S, Fabric, Traffic, Wire
from levelflow.importing.source import Source
from levelflow.importing.transfers import entries
from levelflow.scenario import Scenario
from levelflow.topology import links
from levelflow.topology import traffic as matrices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.keywords import Table

#: Duration of a run: this multiple of the time that the busiest host needs for its data, plus this time, s.
DURATION_FACTOR, DURATION_EXTRA_S = 5, 1e-3
#: Duration of a run without sizes.
LONG_FLOWS, BACKBONE = "10 ms", "10 s"
SAMPLES = 100
LAW, BACKBONE_LAW = "dctcp", "cubic"


class Imported(NamedTuple):
    """Scenario from input files.

    Attributes:
        scenario: Scenario. Its flow entries name the files of transfers.
        notes: Lines about values that are assumed or not carried over.
        sources: Paths of the input files.
    """

    scenario: Scenario
    notes: list[str]
    sources: list[Path]

    def text(self) -> str:
        """Returns the text of the scenario file, with its sources and the notes as comments."""
        names = ", ".join(path.name for path in self.sources)
        head = [f"Imported by `levelflow import` from {names}.", *(f"- {note}" for note in self.notes)]
        return "".join(f"# {_printable(line)}\n" for line in head) + "\n" + _toml(self.scenario.raw)


def read(
    paths: Sequence[Path | str],
    *,
    law: str | None = None,
    duration: str | None = None,
    start_unit: str | None = None,
    folder: Path | str = ".",
) -> Imported:
    """Reads an experiment from the files of another simulator.

    Args:
        paths: Files: htsim's `.topo`, `.cm` and `.tm`; HPCC's configuration, topology, flows and trace; SNDlib XML;
            Rocketfuel latencies and weights.
        law: Law of all flows; by default `dctcp` in fabrics and `cubic` in backbones.
        duration: Duration of the run; by default from the files.
        start_unit: Unit of the start times in a connection matrix, `ps` or `us`; by default the plausible one.
        folder: Directory of the scenario file, to which the paths of transfer files are relative.

    Raises:
        ScenarioError: If a file is unreadable, invalid, or would give a silently wrong result; one line.
    """
    sources = [Source.read(Path(path)) for path in paths]
    found: dict[str, Source] = {}
    for source in sources:
        kind = formats.of(source)
        if kind == "rocketfuel" and rocketfuel.are_weights(source):
            kind = "weights"
        if kind in found:
            raise ScenarioError(f"{source.path}: {found[kind].path} has the same format; give one file of each format")
        found[kind] = source
    used = [source.path for source in sources]
    if "sndlib" in found or "rocketfuel" in found or "weights" in found:
        made = _backbone(found, law or BACKBONE_LAW, duration or BACKBONE)
    else:
        made = _Fabrics(found, law or LAW, duration, start_unit, Path(folder)).build()
        used += [path for path in made.sources if path not in used]
    return Imported(made.scenario, made.notes, used)


def _backbone(found: dict[str, Source], law: str, duration: str) -> Imported:
    """Returns the scenario of an SNDlib network, or of a Rocketfuel map."""
    kinds = set(found)
    if kinds - {"rocketfuel", "weights"} and kinds != {"sndlib"}:
        raise ScenarioError(f"{next(iter(found.values())).path}: a backbone cannot go with other files")
    demands: list[sndlib.Demand] = []
    notes: list[str] = []
    if "sndlib" in found:
        source = found["sndlib"]
        graph, demands, notes = sndlib.read(source)
    elif "rocketfuel" not in found:
        raise ScenarioError(f"{found['weights'].path}: has weights only; add the file of latencies")
    else:
        source = found["rocketfuel"]
        graph = links.paired(rocketfuel.read(source, found.get("weights")))
        notes.append("no capacities in the file: every link has 1 Gb/s")
    graph, left = links.largest_part(graph)
    scenario = Scenario(_stem(source), duration)
    entries_of, read_notes = links.entries(graph, _stem(source))
    scenario.raw["link"] = [entry | {"buffer": "1 BDP"} for entry in entries_of]
    scenario.raw["flow"] = []
    notes += [*left, *read_notes, "buffers of 1 BDP"]
    for demand in demands:
        if demand.source in graph and demand.target in graph:
            scenario.flow(demand.name, law, demand.source, demand.target, application={"rate": demand.rate})
    if demands:
        notes.append("demands are applications of constant rate; their flows send as much as the law allows")
    else:
        matrices.add(scenario, matrices.pairs(graph, "permutation"), law)
        notes.append("no traffic in the file: each node sends to one other node without end")
    return Imported(scenario, notes, [])


class _Fabrics:
    """Builder of the scenario of a fabric."""

    def __init__(
        self, found: dict[str, Source], law: str, duration: str | None, start_unit: str | None, folder: Path
    ) -> None:
        self.found, self.law, self.duration, self.unit, self.folder = found, law, duration, start_unit, folder
        self.notes: list[str] = []
        self.more: list[Path] = []

    def build(self) -> Imported:
        config = hpcc.read_config(self.found["hpcc_config"]) if "hpcc_config" in self.found else None
        if config:
            self._files_of(config)
        traffic = self._matrix()
        fabric = self._fabric(config, traffic)
        if "hpcc_flows" in self.found:
            if traffic:
                raise ScenarioError(f"{self.found['hpcc_flows'].path}: {traffic.source.path} has transfers, too")
            traffic = hpcc.read_flows(self.found["hpcc_flows"], fabric)
        if "hpcc_trace" in self.found:
            self.notes.append("not carried over: the trace file; --pcap of `levelflow run` captures packets")
        self.notes += [*fabric.notes, *(traffic.notes if traffic else [])]
        if config:
            self._laws_of(config)
        raw: Table = {"name": _stem((traffic or fabric).source)}
        raw |= self._times(config, fabric, traffic)
        raw |= {"overhead": "0 s", "routing": "ecmp"}
        scenario = Scenario("", "")
        scenario.raw = raw
        raw["flow"] = self._flows(fabric, traffic)
        raw["link"] = self._links(fabric, traffic)
        return Imported(scenario, self.notes, self.more)

    def _files_of(self, config: hpcc.Config) -> None:
        for key, kind in hpcc.FILES.items():
            if f"hpcc_{kind}" not in self.found and (path := config.file(key)):
                self.found[f"hpcc_{kind}"] = Source.read(path, named=True)
                self.more.append(path)

    def _matrix(self) -> Traffic | None:
        source = self.found.get("htsim_matrix")
        if source is None:
            return None
        unit = self.unit
        if unit is None:
            unit = htsim_matrix.plausible_unit(htsim_matrix.read(source, "ps"))
            if unit is None:
                source.fail(0, "start times may be picoseconds or microseconds; give --start-unit ps or us")
        traffic = htsim_matrix.read(source, unit)
        if any(one.start for one in traffic.transfers):
            whole = {"ps": "picoseconds", "us": "microseconds, as htsim_uec reads them"}[unit]
            self.notes.append(f"start times are {whole} (--start-unit)")
        return traffic

    def _fabric(self, config: hpcc.Config | None, traffic: Traffic | None) -> Fabric:
        if {"htsim_topology", "hpcc_topology"} <= self.found.keys():
            self.found["hpcc_topology"].fail(0, f"{self.found['htsim_topology'].path} is a topology, too; give one")
        if "htsim_topology" in self.found:
            fabric = htsim_topology.read(self.found["htsim_topology"])
        elif "hpcc_topology" in self.found:
            fabric = hpcc.read_topology(self.found["hpcc_topology"], config)
        elif traffic and traffic.hosts:
            fabric = htsim_topology.default(traffic.source, traffic.hosts)
        else:
            path = next(iter(self.found.values())).path
            raise ScenarioError(f"{path}: needs a topology, too: a .topo file, or a topology of HPCC")
        if traffic and traffic.hosts not in (None, (hosts := sum(map(bool, fabric.hosts)))):
            traffic.source.fail(0, f"Nodes is {traffic.hosts}, but {fabric.source.path} has {hosts} hosts")
        return fabric

    def _laws_of(self, config: hpcc.Config) -> None:
        mode, law = config.law() or ("", self.law)
        if law != self.law:
            self.notes.append(f"not carried over: CC_MODE {mode} ({law}); flows run {self.law} (--law)")
        self.notes += config.notes()

    def _times(self, config: hpcc.Config | None, fabric: Fabric, traffic: Traffic | None) -> Table:
        if self.duration:
            seconds = _core_seconds(self.duration)
            return {"duration": self.duration} | ({"sample": _text(seconds / SAMPLES)} if seconds else {})
        if config and "SIMULATOR_STOP_TIME" in config.values:
            seconds = config.number("SIMULATOR_STOP_TIME", 0)
        elif traffic:
            seconds = _needed(fabric, traffic)
            self.notes.append(f"duration: {DURATION_FACTOR} times the time that the busiest host needs (--duration)")
        else:
            return {"duration": LONG_FLOWS, "sample": "100 us"}
        return {"duration": _text(seconds), "sample": _text(seconds / SAMPLES)}

    def _flows(self, fabric: Fabric, traffic: Traffic | None) -> list[Table]:
        shared = {"law": self._law(fabric), "packet": f"{fabric.packet} B"}
        if traffic is None:
            graph = nx.Graph()
            graph.add_nodes_from((name for name in fabric.hosts if name), host=True)
            self.notes.append("no traffic in the files: each host sends to one other host without end")
            pairs = matrices.pairs(graph, "permutation")
            return [{"name": f"{a}->{b}", **shared, "from": a, "to": b} for a, b in pairs]
        path = os.path.relpath(traffic.source.path, self.folder)
        if not path.isprintable():
            traffic.source.fail(0, "a scenario cannot contain this path; rename the file")
        flow = {"name": _stem(traffic.source), **shared, "transfers": {traffic.format: path}}
        entries(flow, traffic)  # raises the errors of `levelflow run` already now
        return [flow]

    def _law(self, fabric: Fabric) -> Any:
        """Returns the law, with ACKs for every packet and the retransmission timeout of the source."""
        known = {row["name"] for row in _law_record(self.law)["params"]}
        own: Table = {}
        if "delayed_ack" in known:
            own["delayed_ack"] = False
            self.notes.append("receivers acknowledge every packet")
        if "min_timeout" in known and fabric.timeout_us:
            own["min_timeout"] = f"{fabric.timeout_us:g} us"
            self.notes.append(f"floor of the retransmission timeout: {own['min_timeout']}, as in htsim")
        return {self.law: own} if own else self.law

    def _links(self, fabric: Fabric, traffic: Traffic | None) -> list[Table]:
        marks = _law_record(self.law)["signal"] == "marks"
        if marks and not fabric.marks:
            self.notes.append(
                f"no ECN thresholds in the files: marks between {USUAL_MARKS[0]} and {USUAL_MARKS[1]} packets"
            )
        elif not marks and fabric.marks:
            self.notes.append(f"not carried over: ECN thresholds; {self.law} does not react to marks")
        elif marks:
            self.notes.append("queues mark at arrival, with the thresholds of the source")
        if marks:
            self.notes.append("queues that mark drop handshake packets; senders repeat them after 1 s (RFC 6298)")
        wires = self._without_failed(fabric, traffic)
        return [self._link(fabric, wire, marks) for wire in wires]

    def _without_failed(self, fabric: Fabric, traffic: Traffic | None) -> list[Wire]:
        wires = fabric.wires
        switches = sum(wire.a == "a0" and wire.number == 1 for wire in wires)  # uplinks of a switch
        aggs = len({wire.b for wire in wires if wire.a == "t0"})
        for agg, uplink, line in traffic.down if traffic else ():
            core = f"c{agg % max(aggs, 1) * aggs + uplink}"
            names = [wire for wire in wires if wire.a == f"a{agg}" and wire.b == core and wire.number == 1]
            if not names or uplink >= switches:
                where = traffic.source if traffic else fabric.source
                where.fail(line, f"no link leads from aggregation switch {agg} to core switch {core[1:]}")
            wires = [wire for wire in wires if wire is not names[0]]
            self.notes.append(f"the link a{agg}-{core} is left out: it has failed")
        return wires

    def _link(self, fabric: Fabric, wire: Wire, marks: bool) -> Table:
        def ends(limit: int | None) -> Table:
            if limit is None:
                return {}
            return {"buffer": f"{limit} B"} | ({"queue": _queue(fabric, wire)} if marks else {})

        up, down = ends(wire.up_bytes), ends(wire.down_bytes)
        entry: Table = {"from": wire.a, "to": wire.b, "capacity": f"{wire.gbps:g} Gb/s", "delay": f"{wire.up_ns:g} ns"}
        reverse = {key: value for key, value in down.items() if up.get(key) != value}
        if wire.number > 1:
            entry["name"], reverse["name"] = wire.name, f"{wire.b}->{wire.a} #{wire.number}"
        if wire.down_ns != wire.up_ns:
            reverse["delay"] = f"{wire.down_ns:g} ns"
        if wire.loss:
            entry["loss"] = wire.loss
        return entry | {"duplex": True} | up | ({"reverse": reverse} if reverse else {})


#: ECN thresholds without any in the files, packets: the marking threshold of the DCTCP paper at 10 Gb/s.
USUAL_MARKS = (65, 65)


def _queue(fabric: Fabric, wire: Wire) -> Table:
    found = fabric.marks.get(wire.gbps, fabric.marks.get(None))
    if found is None and fabric.marks:
        fabric.source.fail(0, f"{wire.name} has {wire.gbps:g} Gb/s, and KMIN_MAP has no thresholds for this rate")
    low, high, most = found or (USUAL_MARKS[0] * fabric.packet, USUAL_MARKS[1] * fabric.packet, 1.0)
    least, above = (max(round(size / fabric.packet), 1) for size in (low, high))
    red = {"min": f"{least} packets", "max": f"{max(above, least + 1)} packets", "max_p": most}
    return {"red": red | {"weight": 1, "gentle": False, "packet": f"{fabric.packet} B"}}


def _needed(fabric: Fabric, traffic: Traffic) -> float:
    """Returns a duration for all transfers, s."""
    gbps = {wire.a: wire.gbps for wire in fabric.wires}
    sent: dict[tuple[str, int], float] = {}
    for one in traffic.transfers:
        for end in (("from", one.source), ("to", one.target)):
            sent[end] = sent.get(end, 0.0) + one.size
    busiest = max(8e-9 * size / gbps.get(fabric.hosts[number], 1.0) for (_, number), size in sent.items())
    last = max(one.start for one in traffic.transfers) / PS_PER_S
    seconds = DURATION_FACTOR * busiest + DURATION_EXTRA_S + last
    step = 10.0 ** (len(f"{int(seconds * 1e6)}") - 2) * 1e-6
    return -(-seconds // step) * step


def _law_record(name: str) -> Table:
    records: list[Table] = json.loads(_core.laws())
    for record in records:
        if record["name"] == name:
            return record
    from levelflow.words import nearest

    raise ScenarioError(f"--law {name}: {nearest(name, [record['name'] for record in records])}")


def _core_seconds(text: str) -> float:
    from levelflow.theory.units import time

    return float(time(text))


def _text(seconds: float) -> str:
    """Returns a time in the largest unit in which it is at least 1."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.6g} {unit}"
    return f"{seconds / 1e-9:.6g} ns"


def _stem(source: Source) -> str:
    return (
        "".join(char if char.isprintable() and char not in "/\\" else "_" for char in source.path.stem).lstrip(".")
        or "imported"
    )


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)


def _toml(raw: Table) -> str:
    """Returns TOML with one line per flow entry and link."""
    lines = []
    for key, value in raw.items():
        if isinstance(value, list):
            lines += ["", f"{key} = [", *(f"  {_inline(one)}," for one in value), "]"]
        else:
            lines.append(f"{key} = {_inline(value)}")
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
