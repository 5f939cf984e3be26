"""Figures on a real network: selection and requirements. Measured and expected values have the units of the paper."""

import json
import time

import pytest
from click.testing import CliRunner
from conftest import lack

from levelflow import dataplane, library
from levelflow.cli import app
from levelflow.reproduce import runner
from levelflow.reproduce.model import ClaimError, discover, load, select

pytestmark = pytest.mark.real_time

CLAIM = """
testbed_scale = 0.1

[[entry]]
id = "one"
source = "Zhang 2008, fig 1"
kind = "linux-testbed"
title = "One flow"
setup = "a link of 100 Mb/s"

[[entry.check]]
metric = "law_rate_bps"
op = "~="
value = 95e6
tol_rel = 0.1
"""
MEASURE = """
from levelflow.measure import rates

def measure(figure):
    return {"one": {"law_rate_bps": rates.mean_rate(figure.run().flows, "x", (3.0, 4.0))}}
"""
SCENARIO = """
name = "one"
duration = "4 s"
sample = "50 ms"

[[link]]
from = "A"
to = "B"
capacity = "100 Mb/s"
delay = "5 ms"
buffer = "1 MB"
duplex = true

[[flow]]
name = "x"
law = "jetmax"
from = "A"
to = "B"
"""


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    """Runs the command on a figure of 4 s that a testbed can run, and on a figure that it cannot run."""
    for name, entry, scale in (("real", "one", "testbed_scale = 0.1"), ("formula", "two", "")):
        folder = tmp_path / "papers/paper" / name
        folder.mkdir(parents=True)
        claim = CLAIM.replace("testbed_scale = 0.1", scale).replace('"one"', f'"{entry}"')
        (folder / "claim.toml").write_text(claim)
        (folder / "measure.py").write_text(MEASURE.replace('"one"', f'"{entry}"'))
        (folder / "scenario.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(library, "PAPERS", tmp_path / "papers")
    return lambda *args: CliRunner().invoke(app, ["reproduce", *args])


def test_a_network_and_the_simulator_at_the_same_scale_are_in_the_units_of_the_paper(tmp_path, reproduce):
    try:
        dataplane.usable()
    except dataplane.DataPlaneError as error:
        lack(["root"], str(error))
    result = reproduce("--testbed", "--repeats", "2", "--json", "claims.json", "--out", "report")
    assert result.exit_code == 0, result.output
    formula, real = json.loads((tmp_path / "claims.json").read_text())
    assert real["verdict"] == real["simulator"]["verdict"] == formula["verdict"] == "reproduced"
    assert len(real["measured"]) == real["seeds"]["seeds"] == 2
    assert real["measured"] == pytest.approx(real["simulator"]["measured"], rel=0.1)
    assert real["measured"] != real["simulator"]["measured"]
    assert (real["tier"], formula["tier"]) == ("testbed, rates times 0.1", "quick")
    page = (tmp_path / "report/report.html").read_text()
    assert "on a real network" in page
    assert "simulator: " in page
    begin = time.monotonic()
    again = reproduce("--testbed", "--repeats", "2", "--resume", "--json", "again.json", "--out", "report")
    assert again.exit_code == 0, again.output
    assert time.monotonic() - begin < 4, "both were kept"
    assert json.loads((tmp_path / "again.json").read_text()) == [formula, real]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["two"], "paper/formula: no testbed_scale in claim.toml"),
        (["one"], "set LEVELFLOW_NET to its path"),
    ],
)
def test_what_cannot_run_on_a_network_is_one_line_and_exit_2(tmp_path, reproduce, monkeypatch, args, says):
    monkeypatch.setenv("LEVELFLOW_NET", str(tmp_path / "nothing"))
    result = reproduce("--testbed", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_checks_of_the_router_in_the_kernel_are_measured_where_it_can_run():
    claims = select(discover(library.PAPERS), ["jetmax-linux-module"])
    if dataplane.NEED not in runner.available():
        lack(["root", "clang"], "it takes root and levelflow-net with its kernel router")
    [figure] = runner.measure_all(claims)
    verdicts = [outcome.verdict for outcome in figure.outcomes]
    assert verdicts[1] == "reproduced"
    # Delay and rate depend on the load of the machine by other processes.
    assert set(verdicts) <= {"reproduced", "not reproduced"}, figure.outcomes
    assert figure.outcomes[2].measured > 0.0


def test_checks_of_the_router_in_the_kernel_are_missing_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("LEVELFLOW_NET", str(tmp_path / "nothing"))
    [figure] = runner.measure_all(select(discover(library.PAPERS), ["jetmax-linux-module"]))
    assert {outcome.verdict for outcome in figure.outcomes} == {"missing"}


@pytest.mark.parametrize("scale", ["0", "2", '"half"', "true"])
def test_a_scale_is_a_share(tmp_path, scale):
    (tmp_path / "claim.toml").write_text(CLAIM.replace("= 0.1", f"= {scale}", 1))
    with pytest.raises(ClaimError, match="above 0 and at most 1"):
        load(tmp_path)
