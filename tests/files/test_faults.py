"""Kills, full disks and losses of power at each call that changes the disk (`disk.c`)."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FULL, in_full, lack

HERE = Path(__file__).parent

SHORT = """
name = "{name}"
duration = "{duration}"
sample = "50 ms"
[[link]]
from = "A"
to = "B"
capacity = "10 Mb/s"
delay = "5 ms"
buffer = "1 BDP"
duplex = true
[[flow]]
name = "x"
law = "cubic"
from = "A"
to = "B"
"""
STUDY = """
[study]
name = "s"
scenario = "new.toml"
replications = 2
[[axis]]
path = "link.A->B.delay"
values = ["5 ms", "6 ms"]
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Returns the compiled library."""
    if sys.platform != "linux" or not shutil.which("cc"):
        lack(["cc"], "it needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("library") / "disk.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, HERE / "disk.c", "-ldl", "-pthread"],
        check=True,
    )
    return library


@pytest.fixture(scope="module")
def disk(library, tmp_path_factory):
    """Yields a function that executes a request in the harness."""
    folder = tmp_path_factory.mktemp("disk")
    keep = folder / "keep"
    keep.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(library), "XDG_CACHE_HOME": str(folder / "cache")}
    words = [sys.executable, HERE / "harness.py", folder / "out", folder / "err"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
    ) as process:

        def ask(place, *words, mode="count", at=0, **others):
            request = {"words": words, "folder": str(place), "below": str(place), "mode": mode, "at": at, **others}
            request["keep"] = str(keep)
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def digest(folder):
    """Returns the hashes of the visible files below a folder, by name."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    found = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return {name: value for name, value in found.items() if not any(part[0] == "." for part in name.split("/"))}


def points(calls, sample, most=None):
    """Returns the calls at which a fault is injected: all, or `most`, in full tests, otherwise a sample over the whole
    command.
    """
    if FULL:
        sample = most or calls
    if calls <= sample:
        return range(1, calls + 1)
    return sorted({1 + round((step + 0.5) * (calls - 1) / sample) for step in range(sample)})


class Command:
    """A command, in a folder that `prepare` fills. Faults are injected at `sample` calls.

    Full tests inject faults at `most` calls; None for all calls.
    """

    def __init__(self, words, produced, prepare=(), extra=None, sample=2, most=None):
        self.words, self.produced, self.prepared = words, produced, prepare
        self.extra, self.sample, self.most = extra or {}, sample, most

    def prepare(self, disk, folder):
        """Fills a new folder with the inputs of the command, and returns it."""
        folder.mkdir()
        for name, duration in (("old", "0.5 s"), ("new", "0.3 s")):
            (folder / f"{name}.toml").write_text(SHORT.format(name=name, duration=duration))
        for name, text in self.extra.items():
            (folder / name).write_text(text)
        for words in self.prepared:
            done = disk(folder, *words)
            assert done["status"] == 0, done
        return folder


RUN = ("run", "new.toml", "--out", "o", "--no-plots")
OLD = ("run", "old.toml", "--out", "o", "--no-plots")
OTHER = ("run", "old.toml", "--out", "p", "--no-plots")
STUDYING = ("study", "STUDY.toml", "--no-cache", "--no-plots", "--scheduler", "threads", "--workers", "1")
OLD_STUDY = ("study", "OLD.toml", *STUDYING[2:])
COMMANDS = {
    "run": Command(RUN, ["o"], sample=3),
    "run over a result": Command(RUN, ["o"], [OLD], sample=8),
    "study": Command(STUDYING, ["results/s/study.json"], extra={"STUDY.toml": STUDY}),
    "study over a study": Command(
        (*STUDYING, "--replace"),
        ["results/s/study.json"],
        [OLD_STUDY],
        extra={"STUDY.toml": STUDY, "OLD.toml": STUDY.replace("new.toml", "old.toml")},
        sample=4,
    ),
    "convergence": Command(
        ("convergence", "run", "jetmax", "--networks", "1", "--family", "chain", "--workers", "1", "--json", "r.jsonl"),
        ["r.jsonl"],
    ),
    "topology": Command(("topology", "star:4", "--out", "t.toml", "--replace"), ["t.toml"]),
    "compare": Command(("compare", "o", "p", "--out", "c.png"), ["c.png", "o", "p"], [OLD, OTHER]),
    # A figure takes seconds, and the harness measures it twice per call.
    "reproduce": Command(
        ("reproduce", "maxnet-start", "--resume", "--workers", "1", "--json", "c.json"), ["c.json"], most=6
    ),
}


