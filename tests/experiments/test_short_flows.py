"""Slots: completion times and queues of transfers on one link."""

import numpy as np
import pytest
from experiments import short_flows
from experiments.short_flows import CAPACITY, SHARED, SHARED_LOADS, TRAFFIC, Traffic

from levelflow.theory.queues.sharing import ROUND_TRIPS

#: Transmission time of a packet of 1000 B, s.
PACKET = 8000 / CAPACITY
RTT = 0.08


@pytest.mark.parametrize("load", short_flows.LOADS)
def test_waits_for_whole_slots_are_those_of_an_m_d_1_queue(load):
    """Slots of one transfer each form a queue with Poisson arrivals and constant service times (Pollaczek, Khinchine).

    A transfer takes its handshake, the wait, the slot without its last packet, and half a round trip.
    """
    size = 20e3
    means = []
    for seed in range(1, 6):
        made = short_flows.scenario("slots", Traffic("20 kB", f"{size:g} B", (RTT,)), load, seed)
        made.raw["flow"][0]["arrivals"] = {"poisson": f"{load * CAPACITY / 8 / size:g} /s"}
        means.append(made.run().transfers["fct_s"].mean())
    slot, used = 8 * size / (0.98 * CAPACITY), load / 0.98
    expected = ROUND_TRIPS * RTT + used * slot / (2 * (1 - used)) + slot * (1 - 1000 / size) + PACKET
    error = np.std(means, ddof=1) / np.sqrt(len(means))
    assert np.mean(means) == pytest.approx(expected, abs=4 * error + PACKET)


@pytest.mark.parametrize("load", short_flows.LOADS)
@pytest.mark.parametrize("traffic", TRAFFIC, ids=lambda traffic: traffic.title)
def test_slots_complete_transfers_about_as_fast_as_processor_sharing(traffic, load):
    row = short_flows.measure("slots", traffic, load, [1])
    assert (row.unfinished, row.dropped) == (0, 0)
    assert row.mean[0] < 1.5
    assert row.p99[0] < 1.5


def test_queues_of_slots_last_about_the_difference_of_the_round_trip_times():
    for traffic in TRAFFIC:
        row = short_flows.measure("slots", traffic, 0.9, [2])
        assert row.delay < max(traffic.rtts) - min(traffic.rtts) + 5 * PACKET


@pytest.mark.parametrize("load", SHARED_LOADS)
@pytest.mark.parametrize("traffic", SHARED, ids=lambda traffic: traffic.title)
def test_slots_and_level_share_a_link(traffic, load):
    row = short_flows.measure("slots", traffic, load, [1])
    assert row.unfinished == 0
    assert row.mean[0] < 1.5
    assert row.p99[0] < 1.5
    assert row.long[0] > 0.4


def test_the_throughput_of_long_flows_is_that_of_processor_sharing_on_a_busy_link():
    """CUBIC always fills the link: long flows get what the transfers leave."""
    row = short_flows.measure("cubic", SHARED[0], 0.5, [1])
    assert row.long[0] == pytest.approx(1, abs=0.02)


def test_unfinished_transfers_leave_no_ratio():
    row = short_flows.measure("slots", Traffic("1 MB", "1 MB", (RTT,)), 2.0, [1])
    assert row.unfinished > 0
    assert not row.mean
    assert short_flows.spread(row.mean) == "unfinished"
