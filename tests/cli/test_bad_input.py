import polars as pl
import pytest

from levelflow import Result, Scenario, ScenarioError
from levelflow.report import series

GOOD = """
name = "n"
duration = "2 s"
[[link]]
from = "R1"
to = "R2"
capacity = "10 Mb/s"
delay = "10 ms"
duplex = true
[[flow]]
name = "x1"
law = "jetmax"
from = "R1"
to = "R2"
"""

BAD = {
    "misspelt key": (GOOD.replace("delay =", 'bufer = "64 kB"\ndelay ='), ["link 1", "bufer", "buffer"]),
    "missing unit": (GOOD.replace("10 Mb/s", "10"), ["line 7, link 1 (R1->R2), capacity: ", "Mb/s"]),
    "negative rate": (GOOD.replace("10 Mb/s", "-10 Mb/s"), ["link 1", "capacity"]),
    "path over links that do not exist": (GOOD + 'path = ["R1", "R3", "R2"]', ["flow 1", "x1", "R3"]),
    "flow with no route": (GOOD.replace('to = "R2"\ncap', 'to = "R3"\ncap'), ["flow 1", "x1", "R2"]),
    "parameter out of range": (GOOD + "[law.jetmax]\ntau = 2.5", ["jetmax", "tau", "2"]),
    "unknown law": (GOOD.replace("jetmax", "jetmix"), ["line 12, flow 1 (x1), law: ", "jetmix", "jetmax"]),
    "unknown distribution": (
        GOOD + 'size = { cdf = "web-serch" }',
        ["line 15, flow 1 (x1), size: no distribution 'web-serch' in scenarios/traffic", "did you mean 'web-search'?"],
    ),
    "distribution that is not there": (GOOD + 'size = { cdf = "my.csv" }', ["flow 1 (x1), size: my.csv: no such file"]),
    "truncated file": (GOOD[: GOOD.index("Mb/s")], ["line 7, column"]),
    "empty file": ("", ["name"]),
    "more flows than fit the memory": (
        GOOD + "count = 10000000",
        [
            "flow x1: 10000000 flows at once raise the demand to about",
            "memory_limit is 4 GB; reduce the demand, or raise the limit",
        ],
    ),
    "windows larger than the memory": (
        GOOD.replace("10 Mb/s", "100 kb/s").replace('"jetmax"', "{ scalable = { initial_window = 1e6 } }")
        + "count = 100",
        ["flow x1: 100 flows with 100000000 packets in flight at once"],
    ),
    "a number out of range": (GOOD + "count = 1" + 30 * "0", ["column 9: the number is out of range"]),
    "a name that no directory can bear": (
        GOOD.replace('"n"', f'"{300 * "n"}"'),
        ["name: has 300 bytes; allowed: up to 230"],
    ),
    "a list where a table stands": (GOOD.replace("[[link]]", "[link]"), ["link"]),
    "binary file": (b"\x7fELF\x00\xff\xfe", ["UTF-8"]),
}


def assert_refused(done, folder, *words):
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("levelflow: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not (folder / "results").exists()


def test_the_good_file_runs(levelflow, tmp_path):
    (tmp_path / "s.toml").write_text(GOOD)
    assert levelflow("run", "s.toml", "--no-plots").returncode == 0


# **Invariant** (Scenarios): bad input gives a one-line message with the value, its place and the allowed values. The
# exit status is 2, and no result directory is created. See `test_a_bad_command_line_gets_one_line_and_no_results`.
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_scenario_gets_one_line_and_no_results(levelflow, tmp_path, kind):
    content, words = BAD[kind]
    (tmp_path / "s.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_refused(levelflow("run", "s.toml"), tmp_path, "s.toml: ", *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.toml"], ["nothing.toml: no such file"]),
        (["."], ["."]),
        (["two-flow"], ["two-flow", "did you mean 'two-flows'?"]),
        (["two-flows", "--set", "flow.x9.start=1"], ["flow.x9.start", "did you mean 'x2'?"]),
        (["two-flows", "--set", "law.*.tau=1"], ["law.*.tau: * selects all entries of a list"]),
        (["two-flows", "--set", "flow.x1.start"], ["needs PATH=VALUE"]),
        (["two-flows", "--set", "link.R1-"], ["if the shell took > as a redirection, quote it", "or write link.R1:R2"]),
        (["two-flows", "--set", "link.R2:R1.delay=1 ms"], ["'R2:R1' is the reverse direction of 'R1->R2'"]),
        (["two-flows", "--set", "flow.x1.start=tomorrow"], ["flow 1", "start", "tomorrow"]),
    ],
)
def test_a_bad_command_line_gets_one_line_and_no_results(levelflow, tmp_path, arguments, words):
    assert_refused(levelflow("run", *arguments), tmp_path, *words)


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--workers", "0"], ["no-such-claim"], ["--repeats", "0"]])
def test_bad_arguments_of_reproduce_get_one_line(levelflow, tmp_path, arguments):
    assert_refused(levelflow("reproduce", *arguments), tmp_path)


