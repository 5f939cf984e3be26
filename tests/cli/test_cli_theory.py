import json
import math
import shlex

import matplotlib.image
import numpy as np
import pytest
from click.testing import CliRunner
from test_bad_input import assert_refused

from levelflow.cli import app
from levelflow.cli.theory import theory
from levelflow.theory.errors import TheoryError
from levelflow.theory.laws import emkc_avq, maxnet, rcp
from levelflow.theory.laws.shared.maxnet_stability import Compensator, boundary, link_loop, unstable_roots
from levelflow.theory.stability.delays import is_stable

cli = CliRunner()
C = 1e6


def answer_of(*arguments):
    done = cli.invoke(app, ["theory", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def rates(answer):
    return {row["name"]: pytest.approx(row["rate_bps"] / C) for row in answer["flows"]}


@pytest.mark.parametrize("command", theory.commands.values(), ids=theory.commands)
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
    assert rates(answer_of("maxmin", "parking-lot", "--at", "60 s")) == {"x1": 150, "x2": 150}
    assert rates(answer_of("maxmin", "parking-lot", "--at", "100 s")) == {"x1": 100, "x2": 200, "x3": 100}
    answer = answer_of("maxmin", "parking-lot")
    assert rates(answer) == {"x1": 90, "x2": 210, "x3": 110, "x4": 90}
    assert [row["bottlenecks"] for row in answer["flows"]] == [["C3->C4"], ["C1->C2"], ["C2->C3"], ["C3->C4"]]
    assert [row["load_bps"] for row in answer["links"]] == [300 * C, 200 * C, 180 * C]
    assert answer["unfairness"] == 0


def test_a_table_shows_what_the_json_holds():
    done = cli.invoke(app, ["theory", "maxmin", "parking-lot", "--at", "60s", "--set", "link.1.capacity=20 Mb/s"])
    assert "x1        1      10 Mb/s      C1->C2\n" in done.stdout


def test_tcp_shares_by_its_own_utility_and_others_by_the_one_that_is_asked_for():
    assert rates(answer_of("num", "pair", "--set", "flow.first.rtt=80 ms")) == {"first": 10 / 3, "second": 20 / 3}
    answer = answer_of("num", "two-flows", "--exponent", "0", "--set", "flow.x1.count=3")
    assert rates(answer) == {"x1": 2.5, "x2": 2.5}
    assert answer["links"][0]["price"] == pytest.approx(0.4)
    paying = answer_of("num", "two-flows", "--exponent", "0", "--penalty", "2")
    assert sum(row["rate_bps"] for row in paying["flows"]) == pytest.approx((10 + 2 / 2) * C)
    assert paying["residual"] < 1e-9


def test_links_settle_in_order():
    answer = answer_of("bottlenecks", "parking-lot")
    assert answer["order"] == [["C3->C4"], ["C1->C2", "C2->C3"]]
    assert answer["disturbs"] == [["x1", "x2"], ["x1", "x3"]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["maxmin", "web-search"], ["web-search: no flow is active; needs flows that do not arrive at random"]),
        (["maxmin", "two-flows", "--at", "soon"], ["time 'soon' is not allowed; needs a number with its unit"]),
        (["maxmin", "joining", "--at", "1 h", "--set", "flow.x1.stop=30 s"], ["no flow is active at 3600 s"]),
        (["num", "two-flows"], ["no common utility is known of jetmax; --exponent 0"]),
        (["num", "two-flows", "--exponent", "-1"], ["exponent -1.0 is not allowed"]),
        (["num", "two-flows", "--exponent", "nan"], ["exponent nan is not allowed"]),
        (["num", "two-flows", "--exponent", "0", "--penalty", "0"], ["penalty 0.0 is not allowed"]),
        (["bottlenecks", "two-flows", "--out", "x.doc"], ["x.doc: no picture has the ending '.doc'; allowed: "]),
        (["bottlenecks", "two-flow"], ["did you mean 'two-flows'?"]),
    ],
)
def test_an_unanswerable_question_gets_one_line(levelflow, tmp_path, arguments, words):
    assert_refused(levelflow("theory", *arguments), tmp_path, *words)


def test_a_matrix_of_a_list_and_of_files_is_the_same(tmp_path):
    files = {"a.csv": "0.5,0.7\n-0.7,-0.5\n", "a.txt": "0.5 0.7\n\n-0.7 -0.5", "a.json": "[[0.5, 0.7], [-0.7, -0.5]]"}
    answers = [answer_of("stability", "[[0.5, 0.7], [-0.7, -0.5]]", "--delays", "2,1")]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        answers.append(answer_of("stability", str(tmp_path / name), "--delays", "2, 1"))
    assert all(answer == answers[0] for answer in answers)


