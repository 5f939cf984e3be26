import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tools import CHECKOUT

from levelflow import Result
from levelflow.cli import app
from levelflow.cli.inspecting import KINDS
from levelflow.cli.running import directory
from levelflow.cli.show import show_table

cli = CliRunner()


def test_a_run_ends_with_tables_and_pictures(process, tmp_path):
    done = process("run", "two-flows", "--set", "duration=5 s", "--set", 'flow.x1.start="1 s"')
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "two-flows-duration=5s,flow.x1.start=1s-seed1"
    assert re.search(r"^x1 +jetmax +1 ", done.stdout, re.MULTILINE)
    assert re.search(r"^R1->R2 +\d", done.stdout, re.MULTILINE)
    assert {path.name for path in folder.glob("*.png")} == {"rates.png", "queues.png"}
    assert f"{folder.relative_to(tmp_path)}/report.html" in done.stdout
    assert Result.load(folder).scenario["flows"][0]["start_s"] == 1


def test_json_is_the_summary_and_nothing_else(levelflow, tmp_path):
    done = levelflow("run", "two-flows", "--json", "--no-plots", "--seed", "3", "--out", "here")
    assert json.loads(done.stdout) == json.loads((tmp_path / "here" / "summary.json").read_text())
    assert not list((tmp_path / "here").glob("*.png"))
    assert Result.load(tmp_path / "here").manifest["seed"] == 3


def test_runs_of_different_settings_are_kept_apart(levelflow, tmp_path):
    short = ("run", "two-flows", "--no-plots", "--set", "duration=1 s")
    for arguments in (short, (*short, "--set", "flow.x1.law=rcp"), (*short, "--seed", "2")):
        done = levelflow(*arguments)
        assert (done.returncode, "replaces" in done.stderr) == (0, False)
        assert "replaces" not in levelflow(*arguments).stderr  # the second run replaces an equal one
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "two-flows-duration=1s-seed1",
        "two-flows-duration=1s,flow.x1.law=rcp-seed1",
        "two-flows-duration=1s-seed2",
    }


def test_a_run_says_which_result_it_replaces(levelflow):
    done = [levelflow("run", "pair", "--no-plots", "--out", "here", "--set", f"duration={n} s") for n in (1, 2)]
    done.append(levelflow("run", "two-flows", "--no-plots", "--out", "here", "--seed", "4", "--set", "duration=1 s"))
    notes = [[line for line in run.stderr.splitlines() if "replaces" in line] for run in done]
    assert notes == [
        [],
        ["levelflow: here: replaces a result of pair with other values, seed 1"],
        ["levelflow: here: replaces a result of pair, seed 1"],
    ]


@given(st.lists(st.tuples(st.text(), st.text()).map("=".join), max_size=4))
def test_a_directory_has_a_short_name_that_any_file_system_takes(changes):
    name = directory("pair", changes, 1)
    assert re.fullmatch(r"pair(-[A-Za-z0-9.,=_-]{1,89})?-seed1", name)
    assert name == directory("pair", changes, 1)


def test_changes_that_look_alike_have_directories_of_their_own():
    changes = ["flow.x_1.law=rcp", "flow.x/1.law=rcp", *(f"flow.{'x' * 90}{n}.law=rcp" for n in range(3))]
    assert len({directory("pair", [change], 1) for change in changes}) == len(changes)
    assert directory("pair", ["seed=3", "name=pair"], 3) == "pair-seed3"


