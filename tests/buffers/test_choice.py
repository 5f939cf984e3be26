"""`levelflow buffers`: every rule and algorithm on the traffic of a scenario, and the resulting choice."""

import json
import math
import shlex
import signal
import subprocess
import time
import tomllib

import pytest
from click.testing import CliRunner
from conftest import COMMAND

from levelflow import Scenario, ScenarioError, dataplane
from levelflow.buffers.advice import advice, command, snippet
from levelflow.buffers.candidates import (
    ADT,
    BEST,
    BSCL,
    BUFFER_ALGORITHMS,
    OURS,
    PRINTED,
    USUAL,
    Line,
    Targets,
    best_fixed,
    compare,
    with_buffer,
)
from levelflow.buffers.choice import WRITTEN, Row, chosen, compared, question
from levelflow.buffers.picture import picture
from levelflow.cli import _line, app
from levelflow.measure import utilisation
from levelflow.measure.utilisation import Use
from levelflow.theory.errors import TheoryError
from levelflow.theory.queues import buffers
from levelflow.workers import Workers

LINK = "A->B"
COUNT, RTT, CAPACITY = 4, 0.05, 5e6
RULES = ["C R", "Stanford, 2 C R/sqrt(N)", "Avrachenkov", "Enachescu", "BSCL", "Eun and Wang, least"]
NAMES = [*RULES, *BUFFER_ALGORITHMS, "as written", BEST]
ARRIVALS = """
[[flow]]
name = "web"
law = "newreno"
from = "A"
to = "B"
packet = "1500 B"
rtt = "50 ms"
size = "20 kB"
arrivals = { poisson = "5 /s" }
"""


def scenario(duration="20 s", **options):
    network = Scenario("line", duration, sample="100 ms", **options)
    network.link("A", "B", "5 Mb/s", "5 ms", buffer="1 BDP", duplex=True)
    return network.flow("x", "newreno", "A", "B", count=COUNT, packet="1500 B", rtt="50 ms")


def run(scenarios):
    return [one.run() for one in scenarios]


def theory():
    """Returns the buffers by each rule for four flows, in packets."""
    pipe = float(buffers.pipe(CAPACITY, RTT))
    said = [
        pipe,
        buffers.stanford(pipe, COUNT, 2.0),
        buffers.avrachenkov(pipe, COUNT),
        buffers.ENACHESCU[1],
        buffers.bscl(pipe, COUNT, 0.02),
        buffers.eun_wang(pipe, COUNT)[0],
    ]
    return dict(zip(RULES, (max(int(packets), 1) for packets in said), strict=True))


def asked(folder, *words, text=None):
    """Returns the result of `levelflow buffers`, its JSON output, and the rows of this output by name."""
    (folder / "line.toml").write_text(text or scenario().to_toml(), encoding="utf-8")
    out = folder / "rows.json"
    arguments = ["buffers", str(folder / "line.toml"), "--json", str(out), "--utilisation", "95%", "--loss", "2 %"]
    done = CliRunner().invoke(app, [*arguments, *words])
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text(encoding="utf-8"))
    return done, found, {row["name"]: row for row in found["rows"]}


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory):
    """Returns output, JSON and rows of the command for runs of two seeds."""
    return asked(tmp_path_factory.mktemp("two_seeds"), "--seeds", "2")


def test_every_candidate_has_a_row_and_rules_have_the_packets_of_theory(two_seeds):
    done, found, rows = two_seeds
    assert list(rows) == NAMES
    assert found["complete"]
    assert {name: rows[name]["packets"] for name in RULES} == theory()
    assert rows["as written"]["packets"] is None
    for name, row in rows.items():
        assert 0 < row["utilisation"] <= 1.01, name
        assert row["loss_half"] >= 0
        # Little's law: queued packets, without the packet in service.
        waiting, rate = row["backlog_packets"] - row["utilisation"], row["utilisation"] * CAPACITY / 12_000
        assert row["queueing_delay_mean_s"] * rate == pytest.approx(waiting, rel=0.1, abs=0.05), name
        assert any(line.startswith(name) for line in done.stdout.splitlines())
    assert "seeds 1 to 2" in done.stdout


