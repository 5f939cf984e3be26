"""Slots: completion times close to processor sharing, short queues, and the claims of its page."""

import pytest
from experiments import short_flows
from experiments.short_flows import TRAFFIC


@pytest.mark.parametrize("load", short_flows.LOADS)
@pytest.mark.parametrize("traffic", TRAFFIC, ids=lambda traffic: traffic.title)
def test_slots_complete_transfers_about_as_fast_as_processor_sharing(traffic, load):
    row = short_flows.measure("slots", traffic, load, [1])
    assert (row.unfinished, row.dropped) == (0, 0)
    assert row.mean[0] < 1.5
    assert row.p99[0] < 1.5


def test_queues_of_slots_last_at_most_the_difference_of_the_round_trip_times():
    for traffic in TRAFFIC:
        row = short_flows.measure("slots", traffic, 0.9, [2])
        packets = 2 * len(traffic.rtts) * 8000 / short_flows.CAPACITY
        assert row.delay < max(traffic.rtts) - min(traffic.rtts) + packets + 0.001


def test_unfinished_transfers_leave_no_ratio():
    short_lived = short_flows.Traffic("1 MB", "1 MB", (0.08,))
    row = short_flows.measure("slots", short_lived, 2.0, [1])
    assert row.unfinished > 0
    assert not row.mean
    assert short_flows.spread(row.mean) == "unfinished"
