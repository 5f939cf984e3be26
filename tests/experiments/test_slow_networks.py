"""Level on networks with capacities of 50 to 300 kb/s per flow, and with shares below one packet per 100 ms."""

import pytest
from experiments import slow_networks

from levelflow.convergence import families


@pytest.mark.parametrize("family", ["line", "lot"])
def test_level_settles_on_slow_networks(family):
    before = families.MBPS_PER_FLOW
    found = slow_networks.outcomes("level", family, 3)
    assert before == families.MBPS_PER_FLOW
    assert [one.settles for one in found] == [True] * 3
    assert max(one.distance for one in found) < 0.05


@pytest.mark.parametrize("crowd", slow_networks.CROWDS[:1])
def test_flows_with_shares_below_one_packet_per_interval_have_no_lasting_loss(crowd):
    result = slow_networks.crowd("level", *crowd).run()
    late = result.links.filter(result.links["t"] > result.summary["window_s"][0])
    assert late["dropped"].sum() == 0
    assert result.summary["distance_max"] < 0.02
