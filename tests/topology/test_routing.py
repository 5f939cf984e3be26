"""Routes compared with NetworkX's: fewest links, then least delay."""

import networkx
import numpy as np
import pytest

from levelflow import Scenario, ScenarioError

#: Delay longer than that of any path in this file, ms.
HOP = 10**6


def network(seed):
    """Returns random directed links, some of them parallel, as a scenario and as a graph."""
    draw = np.random.default_rng(seed)
    scenario = Scenario("routes", "1 s")
    graph = networkx.MultiDiGraph()
    nodes = int(draw.integers(3, 12))
    for number in range(int(draw.integers(nodes, 4 * nodes))):
        here, there = (f"n{node}" for node in draw.choice(nodes, 2, replace=False))
        delay = int(draw.integers(1, 6))
        scenario.link(here, there, name=f"l{number}", capacity="1 Mb/s", delay=f"{delay} ms")
        graph.add_edge(here, there, key=f"l{number}", weight=HOP + delay)
    return scenario, graph


@pytest.mark.parametrize("seed", range(20))
def test_routes_have_the_fewest_links_and_of_these_the_least_delay(seed):
    scenario, graph = network(seed)
    best = dict(networkx.all_pairs_dijkstra_path_length(graph))
    pairs = [(here, there) for here in graph for there in graph if here != there]
    both = [(here, there) for here, there in pairs if there in best[here] and here in best[there]]
    for number, (here, there) in enumerate(both):
        scenario.flow(f"f{number}", "cbr", here, there)
    if not both:
        pytest.skip("no two nodes reach each other")
    links = {key: (here, there, data["weight"]) for here, there, key, data in graph.edges(keys=True, data=True)}
    for flow, (here, there) in zip(scenario.resolve()["flows"], both, strict=True):
        for path, start, end in ((flow["path"], here, there), (flow["reverse_path"], there, here)):
            steps = [links[name] for name in path]
            assert [start, *(to for _, to, _ in steps)] == [*(at for at, _, _ in steps), end]
            assert sum(weight for *_, weight in steps) == best[start][end]


@pytest.mark.parametrize("seed", range(5))
def test_a_node_that_cannot_be_reached_is_named(seed):
    scenario, graph = network(seed)
    best = dict(networkx.all_pairs_dijkstra_path_length(graph))
    graph.add_node("lone")
    scenario.link("lone", "n0" if "n0" in graph else next(iter(graph)), capacity="1 Mb/s", delay="1 ms")
    here = next(iter(best))
    scenario.flow("f", "cbr", here, "lone")
    with pytest.raises(ScenarioError, match=f'no route from "{here}" to "lone"; add links or set a path'):
        scenario.resolve()
