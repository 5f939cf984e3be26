"""Tests the metrics that claims use, on tables whose results are known by construction."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.measure import completions, fairness, grid, last_stable, onset, queues, rates, series
from levelflow.theory.queues.sharing import fct_processor_sharing

T = np.arange(1, 101) / 10  # 0.1 s .. 10 s


def flows_of(t=T, **by_name):
    """Returns a flows table from rates in bit/s by name; a tuple is (rates, active, bottlenecks)."""
    frames = []
    for name, value in by_name.items():
        rate, active, bottleneck = value if isinstance(value, tuple) else (value, 1, None)
        columns = {"t": t, "flow": name, "active": active, "law_rate_bps": rate, "bottleneck": bottleneck}
        full = {key: np.broadcast_to(column, t.shape).tolist() for key, column in columns.items()}
        frames.append(pl.DataFrame(full, schema_overrides={"law_rate_bps": pl.Float64, "bottleneck": pl.String}))
    return pl.concat(frames)


def links_of(t=T, **columns):
    return pl.DataFrame(
        {"t": t, "link": ["L"] * len(t), **{k: np.broadcast_to(v, t.shape) for k, v in columns.items()}}
    )


def test_steady_rate_takes_the_last_fifth_and_one_flow_of_an_entry():
    rate = np.where(T > 8, 30.0, 7.0)
    flows = flows_of(x=(rate, 3, None), y=rate)
    assert rates.steady_rate(flows, "x", 0, 10) == pytest.approx(10)
    assert rates.steady_rate(flows, "y", 0, 10) == pytest.approx(30)
    assert rates.steady_rate(flows, "y", 0, 8) == pytest.approx(7)
    with pytest.raises(KeyError, match="'z'"):
        rates.steady_rate(flows, "z", 0, 10)
    with pytest.raises(ValueError, match="no sample"):
        rates.steady_rate(flows, "x", 20, 30)


def test_convergence_times_need_to_hold_until_the_next_event():
    rate = np.select([T <= 2, T <= 3, T <= 4, T <= 8], [1.0, 10.0, 9.0, 9.95], 5.0)
    flows = flows_of(x=rate)
    assert rates.time_to_efficiency(flows, ["x"], 10, 1, 8) == pytest.approx(3.1)
    assert rates.time_to_efficiency(flows, ["x"], 10, 1, 3) == pytest.approx(1.1)
    assert rates.time_to_efficiency(flows, ["x"], 10, 1) == math.inf
    both = flows_of(x=rate, y=rate / 2)
    assert rates.time_to_fairness(both, {"x": 9.95, "y": 4.975}, 0, 8) == pytest.approx(4.1)
    assert rates.time_to_fairness(both, {"x": 9.95, "y": 6.0}, 0, 8) == math.inf


def test_monotonic_allows_a_reversal_of_two_percent_only():
    up = np.minimum(T, 5.0)
    assert rates.monotonic(flows_of(x=up), "x")
    assert rates.monotonic(flows_of(x=10 - up), "x")
    dip = up.copy()
    dip[30] -= 0.09
    assert rates.monotonic(flows_of(x=dip), "x")
    dip[30] -= 0.5
    assert not rates.monotonic(flows_of(x=dip), "x")
    assert rates.monotonic(flows_of(x=dip), "x", (0, 3.0))


@given(st.lists(st.floats(1, 100), min_size=2, max_size=30))
def test_sorted_values_are_monotonic_either_way(values):
    ordered = np.sort(values)
    assert series.is_monotonic(ordered)
    assert series.is_monotonic(ordered[::-1])


def test_proposals_and_changes_of_the_rate():
    rate = np.select([T <= 2, T <= 3], [1.0, 5.0], 4.0)
    flows = flows_of(x=rate).with_columns(
        proposal_bps=pl.when(pl.col("t").is_between(1.45, 2)).then(5.0).otherwise(rate)
    )
    assert rates.first_proposal(flows, "x") == pytest.approx(1.5)
    assert rates.first_proposal(flows, "x", 1.65) == pytest.approx(1.7)
    assert rates.first_proposal(flows, "x", 3.0) == math.inf
    at, values = rates.rate_changes(flows, "x")
    assert at.tolist() == pytest.approx([2.1, 3.1])
    assert values.tolist() == [5.0, 4.0]
    assert rates.rate_changes(flows, "x", (0, 2.5))[0].tolist() == pytest.approx([2.1])


def test_distance_compares_equal_instants():
    step, later = np.where(T > 5, 3.0, 1.0), np.where(T > 5.4, 3.0, 1.0)
    assert series.distance((T, step), (T, later)) == 2
    assert series.distance((T, step), (T, step + 0.5)) == 0.5


def test_overshoot_of_two_percent_is_two_percent():
    assert queues.overshoot_pct(links_of(peak_bps=20.4e6), "L", 20e6) == 2.0


def test_oscillation_starvation_and_shares():
    wave = 10 + np.where(np.arange(100) % 2, 1.0, -1.0)
    flows = flows_of(x=wave, y=0.19)
    assert rates.osc_amplitude_pct(flows, "x", (0, 10)) == pytest.approx(20)
    assert rates.starved(flows, "y", 1.0, (0, 10))
    assert not rates.starved(flows, "y", 0.9, (0, 10))
    assert rates.max_share_error(flows, {"x": 10, "y": 0.2}, (0, 10)) == pytest.approx(0.05)
    assert not rates.stable(flows, "x", 10)
    assert rates.stable(flows, "y", 0.19)


def test_bottleneck_sequence_leaves_out_runs_shorter_than_one_rtt():
    names = [None] * 10 + ["R2"] * 40 + ["R1"] * 2 + ["R2"] * 20 + ["R1"] * 28
    flows = flows_of(x=(1.0, 1, names))
    assert rates.bottleneck_sequence(flows, "x", 0.3) == ["R2", "R1"]
    assert rates.bottleneck_sequence(flows, "x", 0.1) == ["R2", "R1", "R2", "R1"]
    assert rates.bottleneck_sequence(flows, "x", 3.5) == ["R2"]


def test_overshoot_and_loss_come_from_the_router_intervals():
    peak = np.where((T > 5) & (T < 6), 15.0, 10.0)
    links = links_of(peak_bps=peak, arrival_bps=10.8, peak_loss=np.where(T > 9, 0.7, 0.0))
    assert queues.overshoot_pct(links, "L", 10) == pytest.approx(50)
    assert queues.overshoot_pct(links, "L", 10, (6, 10)) == pytest.approx(0)
    assert queues.mean_overshoot_pct(links, "L", 10, (0, 10)) == pytest.approx(8)
    assert queues.overload_loss_max(links, "L", 10) == pytest.approx(1 / 3)
    assert queues.overload_loss_max(links, "L", 20) == 0
    assert queues.overload_duration(links, "L", 10) == pytest.approx(0.8)
    assert queues.loss_rate_max(links, "L") == pytest.approx(0.7)
    assert queues.loss_rate_max(links, "L", (0, 9)) == 0
    assert queues.loss_rate_mean(links, "L", 10, (0, 10)) == pytest.approx(0.8 / 10.8)


def test_drops_queues_and_utilisation():
    links = links_of(
        dropped=np.arange(100) % 2,
        dropped_bytes=1000,
        throughput_bps=np.where(np.arange(100) % 2, 8.0, 10.0),
        backlog_packets=np.arange(100) % 4,
        backlog_bytes=np.arange(100.0),
    )
    assert queues.drop_count(links) == 50
    assert queues.drop_count(links, ["M"]) == 0
    assert queues.drop_bytes(links, ["L"], (0, 1)) == 10_000
    assert queues.utilisation(links, "L", 10) == (pytest.approx(0.9), pytest.approx(0.01))
    assert queues.queue_cdf(links, "L", 2) == pytest.approx(0.5)
    assert queues.mean_queue_over_bdp(links, "L", 100, 0.1) == pytest.approx(8 * 49.5 / 10)
    assert queues.queue_grows(links, "L", (5, 7))


def test_number_of_flows_from_the_granted_rate():
    links = links_of(signal=np.where(T > 5, 5.0, 10.0))
    assert queues.c_over_r(links, "L", 20, (5, 10)) == pytest.approx(4)
    active = T, np.where(T > 5, 4.0, 2.0)
    assert queues.n_estimate_error(links, "L", 20, active) == pytest.approx(0, abs=0.05)
    assert queues.n_estimate_error(links, "L", 20, (T, np.full(100, 4.0))) == pytest.approx(0.25, abs=0.05)


def completions_of(start, fct, size, rtt=0.1):
    n = len(start)
    columns = {"start_s": start, "fct_s": fct, "bytes": size, "wire_bytes": size, "rtt_s": [rtt] * n}
    return pl.DataFrame(columns | {"flow": ["x"] * n})


def test_completion_times_against_processor_sharing():
    # Numbers of the figures in `papers`: 2000 packets at 2.4 Gb/s and at 150 Mb/s, load 0.9.
    assert fct_processor_sharing(0.1, 2_000_000, 2.4e9, 0.9) == pytest.approx(0.21667, rel=1e-4)
    assert fct_processor_sharing(1.6, 2_000_000, 150e6, 0.9) == pytest.approx(3.46667, rel=1e-4)
    sizes = [1_000, 500_000]
    ideal = [fct_processor_sharing(0.1, size, 1e8, 0.5) for size in sizes]
    table = completions_of([1.0, 2.0], [2 * ideal[0], 3 * ideal[1]], sizes)
    assert completions.afct_ratio_to_ps(table, 1e8, 0.5, (0, 500_000)) == pytest.approx(2)
    assert completions.afct_ratio_to_ps(table, 1e8, 0.5, (500_000, math.inf)) == pytest.approx(3)
    assert completions.fct_max_ratio_to_ps(table, 1e8, 0.5) == pytest.approx(3)
    assert completions.afct_ratio_to_bound(table, 1e8) > completions.afct_ratio_to_ps(table, 1e8, 0.5)
    with pytest.raises(ValueError, match="no flow"):
        completions.afct(table, window=(5, 9))


def test_completion_ratio_counts_only_arrivals_that_both_finished():
    a = completions_of([1.0, 2.0, 3.0], [4.0, 6.0, 100.0], [1, 2, 3])
    b = completions_of([1.0, 2.0], [2.0, 2.0], [1, 2])
    assert completions.afct_ratio(a, b) == pytest.approx(2.5)
    with pytest.raises(ValueError, match="no arrival completed in both runs"):
        completions.afct_ratio(a, completions_of([9.0], [1.0], [1]))


def test_processor_sharing_counts_all_arrivals_and_adds_1_5_round_trips():
    """The first flow is alone for 1 s, and sends 8 Mb. Then both flows have half of the link, until the first flow ends
    at 3 s.
    """
    table = completions_of([0.0, 1.0], [3.15 * 2, 3.0], [2_000_000, 1_500_000])
    assert completions.afct_ratio_to_sharing(table, 8e6, (1_600_000, math.inf)) == pytest.approx(2)
    assert completions.afct_ratio_to_sharing(table, 8e6, (0, 1_600_000)) == pytest.approx(3.0 / 2.65)


def test_means_carry_their_number_of_flows():
    table = completions_of(np.arange(30.0), [1.0] * 30, [1_000] * 25 + [500_000] * 5)
    for mean in (
        completions.afct(table, (0, 2_000)),
        completions.afct_ratio_to_ps(table, 1e8, 0.5, (0, 2_000)),
        completions.afct_ratio_to_sharing(table, 1e8, (0, 2_000)),
        completions.afct_ratio(table, table.head(28), (0, 2_000)),
        completions.worst_ratio_to_ps(table, 1e8, 0.5, (0, 2_000)),
    ):
        assert mean.flows == 25
    assert completions.afct_ratio(table, table.head(28)).flows == 28


def test_a_mean_carries_the_median_and_the_5th_and_95th_percentiles():
    fct, size = np.arange(1.0, 102.0), [1_000] * 101
    table = completions_of(np.arange(101.0), fct, size)
    assert completions.afct(table).quantiles == pytest.approx((51, 6, 96))
    ideal = fct_processor_sharing(0.1, 1_000, 1e8, 0.5)
    for ratio in (completions.afct_ratio_to_ps(table, 1e8, 0.5), completions.worst_ratio_to_ps(table, 1e8, 0.5)):
        assert ratio == pytest.approx(51 / ideal)
        assert ratio.quantiles == pytest.approx(np.array([51, 6, 96]) / ideal)
    other = table.with_columns(fct_s=pl.lit(2.0))
    assert completions.afct_ratio(table, other).quantiles == pytest.approx((25.5, 3, 48))
    assert completions.OverFlows(3.0, 40).quantiles == ()


def test_spread_is_the_median_over_size_bins():
    fct = [1.0] * 19 + [20.0] + [1.0] * 20 + [1.0] * 20
    size = [1_000] * 20 + [100_000] * 20 + [10_000_000] * 20
    table = completions_of(np.arange(60.0) + 1, fct, size)
    assert completions.fct_max_over_mean(table) == pytest.approx(1)
    assert completions.fct_max_over_mean(table, (0, 2_000)) == pytest.approx(20 / (39 / 20))
    assert completions.fct_cv(table, (0, 2_000)) > 1
    with pytest.raises(ValueError, match="no size bin"):
        completions.fct_cv(table.head(5))


def test_size_bins_pool_the_tail_and_name_the_worst_bin():
    sizes = np.repeat([1_000, 10_000, 100_000, 1_000_000], [100, 50, 15, 10])
    factor = np.repeat([1.0, 3.0, 2.0, 2.0], [100, 50, 15, 10])
    ideal = np.array([fct_processor_sharing(0.1, size, 1e8, 0.5) for size in sizes])
    table = completions_of(np.arange(175.0), factor * ideal, sizes)
    bins = completions.by_size(table, 1e8, 0.5)
    assert bins["flows"].to_list() == [100, 50, 25]
    assert bins["ratio"].to_list() == pytest.approx([1, 3, 2])
    assert completions.worst_ratio_to_ps(table, 1e8, 0.5) == pytest.approx(3)
    assert completions.worst_ratio_to_ps(table, 1e8, 0.5, (50_000, math.inf)) == pytest.approx(2)
    with pytest.raises(ValueError, match="no size bin"):
        completions.by_size(table.head(5), 1e8, 0.5)


def test_flows_transfer_from_the_end_of_their_handshake():
    table = completions_of([0.0, 1.0], [0.5, 2.0], [1, 1], rtt=0.1)
    t = np.array([0.05, 0.2, 0.6, 1.05, 1.5, 3.5])
    assert completions.transferring(table, t).tolist() == [0, 1, 0, 0, 1, 0]


def test_active_flows():
    flows = flows_of(x=(1.0, np.arange(100), None), y=(1.0, 2, None))
    assert completions.active_mean(flows, ["y"]) == pytest.approx(2)
    assert completions.active_mean(flows) == pytest.approx(51.5)
    assert completions.active_trend(flows, ["y"]) == pytest.approx(0, abs=1e-12)
    assert completions.active_trend(flows, ["x"]) == pytest.approx(10 / 74.0, rel=0.02)


def test_stability_settling_and_onset():
    decay = 1 + np.exp(-T)
    assert series.is_stable(T, decay, 1.0)
    assert not series.is_stable(T, 1 + 0.1 * np.sin(20 * T), 1.0)
    assert series.settling_time(T, decay, 0.0) == pytest.approx(3.0, abs=0.15)
    assert series.settling_time(T, np.where(T > 9.5, 1.2, 1.0), 0.0) == math.inf
    values = grid(0.1, 2.0, 0.1)
    assert values[:3] == [0.1, 0.2, 0.3]
    assert values[-1] == 2.0
    assert onset(values, lambda alpha: alpha < 1.55) == 1.6
    assert last_stable(values, lambda alpha: alpha < 1.55) == 1.5
    assert onset(values, lambda _: True) == math.inf
    assert last_stable(values, lambda _: False) == -math.inf


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=20))
def test_jain_is_between_one_over_n_and_one(values):
    assert 1 / len(values) - 1e-9 <= fairness.jain(values) <= 1 + 1e-9
    assert fairness.jain([values[0]] * 7) == pytest.approx(1)


def test_means_over_windows_and_correlation():
    assert series.window_means(T, T, 1.0) == pytest.approx(np.arange(9) + 0.55)
    assert series.correlation(T, 3 - 2 * T) == pytest.approx(-1)
    assert series.trend(T, 2 * T) == pytest.approx(2 / series.mean((2 * T)[T >= 5.05]))
