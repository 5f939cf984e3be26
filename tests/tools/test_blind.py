"""Checks that do not depend on what they claim to measure."""

import polars as pl
import pytest
from figures import LAWS, folder_at
from tools import blind

from levelflow.reproduce import runner
from levelflow.reproduce.model import load
from levelflow.results import Result
from levelflow.scenario import Scenario

MEASURED = """
from levelflow.scenario import Scenario

def measure(figure):
    run = figure.runs([Scenario("a", "1 s")])[0]
    return {{"one": {{"half": {half}, "wrong": 30 * 4.0, "target": float(run.links["queue"].sum())}}}}
"""


def result(scenario, **_options):
    table = pl.DataFrame({"t": [0.0, 1.0, 2.0], "link": ["A", "A", "A"], "queue": [1, 5, 2], "rate": [2.0, 4.0, 80.0]})
    record = {"raw": scenario.raw, "scenario": scenario.raw}
    return Result(table, table, table, summary={"links": [{"drops": 3, "name": "A"}]}, manifest=record)


@pytest.mark.parametrize(
    ("half", "lines"),
    [
        ('run.flows["rate"].max()', []),
        ('float(run.flows["t"][run.flows["rate"].arg_max()])', ["half"]),
        ('run.summary["links"][0]["drops"]', []),
        ("0.5", ["half"]),
    ],
)
def test_a_formula_among_measurements_is_found(tmp_path, monkeypatch, half, lines):
    monkeypatch.setattr(Scenario, "run", result)
    monkeypatch.setattr(runner, "available", lambda: LAWS)
    folder = folder_at(tmp_path, MEASURED.format(half=half))
    text = (folder / "claim.toml").read_text().replace('kind = "theory"', 'kind = "packet-sim"')
    (folder / "claim.toml").write_text(text)
    found = list(blind.wrong(load(folder), blind.Bent(1)))
    assert found == [
        f"one[{i}] {name}: packets, but it does not depend on runs"
        for i, name in enumerate([*lines, "wrong"], 1 - len(lines))
    ]


def test_theory_that_depends_on_packets_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(Scenario, "run", result)
    monkeypatch.setattr(runner, "available", lambda: LAWS)
    found = list(blind.wrong(load(folder_at(tmp_path, MEASURED.format(half=0.5))), blind.Bent(1)))
    assert found == ["one[3] target: theory, but it depends on runs"]
