"""Links of a scenario, built from a graph: names, capacities, delays and weights."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import ParseError

import networkx as nx

from levelflow._core import ScenarioError
from levelflow.topology.attributes import Attribute, Value, capacity_of, delay_of, weight_of
from levelflow.topology.labels import speed
from levelflow.topology.survey import Survey
from levelflow.topology.weights import whole
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from pathlib import Path

    from levelflow.keywords import Table
    from levelflow.topology.attributes import Key
    from levelflow.topology.graphs import Graph

__all__ = ["entries", "largest_part", "read", "speed"]

#: Attribute of a directed graph whose edges are duplex links. Its value maps each edge to the attributes of the reverse
#: direction.
OPPOSITES = "levelflow opposites"
#: Attribute of a graph with lines about its file.
NOTES = "levelflow notes"
#: Attributes of a node or an edge, as in the file.
Attributes = Mapping[str, Any]
KEYS: tuple[Key, Key, Key] = ("capacity", "delay", "weight")


def read(path: Path, duplex: bool = False) -> Graph:
    """Reads a GraphML or GML file, an SNDlib network or a Rocketfuel map. Node and edge attributes are kept.

    Node names are their labels. Demands of SNDlib are left out.

    Args:
        path: path of the file.
        duplex: True to add the reverse direction to links that a directed graph lists in one direction only.

    Raises:
        ScenarioError: if the file is unreadable. The message has one line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _foreign(path)
            if found is None:
                found = _gml(path) if path.suffix.lower() == ".gml" else nx.read_graphml(path)
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ParseError, nx.NetworkXError, LookupError, ValueError, TypeError, AttributeError) as error:
        why = str(error).split("\n")[0] or type(error).__name__
        raise ScenarioError(f"{path}: is neither GraphML nor GML (.gml): {why}") from None
    graph = nx.MultiDiGraph() if found.is_directed() else nx.MultiGraph()
    taken: dict[str, int] = {}
    names = {}
    for node, values in found.nodes(data=True):
        label = " ".join(str(values.get("label") or node).split())
        taken[label] = taken.get(label, 0) + 1
        names[node] = label if taken[label] == 1 else f"{label} {taken[label]}"
        graph.add_node(names[node], **values)
    edges = [(names[a], names[b], values) for a, b, values in found.edges(data=True)]
    if duplex and found.is_directed():
        _add_lines(graph, edges)
    else:
        graph.add_edges_from(edges)
    graph.graph[NOTES] = found.graph.get(NOTES, [])
    return graph


def _foreign(path: Path) -> Graph | None:
    """Returns the graph of an SNDlib network or a Rocketfuel map; None for another format."""
    from levelflow.importing import rocketfuel, sndlib
    from levelflow.importing.source import Source

    if path.suffix.lower() == ".intra":
        return rocketfuel.read(Source.read(path))
    if path.suffix.lower() == ".xml" and sndlib.recognise(source := Source.read(path)):
        graph, _, notes = sndlib.read(source)
        graph.graph[NOTES] = notes
        return graph
    return None


def paired(graph: Graph) -> Graph:
    """Returns a directed graph as duplex links: opposite edges become one link, and other edges get an opposite."""
    made = nx.MultiDiGraph()
    made.add_nodes_from(graph.nodes(data=True))
    _add_lines(made, list(graph.edges(data=True)))
    return made


