import pytest
from tools import theory_bench as bench


def test_max_min_rates_of_ten_thousand_flows_take_less_than_a_second():
    rows = bench.maxmin_large()
    assert rows[0].size == "10,000 flows over 5 of 1,000 links"
    assert rows[0].limit == 1
    assert sum(row.cpu for row in rows) < 1


def test_ten_thousand_matrices_take_less_than_a_minute():
    rows = bench.delays_large(1_000)
    assert all(10 * row.cpu < row.limit == 60 for row in rows)


def test_the_fastest_run_counts(monkeypatch):
    now, used = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0]), iter([0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(bench.time, "process_time", lambda: next(used))
    assert bench.fastest(lambda: None) == (1, 0.5)


@pytest.mark.parametrize("rows", [lambda: bench.utility_large(20, 5, 2), lambda: bench.norm_large(5)])
def test_rows_without_a_limit_are_measured(rows):
    (row,) = rows()
    assert row.seconds > 0
    assert row.limit is None
