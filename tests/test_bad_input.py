import pytest

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
    "misspelt key": (GOOD.replace("capacity", "capacty"), ["link 1", "capacty", "capacity"]),
    "missing unit": (GOOD.replace("10 Mb/s", "10"), ["link 1", "R1->R2", "capacity", "Mb/s"]),
    "negative rate": (GOOD.replace("10 Mb/s", "-10 Mb/s"), ["link 1", "capacity"]),
    "path over links that do not exist": (GOOD + 'path = ["R1", "R3", "R2"]', ["flow 1", "x1", "R3"]),
    "flow with no route": (GOOD.replace('to = "R2"\ncap', 'to = "R3"\ncap'), ["flow 1", "x1", "R2"]),
    "parameter out of range": (GOOD + "[law.jetmax]\ntau = 2.5", ["jetmax", "tau", "2"]),
    "unknown law": (GOOD.replace("jetmax", "jetmix"), ["x1", "jetmix", "jetmax"]),
    "unknown distribution": (
        GOOD + 'size = { cdf = "web-serch" }',
        ["flow 1 (x1), size: no distribution 'web-serch' in scenarios/traffic", "did you mean 'web-search'?"],
    ),
    "distribution that is not there": (GOOD + 'size = { cdf = "my.csv" }', ["flow 1 (x1), size: my.csv: no such file"]),
    "truncated file": (GOOD[: GOOD.index("Mb/s")], ["line 7, column"]),
    "empty file": ("", ["name"]),
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
        (["two-flows", "--set", "flow.x9.start=1"], ["flow.x9.start", "allowed: x1, x2"]),
        (["two-flows", "--set", "flow.x1.start"], ["needs PATH=VALUE"]),
        (["two-flows", "--set", "flow.x1.start=tomorrow"], ["flow 1", "start", "tomorrow"]),
    ],
)
def test_a_bad_command_line_gets_one_line_and_no_results(levelflow, tmp_path, arguments, words):
    assert_refused(levelflow("run", *arguments), tmp_path, *words)


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--workers", "0"], ["no-such-claim"], ["--testbed", "--full"]])
def test_bad_arguments_of_reproduce_get_one_line(levelflow, tmp_path, arguments):
    assert_refused(levelflow("reproduce", *arguments), tmp_path)


def test_a_directory_that_holds_something_else_is_left_alone(levelflow, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    assert_refused(levelflow("run", "two-flows", "--out", "mine"), tmp_path, "mine: not empty")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