# **Invariant** (Results): a directory that contains files other than those of a result is not modified.
def test_a_directory_that_holds_something_else_is_left_alone(levelflow, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    assert_refused(levelflow("run", "two-flows", "--out", "mine"), tmp_path, "mine: not empty")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("name", ["rates.pdf", "queues.png", "links.parquet", "report.html"])
def test_a_run_keeps_files_of_the_user_that_have_names_of_results(levelflow, tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    done = levelflow("run", "two-flows", "--out", "mine")
    assert "mine: not empty" in done.stderr
    assert (tmp_path / "mine" / name).read_text() == "mine"


def test_reading_leaves_a_commit_directory_that_no_run_has_written(tmp_path):
    (tmp_path / "mine/.commit").mkdir(parents=True)
    (tmp_path / "mine/.commit/notes").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.commit").symlink_to(tmp_path / "mine")
    for folder in ("mine", "other"):
        with pytest.raises(ScenarioError):
            Result.load(tmp_path / folder)
    assert (tmp_path / "mine/.commit/notes").read_text() == "mine"


def test_a_run_and_a_study_refuse_a_commit_directory_of_others_before_they_begin(levelflow, tmp_path):
    (tmp_path / "s.toml").write_text(GOOD)
    (tmp_path / "study.toml").write_text('[study]\nscenario = "s.toml"\n[[axis]]\npath = "seed"\nvalues = [1, 2]\n')
    for command in (["run", "s.toml", "--no-plots"], ["study", "study.toml"]):
        folder = tmp_path / command[0]
        (folder / ".commit").mkdir(parents=True)
        (folder / ".commit/manifest.json").write_text("mine")
        done = levelflow(*command, "--out", str(folder))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert ".commit" in done.stderr
        assert (folder / ".commit/manifest.json").read_text() == "mine"


def test_a_run_that_outgrows_its_memory_ends_in_one_line_and_keeps_what_it_has(levelflow, tmp_path):
    grows = GOOD.replace('"jetmax"', '{ cbr = { rate = "10 Gb/s" } }')
    (tmp_path / "s.toml").write_text('memory_limit = "50 MB"\nsample = "10 ms"\n' + grows)
    done = levelflow("run", "s.toml", "--no-plots")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "flow x1: after 0." in done.stderr
    assert "packets of 1 flows are in flight, but memory_limit is 50 MB" in done.stderr
    result = Result.load(tmp_path / "results" / "n-seed1")
    assert (result.manifest["status"], result.flows.height > 0) == ("partial", True)


CALM = 'profile = "paper"\n' + GOOD.replace("jetmax", "cbr")


@pytest.mark.parametrize(
    ("text", "arguments", "line"),
    [
        (CALM, ["--seed", "3"], "--seed: the scenario is not random, so all seeds give the same result"),
        (GOOD + 'start = "5 s"', [], "flow 1 (x1), start: it starts after the end of the run, 2 s, and sends nothing"),
        (
            'encapsulation = "none"\n' + GOOD + 'packet = "1 B"',
            [],
            "flow 1 (x1), packet: 1 B is less than the header of jetmax",
        ),
        (GOOD.replace("jetmax", "cubic"), [], "link R1->R2, buffer: it is unlimited, and cubic of flow x1 fills it"),
    ],
)
def test_implausible_values_are_warned_of_and_run(levelflow, tmp_path, text, arguments, line):
    (tmp_path / "s.toml").write_text(text)
    done = levelflow("run", "s.toml", "--no-plots", "--out", "r", *arguments)
    assert done.returncode == 0
    said, *more = done.stderr.splitlines()
    assert said.startswith(f"levelflow: warning: {line}")
    assert all("packets are queued at the end of the run" in other for other in more)
    summary = Result.load(tmp_path / "r").summary
    assert summary["random"] == (not arguments)
    assert len(summary["warnings"]) == len(more) + (0 if arguments else 1)


def test_a_scenario_as_meant_gets_no_warning(levelflow, tmp_path):
    (tmp_path / "s.toml").write_text(GOOD)
    assert not levelflow("run", "s.toml", "--no-plots", "--seed", "3").stderr.strip()


def test_a_link_without_a_router_says_what_it_dropped(tmp_path):
    text = GOOD.replace("jetmax", "cubic").replace('"10 ms"', '"10 ms"\nbuffer = "9 packets"', 1)
    (tmp_path / "s.toml").write_text(text)
    result = Scenario.load(tmp_path / "s.toml").run()
    link = result.links.filter(pl.col("link") == "R1->R2")
    assert link["dropped"].sum() > 0
    assert ((link["peak_loss"] > 0) == (link["dropped"] > 0)).all()
    assert 0 < result.summary["links"][0]["loss_max"] <= 1
    (curve,) = series.losses(result).curves
    assert (curve.name, max(curve.y) > 0) == ("R1->R2", True)
