"""Files of topologies: the values read from labels, attributes, units, weights and directions, and the warnings."""

import itertools
import random
import warnings
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_topologies import scenario_of

from levelflow import Scenario, ScenarioError
from levelflow.topology import links, weights

YED = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key attr.name="label" attr.type="string" for="edge" id="d0"/><key for="edge" id="d1" yfiles.type="edgegraphics"/>
<graph edgedefault="directed" id="G"><node id="n0"/><node id="n1"/><node id="n2"/>
<edge id="e0" source="n0" target="n1"><data key="d0"><![CDATA[2x10Gb/s]]></data></edge>
<edge id="e1" source="n1" target="n2"><data key="d1"><y:PolyLineEdge>
<y:EdgeLabel>1 Gbps</y:EdgeLabel></y:PolyLineEdge></data></edge>
<edge id="e2" source="n2" target="n0"><data key="d0">1-10Gbps</data></edge>
</graph></graphml>"""
NUMBERS = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="bw" for="edge" attr.name="bandwidth" attr.type="double"/>
<key id="delay" for="edge" attr.name="delay" attr.type="double"/>
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="0"/><node id="1"/><node id="2"/><node id="3"/>
<edge source="0" target="1"><data key="bw">100.0</data><data key="delay">2.0</data><data key="w">1.9</data></edge>
<edge source="1" target="3"><data key="bw">100.0</data><data key="delay">2.0</data><data key="w">1.9</data></edge>
<edge source="0" target="2"><data key="bw">10.0</data><data key="delay">20.0</data><data key="w">1.1</data></edge>
<edge source="2" target="3"><data key="bw">10.0</data><data key="delay">20.0</data><data key="w">1.1</data></edge>
</graph></graphml>"""
DIRECTED = """graph [ directed 1
  node [ id 0 label "a" ] node [ id 1 label "b" ] node [ id 2 label "c" ]
  edge [ source 0 target 1 LinkLabel "10 Mbps" ] edge [ source 1 target 0 LinkLabel "2.4 Mbps" ]
  edge [ source 1 target 2 LinkLabel "7 Mbps" ] edge [ source 2 target 1 LinkLabel "7 Mbps" ]
  edge [ source 0 target 1 LinkLabel "5 Mbps" ] {more} ]"""


def resolved(made):
    nodes = made.raw["link"][0]
    return made.copy().flow("x", "level", nodes["from"], nodes["to"]).resolve()["links"]


def capacities(made):
    return {link["name"]: link["capacity_bps"] / 1e6 for link in resolved(made)}


def test_labels_of_yed_are_read(tmp_path):
    (tmp_path / "yed.graphml").write_text(YED, encoding="utf-8")
    made, notes = scenario_of(links.read(tmp_path / "yed.graphml", duplex=True), "yed", capacity="3 Gb/s")
    named = {"n0->n1": 20e3, "n1->n0": 20e3, "n1->n2": 1e3, "n2->n1": 1e3}
    assert capacities(made) == named | {"n2->n0": 3e3, "n0->n2": 3e3}
    assert notes[:2] == [
        "capacity: 1 Gb/s (n1->n2) to 20 Gb/s (n0->n1); of 3 links, 2 from label",
        '1 of 3 links have no capacity; 3 Gb/s is assumed; some labels name no single rate, as "1-10Gbps"',
    ]


def test_a_directed_file_keeps_its_directions_and_their_names(tmp_path):
    (tmp_path / "net.gml").write_text(DIRECTED.format(more=""), encoding="utf-8")
    made, _ = scenario_of(links.read(tmp_path / "net.gml"), "net")
    assert capacities(made) == {"a->b": 10, "b->a": 2.4, "b->c": 7, "c->b": 7, "a->b #2": 5}
    assert not any(link.get("duplex") for link in made.raw["link"])
    made.set("link.b->a.delay", "9 ms").set("link.b:a.jitter", "1 ms")


