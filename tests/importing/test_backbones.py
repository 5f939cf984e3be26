"""Import of SNDlib networks and Rocketfuel maps, and the command."""

import math
import re

import pytest
from hypothesis import given
from test_htsim import EDITS, complaint

from levelflow import Scenario, ScenarioError, cli
from levelflow.importing import build
from levelflow.topology import links

SNDLIB = """<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><granularity>-</granularity><time>-</time><unit>MBITPERSEC</unit><origin>by hand</origin></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>0.0</x><y>0.0</y></coordinates></node>
   <node id="B"><coordinates><x>90.0</x><y>0.0</y></coordinates></node>
   <node id="C"><coordinates><x>0.0</x><y>90.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B</target>
    <preInstalledModule><capacity>9920.0</capacity><cost>0.0</cost></preInstalledModule>
    <additionalModules><addModule><capacity>40000.0</capacity><cost>1.0</cost></addModule></additionalModules></link>
   <link id="L2"><source>B</source><target>C</target>
    <additionalModules><addModule><capacity>622.0</capacity><cost>1.0</cost></addModule>
     <addModule><capacity>155.0</capacity><cost>1.0</cost></addModule></additionalModules></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>A</source><target>C</target><demandValue>50.5</demandValue></demand>
  <demand id="D2"><source>C</source><target>B</target><routingUnit>2</routingUnit><demandValue>3</demandValue></demand>
 </demands>
</network>
"""
LATENCIES = """Perth,+AU1 Sydney,+AU2 31
Sydney,+AU2 Perth,+AU1 31
Sydney,+AU2 Melbourne3 5
Melbourne3 Sydney,+AU2 5
"""
WEIGHTS = "Perth,+AU1 Sydney,+AU2 2\nSydney,+AU2 Perth,+AU1 2.5\n"


def read(folder, **texts):
    paths = []
    for name, text in texts.items():
        paths.append(folder / name.replace("__", "."))
        paths[-1].write_text(text, encoding="utf-8")
    return build.read(paths)


def test_a_network_of_sndlib_keeps_capacities_demands_and_distances(tmp_path):
    made = read(tmp_path, net__xml=SNDLIB)
    resolved = made.scenario.resolve()
    found = {link["name"]: link for link in resolved["links"]}
    assert {name: link["capacity_bps"] / 1e6 for name, link in found.items()} == {
        "A->B": 9920, "B->A": 9920, "B->C": 155, "C->B": 155,
    }  # fmt: skip
    # A quarter of a great circle of 6371 km, at 200 km per ms.
    assert found["A->B"]["delay_s"] == pytest.approx(math.pi / 2 * 6371 / 200e3, rel=1e-3)
    assert [(flow["name"], flow["from"], flow["to"], flow["application"]) for flow in made.scenario.raw["flow"]] == [
        ("D1", "A", "C", {"rate": "50.5 Mb/s"}),
        ("D2", "C", "B", {"rate": "6 Mb/s"}),
    ]
    assert "capacity of 1 links: their smallest module, as none is installed" in made.notes
    assert "not carried over: further modules of 2 links" in made.notes


def test_demands_arrive_at_their_rate(tmp_path):
    scenario = read(tmp_path, net__xml=SNDLIB).scenario.set("duration", "20 s")
    summary = {flow["name"]: flow for flow in scenario.run().summary["flows"]}
    assert summary["D1"]["goodput_bps"] == pytest.approx(50.5e6, rel=0.1)
    assert summary["D2"]["goodput_bps"] == pytest.approx(6e6, rel=0.1)


def test_a_map_of_rocketfuel_keeps_latencies_and_weights(tmp_path):
    made = read(tmp_path, m__latencies__intra=LATENCIES, m__weights__intra=WEIGHTS)
    found = {link["name"]: link["delay_s"] for link in made.scenario.resolve()["links"]}
    assert found == pytest.approx(
        {
            "Perth,+AU1->Sydney,+AU2": 31e-3,
            "Sydney,+AU2->Perth,+AU1": 31e-3,
            "Sydney,+AU2->Melbourne3": 5e-3,
            "Melbourne3->Sydney,+AU2": 5e-3,
        }
    )
    first = made.scenario.raw["link"][0]
    assert (first["weight"], first["reverse"]["weight"]) == (4, 5)
    assert len(made.scenario.raw["flow"]) == 3


