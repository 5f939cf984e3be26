"""Laws in Python: the same results as registered laws, errors with file and line, and runs repeated from results."""

import hashlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND

from levelflow import Result, Scenario, ScenarioError, Study
from levelflow.law import Ack, Law
from levelflow.lawfile import load
from levelflow.report.page import page
from levelflow.testing import LawTestError, check_law

HERE = Path(__file__).parent
TWINS = {"aimd": "pyaimd", "newreno": "pynewreno", "vegas": "pyvegas"}

TINY = """
from levelflow.law import Law


class Tiny(Law):
    def start(self):
        self.window = 4.0

    def on_ack(self, ack):
        {on_ack}

    def on_loss(self, loss):
        self.window = max(1.0, self.window / 2)

    def on_timeout(self, timeout):
        self.window = 1.0
"""


def network(loss=0.0, duration="20 s"):
    """Returns two flows of different round trips on one link, with congestion, and with losses on the wire."""
    scenario = Scenario("own", duration, sample="50 ms").link(
        "A", "B", "10 Mb/s", "10 ms", duplex=True, buffer="30 packets", loss=loss
    )
    scenario.law_file(HERE / "aimd_rate.py").law_file(HERE / "windows.py")
    for name, start in (("x", "0 s"), ("y", "3 s")):
        scenario.flow(name, "cubic", "A", "B", start=start, rtt="60 ms" if name == "x" else "150 ms")
    return scenario


def tiny(tmp_path, on_ack="self.window += 1 / self.window", **changes):
    path = tmp_path / "tiny.py"
    text = TINY.format(on_ack=on_ack)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def with_tiny(path, duration="2 s"):
    scenario = Scenario("tiny", duration).link("A", "B", "10 Mb/s", "10 ms", duplex=True, buffer="20 packets")
    return scenario.law_file(path).flow("x", "tiny", "A", "B")


def test_a_start_that_fails_for_a_parameter_is_refused_with_its_line(tmp_path):
    parameters = "    class Params:\n        first: float = 4.0\n\n    def start(self):\n        self.window = "
    path = tiny(tmp_path)
    text = path.read_text().replace(
        "    def start(self):\n        self.window = 4.0", f"    @dataclass\n{parameters}8 / self.params.first"
    )
    path.write_text("from dataclasses import dataclass\n" + text)
    scenario = with_tiny(path).law("tiny", first=0)
    with pytest.raises(ScenarioError, match=r"^tiny.py, line 12, in start: ZeroDivisionError"):
        scenario.run()


def test_a_law_with_a_second_name_and_a_seeded_generator_is_accepted(tmp_path):
    path = tiny(tmp_path)
    text = path.read_text().replace(
        "        self.window = 4.0",
        "        self.draw = np.random.Generator(np.random.PCG64(self.flow.seed))\n        self.window = 4.0",
    )
    path.write_text(f"import numpy as np\n{text}\n\nSame = Tiny\n")
    assert with_tiny(path).run().summary["flows"][0]["goodput_bps"] > 1e6


def test_the_page_of_a_result_has_the_law_and_a_command_with_its_file(tmp_path):
    result = with_tiny(tiny(tmp_path)).run(out=tmp_path / "result")
    text = page(result, "")
    assert "--law-file tiny.py" in text
    assert "class Tiny(Law)" in text
    assert "law_files" not in text


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("law", TWINS)
def test_a_law_in_python_has_the_trace_of_the_registered_law(law, loss):
    """The oracle is the Rust code. Losses of 20 % cause timeouts."""
    results = []
    for name in (law, TWINS[law]):
        scenario = network(loss).set("flow.*.law", name)
        if law == "aimd":
            scenario.law(name, initial_rate="1 Mb/s", alpha="100 kb/s")
        elif name == law:
            scenario.law(name, paced=False)  # a law in Python that sets no rate is not paced
        results.append(scenario.run())
    registered, own = results
    assert own.flows.equals(registered.flows)
    assert own.links.equals(registered.links)
    losses = [flow["loss"] for flow in registered.summary["flows"]]
    assert law == "vegas" or all(found > 0 for found in losses), losses  # Vegas alone does not fill the buffer


