import math

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.queues.sharing import (
    active_processor_sharing,
    completion_times,
    fct_processor_sharing,
    fct_slow_start,
)

ONE_PER_SECOND = 8.0  # bit/s: a transfer of n bytes takes n seconds alone
LOAD, FLOWS, GROUPS = 0.7, 200_000, 40


def test_the_formulas_at_the_settings_of_the_figures_of_rcp():
    """Numbers computed by hand from eq 3 and Little's law, 1000 B packets."""
    kb = 1000
    assert fct_processor_sharing(0.1, 2000 * kb, 2.4e9, 0.9) == pytest.approx(0.1 * 1.5 + 1 / 15)
    assert fct_processor_sharing(1.6, 2000 * kb, 150e6, 0.9) == pytest.approx(2.4 + 16 / 15)
    for active, expected in (
        (active_processor_sharing(9000, 0.1, 30 * kb, 2.4e9, 0.9), 1359),
        (active_processor_sharing(10800, 0.1, 25 * kb, 2.4e9, 0.9), 1629),
        (active_processor_sharing(675, 1.6, 25 * kb, 150e6, 0.9), 1629),
        (active_processor_sharing(8000, 0.1, 30 * kb, 2.4e9, 0.8), 1204),
    ):
        assert active == pytest.approx(expected, rel=1e-3)
    # 230 packets need 8 windows of 1, 2, 4, ..., so that log2(n + 1) is 7.85.
    assert fct_slow_start(0.1, 230, 230 * kb, 2.4e9) == pytest.approx(0.05 + 0.1 * math.log2(231) + 230 / 300e3)


@st.composite
def arrivals(draw):
    count = draw(st.integers(1, 12))
    each = {"min_size": count, "max_size": count}
    starts = draw(st.lists(st.integers(0, 40).map(lambda tick: tick / 4), **each))
    sizes = draw(st.lists(st.integers(1, 40).map(lambda tick: tick / 8), **each))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), **each))
    return np.array(starts), np.array(sizes), np.array(weights)


def by_small_steps(starts, sizes, weights, step=1e-3):
    """Serves all flows in turn, in small steps. The error is about one step per flow."""
    left, ends, now = sizes.copy(), np.full(sizes.size, np.nan), 0.0
    while np.isnan(ends).any():
        here = (starts <= now + step / 2) & (left > 0)
        left[here] -= step * weights[here] / weights[here].sum() if here.any() else 0.0
        now += step
        ends[here & (left <= 0)] = now
    return ends - starts


@examples(20)
@given(arrivals())
def test_times_are_those_of_processor_sharing(flows):
    starts, sizes, weights = flows
    found = completion_times(starts, sizes, ONE_PER_SECOND, weights=weights)
    assert found == pytest.approx(by_small_steps(starts, sizes, weights), abs=2e-3 * (1 + len(sizes)))


@examples(200)
@given(arrivals())
def test_processor_sharing_is_work_conserving(flows):
    # The last flow before an idle time leaves when a first-come first-served link would become idle.
    starts, sizes, weights = flows
    order = np.argsort(starts, kind="stable")
    leaves = np.sort(starts + completion_times(starts, sizes, ONE_PER_SECOND, weights=weights))
    idle_from = 0.0
    for number, flow in enumerate(order):
        if starts[flow] > idle_from:
            assert number == 0 or leaves[number - 1] == pytest.approx(idle_from)
        idle_from = max(idle_from, starts[flow]) + sizes[flow]
    assert leaves[-1] == pytest.approx(idle_from)


@examples(100)
@given(arrivals())
def test_completion_times_of_simultaneous_flows_have_a_closed_form(flows):
    _, sizes, weights = flows
    found = completion_times(np.zeros(sizes.size), sizes, ONE_PER_SECOND, weights=weights)
    served = sizes / weights
    expected = [np.minimum(served, own).dot(weights) for own in served]
    assert found == pytest.approx(expected)


def sizes_of(law):
    """Draws sizes with mean 1."""
    draw = np.random.default_rng(7)
    match law:
        case "equal":
            return np.ones(FLOWS)
        case "exponential":
            return draw.exponential(1.0, FLOWS)
        case "pareto":
            return 1.5 / 2.5 * (1 + draw.pareto(2.5, FLOWS))
    raise AssertionError(law)


def within_noise(values, expected):
    """Returns True if the mean of a time series equals the expected mean within four standard errors."""
    groups = values[: values.size // GROUPS * GROUPS].reshape(GROUPS, -1).mean(axis=1)
    return abs(groups.mean() - expected) < 4 * groups.std(ddof=1) / math.sqrt(GROUPS)


@pytest.mark.parametrize("law", ["equal", "exponential", "pareto"])
def test_the_mean_time_depends_on_the_load_and_not_on_the_law_of_sizes(law):
    starts = np.cumsum(np.random.default_rng(8).exponential(1 / LOAD, FLOWS))
    sizes = sizes_of(law)
    found = completion_times(starts, sizes, ONE_PER_SECOND)
    assert within_noise(found, 1 / (1 - LOAD))
    assert not within_noise(found, 0.9 / (1 - LOAD))
    if law != "equal":
        large = sizes > 2
        assert within_noise(found[large] / sizes[large], 1 / (1 - LOAD))


def test_delays_are_added_and_rates_are_in_bits():
    assert completion_times([3.0], [1e6], 8e6, delays=0.3).tolist() == [1.3]
    assert completion_times([0.0, 9.0], [1e6, 1e6], 8e6, delays=[0.5, 0.25]).tolist() == [1.5, 1.25]
    assert completion_times([], [], 8e6).size == 0


def test_the_formula_of_dukkipati():
    assert fct_processor_sharing(0.1, 0, 1e9, 0.5) == pytest.approx(0.15)
    assert fct_processor_sharing(0.1, 2_000_000, 2.4e9, 0.9) == pytest.approx(0.21667, rel=1e-4)
    assert active_processor_sharing(8000, 0.1, 30_000, 2.4e9, 0.8) == pytest.approx(8000 * (0.15 + 0.0005))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (r"start 1: -1.0 is not allowed; needs a finite number >= 0", {"starts": [0, -1]}),
        (r"size 0: 0.0 is not allowed; needs a finite number > 0", {"sizes": [0, 1]}),
        (r"weight 0: inf", {"weights": [np.inf, 1]}),
        (r"capacity nan is not allowed", {"capacity": np.nan}),
        (r"size of shape \(1,\) is not allowed; needs one number, or 2", {"sizes": [1]}),
        (r"delay 1: nan", {"delays": [0, np.nan]}),
    ],
)
def test_transfers_that_cannot_be_shared_are_refused(line, change):
    with pytest.raises(ParameterError, match=line):
        completion_times(**{"starts": [0, 1], "sizes": [1, 1], "capacity": 1.0} | change)
