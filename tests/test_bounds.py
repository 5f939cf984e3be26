import polars as pl
import pytest

from levelflow import Scenario
from levelflow.theory.queues.bounds import bounds, fct_bound, slowdowns

NETWORK = {
    "links": [
        {"name": "access", "capacity_bps": 1e9, "delay_s": 0.01},
        {"name": "core", "capacity_bps": 1e6, "delay_s": 0.03},
        {"name": "back", "capacity_bps": 5e5, "delay_s": 0.01},
    ],
    "flows": [
        {"name": "opens", "path": ["access", "core"], "reverse_path": ["back"], "handshake": True},
        {"name": "sends", "path": ["access"], "reverse_path": ["back"], "handshake": False},
    ],
}


def completions(*rows):
    names = pl.Enum([flow["name"] for flow in NETWORK["flows"]])
    schema = {"flow": names, "bytes": pl.UInt64, "rtt_s": pl.Float64, "fct_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_the_bound_is_delay_and_line_of_the_narrowest_link():
    table = completions(
        ("opens", 125_000, 0.05, 2.0),  # all of its round trip on the links: 50 ms opening, 40 ms there, 1 s of data
        ("opens", 125_000, 0.06, 2.0),  # 10 ms in the sending host
        ("opens", 125_000, 0.20, 2.0),  # half of the round trip to the receiver
        ("sends", 125_000, 0.20, 0.202),
    )
    assert bounds(table, NETWORK) == pytest.approx([1.09, 1.10, 1.30, 0.101])
    assert slowdowns(table, NETWORK) == pytest.approx([2 / 1.09, 2 / 1.10, 2 / 1.30, 2.0])
    assert fct_bound(0.2, 125_000, 1e6) == pytest.approx(1.30)
    assert bounds(completions(), NETWORK).size == 0


@pytest.mark.parametrize("rtt", ["25 ms", "30 ms", "60 ms"])
def test_a_packet_alone_takes_no_longer(rtt):
    scenario = Scenario("alone", "1 s").link("A", "B", "10 Mb/s", "20 ms").link("B", "A", "10 Mb/s", "5 ms")
    scenario.flow("sends", "cbr", "A", "B", rtt=rtt, size="1 packet")
    scenario.flow("opens", "rcp", "A", "B", rtt=rtt, size="1 packet", start="500 ms")
    result = scenario.run()
    sends, opens = (result.completions["fct_s"] - bounds(result.completions, result.scenario)).to_list()
    assert sends == pytest.approx(0, abs=1e-9)
    assert opens == pytest.approx(8 * (40 + 40) / 10e6, abs=1e-9)  # lines of the opening packet and of its answer
    assert slowdowns(result.completions, result.scenario).min() > 1 - 1e-9


@pytest.mark.parametrize("law", ["rcp", "jetmax", "xcp", "reno"])
def test_no_transfer_takes_less(law):
    scenario = Scenario("web", "5 s").link("A", "B", "20 Mb/s", "5 ms", buffer="50 packets", duplex=True)
    scenario.link("B", "C", "10 Mb/s", "1 ms", buffer="50 packets", duplex=True, reverse={"delay": "9 ms"})
    scenario.flow("web", law, "A", "C", size={"exponential": "20 kB"}, arrivals={"load": 0.5})
    scenario.flow("far", law, "A", "C", size={"exponential": "20 kB"}, arrivals={"load": 0.1}, rtt="80 ms")
    result = scenario.run()
    assert result.completions["flow"].n_unique() == 2
    assert slowdowns(result.completions, result.scenario).min() >= 1