def test_own_and_registered_laws_share_a_network():
    scenario = network().set("flow.x.law", "pynewreno").set("flow.y.law", "newreno").law("newreno", paced=False)
    registered = network().set("flow.*.law", "newreno").law("newreno", paced=False).run()
    assert scenario.run(threads=4).flows.equals(registered.flows)


@pytest.mark.parametrize("file", ["aimd_rate.py", "windows.py"])
def test_the_oracles_have_the_properties_of_laws(file):
    check_law(HERE / file)


def test_a_result_has_the_text_of_the_law_and_repeats_without_the_file(tmp_path):
    path = tiny(tmp_path)
    scenario = with_tiny(path)
    result = scenario.run(out=tmp_path / "result")
    path.unlink()
    loaded = Result.load(tmp_path / "result")
    (entry,) = loaded.manifest["raw"]["law_files"]
    assert entry["name"] == "tiny.py"
    assert entry["sha256"] == hashlib.sha256(entry["source"].encode()).hexdigest()
    assert Scenario.from_result(loaded).run().flows.equals(result.flows)
    entry["source"] += "\n"
    with pytest.raises(ScenarioError, match="does not have the recorded SHA-256"):
        Scenario.from_result(loaded).run()


@pytest.mark.parametrize(
    ("on_ack", "line"),
    [
        ("1 / (ack.now < 1)", "tiny.py, line 10, in on_ack: ZeroDivisionError: division by zero (at 1.0"),
        ("self.window = float('nan')", "tiny.py, line 9, after on_ack: window is nan; allowed: numbers of at least 0"),
        ("self.rate = 0", "tiny.py, line 9, after on_ack: rate is 0; allowed: numbers of at least 1, in bit/s"),
        ("self.window = None", "tiny.py, line 9, after on_ack: neither rate nor window is set"),
        ("raise SystemExit(3)", "tiny.py, line 10, in on_ack: SystemExit: 3"),
    ],
)
def test_an_exception_ends_the_run_with_one_line_and_without_files(on_ack, line, tmp_path, levelflow, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.toml").write_text(with_tiny(tiny(tmp_path)).to_toml(), encoding="utf-8")
    tiny(tmp_path, on_ack)
    done = levelflow("run", "net.toml", "--law-file", "tiny.py", "--out", "result", "--no-plots")
    assert done.returncode == 2
    assert done.stderr.startswith(f"levelflow: {line}")
    assert done.stderr.count("\n") == 1
    assert not Path("result").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class Tiny(Law):": "class Tiny(Law)"}, "tiny.py, line 5: expected ':'"),
        ({"self.window = 4.0": "self.window = four"}, "tiny.py, line 7, in start: NameError: name 'four' is not"),
        ({"def on_timeout": "def on_time"}, "tiny.py, class Tiny: has no on_timeout; needs on_ack, on_loss"),
        ({"class Tiny": "class Cubic"}, "tiny.py, class Cubic: cubic is the name of a registered law"),
        ({"(Law)": ""}, "tiny.py: has no law; needs a class that inherits from levelflow.law.Law"),
        ({"from levelflow": "import time\nfrom levelflow"}, "tiny.py, line 2: imports time, which reads a clock"),
        ({"from levelflow": "import nothing\nfrom levelflow"}, "tiny.py, line 2: ModuleNotFoundError"),
        ({"from levelflow": "import random\nx = random.random()\nfrom levelflow"}, "tiny.py, line 3: random.random"),
    ],
)
def test_a_law_file_with_a_mistake_is_refused_with_its_line(changes, message, tmp_path):
    with pytest.raises(ScenarioError) as refused:
        with_tiny(tiny(tmp_path, **changes))
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("law.pyvegas.alpah", 1, '"alpah" is not known here; did you mean "alpha"?'),
        ("law.pyvegas.alpha", -1, "-1 is out of range"),
        ("law.pyaimd.alpha", 5, "a rate"),
        ("law.pyvegas.alpha", 9, "flow 1 (x), law: pyvegas: beta must be at least alpha"),
        ("flow.x.law", "pyvega", 'did you mean "pyvegas"?'),
    ],
)
def test_a_wrong_name_or_parameter_is_refused(path, value, message):
    scenario = network().set("flow.*.law", "pyvegas").set(path, value)
    with pytest.raises(ScenarioError) as refused:
        scenario.resolve()
    assert message in str(refused.value)