def test_the_picture_has_every_candidate(tmp_path):
    wanted = question(scenario("4 s"), Targets(0.9, 0.05))
    with Workers(2, lambda _done, _of: None) as runs:
        rows = list(compared(wanted, runs))
    panels = picture(wanted, rows).axes
    ways = [text.get_text() for text in panels[0].get_yticklabels()]
    assert set(ways) == set(NAMES)
    labels = [axes.get_xlabel() for axes in panels]
    assert labels == ["buffer (packets)", "unused (%)", "loss (%)", "mean queueing delay (ms)"]
    loss = next(row.line.used.loss for row in rows if row.name == "C R")
    drawn = panels[2].containers[ways.index("C R")].lines[0].get_xydata()[0]
    assert drawn == pytest.approx((100 * loss, ways.index("C R")))
    asked(tmp_path, "--seeds", "1", "--set", "duration=2 s", "--out", str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_the_best_buffer_meets_its_targets_and_half_of_it_does_not(two_seeds):
    _, _, rows = two_seeds
    packets, targets = int(rows[BEST]["packets"]), Targets(0.95, 0.02)
    assert rows[BEST]["miss"] == 0
    assert packets > 2
    sizes = {"best": f"{packets} packets", "half": f"{packets // 2} packets"}
    best, half = compare(scenario(), LINK, targets, sizes, run, (1, 2))
    assert best.used.loss == pytest.approx(rows[BEST]["loss"])
    assert best.used.loss <= 0.02
    assert best.used.utilisation >= 0.95
    assert half.used.loss > 0.02 or half.used.utilisation < 0.95


def test_the_output_ends_with_commands_to_type(tmp_path):
    done, found, rows = asked(tmp_path, "--seeds", "2", "--set", "duration=60 s")
    choice = found["chosen"]
    assert choice["name"] in BUFFER_ALGORITHMS
    assert rows[choice["name"]]["missed"] == []
    meeting = [one for one in found["queues"] if one["queue"] != "drop_tail" and one.get("missed") == []]
    least = min(meeting, key=lambda one: one["queueing_delay_p50_s"])
    assert f"meet the targets: {least['name']}, {1e3 * least['queueing_delay_p50_s']:.1f} ms." in done.stdout
    assert done.stdout.partition("\n\nFor DEVICE")[0].splitlines()[-2:] == [
        f"In a scenario:        {choice['scenario']}",
        f"On a live interface:  {choice['live']}",
    ]
    assert choice["live"].endswith('--set "rtt=50 ms" --max "10000 packets"'), "what was simulated, live"
    pasted = with_buffer(scenario(), LINK, tomllib.loads(choice["scenario"])["buffer"])
    assert pasted.resolve()["links"][0]["sizing"]


@pytest.mark.parametrize("name", BUFFER_ALGORITHMS)
def test_the_command_for_a_live_interface_is_one_that_levelflow_net_takes(name):
    program = dataplane.program()
    if program is None:
        pytest.skip("levelflow-net is not here; make net builds it")
    targets = Targets(0.95, 0.01, 0.02)
    wanted = question(scenario(), targets, largest=5000)
    arguments = shlex.split(
        command(Row(name, wanted.candidates()[name], None), targets).replace("DEVICE", "lf-not-here")
    )
    done = subprocess.run([program, *arguments[1:]], capture_output=True, text=True, timeout=20, check=False)
    if "unrecognized subcommand 'abs'" in done.stderr:
        pytest.skip(f"{program} is older than its sources; make net builds it")
    assert done.returncode != 0
    assert "lf-not-here" in done.stderr, done.stderr
    assert "--help" not in done.stderr, done.stderr


@pytest.mark.parametrize(("packets", "limit"), [(49, 48), (2, 1), (1, 1)])
def test_a_fixed_size_replaces_the_root_queue_and_says_so(packets, limit):
    """The simulator's limit includes the packet in service; the kernel's limit does not."""
    _, _, said, warns = advice(question(scenario(), Targets(0.95)), [line(BEST, packets, 0.0)])
    assert said == f"On a live interface:  tc qdisc replace dev DEVICE root pfifo limit {limit}"
    assert warns.startswith("This command replaces the root queue of DEVICE, including a shaper such as tbf or htb. ")


@pytest.mark.parametrize("largest", [5, 5000, USUAL, 20_000])
@pytest.mark.parametrize("name", BUFFER_ALGORITHMS)
def test_a_live_algorithm_may_reach_the_tried_limit(name, largest):
    wanted = question(scenario(), Targets(0.95, 0.01), largest=largest)
    typed = shlex.split(command(Row(name, wanted.candidates()[name], None), wanted.targets))
    assert typed[typed.index("--max") + 1] == f"{largest} packets"


def test_abs_log_uses_the_given_round_trip_or_else_that_of_the_flows():
    slow = scenario().flow("y", "newreno", "A", "B", count=COUNT, packet="1500 B", rtt="600 ms")
    unknown = scenario().flow("y", "newreno", "A", "B", rtt={"uniform": ["10 ms", "90 ms"]})
    given = {"rtt": "70 ms"}
    cases = [(scenario(), {}, "50 ms"), (slow, {}, "92.31 ms"), (slow, given, "70 ms"), (unknown, {}, None)]
    for network, known, rtt in cases:
        wanted = question(network, Targets(0.95), known=known)
        buffer = wanted.candidates()[OURS]
        assert buffer["abs_log"].get("rtt") == rtt
        typed = shlex.split(command(Row(OURS, buffer, None), wanted.targets))
        assert [word for word in typed if word.startswith("rtt=")] == ([f"rtt={rtt}"] if rtt else [])


def test_abs_log_with_too_short_a_round_trip_stays_within_its_bound():
    """The limit on the buffer, `2 C rtt + 10 packets`, also holds if the configured round trip is too short.

    The line may stay full until the end of the sawtooth.
    """
    heard, true, packet = 0.1, 0.6, 12_000 / 10e6
    stays = (2 * heard) ** 2 / (8 * packet * 0.05)
    at_most = (math.sqrt(true**2 + 2 * packet * stays) - true) / packet
    assert at_most < 2 * heard / packet + 10
    network = Scenario("slow", "600 s", profile="paper", overhead="1.2 ms").link(
        "A", "B", "10 Mb/s", "5 ms", duplex=True
    )
    network.flow("x", "newreno", "A", "B", packet="1500 B", rtt="600 ms")
    ways = {
        rtt: question(network, Targets(0.95), known={"rtt": rtt}).candidates()[OURS] for rtt in ("600 ms", "100 ms")
    }
    whole, short = compare(network, LINK, Targets(0.95), ways, run)
    assert whole.miss == 0
    assert short.used.utilisation < 0.94
    assert at_most / 2 < short.used.buffer <= at_most


def test_a_rule_that_lacks_numbers_says_so_and_the_others_go_on(tmp_path):
    text = scenario().to_toml() + ARRIVALS
    done, _, rows = asked(tmp_path, "--seeds", "1", text=text)
    for name in RULES:
        if name == "Enachescu":
            assert rows[name]["packets"] == 20
        else:
            assert (
                rows[name]["why"] == "flows: needs a number of flows, because the number on the link is zero or varies"
            )
            assert "packets" not in rows[name]
    assert all("packets" in rows[name] for name in NAMES[len(RULES) :])
    assert "Some rules need values that the scenario does not contain: set --flows and --rtt." in done.stdout
    completed, _, rows = asked(tmp_path, "--seeds", "1", "--flows", str(COUNT), "--rtt", "50 ms", text=text)
    assert {name: rows[name]["packets"] for name in RULES} == theory()
    assert "--flows" not in completed.stdout


@pytest.mark.parametrize(
    ("targets", "name", "lacks"), [(Targets(0.9, 0, 0.01), BSCL, "loss"), (Targets(0, 0.05), ADT, "utilisation")]
)
def test_rules_without_their_target_report_it(targets, name, lacks):
    with Workers(2, lambda _done, _of: None) as runs:
        rows = list(compared(question(scenario("2 s"), targets), runs))
    assert {row.name: row.why for row in rows if row.line is None} == {name: f"needs a target of {lacks}"}


def test_rows_do_not_depend_on_how_many_run_side_by_side():
    wanted = question(scenario("4 s"), Targets(0.9, 0.05), seeds=2)
    found = []
    for workers in (1, 3):
        with Workers(workers, lambda _done, _of: None) as runs:
            found.append({row.name: row.line.each for row in compared(wanted, runs) if row.name != "as written"})
    assert found[0] == found[1]


def test_progress_grows_to_what_was_expected():
    calls = []
    with Workers(2, lambda done, of: calls.append((done, of))) as runs:
        list(compared(question(scenario("2 s"), Targets(0.9, 0.05), seeds=2), runs))
    done, of = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == pytest.approx(of[-1])
    assert of[-1] % 2 == 0


def test_an_interruption_between_runs_leaves_the_code_there_alone():
    usual = signal.getsignal(signal.SIGINT)
    reached = []

    def work():
        with Workers(1, lambda _done, _of: None) as runs:
            runs([scenario("1 s")])
            signal.raise_signal(signal.SIGINT)
            reached.append("after the signal")
            runs([scenario("1 s")])
            reached.append("after the next run")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is usual


def test_the_other_direction_of_a_link_keeps_its_buffer():
    names = ("A->B", "B->A")
    for link, other in (names, names[::-1]):
        before = {item["name"]: item["buffer"] for item in scenario().resolve()["links"]}
        after = with_buffer(scenario(), link, "7 packets").resolve()["links"]
        assert {item["name"]: item["buffer"] for item in after} == {link: "7 packets", other: before[other]}


def test_a_delay_target_has_precedence_over_a_loss_target():
    targets = Targets(0.0, 0.001, 0.01)
    best = best_fixed(scenario(), LINK, targets, run)
    assert best.used.wait <= 0.01 < best.used.loss * 10
    larger = {"larger": f"{math.ceil(best.used.buffer * 1.1)} packets"}
    assert compare(scenario(), LINK, targets, larger, run)[0].used.wait > 0.01


def test_a_buffer_in_bytes_has_no_packets():
    result = scenario("4 s").run()
    assert math.isnan(utilisation.use(result.links, LINK, CAPACITY, (2.0, 4.0)).buffer)


def line(name, packets, loss):
    used = Use(0.99, loss, packets, 1.0, 0.01)
    return Row(name, f"{packets} packets", Line(name, used, Use(0, 0, 0, 0, 0), 0.0, (used,)))


@pytest.mark.parametrize(
    ("losses", "name"),
    [
        ({PRINTED: (100, 0.02), OURS: (109, 0.02), BSCL: (50, 0.02), BEST: (49, 0.02)}, OURS),
        ({PRINTED: (100, 0.02), OURS: (120, 0.02)}, PRINTED),
        ({PRINTED: (100, 0.03), OURS: (120, 0.03), BSCL: (50, 0.02), BEST: (49, 0.02)}, BSCL),
        ({OURS: (120, 0.03), BSCL: (50, 0.03), BEST: (49, 0.02)}, BEST),
        ({OURS: (120, 0.03), BEST: (49, 0.03)}, None),
    ],
)
def test_the_choice_is_the_smallest_buffer_that_meets_the_targets_with_the_fewest_inputs(losses, name):
    choice = chosen([line(key, *values) for key, values in losses.items()], Targets(0.98, 0.02))
    assert (choice and choice.name) == name


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ({OURS: 0.03, WRITTEN: 0.021}, "Only the buffer as written meets the targets; no buffer up to "),
        ({OURS: 0.033, WRITTEN: 0.044}, "Nothing meets the targets; abs_log comes closest, with 1.5 times the limit."),
        ({OURS: 0.033, WRITTEN: 0.02201}, "Nothing meets the targets; the buffer as written comes closest, with 1.01 "),
    ],
)
def test_without_a_choice_the_closest_candidate_is_named(losses, said):
    wanted = question(scenario(), Targets(0.98, 0.02), largest=50)
    rows = [line(name, 50, loss) for name, loss in losses.items()]
    assert chosen(rows, wanted.targets) is None
    (only,) = advice(wanted, rows)
    assert only.startswith(said)


