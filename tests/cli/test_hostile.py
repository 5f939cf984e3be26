"""Hostile inputs: names that are paths, endless files, secret files, damaged results, unusable disks and caches."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import COMMAND, network

from levelflow import lab
from levelflow.importing.transfers import READERS

STUDY = """
[study]
name = {name}
scenario = "s.toml"
replications = 1
[[axis]]
path = "seed"
values = [1]
"""
SECRET = "root:$6$secret:19000:0:99999:7:::"


def assert_one_line(done, *words):
    assert done.returncode == 2
    assert done.stderr.startswith("levelflow: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


def write(folder, **values):
    scenario = network(duration="2 s")
    for path, value in values.items():
        scenario.set(path.replace("_", "."), value)
    (folder / "s.toml").write_text(scenario.to_toml())


# **Invariant** (Results): a name that becomes a path leads to no other directory.
@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "..", ".hidden", "a\u202eb", ""])
def test_the_name_of_a_study_leads_to_no_other_directory(levelflow, tmp_path, name):
    write(tmp_path)
    (tmp_path / "STUDY.toml").write_text(STUDY.format(name=json.dumps(name)))
    assert_one_line(levelflow("study", "STUDY.toml", "--no-cache", "--no-plots"), "study, name: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["STUDY.toml", "s.toml"]


# **Invariant** (Results): a file that a scenario names is regular and of bounded size, and no error has its content.
@pytest.mark.parametrize("value", ["link_1_changes", "flow_x1_size"])
@pytest.mark.parametrize(
    ("file", "said"),
    [("/dev/./zero", "not a regular file"), ("a.pipe", "not a regular file"), ("/usr", "is a directory")],
)
def test_a_named_file_without_end_is_refused(process, tmp_path, value, file, said):
    os.mkfifo(tmp_path / "a.pipe")
    write(tmp_path, **{value: {"csv" if "changes" in value else "cdf": file}})
    assert_one_line(process("run", "s.toml"), said)


@pytest.mark.parametrize("key", ["csv", "mahimahi", "cdf", "htsim_ps", "htsim_us", "hpcc"])
def test_an_error_has_nothing_of_a_secret_file(levelflow, tmp_path, key):
    (tmp_path / "secret.txt").write_text(f"{SECRET}\nbin:*:19000::::::\n")
    if key in READERS:
        flow = f'name = "x1"\nlaw = "cubic"\ntransfers = {{ {key} = "secret.txt" }}\n'
        link = 'from = "h0"\nto = "h1"\ncapacity = "1 Gb/s"\ndelay = "1 us"\n'
        (tmp_path / "s.toml").write_text(f'name = "s"\nduration = "1 s"\n[[flow]]\n{flow}[[link]]\n{link}')
    else:
        write(tmp_path, **{"flow_x1_size" if key == "cdf" else "link_1_changes": {key: "secret.txt"}})
    done = levelflow("run", "s.toml")
    assert_one_line(done, "secret.txt")
    assert "secret:" not in done.stderr
    assert "root" not in done.stderr


def test_a_web_page_names_no_files(tmp_path):
    file = tmp_path / "sizes.csv"
    file.write_text("1000,1\n")
    named = (
        ("link.1.changes", {"csv": str(file)}),
        ("flow.x1.size", {"cdf": str(file)}),
        ("flow.x1.transfers", {"hpcc": str(file)}),
    )
    for key, value in named:
        said = lab.predict(json.dumps(network().set(key, value).raw).encode())[1]["wrong"]
        assert "files are not read here" in said


def test_many_mistakes_are_counted(levelflow, tmp_path):
    write(tmp_path)
    text = (tmp_path / "s.toml").read_text()
    (tmp_path / "s.toml").write_text("".join(f"unknown{i} = 1\n" for i in range(3000)) + text)
    done = levelflow("run", "s.toml")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 21
    assert "s.toml: line 1, " in lines[0]
    assert lines[-1] == "levelflow: and 2980 more mistakes"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("flows.parquet", b"no table"),
        ("flows.parquet", None),
        ("manifest.json", b"{}"),
        ("manifest.json", b"[" * 100_000),
        ("summary.json", b'{"flows": 3}'),
        ("summary.json", b'{"settled": true, "flows": [{"name": "x1"}], "links": []}'),
    ],
)
def test_a_damaged_result_gets_one_line(levelflow, tmp_path, name, content):
    for result in ("a", "b"):
        network(duration="2 s").run(out=tmp_path / result)
    if content is None:
        (tmp_path / "b" / name).unlink()
    else:
        (tmp_path / "b" / name).write_bytes(content)
    assert_one_line(levelflow("compare", "a", "b"), "b: ")


def test_a_result_of_pipes_is_refused(process, tmp_path):
    network(duration="2 s").run(out=tmp_path / "a")
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "manifest.json")
    assert_one_line(process("compare", "a", "b"), "b: not a result directory")


def test_a_full_standard_output_gets_one_line(tmp_path):
    write(tmp_path, duration="4 s")
    words = [COMMAND, "run", "s.toml", "--no-plots"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert_one_line(done, "no space left on device")


def test_a_cache_that_cannot_be_used_is_a_warning(levelflow, tmp_path, monkeypatch):
    write(tmp_path)
    (tmp_path / "STUDY.toml").write_text(STUDY.format(name='"s"'))
    (tmp_path / "cache/levelflow").mkdir(parents=True)
    (tmp_path / "cache/levelflow/runs.sqlite").write_text("no data base" * 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = levelflow("study", "STUDY.toml", "--no-plots", "--scheduler", "threads")
    assert done.returncode == 0, done.stderr
    assert "levelflow: warning: " in done.stderr
    assert "the cache of runs is not used: file is not a database" in done.stderr


def test_a_study_ends_on_sigterm_as_on_ctrl_c(tmp_path):
    write(tmp_path, duration="1000 s")
    values = "values = [" + ", ".join(map(str, range(200))) + "]"
    (tmp_path / "STUDY.toml").write_text(STUDY.format(name='"s"').replace("values = [1]", values))
    words = [COMMAND, "study", "STUDY.toml", "--no-cache", "--no-plots", "--workers", "1"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as study:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("results/s/runs/*/*.parquet")):
            assert study.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        study.send_signal(signal.SIGTERM)
        said = study.communicate(timeout=60)[1]
    assert study.returncode == 128 + signal.SIGTERM
    assert said == ("levelflow: interrupted; finished runs are stored, and the same command resumes the study\n")
