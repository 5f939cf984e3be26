"""Invented figures of papers for tests, with a claim and its measurement."""

import polars as pl

from levelflow.reproduce import runner
from levelflow.reproduce.figure import Runs
from levelflow.reproduce.model import load
from levelflow.results import Result

CLAIM = """
[[entry]]
id = "one"
source = "Zhang 2008, eq 1"
kind = "theory"
title = "A <formula>"
setup = "x & y"
deviations = ["a reading"]

[[entry.check]]
metric = "half"
op = "=="
value = 0.5
tol_abs = 0.01

[[entry.check]]
metric = "wrong"
op = "<="
value = 1.0
reason = "the paper's own arithmetic"

[[entry.check]]
metric = "stable[xcp]"
op = "true"
needs = ["xcp"]

[[entry.check]]
metric = "target"
op = "<"
value = "RCP value"
"""
MEASURE = """
import numpy as np
from levelflow.reproduce import Against

def measure(figure):
    return {"one": {"half": np.float64(0.501), "wrong": np.int64(3), "target": Against(1.0, float("inf"))}}
"""
LAWS = frozenset({"jetmax"})


def folder_at(tmp_path, measure=MEASURE, where="papers/paper/figure", entry="one"):
    folder = tmp_path / where
    folder.mkdir(parents=True)
    (folder / "claim.toml").write_text(CLAIM.replace('"one"', f'"{entry}"'))
    (folder / "measure.py").write_text(measure.replace('"one"', f'"{entry}"'))
    return folder


def measured(folder):
    return runner.measure(load(folder), [Runs(2)], LAWS, full=False)


def fake_result(scenario):
    empty = pl.DataFrame({"t": [0.0]})
    return Result(empty, empty, empty, summary={}, manifest={"raw": scenario.raw, "scenario": scenario.raw})
