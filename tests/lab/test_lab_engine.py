"""The WebAssembly engine of the lab gives columns and counters that are bit-identical to the native engine's."""

import hashlib
import json
import subprocess

import numpy as np
import pytest
from conftest import lack
from tools import CHECKOUT

from levelflow import Scenario, ScenarioError, _core

LAB = CHECKOUT / "apps" / "lab"
PRESETS = sorted((LAB / "web" / "presets").glob("*.toml"))
#: Laws whose routers signal rates or use floating point, and laws that react to losses, delays, marks, delivery rates.
LAWS = ("jetmax", "rcp", "emkc", "sperc", "cubic", "vegas", "bbr")
KINDS = {"f8": np.float64, "u8": np.uint64, "u4": np.uint32, "i4": np.int32}

pytestmark = [pytest.mark.needs("node"), pytest.mark.usefixtures("built")]


@pytest.fixture(scope="module")
def built():
    if not (LAB / "page" / "engine.wasm").is_file():
        lack(["node"], "the lab is not built: `make lab`")


def digest(kind, data):
    values = np.frombuffer(data, KINDS[kind]).copy()
    if kind == "f8":
        values[np.isnan(values)] = np.nan
    return [values.size, hashlib.sha256(values.tobytes()).hexdigest()]


def native(text):
    try:
        simulation = _core.Simulation(text)
    except ScenarioError as error:
        return {"mistake": str(error)}
    simulation.advance(simulation.duration, 10**9)
    columns = {
        f"{table}.{name}": digest(*column) for table, of in simulation.take().items() for name, column in of.items()
    }
    return {"columns": columns, "summary": json.loads(simulation.summary())}


def in_page(texts):
    command = ["node", LAB / "tests" / "columns.mjs"]
    done = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def shortened(path):
    return Scenario.load(path).set("duration", "20 s")


# **Invariant** (The lab): columns and counters in the page equal those of a native run, bit by bit. Error messages are
# also the same. See `test_mistakes_in_a_page_are_those_of_the_command`.
@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_columns_in_a_page_are_the_native_ones(path):
    texts = [shortened(path).to_json()]
    for law in LAWS:
        scenario = shortened(path)
        for number in range(len(scenario.raw["flow"])):
            scenario.set(f"flow.{number + 1}.law", law)
        texts.append(scenario.to_json())
    for text, found in zip(texts, in_page(texts), strict=True):
        assert found == native(text), text
        assert found["columns"]["flows.t"][0] > 0


def test_mistakes_in_a_page_are_those_of_the_command():
    wrong = Scenario("wrong", "10 s").link("A", "B", "10 MB/s", "1 ms").link("B", "A", "1 Mb/s", "1 m")
    text = json.dumps(wrong.raw)
    (found,) = in_page([text])
    assert found == native(text)
    assert found["mistake"].count("\n") == 1
