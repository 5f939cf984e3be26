"""Import of htsim's topologies and connection matrices."""

import itertools
import re

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow import ScenarioError
from levelflow.importing import build

#: 8 hosts, 4 switches of each lower tier, 2 of the top tier; bundles of 2 links below the top tier.
TOPOLOGY = """# by hand
Nodes 8
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 50
Tier 1
downlink_speed_gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 500
Queue_Up 100000
Queue_Down 200000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 250
Switch_Latency_ns 10
Bundle 2
"""
MATRIX = """Nodes 8
Connections 3
0->7 id 1 start 0 size 2000000
1->7 start 2000000 size 1000
0->7 start 1000000 size 500 prio 3
"""


def written(folder, **texts):
    paths = []
    for name, text in texts.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def imported(folder, topology=TOPOLOGY, matrix=MATRIX, **options):
    paths = written(folder, t__topo=topology, m__cm=matrix)
    made = build.read(paths, folder=folder, **options)
    made.scenario.origin = str(folder / "m.toml")
    return made


def graph_of(scenario):
    graph = nx.MultiGraph()
    for link in scenario.raw["link"]:
        graph.add_edge(link["from"], link["to"])
    return graph


def complaint(paths):
    """Returns the error of an import; None if there is none."""
    try:
        build.read(paths)
    except ScenarioError as error:
        return str(error)
    return None


def refusal(folder, **texts):
    with pytest.raises(ScenarioError) as error:
        build.read(written(folder, **texts))
    line = str(error.value)
    assert "\n" not in line
    return line.removeprefix(f"{folder}/")


def test_a_topology_has_the_switches_and_paths_of_a_fat_tree(tmp_path):
    graph = graph_of(imported(tmp_path).scenario)
    kinds = {kind: sorted(node for node in graph if node[0] == kind) for kind in "htac"}
    assert {kind: len(nodes) for kind, nodes in kinds.items()} == {"h": 8, "t": 4, "a": 4, "c": 2}
    # Radix: links per switch, bundles included.
    assert [{graph.degree(node) for node in kinds[kind]} for kind in "htac"] == [{1}, {4}, {4}, {4}]
    # One path per uplink of the first switch. In the simple graph, a bundle is one link.
    assert len(list(nx.all_shortest_paths(nx.Graph(graph), "h0", "h7"))) == 2
    assert nx.shortest_path_length(graph, "h0", "h1") == 2
    assert nx.shortest_path_length(graph, "h0", "h3") == 4
    assert nx.shortest_path_length(graph, "h0", "h7") == 6


def test_delays_and_buffers_are_those_of_the_tiers(tmp_path):
    links = {link["name"]: link for link in imported(tmp_path).scenario.resolve()["links"]}
    delays = {name: round(link["delay_s"] * 1e9) for name, link in links.items()}
    # A packet waits for the switch that it leaves.
    assert [delays[name] for name in ("h0->t0", "t0->h0", "t0->a0", "a0->t0", "a0->c0", "c0->a0")] == [
        1000, 1050, 550, 500, 250, 260,
    ]  # fmt: skip
    assert delays["a0->c0 #2"] == delays["a0->c0"]
    text = {(link["from"], link["to"]): link for link in imported(tmp_path).scenario.raw["link"]}
    assert text["a0", "c0"]["buffer"] == "100000 B"
    assert text["t0", "a0"]["reverse"]["buffer"] == "200000 B"


def test_the_default_topology_is_that_of_an_equal_file(tmp_path):
    tiers = "".join(
        f"Tier {n}\nDownlink_speed_Gbps 100\nRadix_Down {down}\n{up}Downlink_Latency_ns 1000\n"
        for n, down, up in ((0, 2, "Radix_Up 2\n"), (1, 2, "Radix_Up 2\n"), (2, 4, ""))
    )
    matrix = "Nodes 16\nConnections 1\n0->15 start 0 size 1\n"
    given_file = imported(tmp_path, f"Nodes 16\nTiers 3\nPodsize 4\n{tiers}", matrix).scenario.raw
    default = build.read([tmp_path / "m.cm"], folder=tmp_path).scenario.raw
    assert default["link"] == given_file["link"]
    assert len(default["link"]) == 48


def test_transfers_keep_ends_sizes_and_starts(tmp_path):
    scenario = imported(tmp_path, duration="2 ms").scenario
    assert scenario.raw["flow"][0]["transfers"] == {"htsim_ps": "m.cm"}
    transfers = scenario.run().transfers.sort("start_s")
    rows = transfers.select("flow", "bytes", "start_s").rows()
    assert [(flow, size, round(start * 1e12)) for flow, size, start in rows] == [
        ("m: h0->h7", 2_000_000, 0),
        ("m: h0->h7", 500, 1_000_000),
        ("m: h1->h7", 1_000, 2_000_000),
    ]


