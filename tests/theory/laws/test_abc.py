"""ABC at equilibrium: load and queueing delay satisfy the equations of the paper."""

from __future__ import annotations

import pytest

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import abc


@pytest.mark.parametrize("flows", [1, 3, 5, 10, 40])
@pytest.mark.parametrize("rtt", [0.02, 0.1, 0.3])
def test_at_equilibrium_target_rate_and_additive_increase_sum_to_the_departure_rate(flows: int, rtt: float) -> None:
    """Equations 1 and 2 with `w (1 - 2 f) = 1` and `w = cr RTT / N` give `cr (1 - 1/w) = tr`."""
    mu, eta, delta, target = 2000.0, 0.98, 0.133, 0.05
    delay = abc.queueing_delay(flows, mu, rtt)
    departures = mu if delay > 0 else mu * abc.load(flows, mu, rtt)
    window = departures * (rtt + delay) / flows
    wanted = eta * mu - mu / delta * max(0.0, delay - target)
    assert departures * (1 - 1 / window) == pytest.approx(wanted, rel=1e-9)


def test_longer_delays_need_a_larger_delta() -> None:
    assert abc.stable(0.133, 0.199)
    assert not abc.stable(0.133, 0.2)


@pytest.mark.parametrize(
    ("name", "changes"), [("flows", {"flows": 0}), ("mu", {"mu": -1}), ("eta", {"eta": 1.1}), ("rtt", {"rtt": 0})]
)
def test_numbers_outside_their_range_are_refused(name: str, changes: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=name):
        abc.queueing_delay(**{"flows": 1.0, "mu": 2000.0, "rtt": 0.1} | changes)
