"""`levelflow topology`: graphs, links, traffic, bad input."""

import math
import tomllib
from collections import Counter

import networkx as nx
import pytest

from levelflow import Scenario, ScenarioError
from levelflow.topology import graphs, links, traffic

ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="n0"/>
<key attr.name="Latitude" attr.type="double" for="node" id="n1"/>
<key attr.name="Longitude" attr.type="double" for="node" id="n2"/>
<key attr.name="LinkLabel" attr.type="string" for="edge" id="e0"/>
<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="e1"/>
<graph edgedefault="undirected">
<node id="0"><data key="n0">Paris</data><data key="n1">48.8566</data><data key="n2">2.3522</data></node>
<node id="1"><data key="n0">London</data><data key="n1">51.5074</data><data key="n2">-0.1278</data></node>
<node id="2"><data key="n0">Paris</data></node><node id="3"><data key="n0">alone</data></node>
<edge source="0" target="1"><data key="e0">OC-48</data></edge>
<edge source="0" target="1"><data key="e1">1e9</data></edge>
<edge source="1" target="2"><data key="e0">leased</data></edge><edge source="2" target="2"/>
</graph></graphml>"""


def scenario_of(graph, name, duration="10 s", **options):
    """Returns the scenario of a graph, and the lines about its values."""
    made = Scenario(name, duration)
    made.raw["link"], notes = links.entries(graph, name, **options)
    return made, notes


def test_a_fat_tree_has_the_published_counts_and_distances():
    """There are k^3/4 hosts, 5 k^2/4 switches and 3 k^3/4 links. Paths between hosts have 2, 4 or 6 links."""
    for k in (2, 4, 6):
        graph = graphs.fat_tree(k)
        hosts = [node for node, values in graph.nodes(data=True) if values.get("host")]
        assert len(hosts) == k**3 // 4
        assert graph.number_of_nodes() - len(hosts) == 5 * k * k // 4
        assert graph.number_of_edges() == 3 * k**3 // 4
        assert all(graph.degree(node) == k for node in graph if node not in hosts)
        far = Counter(
            length for node, length in nx.single_source_shortest_path_length(graph, hosts[0]).items() if node in hosts
        )
        near, pod = k // 2, k * k // 4
        assert far == {
            length: count for length, count in ((0, 1), (2, near - 1), (4, pod - near), (6, k**3 // 4 - pod)) if count
        }


def test_each_kind_has_its_links():
    count = {"dumbbell:3": 7, "parking-lot:4": 9, "star:5": 5, "leaf-spine:3x2x4": 18, "random-regular:10x4": 20}
    for text, edges in count.items():
        graph = graphs.generate(text)
        assert graph.number_of_edges() == edges
        assert nx.is_connected(graph)
    assert set(dict(graphs.generate("random-regular:10x4", 3).degree()).values()) == {4}
    assert nx.is_connected(graphs.generate("waxman:40"))
    assert nx.utils.graphs_equal(graphs.generate("waxman:40", 5), graphs.generate("waxman:40", 5))


def test_equal_paths_of_a_fat_tree_are_shared():
    """Between pods there are k^2/4 paths; with many flows, each is taken."""
    made, _ = scenario_of(graphs.fat_tree(4), "tree", "1 s")
    flow = made.set("routing", "ecmp").flow("x", "level", "h0-0-0", "h3-1-1", count=200).resolve()["flows"][0]
    assert len({tuple(path["path"]) for path in flow["paths"]}) == 4


def test_traffic_matrices():
    graph = graphs.star(7)
    ends = {f"h{number}" for number in range(1, 8)}
    assert set(traffic.pairs(graph, "all-to-all")) == {(a, b) for a in ends for b in ends if a != b}
    for seed in range(20):
        one = traffic.pairs(graph, "permutation", seed=seed)
        assert {a for a, _ in one} == {b for _, b in one} == ends
        assert all(a != b for a, b in one)
    assert {b for _, b in traffic.pairs(graph, "incast")} == {"h1"}


def test_gravity_draws_in_proportion_to_both_masses():
    """The nodes of a line a-b-c have degrees 1, 2, 1. Ordered pairs with b have the weight 2, and the pair a-c has the
    weight 1.
    """
    graph = nx.path_graph(["a", "b", "c"])
    found = Counter(frozenset(pair) for pair in traffic.pairs(graph, "gravity", 20_000, seed=4))
    assert found[frozenset("ac")] / 20_000 == pytest.approx(0.2, abs=0.01)
    assert found[frozenset("ab")] / 20_000 == pytest.approx(0.4, abs=0.012)


def test_a_file_of_the_zoo_is_read_with_its_quirks(tmp_path):
    (tmp_path / "zoo.graphml").write_text(ZOO, encoding="utf-8")
    graph, notes = links.largest_part(links.read(tmp_path / "zoo.graphml"))
    assert notes == ["1 of 4 nodes are not reached from the others and are left out"]
    made, assumed = scenario_of(graph, "zoo", capacity="2 Gb/s", delay="3 ms")
    assert assumed == [
        "capacity: 1 Gb/s (Paris->London #2) to 2.49 Gb/s (Paris->London); of 3 links, 1 from LinkLabel, "
        "1 from LinkSpeedRaw",
        "1 of 3 links have no capacity; 2 Gb/s is assumed",
        "delay: 1.72 ms; of 3 links, 2 from coordinates",
        "1 of 3 links have no delay; 3 ms is assumed",
        "1 links from a node to itself are left out",
    ]
    found = {link["name"]: link for link in made.flow("x", "level", "Paris", "Paris 2").resolve()["links"]}
    parallel = {"Paris->London", "London->Paris", "Paris->London #2", "London->Paris #2"}
    assert set(found) == parallel | {"London->Paris 2", "Paris 2->London"}
    assert found["Paris->London"]["capacity_bps"] == pytest.approx(48 * 51.84e6)
    # 343.6 km along the great circle, at 200 km per millisecond.
    assert found["Paris->London"]["delay_s"] == pytest.approx(343.6 / 2e5, rel=0.003)


def test_what_a_graph_says_is_what_the_scenario_says():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity="5 Mb/s", delay=0.002, weight=3)
    graph.add_edge("b", "a", capacity=7e6, delay="4 ms")
    resolved = scenario_of(graph, "two")[0].flow("x", "level", "a", "b").resolve()
    assert [(link["capacity_bps"], link["delay_s"]) for link in resolved["links"]] == [(5e6, 0.002), (7e6, 0.004)]
    made = Scenario.from_networkx(graph, "two")
    assert made.raw["link"][0]["weight"] == 3


def test_the_command_writes_a_scenario_that_runs(tmp_path, levelflow):
    done = levelflow("topology", "leaf-spine:2x2x2", "--ecmp", "--duration", "50 ms", "--capacity", "10 Mb/s")
    assert done.returncode == 0, done.stderr
    assert "8 nodes, 8 links, 4 flows" in done.stdout
    raw = tomllib.loads((tmp_path / "leaf-spine-2x2x2.toml").read_text())
    assert raw["routing"] == "ecmp"
    assert levelflow("run", "leaf-spine-2x2x2.toml", "--no-plots").returncode == 0
    again = levelflow("topology", "leaf-spine:2x2x2")
    assert again.returncode == 2
    assert "is there already" in again.stderr


BAD = {
    "fat-tree:7": "k must be even",
    "fat-tree:0": "each 1 to 100000",
    "fat-tree": "needs K",
    "fat-tre:8": "did you mean 'fat-tree'",
    "leaf-spine:4x4": "needs LEAVESxSPINESxHOSTS",
    "random-regular:5x5": "below the number of nodes",
    "random-regular:5x3": "even product of nodes and degree",
    "fat-tree:1000": "more than 1,000,000 links",
    "star:1": "needs two nodes",
    "empty.graphml": "neither GraphML nor GML",
    "bytes.graphml": "neither GraphML nor GML",
    "bomb.graphml": "neither GraphML nor GML",
    "missing.graphml": "no such file",
    "folder.graphml": "directory",
    "alone.graphml": "no nodes reach each other",
    "oneway.graphml": "--duplex adds the opposite direction of each link",
    "text.gml": "neither GraphML nor GML",
}
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="{}"><node id="a"/><node id="b"/>'
BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 12))
FILES = {
    "empty.graphml": b"",
    "bytes.graphml": bytes(range(256)),
    "bomb.graphml": f'<!DOCTYPE g [<!ENTITY e0 "lol">{BOMB}]><graphml>&e11;</graphml>'.encode(),
    "alone.graphml": (HEAD.format("undirected") + "</graph></graphml>").encode(),
    "oneway.graphml": (HEAD.format("directed") + '<edge source="a" target="b"/></graph></graphml>').encode(),
    "text.gml": b"hello",
}


@pytest.mark.parametrize("what", BAD)
def test_bad_topologies_get_one_line_and_exit_2(what, tmp_path, levelflow):
    (tmp_path / "folder.graphml").mkdir()
    if what in FILES:
        (tmp_path / what).write_bytes(FILES[what])
    done = levelflow("topology", what)
    assert done.returncode == 2
    assert BAD[what] in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.glob("*.toml"))


@pytest.mark.parametrize(
    ("option", "value", "why"), [("--law", "cubik", 'did you mean "cubic"'), ("--delay", "30", "has no unit")]
)
def test_a_bad_option_is_reported_once(option, value, why, levelflow):
    done = levelflow("topology", "star:3", option, value)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert why in done.stderr


def test_bad_attributes_are_refused():
    for values, why in [
        ({"capacity": -1.0}, "capacity is -1.0"),
        ({"capacity": math.nan}, "capacity is nan"),
        ({"delay": True}, "delay is True"),
    ]:
        graph = nx.Graph()
        graph.add_edge("a", "b", **values)
        with pytest.raises(ScenarioError, match=why):
            scenario_of(graph, "bad")
    graph = nx.path_graph(2)
    nx.set_edge_attributes(graph, 1, "latency")
    with pytest.raises(ScenarioError, match="did you mean 'latency'"):
        scenario_of(graph, "bad", attributes=("capacity", "latncy", "weight"))
    with pytest.raises(ScenarioError, match="did you mean 'gravity'"):
        traffic.pairs(graph, "gravty")


def test_a_hundred_thousand_links_are_made():
    made, _ = scenario_of(graphs.generate("star:100000"), "star", capacity="1 Gb/s")
    assert len(made.raw["link"]) == 100_000


def test_values_of_a_scenario_are_set_on_the_command_line(levelflow, tmp_path):
    done = levelflow("topology", "star:4", "--set", 'flow.*.size="50 kB"', "--set", 'flow.*.arrivals={poisson="9 /s"}')
    assert done.returncode == 0, done.stderr
    flows = Scenario.load(tmp_path / "star-4.toml").raw["flow"]
    assert [(flow["size"], flow["arrivals"]) for flow in flows] == [("50 kB", {"poisson": "9 /s"})] * 4
    assert levelflow("topology", "star:4", "--set", "name=club").stdout.startswith("club.toml: ")
    done = levelflow("topology", "star:5", "--set", "flow.*.sise=1")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
