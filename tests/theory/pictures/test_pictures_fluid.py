"""Pictures of fluid runs, and the command that draws them."""

import json

import matplotlib.image
import numpy as np
import pytest
from click.testing import CliRunner

from levelflow.cli import app
from levelflow.theory.errors import TheoryError
from levelflow.theory.fluid import Flow, Link, Network, simulate
from levelflow.theory.pictures.fluid import MOST_LINES, Packets, rates_and_queues

CLI = CliRunner()


def answer_of(*arguments):
    done = CLI.invoke(app, ["theory", "fluid", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def run(count):
    flows = [Flow("newreno", [0], 0.1, name=f"x{number}") for number in range(count)]
    return simulate(Network([Link(10e6, 0.02, buffer=30e3, name="L")], flows), 5.0, every=0.1)


def test_curves_are_those_of_the_run_and_packets_lie_behind():
    fluid = run(2)
    packets = Packets(np.array([0.0, 5.0]), {"x0": np.array([1e6, 2e6])}, {"L": np.array([0.0, 9e3])})
    above, below = rates_and_queues(fluid, packets, "two").axes
    drawn = {line.get_label(): line for line in above.lines}
    assert drawn["x1"].get_ydata() == pytest.approx(fluid.delivered[:, 1] / 1e6)
    pale = [line for line in above.lines if line.get_alpha()]
    assert [line.get_ydata().tolist() for line in pale] == [[1.0, 2.0]]
    assert pale[0].get_color() == drawn["x0"].get_color()
    assert max(line.get_ydata().max() for line in below.lines) == pytest.approx(30)


def test_many_curves_are_grey_with_their_mean():
    above, _ = rates_and_queues(run(MOST_LINES + 1)).axes
    assert above.get_legend_handles_labels()[1] == [f"mean of {MOST_LINES + 1}"]


def test_the_command_compares_means_with_those_of_packets(tmp_path):
    result = tmp_path / "result"
    arguments = ["two-flows", "--set", "duration=20 s"]
    assert CLI.invoke(app, ["run", *arguments, "--out", str(result), "--no-plots"]).exit_code == 0
    answer = answer_of(*arguments, "--beside", str(result), "--step", "10 ms", "--out", str(tmp_path / "beside.png"))
    assert matplotlib.image.imread(tmp_path / "beside.png")[..., :3].std() > 0
    for flow in answer["flows"]:
        assert flow["throughput_bps"] == pytest.approx(flow["packets_throughput_bps"], rel=0.03)
    assert [link["name"] for link in answer["links"]] == ["R1->R2"]
    done = CLI.invoke(app, ["theory", "fluid", *arguments, "--step", "10 ms", "--beside", str(result)])
    assert "packets" in done.stdout


def test_a_count_of_flows_is_one_row_with_their_sum():
    answer = answer_of("pair", "--set", "flow.second.count=3", "--until", "30 s", "--step", "4 ms")
    assert [(flow["name"], flow["flows"]) for flow in answer["flows"]] == [("first", 1), ("second", 3)]
    assert sum(flow["throughput_bps"] for flow in answer["flows"]) == pytest.approx(10e6, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rcp-poisson"], "arrive at random"),
        (["two-flows", "--until", "soon"], "time 'soon' is not allowed"),
        (["two-flows", "--step", "10 s"], "step 10.0 is not allowed"),
        (["two-flows", "--beside", "nowhere"], "nowhere: not a result directory"),
        (["pair", "--set", "link.1.queue=codel", "--until", "1 s"], "no fluid model of queue codel"),
    ],
)
def test_impossible_commands_get_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CLI.invoke(app, ["theory", "fluid", *arguments])
    assert isinstance(done.exception, TheoryError), done.output
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list(tmp_path.iterdir())
