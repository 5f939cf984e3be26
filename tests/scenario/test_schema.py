"""The published JSON Schema accepts valid scenarios, and rejects mistakes that editors should underline.

The schemas of records, from which `levelflow.records` is made, describe the output of the engine.
"""

import json
import tomllib

import jsonschema
import pytest
from tools import CHECKOUT

from levelflow import Scenario, _core, library

SCHEMA = json.loads(_core.schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FILES = sorted(
    path
    for folder in ("scenarios", "papers")
    for path in (CHECKOUT / folder).rglob("*.toml")
    if path.name != "claim.toml"
)


def good():
    return tomllib.loads((CHECKOUT / "scenarios" / "rcp-poisson.toml").read_text())


def test_the_schema_is_a_schema():
    VALIDATOR.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == VALIDATOR.META_SCHEMA["$id"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_scenario_validates(path):
    scenario = tomllib.loads(path.read_text())
    assert [error.message for error in VALIDATOR.iter_errors(scenario)] == []


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["duratoin"], "1 s"),
        (["link", 0, "capcity"], "1 Mb/s"),
        (["link", 0, "capacity"], "10 MB/s"),
        (["flow", 0, "strat"], "1 s"),
        (["flow", 0, "law"], "rpc"),
        (["flow", 0, "law"], {"rcp": {"alhpa": 0.4}}),
        (["law"], {"rcp": {"alhpa": 0.4}}),
        (["law"], {"rcp": {"alpha": 1e9}}),
        (["flow", 0, "size"], {"parreto": {"mean": "25 packets", "shape": 1.2}}),
        (["flow", 0, "arrivals"], {"poison": "3 /s"}),
    ],
)
def test_a_misspelt_key_or_value_does_not_validate(keys, value):
    scenario = good()
    table = scenario
    for key in keys[:-1]:
        table = table[key]
    table[keys[-1]] = value
    assert not VALIDATOR.is_valid(scenario)


def errors(record, name):
    """Returns the differences between a record of the engine and its schema, which allows no other keys."""
    schemas = json.loads(_core.records())
    closed = {key: kind | {"additionalProperties": False} for key, kind in schemas.items() if "properties" in kind}
    validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schemas | closed})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(record)]


@pytest.mark.parametrize("name", library.names())
def test_resolved_scenarios_have_their_schema(name):
    resolved = Scenario.load(name).resolve()
    assert errors(resolved, "ScenarioRecord") == []
    del resolved["seed"]
    resolved["links"][0] |= {"more": 1, "loss": "1 %"}
    assert len(errors(resolved, "ScenarioRecord")) == 3


def test_listed_laws_queues_and_buffers_have_their_schemas():
    for kind, listed in (("Law", library.laws()), ("Queue", library.queues()), ("Buffer", library.algorithms())):
        assert [errors(entry, f"{kind}Record") for entry in listed] == [[]] * len(listed)


@pytest.mark.parametrize("name", ["two-flows", "rcp-poisson", "wifi"])
def test_counters_have_their_schema(name):
    simulation = _core.Simulation(Scenario.load(name).set("duration", "1 s").to_json())
    simulation.advance(simulation.duration, 10**9)
    assert errors(json.loads(simulation.summary()), "Counters") == []