def _gml(path: Path) -> Graph:
    """Reads a GML file. Topology Zoo files contain parallel links without declaring a multigraph."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\bmultigraph\s+1\b", text):
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1", text, count=1)
    return nx.parse_gml(text, label="id")


def _add_lines(graph: Graph, edges: list[tuple[str, str, Attributes]]) -> None:
    """Adds one edge for each pair of opposite edges, and for each edge without an opposite, in file order."""
    opposites: dict[tuple[str, str, int], Attributes] = {}
    single: dict[tuple[str, str], list[int]] = {}
    for a, b, values in edges:
        waiting = single.get((b, a), []) if a != b else []
        if waiting:
            opposites[b, a, waiting.pop(0)] = values
        else:
            single.setdefault((a, b), []).append(graph.add_edge(a, b, **values))
    graph.graph[OPPOSITES] = opposites


class _Line(NamedTuple):
    """Link between two nodes of the graph.

    Attributes:
        ends: names of the two nodes.
        nodes: graph attributes of the two nodes.
        number: number of the link among parallel links, from 1.
        directions: attributes of each direction that the graph lists.
    """

    ends: tuple[str, str]
    nodes: tuple[Attributes, Attributes]
    number: int
    directions: list[Attributes]

    @property
    def names(self) -> list[str]:
        """Names of the link in both directions."""
        (a, b), more = self.ends, f" #{self.number}" if self.number > 1 else ""
        return [f"{a}->{b}{more}", f"{b}->{a}{more}"]


class _Edge(NamedTuple):
    """One direction of a link, as in the file; None means the default.

    Attributes:
        capacity: capacity and its source.
        delay: delay and its source.
        weight: weight in the file.
    """

    capacity: Value | None
    delay: Value | None
    weight: Fraction | None


def entries(
    graph: Graph,
    name: str,
    *,
    capacity: str = "1 Gb/s",
    delay: str = "1 ms",
    attributes: tuple[str, str, str] = KEYS,
) -> tuple[list[Table], list[str]]:
    """Returns the `[[link]]` entries of a graph, and lines that list the values read and the values assumed.

    Args:
        graph: networkx graph of any kind. An edge of an undirected graph is a duplex link.
        name: name of the graph, for errors.
        capacity: capacity of edges that have none.
        delay: delay of edges that have none and whose nodes have no coordinates (`lat` and `lon`, or `Latitude` and
            `Longitude`, in degrees). With coordinates, the delay is that of fibre along a great circle.
        attributes: edge attributes for capacity, delay and weight, as in `("bandwidth:Mb/s", "latency:ms", "cost")`.
            A unit is needed for numbers that are not in bit/s or s. Texts contain their units. Weights are numbers
            above 0. With the default attribute of capacity, other edges use `LinkSpeedRaw`, `LinkLabel` or `label`.

    Raises:
        ScenarioError: if an edge has an invalid value, or the graph has no edge.
    """
    if not graph.number_of_edges():
        hint = "; --duplex adds the opposite direction of each link" if graph.is_directed() else ""
        raise ScenarioError(f"{name}: no nodes reach each other{hint}")
    asked = _asked(graph, name, attributes)
    surveys = (Survey(asked[0], capacity), Survey(asked[1], delay))
    lines = list(_lines(graph))
    read = [_read(line, asked, surveys) for line in lines]
    weights, changed = whole([edge.weight for edges in read for edge in edges])
    rest = iter(weights)
    made = [
        _entry(line, [_keys(edge, next(rest), (capacity, delay)) for edge in edges], _is_one_way(graph))
        for line, edges in zip(lines, read, strict=True)
    ]
    loops = graph.number_of_edges() - len(lines)
    notes = [*graph.graph.get(NOTES, []), *surveys[0].lines(), *surveys[1].lines(), *changed, *_of_duplex(graph)]
    notes += [f"{loops} links from a node to itself are left out"] if loops else []
    return made, notes


def _is_one_way(graph: Graph) -> bool:
    """Returns True if each edge of the graph is only one direction of a link."""
    return graph.is_directed() and OPPOSITES not in graph.graph


def _asked(graph: Graph, name: str, attributes: tuple[str, str, str]) -> list[Attribute]:
    known = sorted({key for *_, values in graph.edges(data=True) for key in values})
    asked = [Attribute.of(key, text) for key, text in zip(KEYS, attributes, strict=True)]
    for one in asked:
        if one.name != one.key and one.name not in known:
            raise ScenarioError(f"{name}: no edge has an attribute {one.name!r}; {nearest(one.name, known)}")
    return asked


def _lines(graph: Graph) -> Iterator[_Line]:
    """Yields all links except loops from a node to itself. Parallel links are numbered."""
    opposites = graph.graph.get(OPPOSITES, {})
    if graph.is_multigraph():
        edges = graph.edges(keys=True, data=True)
    else:
        edges = ((a, b, 0, values) for a, b, values in graph.edges(data=True))
    seen: dict[tuple[str, str], int] = {}
    for a, b, key, values in edges:
        if a == b:
            continue
        ends = str(a), str(b)
        number = seen[ends] = seen.get(ends, 0) + 1
        if not _is_one_way(graph):
            seen[ends[::-1]] = number
        opposite = opposites.get((a, b, key))
        nodes = graph.nodes[a], graph.nodes[b]
        yield _Line(ends, nodes, number, [values] if opposite is None else [values, opposite])


def _read(line: _Line, asked: list[Attribute], surveys: tuple[Survey, Survey]) -> list[_Edge]:
    found = []
    for name, values in zip(line.names, line.directions, strict=False):
        rate = capacity_of(name, values, asked[0])
        wait = delay_of(name, values, asked[1], line.nodes)
        for survey, value in zip(surveys, (rate, wait), strict=True):
            survey.add(name, value, values)
        found.append(_Edge(rate, wait, weight_of(name, values.get(asked[2].name))))
    return found


def _keys(edge: _Edge, weight: int | None, defaults: tuple[str, str]) -> Table:
    rate, wait = (
        value.text if value else default for value, default in zip((edge.capacity, edge.delay), defaults, strict=True)
    )
    return {"capacity": rate, "delay": wait} | ({} if weight is None else {"weight": weight})


def _entry(line: _Line, directions: list[Table], one_way: bool) -> Table:
    first, *other = directions
    there = {"weight": 1} | first
    reverse: Table = {
        key: value for back in other for key, value in ({"weight": 1} | back).items() if value != there[key]
    }
    entry: Table = {"from": line.ends[0], "to": line.ends[1], **first}
    if line.number > 1:
        entry["name"], reverse["name"] = line.names
    if not one_way:
        entry |= {"duplex": True} | ({"reverse": reverse} if reverse else {})
    return entry


def _of_duplex(graph: Graph) -> list[str]:
    """Returns a line with the number of directions that `--duplex` added, if only some links had both directions."""
    opposites = graph.graph.get(OPPOSITES)
    if opposites is None:
        return []
    both = sum((a, b, key) in opposites for a, b, key in graph.edges(keys=True))
    added = graph.number_of_edges() - both
    if not both:
        return []
    kept = f"{both} links are listed in both directions and stay as they are"
    return [
        f"{kept}; --duplex adds the opposite direction to {added} others" if added else f"{kept}; --duplex adds none"
    ]


def largest_part(graph: Graph) -> tuple[Graph, list[str]]:
    """Returns the largest mutually reachable part of a graph, and a line if other nodes are omitted."""
    parts = nx.connected_components
    if graph.is_directed():
        parts = nx.strongly_connected_components if _is_one_way(graph) else nx.weakly_connected_components
    largest: set[str] = max(parts(graph), key=len, default=set())
    left = graph.number_of_nodes() - len(largest)
    note = f"{left} of {graph.number_of_nodes()} nodes are not reached from the others and are left out"
    return graph.subgraph(largest).copy(), [note] if left else []