def test_the_ideal_time_of_ten_packets_is_the_closed_form(tmp_path):
    # n full packets over six links of 100 Gb/s and 1 us: (n + 5) transmissions of 4150 B, and 6 us. DCTCP first opens
    # the flow with a round trip of two small packets.
    made = build.read(written(tmp_path, m__cm="Nodes 16\nConnections 1\n0->15 start 0 size 1\n"), folder=tmp_path)
    made.scenario.origin = str(tmp_path / "m.toml")
    flow = made.scenario.resolve()["flows"][0]
    assert flow["handshake"]
    size = 10 * (4150 - flow["header_bytes"])
    written(tmp_path, m__cm=f"Nodes 16\nConnections 1\n0->15 start 0 size {size}\n")
    row = made.scenario.run().transfers.row(0, named=True)
    opening = 12 * (1e-6 + flow["ack_bytes"] * 8 / 100e9)
    assert row["ideal_s"] == pytest.approx(opening + 15 * 4150 * 8 / 100e9 + 6e-6, rel=1e-9)
    assert row["fct_s"] >= row["ideal_s"] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("starts", "unit"),
    [([0, 0], "ps"), ([0, 16], "us"), ([1000], "us"), ([16_000_000], "ps"), ([1_000_000], "ps")],
)
def test_the_unit_of_start_times_is_the_plausible_one(tmp_path, starts, unit):
    rows = "".join(f"0->7 start {start} size 1000\n" for start in starts)
    made = imported(tmp_path, matrix=f"Nodes 8\nConnections {len(starts)}\n{rows}")
    assert list(made.scenario.raw["flow"][0]["transfers"]) == [f"htsim_{unit}"]
    assert any("--start-unit" in note for note in made.notes) == any(starts)


def test_an_ambiguous_unit_is_refused_and_may_be_given(tmp_path):
    matrix = "Nodes 8\nConnections 1\n0->7 start 40000 size 1000\n"
    assert "give --start-unit ps or us" in refusal(tmp_path, t__topo=TOPOLOGY, m__cm=matrix)
    for unit, start in (("ps", 40e-9), ("us", 40e-3)):
        made = imported(tmp_path, matrix=matrix, start_unit=unit, duration="50 ms")
        assert made.scenario.run().transfers["start_s"][0] == pytest.approx(start)


def test_a_failed_link_is_left_out(tmp_path):
    matrix = f"{MATRIX}failure switch_type AGG switch_id 0 link_id 0\n".replace(
        "Connections", "Failures 1\nConnections"
    )
    made = imported(tmp_path, matrix=matrix)
    whole = graph_of(imported(tmp_path).scenario)
    left = graph_of(made.scenario)
    assert whole.number_of_edges("a0", "c0") - left.number_of_edges("a0", "c0") == 1
    assert whole.number_of_edges() - left.number_of_edges() == 1
    assert "the link a0-c0 is left out: it has failed" in made.notes


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Radix_Down 4", "Radix_Down 8", "line 19: Radix_Down is 8; 2 pods with bundles of 2 need 4"),
        ("Podsize 4", "Podsize 3", "Nodes, 8, must be a multiple of Podsize, 3"),
        ("Podsize 4", "Podsizes 4", "line 4: unknown keyword 'Podsizes'; did you mean 'podsize'?"),
        ("Tiers 3", "Tiers 4", "Tiers is 4; allowed: 2 or 3"),
        ("Tiers 3", "Tiers 2", "line 19: Tier 2 is too high; Tiers is 2"),
        ("Radix_Up 2\nDownlink_Latency_ns 1000", "Downlink_Latency_ns 1000", "line 6: Tier 0 needs radix_up"),
        ("Tier 2\n", "Tier 2\nRadix_Up 2\n", "line 19: Tier 2 is the top tier and has no radix_up"),
        ("Downlink_Latency_ns 250", "Downlink_Latency_ns x", "Downlink_Latency_ns is 'x'; allowed: 1 to 1000000000"),
        ("Switch_Latency_ns 50", "Switch_Latency_ns 50\nOversubscribed 4", "line 6: Oversubscribed is 4, but 200 Gb/s"),
        ("Bundle 2", "Bundle 2\nBundle 2", "line 25: Bundle is there twice"),
        ("Nodes 8", "Nodes 1000000000", "Radix_Down is 4; 250000000 pods with bundles of 2 need 500000000"),
    ],
)
def test_mistakes_in_a_topology_have_one_line(tmp_path, old, new, words):
    assert TOPOLOGY.count(old) >= 1
    assert words in refusal(tmp_path, t__topo=TOPOLOGY.replace(old, new, 1))


