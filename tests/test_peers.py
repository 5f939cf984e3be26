"""`python -m tools.peers`: our half of the comparison; the other half needs ns-3."""

import sys

import pytest
from tools import peers


def test_without_ns3_it_says_how_to_get_it(capsys):
    if peers.has_ns3(sys.executable):
        pytest.skip("this interpreter has ns-3")
    assert peers.main([]) == 0
    assert "pip install ns3" in capsys.readouterr().out


def test_an_interpreter_that_does_not_exist_has_no_ns3():
    assert not peers.has_ns3("/no/such/python")


def test_a_lone_newreno_flow_has_the_sawtooth_of_its_path():
    """From half of what path and buffer hold to all of it, one packet more per round trip (RFC 5681)."""
    newreno = next(pair for pair in peers.PAIRS if pair.law == "newreno")
    outcome = peers.ours(newreno, 1)
    packet_s = peers.WIRE * 8 / (peers.MBPS * 1e6)
    path = (2 * peers.DELAY_S + 4 * peers.ACCESS_S) / packet_s + 1
    peak = path + peers.BUFFER + 1
    assert outcome.window == pytest.approx(0.75 * peak, rel=0.03)
    assert outcome.loss == pytest.approx(8 / (3 * peak**2), rel=0.1)
    assert 0.95 / packet_s < sum(outcome.flows) <= 1 / packet_s * 1.001


def test_differences_that_count_are_set_in_bold():
    newreno = next(pair for pair in peers.PAIRS if pair.law == "newreno")
    here = peers.Outcome([100.0, 100.0], 20.0, 5.0, 0.01, 0.0)
    there = peers.Outcome([95.0, 105.0], 10.0, 5.0, 0.01, 0.0)
    *_, row = peers.table([(newreno, 2)], [here], [there])
    assert row == (
        "| newreno | TcpNewReno | 2 | 200, 200, +0% | 0.500, 0.475, +5% | 20.0, 10.0, **+100%** | 5.0, 5.0, +0% "
        "| 1.000, 1.000, +0% |"
    )
