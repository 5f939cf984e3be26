"""Policers on random networks of honest flows."""

import pytest
from experiments.police import network


@pytest.mark.parametrize("law", ["jetmax", "level", "rcp", "xcp", "sperc"])
def test_honest_flows_are_never_convicted(law: str) -> None:
    watched = 0
    for seed in range(1000, 1008):
        links = network(law, seed).run().summary["links"]
        counters = [police for link in links if (police := link.get("police"))]
        assert all(police["convictions"] == 0 for police in counters), f"seed {seed}"
        watched += sum(police["largest_debt"] > 0 for police in counters)
    assert watched > 8