def test_topology_reads_the_same_networks(tmp_path):
    (tmp_path / "net.xml").write_text(SNDLIB, encoding="utf-8")
    (tmp_path / "m.latencies.intra").write_text(LATENCIES, encoding="utf-8")
    for name, duplex in (("net.xml", False), ("m.latencies.intra", True)):
        graph = links.read(tmp_path / name, duplex)
        entries, _ = links.entries(graph, name)
        imported = build.read([tmp_path / name]).scenario.raw["link"]
        assert [entry | {"buffer": "1 BDP"} for entry in entries] == imported


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("</demands>", "", "line 23: is not XML"),
        ("MBITPERSEC", "CARS", "unknown unit 'CARS'; allowed: MBITPERSEC"),
        (
            "<source>A</source><target>C",
            "<source>X</source><target>C",
            "demand 'D1' names a node 'X', which does not exist",
        ),
        ("<source>A</source><target>B", "<source>B</source><target>B", "link 'L1' leads from 'B' to itself"),
        ("50.5", "-1", "'D1': demandValue is '-1'; allowed: a number, at least 0"),
        ("9920.0", "nan", "capacity is 'nan'"),
        ("<network ", "<!DOCTYPE x><network ", "has a document type, which is not allowed"),
        ('<node id="C">', "<node>", "a node has no id"),
    ],
)
def test_mistakes_in_sndlib_have_one_line(tmp_path, old, new, words):
    assert SNDLIB.count(old) == 1
    with pytest.raises(ScenarioError) as error:
        read(tmp_path, net__xml=SNDLIB.replace(old, new))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"a__intra": "A B x\n"}, "line 1: needs two nodes and a number"),
        ({"a__intra": "A B 1\nA B 2\n"}, "line 2: the link from 'A' to 'B' is there twice"),
        ({"a__intra": "A A 1\n"}, "line 1: node 'A' is linked to itself"),
        ({"a__intra": "A B 1\nB A 1\n", "weights__intra": "A C 1\n"}, "weights.intra, line 1: "),
        ({"a__intra": "A B 1\nB A 1\n", "weights__intra": "A B 0\n"}, "weights.intra, line 1: a weight is 0"),
        ({"weights__intra": "A B 1\n"}, "has weights only; add the file of latencies"),
        ({"a__intra": "A B 1\nB A 1\n", "b__intra": "A B 1\n"}, "give one file of each format"),
        ({"a__txt": "hello\n"}, "has none of these formats"),
        ({"a__txt": ""}, "has none of these formats"),
    ],
)
def test_mistakes_in_other_files_have_one_line(tmp_path, texts, words):
    with pytest.raises(ScenarioError) as error:
        read(tmp_path, **texts)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@given(EDITS)
def test_a_changed_network_is_read_or_refused_in_one_line(tmp_path_factory, edit):
    at, length, new = edit
    for name, text in (("n.xml", SNDLIB), ("n.intra", LATENCIES)):
        place = int(at * len(text))
        path = tmp_path_factory.mktemp("edited") / name
        path.write_text(text[:place] + new + text[place + length :], encoding="utf-8")
        line = complaint([path])
        assert line is None or re.fullmatch(r".+", line)


def test_the_command_lists_what_is_not_carried_over(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "two.cm").write_text(
        "Nodes 16\nConnections 1\n0->15 start 0 size 90000 prio 1\n", encoding="utf-8"
    )
    with pytest.raises(SystemExit) as end:
        cli.app(["import", "in/two.cm", "--set", "seed=7"], "levelflow")
    assert end.value.code == 0
    out, err = capfd.readouterr()
    assert out == "two.toml: 36 nodes, 48 links, 1 flow entries; levelflow run two.toml\n"
    assert "levelflow: not carried over: packet trimming; full queues drop packets\n" in err
    scenario = Scenario.load("two.toml")
    assert scenario.raw["seed"] == 7
    assert scenario.raw["flow"][0]["transfers"] == {"htsim_ps": "in/two.cm"}
    assert scenario.run().transfers["bytes"].to_list() == [90_000]
    notes = [
        line for line in (tmp_path / "two.toml").read_text(encoding="utf-8").splitlines() if line.startswith("# -")
    ]
    assert [f"levelflow: {line.removeprefix('# - ')}" for line in notes] == err.splitlines()