def test_a_utilisation_target_allows_one_percentage_point_less():
    targets = Targets(0.98)
    for used_share, times in ((0.9701, 0.0299 / 0.03), (0.9699, 0.0301 / 0.03), (0.94, 2.0)):
        used = Use(used_share, 0.0, 1.0, 1.0, 0.0)
        assert targets.excess(used) == pytest.approx(times)
        assert targets.missed(used) == (["utilisation"] if times > 1 else [])


def test_a_snippet_is_the_buffer_that_was_run():
    for buffer in question(scenario(), Targets(0.95, 0.01, 0.02), largest=50).candidates().values():
        assert tomllib.loads(snippet(Row("any", buffer, None)))["buffer"] == buffer


def refusal(folder, monkeypatch, network, *words):
    """Returns the error message of `main` for a rejected command."""
    monkeypatch.chdir(folder)
    (folder / "line.toml").write_text(network.to_toml(), encoding="utf-8")
    done = CliRunner().invoke(app, ["buffers", "line.toml", *words], standalone_mode=False)
    assert isinstance(done.exception, ScenarioError | TheoryError), done.output
    assert done.stdout == ""
    said = _line(done.exception)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "buffers: there is no target; needs --utilisation or --loss"),
        (
            ["--delay", "20 ms"],
            "buffers: a buffer of one packet meets --delay alone; needs --utilisation or --loss, too",
        ),
        (["--utilisation", "1"], "--utilisation 1: is not allowed; needs 0, for no such target, to 0.9999"),
        (
            ["--utilisation", "85"],
            "--utilisation 85: is not allowed; needs 0, for no such target, to 0.9999; did you mean 85%?",
        ),
        (["--utilisation", "100%"], "--utilisation 1: is not allowed; needs 0, for no such target, to 0.9999"),
        (["--utilisation", "95 apples"], "share '95 apples' is not allowed; needs a number or percent, as in "),
        (["--loss", "2 %%"], "share '2 %%' is not allowed; needs a number or percent, as in "),
        (["--loss", "nan"], "--loss nan: is not allowed; needs 0, for no such target, to 0.9"),
        (["--loss", "0.1", "--link", "A->C"], "--link A->C: no such link; did you mean 'A->B'?"),
        (["--loss", "0.1", "--flows", "0.5"], "--flows 0.5: is not allowed; needs 1 to 1e+09"),
        (["--loss", "0.1", "--delay", "5"], "time '5' is not allowed; needs a number with its unit, as in '45 s'"),
        (["--loss", "0.1", "--out", "x.doc"], "--out x.doc: no picture has the ending '.doc'; allowed: "),
        (["--loss", "0.1", "--out", "no/x.png"], "--out no/x.png: no such directory"),
        (["--loss", "0.1", "--json", "."], "--json .: is a directory"),
        (["--loss", "0.1", "--set", "link.1.capacity=3"], "line.toml: link 1 (A->B), capacity: "),
    ],
)
def test_a_bad_question_gets_one_line(tmp_path, monkeypatch, words, said):
    assert refusal(tmp_path, monkeypatch, scenario("1 s"), *words).startswith(f"levelflow: {said}")
    assert [path.name for path in tmp_path.iterdir()] == ["line.toml"]