CHAIN = """Nodes 8
Connections 3
Triggers 2
0->1 id 1 start 0 size 1000 send_done_trigger 1
1->2 id 2 trigger 1 size 1000 recv_done_trigger 2
2->3 id 3 trigger 2 size 1000
trigger id 1 oneshot
trigger id 2 oneshot
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (MATRIX, "Connections 3", "Connections 4", "Connections is 4, but the file has 3"),
        (MATRIX, "Nodes 8\n", "", "needs Nodes and Connections before the first connection"),
        (MATRIX, "Nodes 8", "Nodes 16", "Nodes is 16, but"),
        (MATRIX, "0->7 id", "0->8 id", "line 3: host 8 does not exist; allowed: 0 to 7"),
        (MATRIX, "0->7 id", "7->7 id", "line 3: host 7 cannot send to itself"),
        (MATRIX, "0->7 id 1", "0-> id 1", "line 3: host is ''"),
        (MATRIX, "id 1", "idd 1", "line 3: unknown keyword 'idd'; did you mean 'id'?"),
        (MATRIX, "id 1", "id 0", "line 3: id is '0'"),
        (MATRIX, "start 0 size", "size", "line 3: needs a start"),
        (MATRIX, "start 0 ", "start 0 trigger 1 ", "line 3: triggers are not supported"),
        (MATRIX, "size 2000000", "size -1", "line 3: size is '-1'"),
        (MATRIX, "size 2000000", "", "line 3: needs a size above 0"),
        (MATRIX, "size 2000000", "size", "line 3: size needs a number"),
        (MATRIX, "start 0 ", "start 1.5 ", "line 3: start is '1.5'"),
        (MATRIX, "start 0 ", "start 99999999999999999999 ", "line 3: start is '99999999999999999999'"),
        (CHAIN, "Triggers 2", "Triggers 2", "line 4: triggers are not supported: a transfer cannot wait for other"),
        (MATRIX, "Nodes", "Triggers 1\nNodes", "Triggers is 1, but the file has 0"),
        (MATRIX, "Nodes", "Failures 1\nNodes", "Failures is 1, but the file has 0"),
        (
            f"{MATRIX}failure switch_type TOR switch_id 0 link_id 0\n",
            "",
            "",
            "line 6: a failure at TOR is not supported",
        ),
        (f"{MATRIX}failure switch_type AGG switch_id 0\n", "", "", "line 6: a failure needs switch_type, switch_id"),
        (f"{MATRIX}nonsense\n", "", "", "line 6: unknown keyword 'nonsense'"),
    ],
)
def test_mistakes_in_a_matrix_have_one_line(tmp_path, text, old, new, words):
    assert old in text
    assert words in refusal(tmp_path, t__topo=TOPOLOGY, m__cm=text.replace(old, new, 1))


def test_hosts_without_a_fat_tree_need_a_topology(tmp_path):
    line = refusal(tmp_path, m__cm="Nodes 17\nConnections 1\n0->16 start 0 size 1\n")
    assert line.endswith("no .topo file is given, and no fat tree has 17 hosts; allowed: k^3/4, as 16, 128, 1024, 8192")


def test_a_million_connections_are_read_by_pairs(tmp_path):
    count = 1_000_000
    pairs = itertools.cycle([(a, b) for a in range(8) for b in range(8) if a != b])
    rows = "".join(f"{a}->{b} start 0 size {n + 1}\n" for n, (a, b) in zip(range(count), pairs, strict=False))
    made = imported(tmp_path, matrix=f"Nodes 8\nConnections {count}\n{rows}")
    assert (tmp_path / "m.cm").stat().st_size > 100 * len(made.text())
    flows = made.scenario.complete()["flow"]
    assert len(flows) == 56
    sizes = [int(size.removesuffix(" B")) for flow in flows for _, size in flow["arrivals"]["transfers"]]
    assert (len(sizes), sum(sizes)) == (count, count * (count + 1) // 2)


def test_too_many_pairs_have_one_line(tmp_path):
    rows = "".join(f"{a}->{b} start 0 size 1\n" for a in range(400) for b in range(400) if a != b)
    matrix = f"Nodes 1024\nConnections {400 * 399}\n{rows}"
    assert refusal(tmp_path, m__cm=matrix) == "m.cm: has transfers between 159,600 pairs of hosts; allowed: 100,000"


#: Replacements of a part of a file.
EDITS = st.tuples(
    st.floats(0, 1), st.integers(0, 12), st.text(st.sampled_from("0123456789 \n#->.abTierNodes\x00é"), max_size=8)
)


@given(st.sampled_from([TOPOLOGY, MATRIX, CHAIN]), st.lists(EDITS, min_size=1, max_size=4))
def test_a_changed_file_is_read_or_refused_in_one_line(tmp_path_factory, text, edits):
    for at, length, new in edits:
        place = int(at * len(text))
        text = text[:place] + new + text[place + length :]
    path = tmp_path_factory.mktemp("edited") / "edited"
    path.write_text(text, encoding="utf-8")
    line = complaint([path])
    assert line is None or re.fullmatch(rf"{re.escape(str(path))}(, line \d+)?: .+", line)