def test_a_scenario_file_or_another_program_cannot_name_code(tmp_path):
    path = tiny(tmp_path)
    file = tmp_path / "net.toml"
    file.write_text('law_files = ["tiny.py"]\n' + with_tiny(path).to_toml(), encoding="utf-8")
    with pytest.raises(ScenarioError, match="a scenario file cannot name code; use --law-file FILE"):
        Scenario.load(file)
    scenario = with_tiny(path)
    scenario.reads_files = False  # as the server of the lab does
    with pytest.raises(ScenarioError, match="code of another program does not run here"):
        scenario.resolve()


def test_a_study_varies_a_law_and_its_parameters(tmp_path):
    (tmp_path / "net.toml").write_text(with_tiny(tiny(tmp_path), "1 s").to_toml(), encoding="utf-8")
    tables = {
        "study": {"name": "own", "scenario": str(tmp_path / "net.toml"), "replications": 2},
        "axis": [{"name": "law", "path": "flow.*.law", "values": ["tiny", "newreno"]}],
    }
    found = Study(tables, law_files=[tmp_path / "tiny.py"]).run(tmp_path / "study", workers=2, cache=False)
    assert found.failures == ()
    goodputs = found.rows.filter(metric="goodput_bps", of="run").sort("point")["value"]
    assert goodputs.len() == 4
    assert all(value > 1e6 for value in goodputs)
    tiny(tmp_path, "self.window += 2 / self.window")
    with pytest.raises(ScenarioError, match="contains another study"):
        Study(tables, law_files=[tmp_path / "tiny.py"]).run(tmp_path / "study", workers=1, cache=False)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Kept.shared += 1\n        self.window = Kept.shared % 7 + 1", "sets another rate or window"),
        ("self.window = hidden.random() + 1", "sets another rate or window"),
        ("self.window -= 1", "window is -"),
        ("self.window = 1 / ack.acked", "ZeroDivisionError"),
    ],
)
def test_the_check_finds_laws_that_break_a_property(body, message):
    names = {"Law": Law, "hidden": random.Random(1)}
    exec(
        "class Kept(Law):\n    shared = 0\n    def start(self):\n        self.window = 4.0\n"
        f"    def on_ack(self, ack):\n        {body}\n"
        "    def on_loss(self, loss): pass\n    def on_timeout(self, timeout): pass\n",
        names,
    )
    with pytest.raises(LawTestError, match=message):
        check_law(names["Kept"])


def test_a_law_draws_from_its_seed(tmp_path):
    path = tmp_path / "tiny.py"
    text = TINY.format(on_ack="self.window = 1 + 9 * self.draw.random()")
    text = text.replace("from levelflow", "import random\nfrom levelflow").replace(
        "    def start(self):",
        "    draws = True\n\n    def start(self):\n        self.draw = random.Random(self.flow.seed)",
    )
    path.write_text(text, encoding="utf-8")
    one, same, other = (with_tiny(path).set("seed", seed).run().flows for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    check_law(load("tiny.py", text)[0].kind)


def test_ctrl_c_ends_a_run(tmp_path):
    (tmp_path / "net.toml").write_text(with_tiny(tiny(tmp_path), "100000 s").to_toml(), encoding="utf-8")
    command = [COMMAND, "run", "net.toml", "--law-file", "tiny.py", "--out", "result", "--no-plots"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "result" / "manifest.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 128 + signal.SIGINT, said
    assert "is complete up to then" in said
    assert json.loads((tmp_path / "result" / "manifest.json").read_text())["status"] == "partial"


def test_an_event_can_be_made_for_a_test():
    ack = Ack(now=1.0, acked=2)
    assert (ack.now, ack.acked, ack.recovering) == (1.0, 2, False)
    assert "acked: 2" in repr(ack)
