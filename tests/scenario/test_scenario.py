import copy
import json
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from tools import CHECKOUT

from levelflow import Scenario, ScenarioError

SCENARIOS = sorted((CHECKOUT / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_of_the_repository_is_allowed_and_named_like_its_file(path):
    resolved = Scenario.load(path).resolve()
    assert resolved["name"] == path.stem
    assert all(flow["path"] for flow in resolved["flows"])


# **Invariant** (Scenarios): a scenario built in code equals the same scenario in a file.
def test_a_scenario_built_in_code_is_the_one_in_the_file():
    built = (
        Scenario("t1-rcp", "150 s", description="T1: a short and a long path share 10 Mb/s under RCP")
        .law("rcp", alpha=0.4, beta=1.0)
        .link("R1", "R2", "10 Mb/s", "10 ms", buffer="275 kB", duplex=True)
        .flow("x1", "rcp", "R1", "R2", rtt="220 ms")
        .flow("x2", "rcp", "R1", "R2", rtt="2020 ms", start="5 s")
        .set("profile", "paper")
    )
    loaded = Scenario.load(next(path for path in SCENARIOS if path.stem == "t1-rcp"))
    assert built.to_json() == loaded.to_json()


def test_a_scenario_survives_its_toml(two_flows, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(two_flows.set("flow.x1.law.jetmax.tau", 0.5).to_toml())
    assert Scenario.load(file).raw == two_flows.raw


def test_set_reaches_entries_by_name_number_and_ends(two_flows):
    two_flows.set("flow.x2.start", "3 s").set("flow.1.rtt", "1 s").set("link.R1->R2.delay", "5 ms").set("seed", 7)
    two_flows.set("law.jetmax.tau", 0.7).set("flow.*.stop", "8 s")
    resolved = two_flows.resolve()
    assert [flow["stop_s"] for flow in resolved["flows"]] == [8, 8]
    assert [resolved["flows"][1]["start_s"], resolved["flows"][0]["base_rtt_s"]] == [3, 1]
    assert [resolved["links"][0]["delay_s"], resolved["seed"]] == [0.005, 7]
    assert resolved["flows"][0]["params"]["tau"] == "0.7"


def test_a_copy_does_not_change_the_original(two_flows):
    before = two_flows.to_json()
    two_flows.copy().set("flow.x1.rtt", "2 s")
    assert two_flows.to_json() == before


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("flwo.x1.start", "flwo.x1.start: no key 'flwo' here; did you mean 'flow'?"),
        ("flow.x11.start", "flow.x11.start: no entry 'x11'; did you mean 'x1'?"),
        ("flow.0.start", "flow.0.start: no entry '0'; allowed: x1, x2"),
        ("route.1.via", "route.1.via: the scenario has no [[route]]"),
        ("flow", "flow: needs an entry and a key, such as flow.1.from"),
        ("duration.x", "duration.x: 'duration' is '10 s' and has no keys"),
    ],
)
def test_set_refuses_a_path_that_leads_nowhere(two_flows, path, line):
    with pytest.raises(ScenarioError) as error:
        two_flows.set(path, 1)
    assert str(error.value) == line


@pytest.mark.parametrize("path", [3, None, ["flow", "x1"]])
def test_set_refuses_what_is_no_path(two_flows, path):
    with pytest.raises(ScenarioError, match=r"is no path; write one, such as 'flow\.x1\.start'"):
        two_flows.set(path, 4)


def test_a_misspelt_key_is_refused_with_the_nearest_one(two_flows):
    with pytest.raises(ScenarioError, match="delay"):
        two_flows.set("link.1.dealy", "1 ms").resolve()


def test_a_value_that_no_scenario_can_hold_is_refused(two_flows):
    with pytest.raises(ScenarioError, match="texts, numbers, lists and tables"):
        two_flows.copy().set("duration", {1, 2}).resolve()
    for number in (float("nan"), np.inf):
        with pytest.raises(ScenarioError, match=r"a scenario cannot contain nan, infinity.*itself$"):
            two_flows.copy().set("link.1.loss", number).resolve()


def test_the_canonical_text_does_not_depend_on_the_order_of_keys(two_flows):
    backwards = Scenario("two flows", "10 s")
    backwards.raw = json.loads(json.dumps(two_flows.raw), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert backwards.to_json() == two_flows.to_json()


def test_an_example_is_loaded_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Scenario.load("t1-jetmax").raw["name"] == "t1-jetmax"
    with pytest.raises(ScenarioError, match=r"t1-jetmx: no such file or scenario; did you mean 't1-jetmax'\?"):
        Scenario.load("t1-jetmx")


def test_numbers_of_numpy_and_paths_are_numbers_and_texts(two_flows):
    plain = two_flows.copy().set("flow.x1.count", 3).set("sample", "1 s").set("seed", 7)
    times = {"times": np.array(["1 s", "2 s"])}
    built = two_flows.copy().set("flow.x1.count", np.int64(3)).set("sample", Path("1 s")).set("seed", np.uint32(7))
    assert built.to_json() == plain.to_json()
    assert built.to_toml() == plain.to_toml()
    assert two_flows.set("flow.x2.arrivals", times).set("flow.x2.size", "1 MB").resolve()["flows"][1]["count"] is None


def refuse() -> None:
    Scenario("empty", "1 s").resolve()


def test_an_error_survives_copies_pickles_and_process_pools():
    error = ScenarioError("link: at least one [[link]] is needed")
    for again in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert (type(again), str(again)) == (ScenarioError, str(error))
    with pytest.raises(ScenarioError) as here:
        refuse()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(refuse).exception()
    assert (type(there), str(there)) == (ScenarioError, str(here.value))


def test_each_mistake_of_a_file_is_reported_with_its_entry(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("""
name = "bad"
durration = "20 s"
link = [{ from = "a", to = "b", capacity = "10 Mb/s", delay = "10 mss" }, { from = "b", to = "c" }]

[[flow]]
name = "fine"
law = "cbr"
from = "a"
to = "b"

[[flow]]
name = "c"
law = "cubic"
from = "a"
to = "b"
count = "4"
""")
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(file).resolve()
    assert [re.search("(top level|link [12]|flow [12])", line)[0] for line in str(caught.value).splitlines()] == [
        "top level",
        "link 1",
        "link 2",
        "flow 2",
    ]
    assert "line 17, flow 2 (c), count" in caught.value.mistakes[-1]


def test_values_out_of_range_are_reported_by_link_then_by_flow():
    scenario = Scenario("bad", "1 s").link("a", "b", "10 Mb/s", "10 ms", loss=2).link("c", "c", "1 Mb/s", "1 ms")
    with pytest.raises(ScenarioError, match=r"link 1 \(a->b\), loss.*\nlink 2 \(c->c\): "):
        scenario.resolve()
    scenario = Scenario("bad", "1 s").link("a", "b", "10 Mb/s", "10 ms", duplex=True)
    for name in ("x", "y"):
        scenario.flow(name, "cubik", "a", "b")
    with pytest.raises(ScenarioError, match=r"^flow 1 \(x\).*\nflow 2 \(y\)[^\n]*$"):
        scenario.resolve()
