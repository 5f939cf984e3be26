"""From a graph to the links of a scenario: names, capacities, delays, weights."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import networkx as nx
import numpy as np

from levelflow._core import ScenarioError
from levelflow.scenario import Scenario, nearest

if TYPE_CHECKING:
    from levelflow.topology.graphs import Graph

#: Two thirds of the speed of light, as in fibre, km/s.
FIBRE_KM_S = 2e5
EARTH_KM = 6371.0
#: Between nodes of the same place.
SHORTEST_S = 1e-5
#: Line rates by name, Mb/s (ITU-T G.707, Bellcore GR-253, IEEE 802.3).
NAMED = {
    "OC": 51.84,
    "STM": 155.52,
    "T1": 1.544,
    "T3": 44.736,
    "DS1": 1.544,
    "DS3": 44.736,
    "E1": 2.048,
    "E3": 34.368,
}
ETHERNETS = {"gigabit ethernet": 1e9, "fast ethernet": 1e8, "gige": 1e9, "10gige": 1e10, "10ge": 1e10}
UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def speed(label: str) -> float | None:
    """Returns the rate that a label of the Topology Zoo names, bit/s; None of one that names none, or several.

    >>> speed("10 Gbps"), speed("OC-48"), speed("2x 155 Mbit/s"), speed("Fibre"), speed("Gigabit Ethernet")
    (10000000000.0, 2488320000.0, 310000000.0, None, 1000000000.0)
    """
    text = label.strip().lower()
    if text in ETHERNETS:
        return ETHERNETS[text]
    times, text = (int(found[1]), text[found.end() :]) if (found := re.match(r"(\d+)\s*[x*]\s*", text)) else (1, text)
    rates = [float(n) * UNITS[u] for n, u in re.findall(r"(\d+(?:\.\d+)?)\s*([kmgt])(?:b|\b|i)", text)]
    rates += [NAMED[kind] * 1e6 * int(n) for kind, n in re.findall(r"\b(OC|STM)-?(\d+)", text.upper())]
    rates += [NAMED[kind] * 1e6 for kind in re.findall(r"\b(T1|T3|DS1|DS3|E1|E3)\b", text.upper())]
    return times * rates[0] if len(rates) == 1 and rates[0] > 0 else None


def read(path: Path, duplex: bool = False) -> Graph:
    """Reads a GraphML or GML file: nodes by their labels; capacities and coordinates as the Topology Zoo writes them.

    Args:
        path: of the file.
        duplex: takes each link of a directed graph for one of both directions.

    Raises:
        ScenarioError: if it cannot be read; in one line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _gml(path) if path.suffix.lower() == ".gml" else nx.read_graphml(path)
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ParseError, nx.NetworkXError, KeyError, ValueError, TypeError, AttributeError) as error:
        why = str(error).split("\n")[0] or type(error).__name__
        raise ScenarioError(f"{path}: is neither GraphML nor GML (.gml): {why}") from None
    graph = nx.MultiDiGraph() if found.is_directed() and not duplex else nx.MultiGraph()
    taken: dict[str, int] = {}
    names = {}
    for node, values in found.nodes(data=True):
        label = " ".join(str(values.get("label") or node).split())
        taken[label] = taken.get(label, 0) + 1
        names[node] = label if taken[label] == 1 else f"{label} {taken[label]}"
        place = {key: values[old] for key, old in (("lat", "Latitude"), ("lon", "Longitude")) if old in values}
        graph.add_node(names[node], **values, **place)
    for a, b, values in found.edges(data=True):
        graph.add_edge(names[a], names[b], **values, **_speed_of(values))
    return graph


