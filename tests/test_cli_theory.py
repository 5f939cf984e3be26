import json
import shlex

import matplotlib.image
import pytest
from test_bad_input import assert_refused
from typer.testing import CliRunner

from levelflow.cli import app
from levelflow.cli.theory import app as theory

cli = CliRunner()
C = 1e6


def ask(*arguments):
    done = cli.invoke(app, ["theory", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def rates(answer):
    return {row["name"]: pytest.approx(row["rate_bps"] / C) for row in answer["flows"]}


@pytest.mark.parametrize("command", theory.registered_commands, ids=lambda command: command.callback.__name__)
def test_the_example_in_the_help_of_a_command_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *arguments = shlex.split(command.epilog.removeprefix("Example: "))
    done = cli.invoke(app, arguments)
    assert name == "levelflow"
    assert done.exit_code == 0, done.output
    assert done.stdout
    for picture in tmp_path.glob("*.png"):
        assert matplotlib.image.imread(picture)[..., :3].std() > 0


def test_the_parking_lot_of_the_dissertation_fills_up_as_its_flows_come():
    assert rates(ask("maxmin", "parking-lot", "--at", "60 s")) == {"x1": 150, "x2": 150}
    assert rates(ask("maxmin", "parking-lot", "--at", "100 s")) == {"x1": 100, "x2": 200, "x3": 100}
    answer = ask("maxmin", "parking-lot")
    assert rates(answer) == {"x1": 90, "x2": 210, "x3": 110, "x4": 90}
    assert [row["bottlenecks"] for row in answer["flows"]] == [["C3->C4"], ["C1->C2"], ["C2->C3"], ["C3->C4"]]
    assert [row["load_bps"] for row in answer["links"]] == [300 * C, 200 * C, 180 * C]
    assert answer["unfairness"] == 0


def test_a_table_shows_what_the_json_holds():
    done = cli.invoke(app, ["theory", "maxmin", "parking-lot", "--at", "60s", "--set", "link.1.capacity=20 Mb/s"])
    assert "x1        1      10 Mb/s      C1->C2\n" in done.stdout


def test_tcp_shares_by_its_own_utility_and_others_by_the_one_that_is_asked_for():
    assert rates(ask("num", "pair", "--set", "flow.first.rtt=80 ms")) == {"first": 10 / 3, "second": 20 / 3}
    answer = ask("num", "two-flows", "--exponent", "0", "--set", "flow.x1.count=3")
    assert rates(answer) == {"x1": 2.5, "x2": 2.5}
    assert answer["links"][0]["price"] == pytest.approx(0.4)
    paying = ask("num", "two-flows", "--exponent", "0", "--penalty", "2")
    assert sum(row["rate_bps"] for row in paying["flows"]) == pytest.approx((10 + 2 / 2) * C)
    assert paying["residual"] < 1e-9


def test_links_come_to_rest_in_order():
    answer = ask("bottlenecks", "parking-lot")
    assert answer["order"] == [["C3->C4"], ["C1->C2", "C2->C3"]]
    assert answer["disturbs"] == [["x1", "x2"], ["x1", "x3"]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["maxmin", "web-search"], ["web-search: no flow is under way; needs flows that do not arrive at random"]),
        (["maxmin", "two-flows", "--at", "soon"], ["time 'soon' is not allowed; needs a number with its unit"]),
        (["maxmin", "joining", "--at", "1 h", "--set", "flow.x1.stop=30 s"], ["no flow is under way at 3600 s"]),
        (["num", "two-flows"], ["no common utility is known of jetmax; --exponent 0"]),
        (["num", "two-flows", "--exponent", "-1"], ["exponent -1.0 is not allowed"]),
        (["num", "two-flows", "--exponent", "nan"], ["exponent nan is not allowed"]),
        (["num", "two-flows", "--exponent", "0", "--penalty", "0"], ["penalty 0.0 is not allowed"]),
        (["bottlenecks", "two-flows", "--out", "there/x.png"], ["there/x.png: no such file or directory"]),
        (["bottlenecks", "two-flows", "--out", "x.doc"], ["x.doc: no picture has the ending '.doc'; allowed: "]),
        (["bottlenecks", "two-flow"], ["did you mean 'two-flows'?"]),
    ],
)
def test_a_question_without_an_answer_gets_one_line(levelflow, tmp_path, arguments, words):
    assert_refused(levelflow("theory", *arguments), tmp_path, *words)
