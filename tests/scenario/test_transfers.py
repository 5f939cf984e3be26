"""Number of packets of reliable transfers, compared with the number that they must send."""

import pytest

from levelflow.scenario import Scenario

PACKETS, PACKET = 25, 1000
#: Ethernet, IPv4, UDP, shim, header of RCP, and the history of an ACK, bytes.
CONTROL = 14 + 20 + 8 + 24 + 8 + 16


def test_a_round_trip_longer_than_the_first_timeout_repeats_no_data():
    scenario = Scenario("long path", "60 s").link("A", "B", "100 Mb/s", "1.5 s", duplex=True)
    scenario.flow("x", "rcp", "A", "B", size=f"{PACKETS} packets", packet=f"{PACKET} B")
    result = scenario.run()
    sent = result.summary["flows"][0]["sent_bytes"]
    opening, closing = 3, 1  # opening packets leave at 0, 1 and 3 s, before the first ACK
    assert sent == PACKETS * PACKET + (opening + closing) * CONTROL
    assert result.completions["retransmitted"].to_list() == [0]


def test_completed_transfers_have_the_size_of_their_packets():
    """A sender at line rate completes after the propagation delay and the transmission times of its packets."""
    scenario = Scenario("sizes", "5 s", overhead="0 s").link("A", "B", "8 Mb/s", "20 ms", duplex=True)
    scenario.flow("x", {"cbr": {"rate": "8 Mb/s"}}, "A", "B", size="12345 B")
    done = scenario.run().completions
    headers = 14 + 20 + 8 + 24  # Ethernet, IPv4, UDP and shim
    packets = 14  # of at most 934 B of payload
    assert done["wire_bytes"].to_list() == [12345 + packets * headers]
    assert done["fct_s"][0] == pytest.approx(0.02 + 8 * done["wire_bytes"][0] / 8e6)
