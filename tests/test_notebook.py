"""The package in a notebook: names complete, objects print in one line."""

import subprocess
import sys
from importlib.metadata import version

import levelflow
from levelflow import Scenario


def test_names_complete_before_any_is_used():
    code = "import levelflow, sys; print(*dir(levelflow)); assert 'polars' not in sys.modules"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) == {"Interrupted", "Result", "Scenario", "ScenarioError", "__version__"}


def test_the_version_is_that_of_the_package():
    assert levelflow.__version__ == version("levelflow")


def test_scenarios_that_say_the_same_are_equal(two_flows, tmp_path):
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