def test_duplex_adds_the_direction_that_is_missing_and_no_other(tmp_path):
    more = 'edge [ source 2 target 0 LinkLabel "1 Mbps" ]'
    (tmp_path / "net.gml").write_text(DIRECTED.format(more=more), encoding="utf-8")
    made, notes = scenario_of(links.read(tmp_path / "net.gml", duplex=True), "net")
    listed = {"a->b": 10, "b->a": 2.4, "b->c": 7, "c->b": 7, "a->b #2": 5, "c->a": 1}
    assert capacities(made) == listed | {"b->a #2": 5, "a->c": 1}
    kept = "2 links are listed in both directions and stay as they are"
    assert f"{kept}; --duplex adds the opposite direction to 2 others" in notes


weight = st.one_of(
    st.integers(1, 1000).map(float),
    st.decimals("0.001", "100", places=3).map(float),
    st.sampled_from([0.5, 1 / 3, 2 / 3, 0.1, 0.2, 0.3, 1.9, 1.1, 1e-9, 1e-10]),
)


@given(st.lists(st.none() | weight, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_whole_weights_order_and_tie_paths_as_those_given(given_weights, draw):
    """The oracle adds the decimal numbers of the file exactly."""
    exact = [
        None
        if one is None
        else next(f for f in (Fraction(one).limit_denominator(1000), Fraction(repr(one))) if float(f) == one)
        for one in given_weights
    ]
    found, notes = weights.whole(exact)
    if any("rounded" in note for note in notes):
        assert all(1 <= one <= weights.HEAVIEST for one in found)
        return
    numbers = [Fraction(1) if one is None else one for one in exact]
    whole = [1 if one is None else one for one in found]
    assert all(1 <= one <= weights.HEAVIEST for one in whole)
    for _ in range(20):
        a, b = (draw.choices(range(len(numbers)), k=draw.randint(1, 4)) for _ in range(2))
        true = sum(numbers[i] for i in a) - sum(numbers[i] for i in b)
        scaled = sum(whole[i] for i in a) - sum(whole[i] for i in b)
        assert (true > 0) - (true < 0) == (scaled > 0) - (scaled < 0)


def test_weights_that_do_not_fit_are_rounded_with_a_warning():
    found, notes = weights.whole([Fraction("0.000001"), Fraction(10**7)])
    assert found == [1, weights.HEAVIEST]
    assert notes[0].startswith("warning: weights of 1e-06 to 1e+07 do not fit")


def test_routes_are_the_shortest_of_another_implementation():
    """Weights are multiples of 0.1. networkx adds them as integers, in tenths."""
    draw = random.Random(5)
    for _ in range(5):
        graph = nx.gnm_random_graph(12, 24, seed=draw.randrange(1000))
        graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
        for a, b in graph.edges:
            tenths = draw.randint(1, 40)
            graph.edges[a, b].update(weight=tenths / 10, tenths=tenths)
        made = Scenario.from_networkx(graph, "drawn")
        pairs = list(itertools.permutations(graph, 2))
        for a, b in pairs:
            made.flow(f"{a}-{b}", "level", str(a), str(b))
        for (a, b), flow in zip(pairs, made.resolve()["flows"], strict=True):
            nodes = [int(name.split("->")[0]) for name in flow["path"]] + [b]
            length = sum(graph.edges[one, two]["tenths"] for one, two in itertools.pairwise(nodes))
            assert length == nx.shortest_path_length(graph, a, b, "tenths")


def test_fractions_of_weights_choose_the_path(tmp_path, levelflow):
    (tmp_path / "net.graphml").write_text(NUMBERS, encoding="utf-8")
    done = levelflow(
        "topology", "net.graphml", "--capacity-attribute", "bandwidth:Mb/s", "--delay-attribute", "delay:ms"
    )
    assert done.returncode == 0, done.stderr
    assert "capacity: 10 Mb/s (0->2) to 100 Mb/s (1->3); of 4 links, 4 from bandwidth" in done.stderr
    assert "delay: 2 ms (0->1) to 20 ms (2->3); of 4 links, 4 from delay" in done.stderr
    assert "weights are multiplied by 10, to be whole numbers" in done.stderr
    assert not [line for line in done.stderr.splitlines() if "warning" in line and "the interval of level" not in line]
    made = Scenario.load(tmp_path / "net.toml").flow("far", "level", "0", "3")
    assert made.resolve()["flows"][-1]["path"] == ["0->2", "2->3"]


def test_numbers_that_cannot_be_in_base_units_are_warned_of_with_the_option(tmp_path, levelflow):
    (tmp_path / "net.graphml").write_text(NUMBERS, encoding="utf-8")
    done = levelflow("topology", "net.graphml", "--capacity-attribute", "bandwidth")
    assert done.returncode == 0, done.stderr
    assert "warning: link 0->2 has 10 b/s, less than a telephone line" in done.stderr
    assert "write --capacity-attribute bandwidth:Mb/s" in done.stderr
    assert "warning: link 2->3 takes 20 s one way, longer than a satellite link" in done.stderr
    assert "write --delay-attribute delay:ms" in done.stderr
    done = levelflow("topology", "net.graphml", "--replace")
    assert "edges also have bandwidth (10 to 100); --capacity-attribute bandwidth:UNIT reads it" in done.stderr


def graph_of(**values):
    graph = nx.Graph()
    graph.add_edge("a", "b", **values)
    return graph


@pytest.mark.parametrize(
    ("attributes", "values", "capacity", "delay"),
    [
        (("capacity", "delay", "weight"), {"capacity": 7e6, "delay": 0.004}, 7e6, 0.004),
        (("capacity", "delay", "weight"), {"capacity": "7e6", "delay": "4 ms"}, 7e6, 0.004),
        (("capacity", "delay", "weight"), {"capacity": "2,5 Gbit/s", "delay": 0}, 2.5e9, 0.0),
        (("capacity", "delay", "weight"), {"capacity": "OC-48"}, 48 * 51.84e6, 0.001),
        (("bw:Gb/s", "rtt:us", "weight"), {"bw": 2.5, "rtt": 40}, 2.5e9, 4e-5),
        (("bw:8Mb/s", "km:5us", "weight"), {"bw": 2, "km": 300}, 16e6, 0.0015),
        (("bw:kb/s", "delay:ms", "weight"), {"bw": "3 Mb/s", "delay": "2 s"}, 3e6, 2.0),
        (("name:of:Mb/s", "delay", "weight"), {"name:of": 3}, 3e6, 0.001),
    ],
)
def test_attributes_have_names_and_units(attributes, values, capacity, delay):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Scenario.from_networkx(graph_of(**values), "net", attributes=attributes)
    link = resolved(made)[0]
    assert link["capacity_bps"] == pytest.approx(capacity, rel=1e-11)
    assert link["delay_s"] == pytest.approx(delay, rel=1e-11)


@pytest.mark.parametrize(
    ("attributes", "values", "why"),
    [
        (("bw:MBps", "delay", "weight"), {"bw": 1.0}, "--capacity-attribute bw:MBps: .*1 MB/s is 8 Mb/s"),
        (("bw:furlongs", "delay", "weight"), {"bw": 1.0}, "bw:furlongs: .*is not a rate"),
        (("capacity", "delay:Mb/s", "weight"), {"delay": 1.0}, "delay:Mb/s: .*is not a duration"),
        (("capacity", "delay:0ms", "weight"), {"delay": 1.0}, "the unit is zero"),
        (("capacity", "delay", "cost:ms"), {"cost": 1.0}, "a weight has no unit; write --weight-attribute cost"),
        (("capacity", "delay", "weight"), {"weight": 0}, "edge a->b: weight is 0; needs a number above 0"),
        (("capacity", "delay", "weight"), {"weight": float("nan")}, "weight is nan"),
        (("capacity", "delay", "weight"), {"weight": "heavy"}, "weight is 'heavy'"),
        (("capacity", "delay", "weight"), {"capacity": 0}, "capacity is 0; needs a number above 0"),
    ],
)
def test_wrong_attributes_get_one_line(attributes, values, why):
    with pytest.raises(ScenarioError, match=why) as raised:
        scenario_of(graph_of(**values), "bad", attributes=attributes)
    assert "\n" not in str(raised.value)


def test_values_that_are_not_plausible_are_warned_of_in_python():
    for values, said in [
        ({"capacity": 9920.0}, "has 9.92 kb/s.*--capacity-attribute capacity:Mb/s"),
        ({"capacity": "100 kb/s"}, "no link has more than 100 kb/s$"),
        ({"capacity": 5e14}, "has 500 Tb/s, more than a fibre"),
        ({"delay": 20}, "takes 20 s one way.*--delay-attribute delay:ms"),
        ({"delay": 2000}, "takes 2e\\+03 s one way.*--delay-attribute delay:us"),
        ({"delay": "2 s"}, "takes 2 s one way, longer than a satellite link$"),
    ]:
        with pytest.warns(UserWarning, match=said):
            Scenario.from_networkx(graph_of(**values), "net")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Scenario.from_networkx(graph_of(capacity=2e6, delay=0.27), "net")


def test_unused_attributes_are_named():
    for values, said in [
        ({"bandwidth": "100Mbps"}, "edges also have bandwidth; --capacity-attribute bandwidth reads it"),
        (
            {"link_speed": "100"},
            "edges also have link_speed (100 to 100); --capacity-attribute link_speed:UNIT reads it",
        ),
        ({"latency": 3}, "edges also have latency (3 to 3); --delay-attribute latency:UNIT reads it"),
    ]:
        _, notes = scenario_of(graph_of(**values), "net")
        assert any(note.startswith(said) for note in notes), notes
    _, notes = scenario_of(graph_of(capacity=1e9, delay=0.001, bandwidth=3, latency=3, colour="1G"), "net")
    assert not any("also" in note for note in notes)


def test_a_raw_speed_that_differs_from_its_label_is_said_and_taken():
    made, notes = scenario_of(graph_of(LinkSpeedRaw=10e9, LinkLabel="10GEx12"), "net")
    assert capacities(made)["a->b"] == 10e3
    assert 'LinkSpeedRaw and label differ 1 times, as at a->b: 10 Gb/s and "10GEx12"; LinkSpeedRaw is used' in notes
    _, notes = scenario_of(graph_of(LinkSpeedRaw=10e9, LinkLabel="OC-192"), "net")
    assert not any("differ" in note for note in notes)


def test_load_is_that_of_the_busiest_link(tmp_path, levelflow):
    size = ("--set", "flow.*.size={exponential='50 kB'}")
    for traffic, more in [
        ("permutation", ()),
        ("incast", ("--set", "flow.*.arrivals={load='10 %'}")),
        ("all-to-all", ("--set", "flow.*.arrivals={interval={uniform=['0 s', '10 ms']}}", "--ecmp")),
    ]:
        words = ("topology", "leaf-spine:3x2x2", "--traffic", traffic, "--load", "80%", *size, *more, "--replace")
        done = levelflow(*words, "--out", "net.toml")
        assert done.returncode == 0, done.stderr
        assert "Offered load of the busiest link: 80 %" in done.stdout
        found = Scenario.load(tmp_path / "net.toml").resolve()
        assert max(link["offered_load"] for link in found["links"]) == pytest.approx(0.8, rel=1e-6)
    done = levelflow("topology", "star:4", "--load", "2.4", *size)
    assert "warning: flow entries offer 240 % of link" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--load", "0.8"), "has no size, so its load is unlimited"),
        (("--load", "much"), "share 'much' is not allowed"),
        (("--load", "80"), "did you mean 80%?"),
        (("--load", "0"), "--load 0: is out of range"),
        (
            ("--load", "1", "--set", "flow.*.size='1 MB'", "--set", "flow.*.arrivals={times=['1 s']}"),
            "needs poisson, load",
        ),
    ],
)
def test_an_impossible_load_gets_one_line(words, why, tmp_path, levelflow):
    done = levelflow("topology", "star:4", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert why in done.stderr
    assert not list(tmp_path.glob("*.toml"))
