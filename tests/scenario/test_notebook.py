"""The package in a notebook: completion of names, display of objects. NumPy's numbers and paths are accepted as
input.
"""

import dataclasses
import inspect
import json
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import levelflow
from levelflow import Result, Scenario, ScenarioError, _core


def test_names_complete_before_any_is_used():
    code = "import levelflow, sys; print(*dir(levelflow)); assert 'polars' not in sys.modules"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) == {*levelflow.__all__, "__version__"}


def test_the_version_is_that_of_the_package():
    assert levelflow.__version__ == version("levelflow")


def test_equivalent_scenarios_are_equal(two_flows, tmp_path):
    (tmp_path / "same.toml").write_text(two_flows.to_toml(), encoding="utf-8")
    other = Scenario.load(tmp_path / "same.toml")
    assert other == two_flows
    assert other.set("duration", "11 s") != two_flows
    assert two_flows != "two flows"


def test_scenarios_and_results_print_in_one_line(two_flows, finished):
    assert repr(two_flows) == "<Scenario 'two flows': 10 s, 1 link, 2 flow entries>"
    text = repr(finished)
    assert text.startswith("<Result of 'two flows': 20 s, complete; rows: ")
    assert f"{finished.flows.height} flows" in text
    assert "\n" not in text
    assert len(text) < 300


def test_an_example_goes_by_its_name():
    assert Scenario.named("two-flows") == Scenario.load("two-flows")
    with pytest.raises(ScenarioError, match=r"^two-flow: no such scenario; did you mean 'two-flows'\?$"):
        Scenario.named("two-flow")


@pytest.mark.parametrize(
    ("method", "table", "own"),
    [
        (Scenario, None, {"name", "duration"}),
        (Scenario.link, "Link", {"from", "to", "capacity", "delay"}),
        (Scenario.flow, "Flow", {"name", "law", "from", "to"}),
    ],
)
def test_every_key_of_a_scenario_completes(method, table, own):
    schema = json.loads(_core.schema())
    known = set((schema["$defs"][table] if table else schema)["properties"])
    named = inspect.signature(method).parameters.values()
    assert {one.name for one in named if one.kind == one.KEYWORD_ONLY} == known - own


def test_numbers_of_numpy_and_paths_are_values(two_flows):
    plain = two_flows.copy().set("seed", 3).set("link.1.loss", 0.25).set("flow.x1.count", 2)
    given = two_flows.set("seed", np.int64(3)).set("link.1.loss", np.float32(0.25)).set("flow.x1.count", np.uint8(2))
    assert given.resolve() == plain.resolve()
    assert Scenario(Path("two flows"), "1 s").to_toml() == Scenario("two flows", "1 s").to_toml()


def test_invalid_paths_and_results_get_one_line(two_flows, tmp_path):
    for call in (lambda: two_flows.set(3, 4), lambda: Result.load(tmp_path)):
        with pytest.raises(ScenarioError) as error:
            call()
        assert "\n" not in str(error.value)


class Words(HTMLParser):
    """Collects the text of a page, and the names of its elements."""

    def __init__(self, page):
        super().__init__()
        self.text, self.elements = "", set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, _):
        self.elements.add(tag)

    def handle_data(self, data):
        self.text += f" {data}"


def test_a_result_shows_its_tables_whatever_its_names_are(finished):
    name = "<script>alert(1)</script>&amp;"
    summary = json.loads(json.dumps(finished.summary).replace('"x1"', json.dumps(name)))
    manifest = finished.manifest | {"scenario": finished.scenario | {"name": name}}
    page = Words(dataclasses.replace(finished, summary=summary, manifest=manifest)._repr_html_())
    assert page.elements == {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.text.count(name) == 2
    assert f"Jain's index of throughput / fair share {finished.summary['jain_of_shares']:.4f}" in page.text


def test_a_result_takes_the_colours_of_its_notebook(finished):
    page = finished._repr_html_()
    assert not [word for word in ("color", "background", "<style") if word in page]


def test_a_run_that_did_not_end_shows_no_tables(finished):
    page = Words(dataclasses.replace(finished, summary={})._repr_html_())
    assert "table" not in page.elements
    assert "did not end" in page.text


def test_a_plot_shows_without_pyplot():
    code = """
import sys
from levelflow import Scenario, picture
result = Scenario.named("two-flows").set("duration", "2 s").run()
for what in ("rates", "queues", "losses", "overview"):
    shown = result.plot(what)._repr_mimebundle_()
    assert list(shown) == ["image/svg+xml"] and shown["image/svg+xml"].rstrip().endswith("</svg>")
wanted = {"include": {"image/png"}}, {"exclude": {"image/svg+xml"}}
assert all(list(result.plot("rates")._repr_mimebundle_(**words)) == ["image/png"] for words in wanted)
picture.LONGEST_SVG = 1000
shown = result.plot("rates")._repr_mimebundle_()
assert list(shown) == ["image/png"] and shown["image/png"].startswith(b"\\x89PNG")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_unknown_plot_gets_one_line(finished):
    with pytest.raises(ScenarioError, match=r"^plot: no picture 'rate'; did you mean 'rates'\?$"):
        finished.plot("rate")


def test_pandas_takes_a_table_without_arrow(finished):
    table = pd.DataFrame(finished.flows.to_dict())
    assert list(table.columns) == finished.flows.columns
    assert table["law_rate_bps"].tolist() == finished.flows["law_rate_bps"].to_list()
    assert set(table["flow"]) == {"x1", "x2"}