def copied(folder, to):
    return Path(shutil.copytree(folder, to))


def output(folder, command):
    """Returns what a command has produced, by name."""
    found = {}
    for name in command.produced:
        path = folder / name
        found |= digest(path) if path.is_dir() else {name: path.read_bytes() if path.exists() else None}
    return found


def loaded(disk, folder, name="o"):
    """Loads a result in the harness and returns its description."""
    done = disk(folder, load=name)
    assert done["status"] == 0, done["err"]
    return json.loads(done["out"])


def assert_loadable(disk, folder, over_a_result):
    """Asserts that a result is the old one, the new one, or absent, and that its rows fit its time."""
    found = loaded(disk, folder)
    if "refused" in found:
        assert not over_a_result, found
        assert "not a result directory" in found["refused"], found
        return
    if over_a_result:
        assert found["status"] == "complete", found
    if found["status"] == "complete":
        assert found["has_summary"], found
        assert found["simulated_s"] == {"old": 0.5, "new": 0.3}[found["name"]]
    assert found["flows"] > 0
    assert found["links"] == 2 * found["flows"], found
    assert found["last_s"] <= found["simulated_s"] < found["last_s"] + 0.1, found


def assert_study(disk, tmp_path, folder, wanted):
    """Asserts that a directory has the old study with all its runs, or the new one."""
    place, old = folder / "results/s", digest(tmp_path / "before/results/s")
    if (place / ".commit/study.json").exists() or digest(place)["study.json"] != old["study.json"]:
        copy = copied(folder, tmp_path / "copy")
        done = disk(copy, *STUDYING)
        assert done["status"] == 0, done
        assert output(copy, COMMANDS["study over a study"]) == wanted
        shutil.rmtree(copy)
    else:
        assert digest(place) == old


def hits(disk, tmp_path, command, sample):
    """Yields the calls at which a fault is injected, each with a new folder for the command and the expected output."""
    before = command.prepare(disk, tmp_path / "before")
    whole = copied(before, tmp_path / "whole")
    done = disk(whole, *command.words)
    assert done["status"] == 0, done
    wanted = output(whole, command)
    assert None not in wanted.values()
    for at in points(done["calls"], sample, command.most):
        folder = copied(before, tmp_path / str(at))
        yield at, folder, wanted
        shutil.rmtree(folder, ignore_errors=True)


