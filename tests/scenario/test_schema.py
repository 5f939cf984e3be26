"""The published JSON Schema accepts valid scenarios, and rejects mistakes that editors should underline."""

import json
import tomllib

import jsonschema
import pytest
from tools import CHECKOUT

from levelflow import _core

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