def test_help_loads_nothing_that_takes_long():
    code = """
import sys
from levelflow.cli import main
sys.argv = ["levelflow", "--help"]
try:
    main()
except SystemExit:
    print(sorted({"polars", "matplotlib", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def test_the_schema_is_json():
    assert "flow" in json.loads(cli.invoke(app, ["schema"]).stdout)["properties"]


def test_the_version_names_the_build():
    for option in ("--version", "-V"):
        assert re.fullmatch(r"levelflow \d+\.\d+\.\d+ (release|debug)\n", cli.invoke(app, [option]).stdout)


@pytest.mark.parametrize("command", [("run",), ("reproduce",), ("convergence", "search"), ("theory", "fluid")])
def test_help_names_values_as_the_reference_does(command):
    """Type names of Click, such as TEXT and PATH, do not describe a value."""
    shown = cli.invoke(app, [*command, "--help"]).stdout
    named = re.findall(r"^ +--([\w-]+) ([A-Z]+)(?= |$)", shown, re.MULTILINE)
    assert named
    assert not {"TEXT", "PATH", "INTEGER", "FLOAT", "FILENAME"} & {value for _, value in named}


@pytest.mark.parametrize("command", [(), ("run",), ("theory", "check"), ("reproduce",)])
def test_help_has_a_short_name(levelflow, command):
    short, long = (levelflow(*command, option) for option in ("-h", "--help"))
    assert short.returncode == 0
    assert short.stdout == long.stdout
    assert "--help" in short.stdout


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("laws", "jetmax"),
        ("queues", "codel"),
        ("queues", "BDP"),
        ("traffic", "poisson"),
        ("scenarios", "t1-rcp"),
        ("claims", "id"),
    ],
)
def test_list_prints_known_names(kind, word):
    done = cli.invoke(app, ["list", kind])
    assert done.exit_code == 0
    assert word in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_as_json_names_what_the_table_names(kind):
    listed = json.loads(cli.invoke(app, ["list", kind, "--json"]).stdout)
    table = cli.invoke(app, ["list", kind]).stdout
    assert len(listed) > 1
    for entry in listed:
        assert entry.get("name", next(iter(entry.values()))) in table


def test_a_table_is_never_cut_off(process, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    piped = process("list", "scenarios").stdout.splitlines()
    for path in (CHECKOUT / "scenarios").glob("*.toml"):
        assert [line for line in piped if re.match(rf"{path.stem} .* {re.escape(str(path))} *$", line)]
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal = process("list", "scenarios").stdout.splitlines()
    assert len(terminal) > len(piped)
    assert "…" not in "".join(terminal)


def test_names_in_tables_are_text(capsys):
    show_table("[x]", ["flow"], [[":x: [b]"]])
    assert capsys.readouterr().out.split() == ["[x]", "flow", ":x:", "[b]"]


def test_an_unknown_command_is_answered_with_the_nearest():
    done = cli.invoke(app, ["rnu"])
    assert done.exit_code == 2
    assert "'run'" in done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["list", "rules"], "'KIND': 'rules' is not one of 'laws',"),
        (["run", "t1-jetmax", "--seed", "x"], "'--seed': 'x' is not a valid integer;"),
        (["run", "t1-jetmax", "--seed", "-1"], "'--seed': -1 is not in the range x>=0;"),
    ],
)
def test_an_invalid_value_is_rejected_in_plain_words(levelflow, words, line):
    done = levelflow(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"levelflow: invalid value for {line}")


@pytest.mark.parametrize(
    ("words", "meant"), [(["list", "law"], "laws"), (["run", "t1-jetmax", "--width", "scren"], "screen")]
)
def test_a_word_that_is_not_allowed_is_answered_with_the_nearest(levelflow, words, meant):
    done = levelflow(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"; did you mean '{meant}'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("levelflow the", {"theory"}),
        ("levelflow theory ny", {"nyquist"}),
        ("levelflow run t1-j", {"t1-jetmax"}),
        ("levelflow run two-flows --no-p", {"--no-plots"}),
        ("levelflow list q", {"queues"}),
    ],
)
def test_bash_completes_commands_scenarios_and_options(tmp_path, words, offered):
    command = Path(sys.executable).with_name("levelflow")
    script = subprocess.run([command, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    shell = f"""{script}
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_levelflow_completion {command}
printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == offered


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_gets_a_script_that_asks_the_command(levelflow, shell):
    done = levelflow("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_LEVELFLOW_COMPLETE={shell}_complete" in done.stdout
