"""Lies of `experiments.liars`: they cover every law with a header, and the network without a lie is fair."""

from typing import Any

import pytest
from experiments import liars
from experiments.liars import DURATION, Case, goodputs, network

from levelflow import library


def test_every_law_with_a_header_has_a_lying_sender_and_a_lying_receiver() -> None:
    expected = {law["name"] for law in library.laws() if law["number"]}
    for side in ("sender", "receiver"):
        assert {case.law for case in liars.CASES if side in case.table} == expected


@pytest.mark.parametrize("case", liars.CASES, ids=lambda case: f"{case.law}, {case.lie}")
def test_every_lie_has_a_meaning(case: Case) -> None:
    network(case, 4, DURATION, police=True).resolve()


@pytest.mark.parametrize("traffic", liars.ATTACKS.values(), ids=list(liars.ATTACKS))
def test_every_attack_has_a_meaning(traffic: dict[str, Any]) -> None:
    network(Case("level", "", {"sender": {"gap": 1}}, traffic), 4, DURATION).resolve()


def test_a_lying_receiver_of_rcp_takes_what_the_honest_flows_lose() -> None:
    (case,) = [case for case in liars.CASES if case.law == "rcp" and "receiver" in case.table]
    honest, liar = goodputs(network(case, 4, DURATION), 4)
    base = liars.honest(case.law, 4)
    assert liar > 2 * base
    assert 3 * honest + liar == pytest.approx(4 * base, rel=0.05)


@pytest.mark.parametrize(
    "case", [case for case in liars.CASES if case.law in ("jetmax", "level")], ids=lambda case: case.lie
)
def test_honest_flows_keep_their_goodput_with_a_policer(case: Case) -> None:
    honest, liar = goodputs(network(case, 4, DURATION, police=True), 4)
    base = liars.honest(case.law, 4)
    assert honest > 0.9 * base
    assert liar < 1.1 * base