def _gml(path: Path) -> Graph:
    """Files of the Topology Zoo have parallel links, and do not say so."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\bmultigraph\s+1\b", text):
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1", text, count=1)
    return nx.parse_gml(text, label="id")


def _speed_of(values: dict[str, Any]) -> dict[str, float]:
    """What an edge of the Topology Zoo says of its capacity, bit/s."""
    if "capacity" in values:
        return {}
    raw = values.get("LinkSpeedRaw")
    if isinstance(raw, int | float) and 0 < raw < math.inf:
        return {"capacity": float(raw)}
    known = speed(str(values.get("LinkLabel", "")))
    return {} if known is None else {"capacity": known}


def scenario(
    graph: Graph,
    name: str,
    duration: str = "10 s",
    *,
    capacity: str = "1 Gb/s",
    delay: str = "1 ms",
    attributes: tuple[str, str, str] = ("capacity", "delay", "weight"),
    **options: Any,
) -> tuple[Scenario, list[str]]:
    """Returns a scenario with the links of a graph, and what was assumed: a line each.

    Args:
        graph: of networkx, of any kind. An edge of an undirected graph is a duplex link.
        name: of the scenario.
        duration: of the scenario.
        capacity: of edges without one.
        delay: of edges without one, whose nodes have no `lat` and `lon`, degrees; those that have are as far as a great
            circle of fibre is long.
        attributes: of edges: a text with unit, or a number in bit/s; a text with unit, or seconds; a whole number.
        options: other keys of the scenario, such as `routing`.

    Raises:
        ScenarioError: if an edge has no allowed value, or there is none.
    """
    if not graph.number_of_edges():
        hint = "; --duplex takes each link for both directions" if graph.is_directed() else ""
        raise ScenarioError(f"{name}: no nodes reach each other{hint}")
    known = sorted({key for *_, values in graph.edges(data=True) for key in values})
    for wanted, usual in zip(attributes, ("capacity", "delay", "weight"), strict=True):
        if wanted != usual and wanted not in known:
            raise ScenarioError(f"{name}: no edge has an attribute {wanted!r}; {nearest(wanted, known)}")
    made = Scenario(name, duration, **options)
    assumed = {"capacity": 0, "delay": 0}
    loops, seen = 0, dict[tuple[str, str], int]()
    for a, b, values in graph.edges(data=True):
        source, sink = str(a), str(b)
        if source == sink:
            loops += 1
            continue
        rate, wait, weight = (values.get(key) for key in attributes)
        rate = _quantity(f"{source}->{sink}", "capacity", rate, "b/s")
        wait = _quantity(f"{source}->{sink}", "delay", wait, "s") or _distance(graph.nodes[a], graph.nodes[b])
        assumed["capacity"] += rate is None
        assumed["delay"] += wait is None
        keys: dict[str, Any] = {} if weight is None else {"weight": int(weight)}
        number = seen[source, sink] = seen[sink, source] = seen.get((source, sink), 0) + 1
        if number > 1:
            keys["name"] = f"{source}->{sink} #{number}"
        if not graph.is_directed():
            keys["duplex"] = True
            if number > 1:
                keys["reverse"] = {"name": f"{sink}->{source} #{number}"}
        made.link(source, sink, rate or capacity, wait or delay, **keys)
    edges = graph.number_of_edges() - loops
    defaults = {"capacity": capacity, "delay": delay}
    notes = [f"{count} of {edges} links have no {key}: {defaults[key]}" for key, count in assumed.items() if count]
    notes += [f"{loops} links from a node to itself are left out"] if loops else []
    return made, notes


def _quantity(place: str, key: str, value: Any, unit: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ScenarioError(f"edge {place}: {key} is {value!r}; needs a number, or a text with its unit")
    return f"{value:.12g} {unit}"


def _distance(a: dict[str, Any], b: dict[str, Any]) -> str | None:
    places = [(node.get("lat"), node.get("lon")) for node in (a, b)]
    if not all(isinstance(degrees, int | float) and math.isfinite(degrees) for place in places for degrees in place):
        return None
    (north, east), (other, far) = np.radians(np.array(places, dtype=float))
    half = math.sin((other - north) / 2) ** 2 + math.cos(north) * math.cos(other) * math.sin((far - east) / 2) ** 2
    seconds = 2 * EARTH_KM * math.asin(math.sqrt(min(half, 1.0))) / FIBRE_KM_S
    return f"{max(seconds, SHORTEST_S) * 1e3:.4g} ms"


def largest_part(graph: Graph) -> tuple[Graph, list[str]]:
    """Returns the largest part of a graph in which each node reaches each other, and a line if others are left out."""
    parts = nx.strongly_connected_components if graph.is_directed() else nx.connected_components
    largest: set[str] = max(parts(graph), key=len, default=set())
    left = graph.number_of_nodes() - len(largest)
    note = f"{left} of {graph.number_of_nodes()} nodes are not reached from the others and are left out"
    return graph.subgraph(largest).copy(), [note] if left else []