# **Invariant** (Results): after a kill at any call that changes the disk, and after a loss of power there, a result is
# the earlier one, the new one or absent, and the same command succeeds. See `test_a_full_disk_keeps_the_old_result`.
@pytest.mark.parametrize(
    "power", [pytest.param(False, id="kill", marks=pytest.mark.full), pytest.param(True, id="power loss")]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_at_any_call_loses_nothing(disk, tmp_path, name, power):
    command = COMMANDS[name]
    for at, folder, wanted in hits(disk, tmp_path, command, command.sample):
        killed = disk(folder, *command.words, mode="kill", at=at, power=power)
        assert killed["status"] == -9, killed
        if name.startswith("run"):
            assert_loadable(disk, folder, "over" in name)
        if name == "study over a study":
            assert_study(disk, tmp_path, folder, wanted)
        again = disk(folder, *command.words)
        assert again["status"] == 0, (at, again)
        assert output(folder, command) == wanted, at


@pytest.mark.parametrize("error", ["ENOSPC", in_full("EDQUOT"), in_full("EROFS")])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_keeps_the_old_result(disk, tmp_path, name, error):
    command = COMMANDS[name]
    for at, folder, wanted in hits(disk, tmp_path, command, -(-command.sample // 2)):
        failed = disk(folder, *command.words, mode="fail", at=at, error=error)
        if failed["status"]:
            assert failed["status"] == 2, (at, failed)
            lines = failed["err"].splitlines()
            assert lines, at
            assert lines[-1].startswith("levelflow: "), (at, failed["err"])
            assert "Traceback" not in failed["err"], (at, failed["err"])
        else:
            assert output(folder, command) == wanted, at
        if name.startswith("run"):
            assert_loadable(disk, folder, "over" in name)
        again = disk(folder, *command.words)
        assert again["status"] == 0, (at, again)
        assert output(folder, command) == wanted, at


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "topology"])
def test_a_removed_directory_ends_a_command_with_one_line(disk, tmp_path, name):
    command = COMMANDS[name]
    for at, folder, wanted in hits(disk, tmp_path, command, command.sample):
        gone = disk(folder, *command.words, mode="remove", at=at)
        if gone["status"] == 0:  # the command creates its directory again, or has already written its last byte
            found = output(folder, command)
            assert found == wanted or not any(found.values()), at
        else:
            assert gone["status"] == 2, (at, gone)
            assert gone["err"].splitlines()[-1].startswith("levelflow: "), (at, gone["err"])
        assert "Traceback" not in gone["err"], (at, gone["err"])


@pytest.mark.real_time
@pytest.mark.needs("root")
def test_a_killed_abs_leaves_a_limit_that_can_be_restored(library):
    net = os.environ.get("LEVELFLOW_NET", "")
    if not Path(net).is_file():
        lack(["levelflow-net"], "LEVELFLOW_NET does not name the program")
    words = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 1000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as namespace:
        try:
            assert namespace.stdout.readline() == "ready\n"
            assert_limits_are_restored(library, net, namespace.pid)
        finally:
            namespace.kill()


def assert_limits_are_restored(library, net, namespace):
    inside = ["nsenter", f"--net=/proc/{namespace}/ns/net"]

    def run(*words):
        return subprocess.run([*inside, *words], check=False, capture_output=True, text=True, timeout=60)

    for line in (
        "ip link add lf0 type veth peer name lf1",
        "ip link set lf0 up",
        "tc qdisc replace dev lf0 root handle 1: bfifo limit 50000",
    ):
        done = run(*line.split())
        assert done.returncode == 0, done.stderr
    options = {"--dev": "lf0", "--loss": "0.01", "--capacity": "1 Mb/s", "--every": "100 ms", "--duration": "1.2 s"}
    command = [net, "abs", "--quiet", *(word for option in options.items() for word in option)]
    restore = [net, "abs", "--restore", "--dev", "lf0"]
    queue = ["tc", "qdisc", "show", "dev", "lf0"]
    limit = run(*queue).stdout

    def killed(at):
        below = {"DISK_BELOW": "/run/levelflow", "DISK_KILL_AT": str(at), "LD_PRELOAD": str(library)}
        return run("env", *(f"{name}={value}" for name, value in below.items()), *command)

    whole = killed(0)
    assert whole.returncode == 0, whole.stderr
    calls = int(whole.stderr.split("calls: ")[1])
    assert calls > 10
    changed = 0
    for at in points(calls, 5):
        done = killed(at)
        # A run may have fewer calls than the first one.
        assert done.returncode in (-9, 137, 0), (at, done.stderr)
        changed += run(*queue).stdout != limit
        restored = run(*restore)
        assert run(*queue).stdout == limit, (at, restored.stderr)
        again = run(*command)
        assert again.returncode == 0, (at, again.stderr)
        assert run(*queue).stdout == limit, at
    assert changed
