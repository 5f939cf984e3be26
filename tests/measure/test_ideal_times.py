import pytest

from levelflow import Scenario
from levelflow.theory.queues.sharing import fct_bound


def test_the_bound_of_a_handshake_and_a_line():
    assert fct_bound(0.2, 125_000, 1e6) == pytest.approx(1.30)


@pytest.mark.parametrize("rtt", ["25 ms", "30 ms", "60 ms"])
def test_a_packet_alone_takes_its_ideal_time(rtt):
    scenario = Scenario("alone", "1 s", overhead="0 ns")
    scenario.link("A", "B", "10 Mb/s", "20 ms").link("B", "A", "10 Mb/s", "5 ms")
    scenario.flow("sends", "cbr", "A", "B", rtt=rtt, size="1 packet")
    scenario.flow("opens", "rcp", "A", "B", rtt=rtt, size="1 packet", start="500 ms")
    transfers = scenario.run().transfers
    assert transfers["outcome"].to_list() == ["finished", "finished"]
    assert transfers["fct_s"].to_list() == pytest.approx(transfers["ideal_s"].to_list(), abs=2e-9)
    assert transfers["slowdown"].to_list() == pytest.approx([1, 1], abs=1e-6)


@pytest.mark.parametrize("law", ["rcp", "jetmax", "xcp", "reno"])
def test_no_transfer_takes_less_than_its_ideal_time(law):
    scenario = Scenario("web", "5 s").link("A", "B", "20 Mb/s", "5 ms", buffer="50 packets", duplex=True)
    scenario.link("B", "C", "10 Mb/s", "1 ms", buffer="50 packets", duplex=True, reverse={"delay": "9 ms"})
    scenario.flow("web", law, "A", "C", size={"exponential": "20 kB"}, arrivals={"load": 0.5})
    scenario.flow("far", law, "A", "C", size={"exponential": "20 kB"}, arrivals={"load": 0.1}, rtt="80 ms")
    finished = scenario.run().completions
    assert finished["flow"].n_unique() == 2
    assert finished["slowdown"].min() >= 1
