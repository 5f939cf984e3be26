"""Networks of SNDlib in XML: nodes, links and demands.

Format: `network.xsd` of SNDlib 1.0 (namespace http://sndlib.zib.de/network). Capacities and demands have the unit of
`meta/unit`; networks without it have none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLParser

import networkx as nx

if TYPE_CHECKING:
    from levelflow.importing.source import Source
    from levelflow.topology.graphs import Graph

NAMESPACE = "http://sndlib.zib.de/network"
#: Units of `meta/unit`, in the notation of scenarios.
UNITS = {"MBITPERSEC": "Mb/s", "KBITPERSEC": "kb/s", "GBITPERSEC": "Gb/s", "BITPERSEC": "b/s"}
USUAL_UNIT = "Mb/s"


class Demand(NamedTuple):
    """Traffic between two nodes; `rate` is text in scenario notation."""

    name: str
    source: str
    target: str
    rate: str


def recognise(source: Source) -> bool:
    """Returns True if the file is an SNDlib network."""
    return NAMESPACE in source.text[:2000]


def read(source: Source) -> tuple[Graph, list[Demand], list[str]]:
    """Returns the graph, the demands, and lines about values that are assumed or not carried over.

    Raises:
        ScenarioError: If the file is not a network, or a value is invalid.
    """
    root = _parse(source)
    notes: list[str] = []
    unit = _unit(source, root, notes)
    graph = nx.MultiGraph()
    nodes = root.find("networkStructure/nodes")
    if nodes is None:
        source.fail(0, "needs networkStructure/nodes")
    geographical = nodes.get("coordinatesType") == "geographical"
    for node in nodes.findall("node"):
        place = {}
        if geographical and node.find("coordinates") is not None:
            place = {
                key: _number(source, node, f"coordinates/{axis}", -180.0) for key, axis in (("lon", "x"), ("lat", "y"))
            }
        graph.add_node(_name(source, node), **place)
    smallest = several = 0
    for link in root.findall("networkStructure/links/link"):
        modules = [_number(source, module, "capacity") for module in link.findall("additionalModules/addModule")]
        installed = (
            _number(source, link, "preInstalledModule/capacity") if link.find("preInstalledModule") is not None else 0
        )
        if not installed and not modules:
            source.fail(0, f"link {source.quoted(_name(source, link))} has no capacity")
        smallest += not installed
        several += bool(modules) and (bool(installed) or len(modules) > 1)
        a, b = _ends(source, link, graph)
        graph.add_edge(a, b, capacity=f"{installed or min(modules):g} {unit}")
    if smallest:
        notes.append(f"capacity of {smallest} links: their smallest module, as none is installed")
    if several:
        notes.append(f"not carried over: further modules of {several} links")
    if root.find("networkStructure/links/link/routingCost") is not None:
        notes.append("not carried over: routingCost; routes minimise hops")
    notes.append("every link carries its capacity in both directions")
    return graph, _demands(source, root, graph, unit, notes), notes


def _parse(source: Source) -> Element:
    """Parses the file, and removes the namespace from names. A document type could define entities and is rejected."""
    if "<!DOCTYPE" in source.text or "<!ENTITY" in source.text:
        source.fail(0, "has a document type, which is not allowed")
    parser = XMLParser()
    try:
        parser.feed(source.text.partition("?>")[2] if source.text.lstrip().startswith("<?xml") else source.text)
        root: Element = parser.close()
    except ParseError as error:
        source.fail(error.position[0], f"is not XML: {error.msg.partition(':')[0]}")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "network":
        source.fail(0, f"its root is {source.quoted(root.tag)}; needs network")
    return root


def _unit(source: Source, root: Element, notes: list[str]) -> str:
    unit = (root.findtext("meta/unit") or "").strip()
    if not unit:
        notes.append(f"no unit in the file: capacities and demands are read as {USUAL_UNIT}")
        return USUAL_UNIT
    if unit not in UNITS:
        source.unknown(0, "unit", unit, list(UNITS))
    return UNITS[unit]


def _name(source: Source, element: Element) -> str:
    name = element.get("id")
    if not name or not name.isprintable():
        source.fail(0, f"a {element.tag} has no id")
    return name


def _ends(source: Source, element: Element, graph: Graph) -> tuple[str, str]:
    ends = [(element.findtext(key) or "").strip() for key in ("source", "target")]
    for end in ends:
        if end not in graph:
            source.fail(
                0,
                f"{element.tag} {source.quoted(_name(source, element))} names a node {source.quoted(end)}, "
                "which does not exist",
            )
    if ends[0] == ends[1]:
        source.fail(
            0, f"{element.tag} {source.quoted(_name(source, element))} leads from {source.quoted(ends[0])} to itself"
        )
    return ends[0], ends[1]


def _number(source: Source, element: Element, path: str, least: float = 0.0) -> float:
    text = (element.findtext(path) or "").strip()
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number < 1e15:
        what = element.get("id") or element.tag
        source.fail(0, f"{source.quoted(what)}: {path} is {source.quoted(text)}; allowed: a number, at least {least:g}")
    return number


def _demands(source: Source, root: Element, graph: Graph, unit: str, notes: list[str]) -> list[Demand]:
    found = []
    for demand in root.findall("demands/demand"):
        value = _number(source, demand, "demandValue")
        routing = _number(source, demand, "routingUnit") if demand.find("routingUnit") is not None else 1.0
        if not value * routing:
            source.fail(0, f"demand {source.quoted(_name(source, demand))} is 0")
        ends = _ends(source, demand, graph)
        found.append(Demand(_name(source, demand), *ends, f"{value * routing:g} {unit}"))
    if root.find("demands/demand/admissiblePaths") is not None:
        notes.append("not carried over: admissiblePaths; demands take the shortest path")
    return found
