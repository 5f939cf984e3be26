"""Topologies of htsim and uet-htsim (`.topo`): fat trees with two or three tiers.

Format and construction: `fat_tree_topology.cpp` of uet-htsim (40ccb05), lines 144-250 (checks), 577-717 (keywords) and
842-1060 (links); queues and ECN thresholds: `main_uec.cpp`, lines 51-66 and 642-706.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from levelflow._core import ScenarioError
from levelflow.importing.parts import Fabric, Marks, Wire, host

if TYPE_CHECKING:
    from levelflow.importing.source import Source

HEADER = ("nodes", "tiers", "podsize")
#: Keywords of a tier and their defaults; None if the keyword is required.
TIER: dict[str, int | None] = {
    "downlink_speed_gbps": None,
    "radix_down": None,
    "radix_up": None,
    "downlink_latency_ns": None,
    "switch_latency_ns": 0,
    "oversubscribed": 1,
    "bundle": 1,
    "queue_up": 0,
    "queue_down": 0,
}
MOST_LINKS = 1_000_000
#: Packet, ACK and headers of uet-htsim, bytes (`main_uec.cpp` 80; `uecpacket.h`).
PACKET, ACK, HEADERS = 4150, 64, 64
#: Queue of uet-htsim without trimming, in bandwidth-delay products, and its ECN thresholds relative to the product.
QUEUE_BDP, MARK_LOW, MARK_HIGH = 5, 0.2, 0.8
#: Floor of the retransmission timeout: 15 us plus 6 full queues.
TIMEOUT_US, TIMEOUT_QUEUES = 15, 6
#: Topology without a file: 100 Gb/s and 1 us per link, three tiers.
DEFAULT_GBPS, DEFAULT_NS = 100, 1000


@dataclass
class Tree:
    """Fat tree.

    Attributes:
        source: File.
        nodes: Number of hosts.
        pod: Hosts per pod.
        tiers: Values of the keywords, by tier.
        lines: Line of each tier.
    """

    source: Source
    nodes: int
    pod: int
    tiers: list[dict[str, int]]
    lines: list[int] = field(default_factory=list)


def recognise(source: Source) -> bool:
    """Returns True if the file is a topology of htsim."""
    words = {words[0].lower() for words in source.head}
    return source.path.suffix == ".topo" or {"nodes", "tiers"} <= words


def read(source: Source) -> Fabric:
    """Reads a `.topo` file.

    Raises:
        ScenarioError: If a keyword, a number or the shape of the tree is invalid; one line with file and line number.
    """
    return _fabric(_parse(source), [])


def default(source: Source, nodes: int) -> Fabric:
    """Returns the topology that htsim builds for a connection matrix without a `.topo` file.

    Raises:
        ScenarioError: If no three-tier fat tree has this number of hosts.
    """
    k = round((4 * nodes) ** (1 / 3))
    if k % 2 or k**3 != 4 * nodes:
        sizes = ", ".join(str(k**3 // 4) for k in (4, 8, 16, 32))
        source.fail(0, f"no .topo file is given, and no fat tree has {nodes} hosts; allowed: k^3/4, as {sizes}")
    tier = {key: value or 0 for key, value in TIER.items()}
    tier |= {"downlink_speed_gbps": DEFAULT_GBPS, "downlink_latency_ns": DEFAULT_NS}
    half = {"radix_down": k // 2, "radix_up": k // 2}
    tree = Tree(source, nodes, k * k // 4, [tier | half, tier | half, tier | {"radix_down": k}])
    return _fabric(
        tree, [f"no .topo file: a fat tree of {DEFAULT_GBPS} Gb/s and {DEFAULT_NS} ns per link, as in htsim"]
    )


def _parse(source: Source) -> Tree:
    head: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    lines: dict[int, int] = {}
    place = head
    for line, words in source.lines():
        key = words[0].lower()
        known = [*HEADER, "tier"] if place is head else ["tier", *TIER]
        if key not in known:
            source.unknown(line, "keyword", words[0], known)
        if len(words) != 2:
            source.fail(line, f"{words[0]} needs one number, not {len(words) - 1}")
        if key == "tier":
            number = source.whole(line, "Tier", words[1], 0, 2)
            if number in tiers:
                source.fail(line, f"Tier {number} is there twice")
            place = tiers[number] = {}
            lines[number] = line
        elif key in place:
            source.fail(line, f"{words[0]} is there twice")
        else:
            place[key] = source.whole(line, words[0], words[1], int(key != "switch_latency_ns"), 10**9)
    _check_head(source, head, lines)
    found = [_tier(source, number, tiers.get(number), lines, head["tiers"]) for number in range(head["tiers"])]
    tree = Tree(source, head["nodes"], head["podsize"], found, [lines[number] for number in range(head["tiers"])])
    _check(tree)
    return tree


def _check_head(source: Source, head: dict[str, int], lines: dict[int, int]) -> None:
    for key in HEADER:
        if key not in head:
            source.fail(0, f"needs {key.capitalize()} before Tier 0")
    if head["tiers"] not in (2, 3):
        source.fail(0, f"Tiers is {head['tiers']}; allowed: 2 or 3")
    for number, line in lines.items():
        if number >= head["tiers"]:
            source.fail(line, f"Tier {number} is too high; Tiers is {head['tiers']}")


def _tier(
    source: Source, number: int, given: dict[str, int] | None, lines: dict[int, int], tiers: int
) -> dict[str, int]:
    if given is None:
        source.fail(0, f"has no Tier {number}")
    top = number == tiers - 1
    if top and (extra := [key for key in ("radix_up", "queue_up") if key in given]):
        source.fail(lines[number], f"Tier {number} is the top tier and has no {extra[0]}")
    for key, default_value in TIER.items():
        if default_value is None and key not in given and not (top and key == "radix_up"):
            source.fail(lines[number], f"Tier {number} needs {key}")
    return {key: given.get(key, value or 0) for key, value in TIER.items()}


def _check(tree: Tree) -> None:
    """Checks the shape of the tree, with the conditions of htsim."""
    source, (tor, agg, *more) = tree.source, tree.tiers
    fail = source.fail
    if tor["bundle"] != 1:
        fail(tree.lines[0], "Bundle of Tier 0 must be 1")
    if tree.nodes % tree.pod:
        fail(0, f"Nodes, {tree.nodes}, must be a multiple of Podsize, {tree.pod}")
    if tree.pod % tor["radix_down"]:
        fail(tree.lines[0], f"Podsize, {tree.pod}, must be a multiple of Radix_Down, {tor['radix_down']}")
    if tor["radix_up"] % agg["bundle"]:
        fail(tree.lines[1], f"Bundle, {agg['bundle']}, must divide Radix_Up of Tier 0, {tor['radix_up']}")
    uplinks = tree.nodes // tor["radix_down"] * tor["radix_up"]
    pods = tree.nodes // tree.pod
    if uplinks % (pods * agg["radix_down"]):
        fail(tree.lines[1], f"Radix_Down, {agg['radix_down']}, does not divide the {uplinks // pods} uplinks of a pod")
    aggs = uplinks // (pods * agg["radix_down"])
    if aggs * agg["bundle"] != tor["radix_up"]:
        fail(
            tree.lines[0],
            f"Radix_Up is {tor['radix_up']}; {aggs} switches of Tier 1 per pod need {aggs * agg['bundle']}",
        )
    _oversubscribed(
        tree, 0, tor["radix_down"] * tor["downlink_speed_gbps"], tor["radix_up"] * agg["downlink_speed_gbps"]
    )
    if more:
        _check_core(tree, pods)
    elif pods > 1:
        fail(0, f"with 2 tiers, Podsize must be Nodes, {tree.nodes}")


def _check_core(tree: Tree, pods: int) -> None:
    source, (_, agg, core) = tree.source, tree.tiers
    bundle = core["bundle"]
    if agg["radix_up"] % bundle:
        source.fail(tree.lines[2], f"Bundle, {bundle}, must divide Radix_Up of Tier 1, {agg['radix_up']}")
    if core["radix_down"] != pods * bundle:
        need = f"{pods} pods with bundles of {bundle} need {pods * bundle}"
        source.fail(tree.lines[2], f"Radix_Down is {core['radix_down']}; {need}")
    down, up = agg["radix_down"] * agg["downlink_speed_gbps"], agg["radix_up"] * core["downlink_speed_gbps"]
    _oversubscribed(tree, 1, down, up)


def _oversubscribed(tree: Tree, number: int, down: int, up: int) -> None:
    ratio = tree.tiers[number]["oversubscribed"]
    if down != ratio * up:
        problem = f"Oversubscribed is {ratio}, but {down} Gb/s lead down and {up} Gb/s up"
        tree.source.fail(tree.lines[number], problem)


def _fabric(tree: Tree, notes: list[str]) -> Fabric:
    tor, agg, *more = tree.tiers
    tors, pods = tree.nodes // tor["radix_down"], tree.nodes // tree.pod
    per_pod = tors // pods
    aggs = tor["radix_up"] // agg["bundle"]
    if tree.nodes + tors * tor["radix_up"] * (1 + len(more)) > MOST_LINKS:
        raise ScenarioError(f"{tree.source.path}: has more than {MOST_LINKS:,} links")
    bdp = _bdp_packets(tree)
    queue = QUEUE_BDP * bdp * PACKET
    given = any(tier["queue_up"] or tier["queue_down"] for tier in tree.tiers)

    def wires(lower: int, a: str, b: str) -> list[Wire]:
        upper = tree.tiers[lower]
        latency, below = upper["downlink_latency_ns"], tree.tiers[lower - 1]
        from_below = below["switch_latency_ns"] if lower else 0
        up = (below["queue_up"] or queue) if lower else None
        down = upper["queue_down"] or queue
        speed, delays = upper["downlink_speed_gbps"], (latency + from_below, latency + upper["switch_latency_ns"])
        return [Wire(a, b, speed, *delays, n, up, down) for n in range(1, upper["bundle"] + 1)]

    found = [one for n in range(tree.nodes) for one in wires(0, host(n), f"t{n // tor['radix_down']}")]
    for t in range(tors):
        for a in range(aggs):
            found += wires(1, f"t{t}", f"a{t // per_pod * aggs + a}")
    if more:
        for a in range(pods * aggs):
            for up in range(agg["radix_up"] // more[0]["bundle"]):
                found += wires(2, f"a{a}", f"c{a % aggs + aggs * up}")
    size = "of the file" if given else f"of {QUEUE_BDP} BDP, as in htsim without trimming"
    notes = [*notes, f"buffers of switches {size}; hosts have unlimited ones"]
    notes.append("not carried over: packet spraying; each flow takes one path by its hash (ECMP)")
    notes.append("not carried over: packet trimming; full queues drop packets")
    notes.append(f"not carried over: headers of {HEADERS} B; packets of {PACKET} B have those of `encapsulation`")
    marks = Marks(math.ceil(MARK_LOW * bdp) * PACKET, math.ceil(MARK_HIGH * bdp) * PACKET, 1.0)
    timeout = TIMEOUT_US + TIMEOUT_QUEUES * queue * 8 / (tor["downlink_speed_gbps"] * 1e3)
    return Fabric(tree.source, [host(n) for n in range(tree.nodes)], found, PACKET, {None: marks}, timeout, notes)


def _bdp_packets(tree: Tree) -> int:
    """Returns the bandwidth-delay product of the longest path, packets."""
    tor, agg, *more = tree.tiers
    ns = 2 * (tor["downlink_latency_ns"] + agg["downlink_latency_ns"])
    ns += 2 * tor["switch_latency_ns"] + agg["switch_latency_ns"]
    if more:
        ns += 2 * more[0]["downlink_latency_ns"] + agg["switch_latency_ns"] + more[0]["switch_latency_ns"]
    gbps, hops = tor["downlink_speed_gbps"], 2 * len(tree.tiers)
    rtt_ns = 2 * ns + (PACKET + ACK) * 8 / gbps * hops
    return math.ceil(rtt_ns * gbps / 8 / PACKET)