def test_delays_that_break_a_system_come_with_a_root_outside_the_circle():
    matrix = [[0.5, 0.7], [-0.7, -0.5]]
    answer = answer_of("stability", str(matrix), "--delays", "1,1")
    assert answer["rho"] < 1
    assert answer["delays"]["stable"]
    broken = answer["all_delays"]
    assert not broken["stable"]
    assert not is_stable(matrix, broken["breaking_delays"])
    root = complex(*broken["root"])
    assert abs(root) > 1
    pencil = np.eye(2) - np.array(matrix) * np.array([root ** -float(d) for d in broken["breaking_delays"]])[:, None]
    assert abs(np.linalg.det(pencil)) < 1e-9
    assert answer["delays"]["may_grow"][1] == 0
    assert not is_stable(matrix, [2, 1])


def test_weights_of_the_scaled_norm_prove_stability_under_all_delays():
    matrix = np.array([[0.5, 4.0], [-0.01, 0.5]])
    answer = answer_of("stability", str(matrix.tolist()), "--delays", "[[1, 2], [3, 4]]")
    weights = np.array(answer["scaled_norm"]["weights"])
    norm = np.linalg.norm(matrix * weights[:, None] / weights, 2)
    assert norm == pytest.approx(answer["scaled_norm"]["upper"])
    assert norm < 1
    assert answer["all_delays"]["stable"]
    assert np.linalg.norm(matrix, 2) > 1


def test_every_line_about_stability_can_be_printed():
    for matrix, words in {
        "[[0.5, -0.8], [0.3, 0.4]]": "Stable under all bounded delays",
        "[[0.5, 0.6], [-0.6, -0.5]]": "For all delays: no. With delays 2,1: unstable",
        "[[0.0, 1.0], [1.0, 0.0]]": "For all delays: not known",
        "[[0.5, 1.0], [0.0, 0.5]]": "weights with larger ratios bring the bounds closer",
        "[[0.5j, 0.1], [0.1, 0.5]]": "Without delay: stable, rho(A) = 0.5",
    }.items():
        done = cli.invoke(app, ["theory", "stability", matrix, "--delays", "1,1"])
        assert words in done.stdout


def test_only_the_scaled_norm_is_safe_and_sharp_on_random_matrices():
    answer = answer_of("norms", "--count", "500", "--seed", "3")
    assert answer["stable"] + answer["unstable"] == answer["kept"] < answer["drawn"] == 500
    assert all(row["unstable_below_1"] == 0 for row in answer["norms"].values())
    assert answer["norms"]["||A||_s"]["stable_from_1"] == 0 < answer["norms"]["||A||_2"]["stable_from_1"]


def test_inside_a_region_loops_are_stable_and_outside_they_are_not():
    for beta, low, high, *_ in rcp.region().rows[:3]:
        for edge, inwards in ((low, 1.01), (high, 0.99)):
            assert rcp.loop(edge * inwards, beta).stable
            assert not rcp.loop(edge / inwards, beta).stable
    for beta, gain, *_ in emkc_avq.region([3]).rows:
        assert emkc_avq.radius(beta, 0.999 * gain, 3) < 1 < emkc_avq.radius(beta, 1.001 * gain, 3)


@pytest.mark.parametrize("law", [rcp, maxnet], ids=["rcp", "maxnet"])
def test_the_json_of_a_region_has_a_key_per_column(law):
    found = law.region()
    rows = answer_of("region", law.__name__.rpartition(".")[2])["rows"]
    assert [list(row) for row in rows] == [list(found.head)] * len(found.rows)


@pytest.mark.parametrize("ratio", [0.2, 0.4, 2.2])
@pytest.mark.parametrize("averaged", [False, True])
def test_the_boundary_of_maxnet_is_where_its_loop_changes(ratio, averaged):
    alpha, eta = boundary(np.linspace(0.1, 2.1, 17), ratio, 0.9, averaged=averaged)
    inside = (alpha > 0.01) & (alpha < 2.5) & (eta > 0.01) & (eta < 2)
    assert inside.any()
    for a, e in zip(alpha[inside], eta[inside], strict=True):
        for factor, stable in ((0.99, True), (1.01, False)):
            compensator = Compensator(e * factor if ratio < 1 else e, a * factor * ratio)
            loop = link_loop([1.0], [0.9], compensator, a * factor, averaged=averaged)
            assert loop.stable == stable
            if not averaged:
                assert (unstable_roots([1.0], [0.9], compensator, a * factor) == 0) == stable


def test_averaging_prices_over_a_round_trip_upsets_a_loop_that_is_stable_without():
    plain, averaged = (
        answer_of("nyquist", "maxnet", "--eta", "1", "--rtt", "1 s", *more) for more in ([], ["--averaged"])
    )
    assert (plain["stable"], plain["encirclements"]) == (True, 0)
    assert (averaged["stable"], averaged["encirclements"]) == (False, 2)
    assert averaged["roots"][0]["re"] > 0 > plain["roots"][0]["re"]


def test_a_user_defined_fraction_has_its_closed_form_margins():
    answer = answer_of("nyquist", "--num", "1.5", "--den", "1,0", "--delay", "1")
    assert answer["gain_margin"] == pytest.approx(math.pi / 3)
    assert answer["phase_margin_degrees"] == pytest.approx(math.degrees(math.pi / 2 - 1.5))
    assert answer["delay_margin_s"] == pytest.approx((math.pi / 2 - 1.5) / 1.5)
    assert answer_of("nyquist", "--num", "1", "--den", "1,0,1")["encirclements"] is None
    several = answer_of("nyquist", "maxnet", "--rtt", "30 ms, 180 ms")
    assert several["stable"]