def test_several_links_that_carry_data_are_listed(tmp_path, monkeypatch):
    network = scenario("1 s").link("B", "C", "1 Mb/s", "1 ms", duplex=True).flow("y", "newreno", "A", "C")
    line = refusal(tmp_path, monkeypatch, network, "--loss", "0.01")
    assert line == "levelflow: buffers: needs --link, as these links carry data: A->B, B->C"


def test_a_link_whose_memory_is_shared_is_refused(tmp_path, monkeypatch):
    network = scenario("1 s").memory("1 MB", LINK).set(f"link.{LINK}.buffer", {"abs_log": {}})
    line = refusal(tmp_path, monkeypatch, network, "--loss", "0.01")
    assert (
        line == f"levelflow: link {LINK}: is in a [[memory]], where rules are not allowed; remove it to compare buffers"
    )


def test_an_interruption_keeps_the_rows_that_are_whole(tmp_path):
    (tmp_path / "line.toml").write_text(scenario("100 s").to_toml(), encoding="utf-8")
    words = ["buffers", "line.toml", "--loss", "0.02", "--utilisation", "0.95", "--seeds", "10", "--json", "rows.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    with subprocess.Popen([COMMAND, *words], **pipes) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "rows.json").exists() or not json.loads((tmp_path / "rows.json").read_text())["rows"]:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=30)
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert process.returncode == 130
    assert not rows["complete"]
    assert rows["chosen"] is None
    assert said == f"levelflow: interrupted; {len(rows['rows'])} rows are complete\n"
    assert all(any(text.startswith(row["name"]) for text in printed.splitlines()) for row in rows["rows"])


def test_seeds_that_change_nothing_count_once(tmp_path):
    alone = Scenario("line", "20 s", sample="100 ms", profile="paper").link("A", "B", "5 Mb/s", "5 ms", duplex=True)
    text = alone.flow("x", "newreno", "A", "B", rtt="50 ms").to_toml()
    done, _, rows = asked(tmp_path, "--seeds", "3", "--flows", "1", "--rtt", "50 ms", text=text)
    assert "batch means within one run" in done.stdout
    assert "3 seeds give 1 different run in some rows; equal runs count once" in done.stdout
    assert rows["C R"]["loss_half"] > 0
