"""Any command line of `levelflow theory` gives a result, or a one-line error and exit status 2."""

import click
import pytest
from click.testing import CliRunner
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from test_bad_input import BAD, assert_refused

from levelflow import ScenarioError, cli
from levelflow.cli.theory import theory
from levelflow.theory.errors import TheoryError

runner = CliRunner()
COMMANDS = {name: command for name, command in theory.commands.items() if command.params}
#: Valid arguments of each command.
GOOD = {
    "check": ["two-flows"],
    "maxmin": ["two-flows"],
    "num": ["two-flows", "--exponent", "0"],
    "bottlenecks": ["two-flows"],
    "fluid": ["two-flows", "--set", "duration=2 s"],
    "stability": ["[[0.5, -0.8], [0.3, 0.4]]"],
    "region": ["kelly"],
    "nyquist": ["rcp"],
    "phase": ["jetmax"],
    "norms": ["--count", "20"],
    "laws": [],
}
#: Errors about memory. Only a run needs memory, so `levelflow theory` accepts these inputs.
NEED_MEMORY = {"more flows than fit the memory", "windows larger than the memory"}
GARBAGE = [
    "",
    "nan",
    "inf",
    "-1",
    "0",
    "1e300",
    "no such thing",
    "[[1], [2, 3]]",
    "[]",
    "1,2,,3",
    "\n",
    "é",
    "[" * 300,
]
TAKING = [
    (name, parameter.opts[0])
    for name, command in COMMANDS.items()
    for parameter in command.params
    if parameter.param_type_name == "option" and not parameter.is_flag
]


def refusal(arguments):
    """Returns the error output of `main`; None if the command succeeds."""
    done = runner.invoke(cli.app, ["theory", *arguments], standalone_mode=False)
    if done.exception is None:
        assert done.stdout.strip()
        return None
    assert isinstance(done.exception, TheoryError | ScenarioError | click.UsageError), (arguments, done.exc_info)
    assert done.stdout == ""
    line = cli._line(done.exception)
    assert line.startswith("levelflow: ")
    assert "\n" not in line
    return line


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_command_has_an_answer_to_start_from():
    assert sorted(COMMANDS) == sorted(GOOD)
    for name, arguments in GOOD.items():
        assert refusal([name, *arguments]) is None


@pytest.mark.parametrize(("name", "option"), TAKING)
def test_garbage_in_an_option_gets_an_answer_or_one_line(name, option):
    garbage = ["x", "x.doc", "no/x.png"] if option == "--out" else GARBAGE  # few: pictures are slow
    lines = [refusal([name, *GOOD[name], f"{option}={value}"]) for value in garbage]
    assert any(lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_garbage_for_an_argument_gets_one_line(name):
    if len(GOOD[name]) % 2:
        assert all(refusal([name, value, *GOOD[name][1:]]) for value in GARBAGE if not value.startswith("-"))
    assert "o such option" in refusal([name, *GOOD[name], "--nothing"])
    assert "unexpected extra argument" in refusal([name, *GOOD[name], "one", "two"])


@examples(150)
@given(st.data())
def test_any_text_for_a_matrix_and_its_delays_gets_an_answer_or_one_line(data):
    number = st.sampled_from(["1", "0.5", "-0.3", "nan", "1e400", "'a'", "[]", "None", "1j", "", "True"])
    rows = data.draw(st.lists(st.lists(number, max_size=3), max_size=3))
    text = "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + data.draw(st.sampled_from(["]", "", "]]", ",]"]))
    delays = data.draw(st.none() | st.lists(number, max_size=3).map(",".join))
    refusal(["stability", text, *([] if delays is None else [f"--delays={delays}"])])


@examples(100)
@given(
    st.binary(max_size=40) | st.text("0123456789.,- e\n[]na", max_size=40).map(str.encode),
    st.sampled_from(["csv", "txt", "json"]),
)
def test_a_file_of_anything_gets_an_answer_or_one_line(content, kind):
    with open(f"m.{kind}", "wb") as file:
        file.write(content)
    refusal(["stability", f"m.{kind}"])


@pytest.mark.parametrize("name", ["check", "maxmin", "num", "bottlenecks"])
@pytest.mark.parametrize("kind", sorted(set(BAD) - NEED_MEMORY))
def test_a_bad_scenario_gets_one_line(name, kind, tmp_path):
    content, words = BAD[kind]
    (tmp_path / "s.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refusal([name, "s.toml", *GOOD[name][1:]])
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["theory", "norms", "--count", "many"], "'--count'"),
        (["theory", "norms", "--cuont", "3"], "o such option '--cuont'"),
        (["theory", "norns"], "o such command 'norns'"),
        (["theory", "stability"], "issing argument"),
        (["theory", "stability", "[[nan]]"], "needs"),
        (["theory", "num", "two-flows", "--exponent", "inf"], "exponent inf is not allowed"),
        (["list", "nothing"], "'laws', 'queues'"),
        (["run"], "issing argument 'SCENARIO'; see 'levelflow run --help'"),
    ],
)
def test_the_command_exits_with_status_2(levelflow, tmp_path, arguments, words):
    assert_refused(levelflow(*arguments), tmp_path, words)


def test_a_group_without_a_command_lists_its_commands(levelflow):
    for arguments in ([], ["theory"]):
        done = levelflow(*arguments)
        assert done.returncode == 2
        assert "Commands:" in done.stderr