def test_the_floor_of_the_queue_stabilises_linearly_unstable_loops():
    answer = answer_of("phase", "rcp", "--duration", "400")
    assert (answer["linear"], answer["settles"]) == ("unstable", True)
    assert not answer_of("phase", "rcp", "--alpha", "1.4", "--beta", "0.8", "--duration", "400")["settles"]
    tried = answer_of("region", "rcp", "--fluid", "4")["fluid"]
    assert tried["alpha"] == [0.5, 1.0, 1.5, 2.0]
    assert tried["settles"][0] == [True, True, False, False]


def test_two_flows_become_equal():
    for law, load in (("emkc", 108), ("jetmax", 100)):
        for start in answer_of("phase", law)["starts"]:
            assert start["end"] == pytest.approx([load / 2, load / 2], rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stability", "[[1, 2], [3]]"], "rows of different length"),
        (["stability", "[[1, 2]]"], "needs as many rows as columns"),
        (["stability", "[]"], "needs as many rows as columns"),
        (["stability", "[[1, 'x'], [0, 1]]"], "a matrix needs finite numbers"),
        (["stability", "[[1e999]]"], "element [0, 0]: inf is not allowed"),
        (["stability", "[[1, 2"], "no list of numbers"),
        (["stability", "one"], "or a .csv, .json or .txt file"),
        (["stability", "nothing.csv"], "nothing.csv: no such file or directory"),
        (["stability", "[[1]]", "--delays", "0"], "needs a whole number >= 1"),
        (["stability", "[[1]]", "--delays", "1.5"], "needs a whole number >= 1"),
        (["stability", "[[1]]", "--delays", "1,2"], "for 1 flows; needs one per flow"),
        (["stability", "[[1]]", "--delays", "soon"], "delays 'soon' is not allowed"),
        (["region", "jetmax"], "jetmax has no stable region: delays do not matter; tau from 0 to 1 is stable"),
        (["region", "cubic"], "cubic has no stable region: no region is known; needs one of emkc_avq, kelly"),
        (["region", "maxnet", "--rtt", "1"], "time '1' is not allowed"),
        (["region", "rcp", "--delays", "3"], "--delays is not for rcp"),
        (["region", "emkc_avq", "--delays", "0.5"], "needs a whole number >= 1"),
        (["region", "kelly", "--fluid", "5"], "--fluid 5 is not allowed for kelly"),
        (["nyquist"], "no loop is named; needs one of maxnet, rcp, xcp"),
        (["nyquist", "emkc"], "needs one of maxnet, rcp, xcp"),
        (["nyquist", "rcp", "--eta", "1"], "rcp has no eta; it has alpha, beta"),
        (["nyquist", "xcp", "--averaged"], "xcp has no average"),
        (["nyquist", "rcp", "--alpha", "nan"], "alpha nan is not allowed"),
        (["nyquist", "rcp", "--rtt", "1 s, 2 s"], "2 round-trip times are not allowed for rcp"),
        (["nyquist", "maxnet", "--mu", "1.5"], "mu 1.5 is not allowed"),
        (["nyquist", "--num", "1"], "--num and --den are given together"),
        (["nyquist", "--num", "1,0", "--den", "1,0"], "needs a numerator of lower degree"),
        (["nyquist", "--num", "1", "--den", "0"], "denominator"),
        (["nyquist", "--num", "1", "--den", "1,0", "--delay", "-1"], "delay -1.0 is not allowed"),
        (["phase", "cubic"], "cubic has no phase portrait: no model of two variables is known"),
        (["phase", "rcp", "--tau", "1"], "rcp has no tau"),
        (["phase", "rcp", "--alpha", "-1"], "alpha -1.0 is not allowed"),
        (["phase", "rcp", "--duration", "inf"], "duration inf is not allowed"),
        (["phase", "jetmax", "--tau", "2.5"], "tau 2.5 is not allowed"),
        (["stability", "[[1e308,1e308],[1e308,1e308]]"], "element [0, 0]: 1e+308 is not allowed; a matrix needs sizes"),
        (["norms", "--size", "13"], "size 13.0 is not allowed; needs a number from 1 to 12"),
        (["norms", "--draws", "0"], "draws 0.0 is not allowed; needs a whole number >= 1"),
        (["norms", "--count", "20", "--out", "x.doc"], "x.doc: no picture has the ending '.doc'"),
    ],
)
def test_invalid_input_of_theory_commands_gets_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli.invoke(app, ["theory", *arguments])
    assert isinstance(done.exception, TheoryError), done.output
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_bad_matrix_ends_with_status_2(levelflow, tmp_path):
    assert_refused(levelflow("theory", "stability", "[[1, 2]]"), tmp_path, "needs as many rows as columns")
