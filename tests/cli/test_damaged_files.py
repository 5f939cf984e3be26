"""Damaged files: each is read, or refused with one line per mistake. Hypothesis chooses the damage."""

import contextlib
import functools
import json
from pathlib import Path

import pytest
from conftest import network
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelflow import Result, Scenario, cdf, cli, lab
from levelflow.convergence import records
from levelflow.convergence.trial import Outcome
from levelflow.study import reading
from levelflow.study.store import Store
from levelflow.topology import links

STUDY = b"""
[study]
name = "s"
scenario = "s.toml"
seed = 3
replications = { at_least = 2, at_most = 9, until = { metric = "fairness", width = 0.1 } }
[design]
kind = "grid"
[measure]
metrics = ["fairness", "utilisation"]
warm_up = "1 s"
[[axis]]
path = "link.1.delay"
values = ["5 ms", "6 ms"]
[[axis]]
name = "n"
path = "flow.x1.count"
from = 1
to = 8
steps = 4
scale = "log"
"""
GRAPHML = b"""<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1"/>
<key attr.name="Latitude" attr.type="double" for="node" id="d2"/>
<key attr.name="Longitude" attr.type="double" for="node" id="d3"/>
<key attr.name="label" attr.type="string" for="node" id="d4"/>
<graph edgedefault="undirected">
<node id="0"><data key="d2">48.2</data><data key="d3">16.4</data><data key="d4">Wien</data></node>
<node id="1"><data key="d2">47.1</data><data key="d3">15.4</data><data key="d4">Graz</data></node>
<node id="2"><data key="d4">Linz</data></node>
<edge source="0" target="1"><data key="d1">1e9</data></edge>
<edge source="1" target="2"/>
</graph></graphml>
"""
GML = b"""graph [
  directed 1
  node [ id 0 label "a" Longitude 16.4 Latitude 48.2 ]
  node [ id 1 label "b" ]
  node [ id 2 label "c" ]
  edge [ source 0 target 1 LinkSpeedRaw 1000000000.0 ]
  edge [ source 1 target 2 LinkLabel "10 Gbps" cost 3 ]
  edge [ source 2 target 0 ]
]
"""
SIZES = b"bytes,probability\n1000,0.2\n5000,0.9\n# large\n100000 1\n"
WORDS = [
    *(bytes([byte]) for byte in b"\0\n\r\"'[]{}<>&=,:#-10\xff"),
    *(b"", b"-1", b"nan", b"inf", b"1e400", b"1" * 400, b"null", b"true", b"[]", b"{}", b"[1]", b'"x"', b"[" * 3000),
    *(b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"1979-05-27", b"[[axis]]\n", b"1 s", b"../../x", b"&amp;"),
    b"edge [ source 0 target 0 ]",
]


@st.composite
def damaged(draw, content):
    """Draws content in which some pieces are removed, replaced, repeated or inserted."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        to = min(at + draw(st.sampled_from([0, 0, 1, 2, 5, 20, 10**9])), len(content))
        piece = draw(st.one_of(st.sampled_from(WORDS), st.binary(max_size=3), st.just(content[at:to] * 2)))
        content = content[:at] + piece + content[to:]
    return content


def check(call):
    """Calls a reader. Its errors must be those that a command prints in a line per mistake."""
    try:
        call()
    except Exception as error:
        line = cli._line(error)
        if line is None:
            raise
        assert all(part.strip() for part in line.split("\n")), line


def search(function):
    """Adds settings of a test whose folder is the same for all examples."""
    return settings(suppress_health_check=[HealthCheck.function_scoped_fixture])(function)


@functools.cache
def result(folder):
    """Returns the directory of a short run, made once."""
    network(duration="2 s").run(out=Path(folder) / "result")
    return Path(folder) / "result"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Returns a folder with a scenario and a result."""
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "s.toml").write_text(network(duration="2 s").to_toml())
    result(folder)
    return folder


@search
@given(st.data())
def test_scenarios_are_read_or_refused(place, data):
    path = place / "damaged.toml"
    path.write_bytes(data.draw(damaged((place / "s.toml").read_bytes())))
    check(lambda: Scenario.load(path).resolve())


@search
@given(damaged(SIZES))
def test_distributions_are_read_or_refused(place, content):
    path = place / "sizes.csv"
    path.write_bytes(content)
    check(lambda: cdf.read(path))


@search
@given(damaged(STUDY))
def test_studies_are_read_or_refused(place, content):
    path = place / "STUDY.toml"
    path.write_bytes(content)
    check(lambda: reading.read(path))


@search
@given(st.sampled_from([("g.graphml", GRAPHML), ("g.gml", GML)]), st.data())
def test_topologies_are_read_or_refused(place, file, data):
    path = place / file[0]
    path.write_bytes(data.draw(damaged(file[1])))

    def read():
        graph, _ = links.largest_part(links.read(path))
        attributes = ("bandwidth:Mb/s", "latency:ms", "cost")
        scenario = Scenario("g", "1 s")
        scenario.raw["link"], _ = links.entries(graph, "g", capacity="1 Gb/s", delay="1 ms", attributes=attributes)
        scenario.resolve()

    check(read)


@search
@given(st.sampled_from(["manifest.json", "summary.json", "flows.parquet", "links.parquet"]), st.data())
def test_results_are_read_or_refused(place, name, data):
    path = result(place)
    whole = (path / name).read_bytes()
    try:
        (path / name).write_bytes(data.draw(damaged(whole)))
        check(lambda: Result.load(path))
        with contextlib.suppress(lab.LabError):
            lab.read(path)
    finally:
        (path / name).write_bytes(whole)


@search
@given(st.data())
def test_requests_of_a_web_page_are_answered(place, data):
    whole = json.dumps(network(duration="2 s").raw).encode()
    status, answer = lab.predict(data.draw(damaged(whole)))
    assert status in (200, 400)
    json.dumps(answer)


@search
@given(st.data())
def test_records_of_convergence_are_read_or_refused(place, data):
    path = place / "records.jsonl"
    outcome = Outcome("max-min", 0.1, settling_s=1.0, warnings=("a",))
    line = records.Record("rcp", "chain", 1, "packets", 2, 3, 1, 0.1, outcome, (("seed", 1),)).line()
    path.write_bytes(data.draw(damaged((line * 2).encode())))
    check(lambda: records.read(path))


@search
@given(st.data())
def test_the_identity_of_a_study_is_read_or_refused(place, data):
    folder = place / "study"
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    identity = {"format": 1, "name": "s", "engine": "x", "axes": [{"path": "seed", "values": [1]}]}
    (folder / "study.json").write_bytes(data.draw(damaged(json.dumps(identity).encode())))
    check(lambda: Store(folder, identity, replace=False).close())
