"""Lies of `experiments.liars`: they cover every law with a header, and the network without a lie is fair."""

import pytest
from experiments import liars

from levelflow import library


def test_every_law_with_a_header_has_a_lying_sender_and_a_lying_receiver() -> None:
    expected = {law["name"] for law in library.laws() if law["number"]}
    for side in ("sender", "receiver"):
        assert {case.law for case in liars.CASES if side in case.table} == expected


@pytest.mark.parametrize("case", liars.CASES, ids=lambda case: f"{case.law}, {case.lie}")
def test_every_lie_has_a_meaning(case: liars.Case) -> None:
    liars.network(case.law, 4, case.table).resolve()


def test_a_lying_receiver_of_rcp_takes_what_the_honest_flows_lose() -> None:
    (case,) = [case for case in liars.CASES if case.law == "rcp" and "receiver" in case.table]
    honest, liar = liars.goodputs(case.law, 4, case.table)
    base = liars.honest(case.law, 4)
    assert liar > 2 * base
    assert 3 * honest + liar == pytest.approx(4 * base, rel=0.05)
