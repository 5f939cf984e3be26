import pytest

from levelflow.theory import bench


def test_max_min_rates_of_ten_thousand_flows_take_less_than_a_second():
    rows = bench.maxmin_large()
    assert rows[0].size == "10,000 flows over 5 of 1,000 links"
    assert sum(row.seconds for row in rows) < 1


def test_the_fastest_run_counts(monkeypatch):
    now = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(now))
    assert bench.fastest(lambda: None) == pytest.approx(1)


def test_utilities_are_measured():
    assert bench.utility_large(20, 5, 2)[0].seconds > 0
