"""Number of packets of reliable transfers, compared with the number that they must send."""

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
