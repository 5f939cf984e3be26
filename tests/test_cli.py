import json
import re
import subprocess
import sys

import pytest
from tools import CHECKOUT
from typer.testing import CliRunner

from levelflow import Result
from levelflow.cli import app

cli = CliRunner()


def test_a_run_ends_with_tables_and_pictures(process, tmp_path):
    done = process("run", "two-flows", "--set", "duration=5 s", "--set", 'flow.x1.start="1 s"')
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "two-flows-seed1"
    assert re.search(r"^x1 +jetmax +1 ", done.stdout, re.MULTILINE)
    assert re.search(r"^R1->R2 +\d", done.stdout, re.MULTILINE)
    assert {path.name for path in folder.glob("*.png")} == {"rates.png", "queues.png", "losses.png"}
    assert "results/two-flows-seed1/report.html" in done.stdout
    assert Result.load(folder).scenario["flows"][0]["start_s"] == 1


def test_json_is_the_summary_and_nothing_else(process, tmp_path):
    done = process("run", "two-flows", "--json", "--no-plots", "--seed", "3", "--out", "here")
    assert json.loads(done.stdout) == json.loads((tmp_path / "here" / "summary.json").read_text())
    assert not list((tmp_path / "here").glob("*.png"))
    assert Result.load(tmp_path / "here").manifest["seed"] == 3


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
    assert re.fullmatch(r"\d+\.\d+\.\d+ (release|debug)\n", cli.invoke(app, ["--version"]).stdout)


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
def test_list_names_what_there_is(kind, word):
    done = cli.invoke(app, ["list", kind])
    assert done.exit_code == 0
    assert word in done.stdout


def test_a_table_is_never_cut_off(process, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    piped = process("list", "scenarios").stdout.splitlines()
    for path in (CHECKOUT / "scenarios").glob("*.toml"):
        assert [line for line in piped if re.match(rf"{path.stem} .* {re.escape(str(path))} *$", line)]
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal = process("list", "scenarios").stdout.splitlines()
    assert len(terminal) > len(piped)
    assert "…" not in "".join(terminal)


def test_an_unknown_command_is_answered_with_the_nearest():
    done = cli.invoke(app, ["rnu"])
    assert done.exit_code == 2
    assert "'run'" in done.stderr


@pytest.mark.parametrize(("old", "new"), [("protocols", "laws"), ("sizers", "buffers")])
def test_an_old_name_works_with_a_note(process, old, new):
    done = [process("list", kind) for kind in (old, new)]
    assert done[0].stdout == done[1].stdout
    assert [run.stderr for run in done] == [f"levelflow: list {old} is now list {new}\n", ""]
