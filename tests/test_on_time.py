"""Repetition of measurements in real time on a busy machine."""

import conftest
import pytest
from conftest import LATE, MAX_ATTEMPTS, MIN_WAKE_UPS, OFTEN_LATE, Clock, on_time


def attempts(monkeypatch, *planned):
    """Returns the number of attempts at a measurement; each has an outcome and the delay of one wake-up.

    The last one is repeated. Raises the failure of the measurement.
    """
    monkeypatch.setattr(conftest, "CALM", 0)
    made = []

    class Fake(Clock):
        def __enter__(self):
            self.add(planned[min(len(made), len(planned) - 1)][1])
            return self

        def __exit__(self, *error):
            pass

    def measure():
        made.append(None)
        assert planned[min(len(made), len(planned)) - 1][0], len(made)

    on_time(measure, Fake)
    return len(made)


def test_a_measurement_is_repeated_only_if_it_fails_on_a_busy_machine(monkeypatch):
    assert attempts(monkeypatch, (True, LATE)) == 1
    assert attempts(monkeypatch, (False, LATE), (True, 0)) == 2
    with pytest.raises(AssertionError, match=r"^1\b"):
        attempts(monkeypatch, (False, LATE / 2))
    with pytest.raises(AssertionError, match=rf"^{MAX_ATTEMPTS}\b"):
        attempts(monkeypatch, (False, LATE))


def test_a_machine_is_busy_if_more_than_a_tenth_of_many_wake_ups_are_late():
    def busy(late, wake_ups):
        clock = Clock()
        for i in range(wake_ups):
            clock.add(OFTEN_LATE if i < late else 0)
        return clock.is_busy()

    assert not busy(MIN_WAKE_UPS - 1, MIN_WAKE_UPS - 1)
    assert not busy(MIN_WAKE_UPS // 10, MIN_WAKE_UPS)
    assert busy(MIN_WAKE_UPS // 10 + 1, MIN_WAKE_UPS)
