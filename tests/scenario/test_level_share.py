"""Level next to traffic that fills the link."""

import pytest

from levelflow import Scenario

CAPACITY = 20e6  # bit/s


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_level_has_the_share_that_other_traffic_cannot_take(floor):
    made = Scenario("share", "40 s", sample="1 s", profile="paper")
    made.link("a", "b", f"{CAPACITY:g} b/s", "20 ms", buffer="1 BDP", duplex=True)
    made.flow("cubic", "cubic", "a", "b", count=2)
    made.flow("level", "level", "a", "b", count=8)
    made.set("law.level.floor", floor)
    flows = made.run().flows
    late = flows.filter((flows["t"] > 20) & (flows["flow"] == "level"))
    assert late["goodput_bps"].mean() == pytest.approx(floor * CAPACITY, abs=0.01 * CAPACITY)
