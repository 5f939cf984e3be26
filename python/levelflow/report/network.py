"""Network drawing for the page of a run. Line width shows the load of a link, and colour marks bottlenecks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.report.tables import delays, percent, rate

if TYPE_CHECKING:
    from levelflow.records import FlowRecord
    from levelflow.rundata import RunData

    Array = np.ndarray[Any, np.dtype[np.float64]]

#: Limits on the nodes of a drawing, and on the links that it labels with numbers.
MOST_NODES, MOST_LABELS = 400, 40
#: Limits on nodes with visible names, and on bottlenecks that the caption lists.
MOST_NAMES, MOST_NAMED = 60, 15
#: Largest number of links in a network for which the drawing shows queueing delays of bottlenecks.
FEW = 12
#: A bottleneck has a utilisation of at least `BUSY`, and of at least `NEAR` times the highest utilisation on a path.
BUSY, NEAR = 0.5, 0.9
WIDE, TALLEST, FLATTEST, ROOM = 720.0, 460.0, 130.0, 60.0
ROUNDS = 100


def drawing(result: RunData) -> str:
    """Returns the figure, or a sentence if there are too many nodes."""
    links = {link["name"]: link for link in result.scenario["links"]}
    nodes = list(dict.fromkeys(node for link in links.values() for node in (link["from"], link["to"])))
    if len(nodes) > MOST_NODES:
        return f"<p>{len(nodes)} nodes and {len(links)} links: too many to draw; the table has them.</p>"
    loads = {link["name"]: link for link in result.summary["links"]}
    tight = bottlenecks(result)
    places, height = placed(nodes, [(link["from"], link["to"]) for link in links.values()], result)
    labelled = len(links) <= MOST_LABELS
    scale = 1.0 if labelled else 0.55
    flows = result.scenario["flows"]
    lines, words = [], []
    for name, link in links.items():
        load = loads[name]
        carries = " ".join(str(n) for n, flow in enumerate(flows) if any(name in path for path in routes(flow)))
        a, b = places[link["from"]], places[link["to"]]
        about = f"{name}: {rate(link['capacity_bps'])}, utilisation {percent(load['utilisation'])}"
        about += f", queueing delay p99 {delays(load, ('p99',))[0]}, {load['dropped_packets']:,} drops"
        kind = "tight" if name in tight else "used" if load["utilisation"] > 0 else "idle"
        lines.append(
            f"<g class='{kind}' data-flows='{carries}'><title>{escape(about)}</title>"
            f"{_arrow(a, b, load['utilisation'], scale)}</g>"
        )
        if (name in tight and len(tight) <= MOST_NAMED) or (labelled and load["utilisation"] >= 0.1):
            wait = f", delay {delays(load, ('p99',))[0]}" if name in tight and len(links) <= FEW else ""
            words.append(_word((a + b) / 2, percent(load["utilisation"]) + wait, kind, height, _left(a, b)))
    paths = [path for flow in flows for path in routes(flow) if path]
    ends = {node for path in paths for node in (links[path[0]]["from"], links[path[-1]]["to"])}
    dots = "".join(
        f"<circle cx={x:.1f} cy={y:.1f} r={7 * scale:.1f}><title>{escape(node)}</title></circle>"
        for node, (x, y) in places.items()
    )
    pairs = [(link["from"], link["to"]) for link in links.values()]
    words += [
        _word(places[node], node, "node", height, free_side(node, places, pairs))
        for node in nodes
        if labelled or (node in ends and len(nodes) <= MOST_NAMES)
    ]
    more = f" and {len(tight) - MOST_NAMED} more" if len(tight) > MOST_NAMED else ""
    said = f"{len(nodes)} nodes, {len(links)} links. Bottlenecks: {', '.join(tight[:MOST_NAMED]) or 'none'}{more}."
    of_delays = ", and the 99th percentile of the queueing delay at bottlenecks" if len(links) <= FEW else ""
    return (
        f"<figure class=network><figcaption><h3>Load of links{of_delays}</h3>"
        f"<p>{_unbroken(said)}</p></figcaption><div class=map style='aspect-ratio:{WIDE:g}/{height:.0f}'>"
        f"<svg viewBox='0 0 {WIDE:g} {height:.0f}' role=img "
        "aria-labelledby='net-t net-d'><title id=net-t>Network</title>"
        f"<desc id=net-d>{escape(said)}</desc>{''.join(lines)}{dots}</svg>"
        f"<div aria-hidden=true>{''.join(words)}</div></div></figure>"
    )


def _unbroken(text: str) -> str:
    """Returns the text as HTML without line breaks inside the names of links."""
    return " ".join(
        f"<span class=word>{escape(word)}</span>" if "->" in word else escape(word) for word in text.split()
    )


def routes(flow: FlowRecord) -> list[list[str]]:
    """Returns all paths that the flows of an entry take during the run, as lists of link names."""
    return [one["path"] for one in flow["paths"]] if "paths" in flow else [flow["path"]]


def bottlenecks(result: RunData) -> list[str]:
    """Returns the links whose utilisation is at least `BUSY`, and at or near the highest on the path of a flow."""
    load = {link["name"]: link["utilisation"] for link in result.summary["links"]}
    tight = set()
    for path in (path for flow in result.scenario["flows"] for path in routes(flow)):
        most = max((load[name] for name in path), default=0.0)
        tight |= {name for name in path if load[name] >= max(BUSY, NEAR * most)}
    return [name for name in load if name in tight]


def _left(a: Array, b: Array) -> Array:
    """Returns the unit vector to the left of the direction from `a` to `b`; y grows downwards."""
    dx, dy = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
    return np.array([dy, -dx])


def _arrow(a: Array, b: Array, load: float, scale: float) -> str:
    shift, along = _left(a, b), (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
    start, end = a + scale * (9 * along + 3.5 * shift), b + scale * (3.5 * shift - 9 * along)
    tip = start + 0.72 * (end - start)
    half = scale * (4 + 3 * load)
    corners = [tip + 2 * half * along, tip + half * shift, tip - half * shift]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    line = f"M{start[0]:.1f},{start[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
    return f"<path d='{line}' stroke-width='{scale * (1 + 5 * load):.1f}'/><polygon points='{points}'/>"


def free_side(node: str, places: dict[str, Array], pairs: list[tuple[str, str]]) -> Array:
    """Returns the unit vector from a node away from its links; downwards if there are links on all sides."""
    others = {b if a == node else a for a, b in pairs if node in (a, b)} - {node}
    ways = [places[other] - places[node] for other in others]
    away = -np.sum([way / max(float(np.hypot(*way)), 1e-9) for way in ways], axis=0) if ways else np.zeros(2)
    length = float(np.hypot(*away))
    return away / length if length > 0.5 else np.array([0.0, 1.0])


def _word(place: Array, text: str, kind: str, height: float, away: Array) -> str:
    """Returns a text as HTML, displaced from the position `place` in the direction of the unit vector `away`."""
    left, top = 100 * place[0] / WIDE, 100 * place[1] / height
    x, y = (f"calc({50 * (np.clip(2 * shift, -1, 1) - 1):.0f}% + {9 * shift:.0f}px)" for shift in away)
    at = f"left:{left:.1f}%;top:{top:.1f}%;transform:translate({x},{y})"
    return f"<span class='{kind}' style='{at}'>{escape(text)}</span>"


def placed(nodes: list[str], pairs: list[tuple[str, str]], result: RunData) -> tuple[dict[str, Array], float]:
    """Returns node positions by stress majorization of hop distances, and the height of the drawing."""
    number = {node: place for place, node in enumerate(nodes)}
    hops = _hops(len(nodes), [(number[a], number[b]) for a, b in pairs])
    at = _spread(hops)
    first = next((flow for flow in result.scenario["flows"] if flow["path"]), None)
    if first:
        links = {link["name"]: link for link in result.scenario["links"]}
        source, sink = number[links[first["path"][0]]["from"]], number[links[first["path"][-1]]["to"]]
        if at[source, 0] > at[sink, 0]:
            at[:, 0] *= -1
    span = np.maximum(np.ptp(at, axis=0), 1e-9)
    scale = (WIDE - 2 * ROOM) / span[0]
    tall = span[1] * scale
    height = float(np.clip(tall, FLATTEST - ROOM, TALLEST - ROOM))
    squeeze = height / tall if tall > TALLEST - ROOM else 1.0
    at = (at - at.min(axis=0)) * scale * (1.0, squeeze)
    at += (ROOM, (height - np.ptp(at[:, 1])) / 2 + ROOM / 2)
    return dict(zip(nodes, at, strict=True)), height + ROOM


def _hops(count: int, pairs: list[tuple[int, int]]) -> Array:
    """Returns hop distances between all nodes; between unconnected nodes, the largest distance plus one."""
    hops = np.full((count, count), np.inf)
    np.fill_diagonal(hops, 0)
    for a, b in pairs:
        hops[a, b] = hops[b, a] = 1
    for middle in range(count):
        hops = np.minimum(hops, hops[:, [middle]] + hops[[middle], :])
    hops[np.isinf(hops)] = hops[np.isfinite(hops)].max() + 1
    return hops


def _spread(hops: Array) -> Array:
    """Returns positions in the plane whose distances approximate `hops`; the longer side is horizontal."""
    count = len(hops)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ hops**2 @ centre)
    at = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-6))
    if count < 3:
        return np.column_stack([at[:, 0], np.zeros(count)])
    weights = np.where(hops > 0, 1 / np.maximum(hops, 1) ** 2, 0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(ROUNDS):
        apart = np.maximum(np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)), 1e-9)
        ratio = weights * hops / apart
        at = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ at)
    turned: Array = (at - at.mean(axis=0)) @ np.linalg.svd(at - at.mean(axis=0), full_matrices=False)[2].T
    return turned
