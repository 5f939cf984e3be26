"""The report of figures: strips with a dot per value, units, median and range over seeds, texts that describe
pictures.
"""

import html.parser
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib.figure import Figure as Canvas

from levelflow.reproduce import drawing, images, report, strip, wording
from levelflow.reproduce.images import Picture
from levelflow.reproduce.model import Check, Claim, Entry
from levelflow.reproduce.outcome import Outcome
from levelflow.reproduce.runner import FigureOutcome
from levelflow.reproduce.verdict import Seeds, meets, spread
from levelflow.results import Result

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
tolerances = st.sampled_from([0.0, 0.01, 0.3])


def outcome(op, value, measured, metric="m", target=None, seeds=0, **check):
    entry = Entry("one", "Zhang 2008, eq 1", "theory", "title", "setup", (Check(metric, op, value, **check),))
    return Outcome(entry, 0, "reproduced", measured, target, seeds=seeds)


def drawn(svg):
    """Returns the range of the band, and the position and the class of each dot."""
    band = re.search(r"<rect class=band x=(\S+) width=(\S+)", svg)
    left, width = map(float, band.groups())
    dots = re.findall(r"<circle class=(\w+) cx=(\S+)", svg)
    return (left, left + width), [(kind, float(place)) for kind, place in dots]


# **Invariant** (Claims): the report draws the judged values: a dot is inside the band if its value passes the check.
@given(
    op=st.sampled_from(["==", "~=", "->", "<=", ">=", "<", ">"]),
    value=numbers,
    measured=st.lists(numbers, min_size=2, max_size=5),
    tol=tolerances,
)
def test_a_dot_lies_in_the_band_if_its_number_meets_the_check(op, value, measured, tol):
    (left, right), dots = drawn(strip.svg(outcome(op, value, measured, tol_rel=tol, seeds=len(measured))))
    assert [kind == "in" for kind, _ in dots] == [meets(op, value, number, tol) for number in measured]
    for kind, place in dots:
        if min(abs(place - left), abs(place - right)) > 1.1:  # a band of width 0 is drawn as a line
            assert (left <= place <= right) is (kind == "in")


@given(st.lists(numbers, min_size=3, max_size=7))
def test_the_bar_joins_the_lowest_to_the_highest_seed_and_the_short_line_is_their_median(measured):
    case = outcome("<=", 0.0, measured, seeds=len(measured))
    (one,) = strip.strips(case)
    svg = strip.svg(case)
    left, right = map(float, re.search(r"<line class=range x1=(\S+) x2=(\S+)", svg).groups())
    assert (left, right) == pytest.approx((one.place(min(measured)), one.place(max(measured))), abs=0.01)
    middle = float(re.search(r"<line class=median x1=(\S+)", svg)[1])
    assert middle == pytest.approx(one.place(float(np.median(measured))), abs=0.02)


@given(measured=st.lists(numbers, min_size=3, max_size=6), value=numbers)
def test_a_strip_is_to_scale(measured, value):
    assume(max(measured) - min(measured) > 1e-3 * max(map(abs, (*measured, value))))
    (one,) = strip.strips(outcome("~=", value, measured))
    places = [one.place(number) for number in measured]
    assert all(0 <= place <= strip.WIDTH for place in places)
    scaled = np.array(measured) / (max(measured) - min(measured))
    slopes = np.polyfit(scaled, places, 1)
    np.testing.assert_allclose(np.polyval(slopes, scaled), places, atol=1e-4)
    assert slopes[0] > 0


@pytest.mark.parametrize(
    ("case", "rows", "dots"),
    [
        (outcome("==", [5.0, 7.0], [5.1, 6.9]), 2, [1, 1]),
        (outcome("~=", [5.0, 7.0], [[5.1, 6.9], [5.2, 7.0]], seeds=2), 2, [2, 2]),
        (outcome("<=", 0.5, [[0.1, 0.2], [0.1, 0.3]], seeds=2), 1, [4]),
        (outcome("between", [1.0, 2.0], [1.5, 1.7, 1.8]), 1, [3]),
        (outcome("<", "RCP value", 1.0, target=2.0), 1, [1]),
        (outcome("->", "a", [1.0] * 9, target=[1.0] * 8 + [2.0]), 2, [8, 1]),
        (outcome("->", "a", [1.0] * 9, target=list(range(9))), 0, []),
        (outcome("true", None, [True, False]), 0, []),
        (outcome("==", ["TCP", "XCP"], ["TCP", "XCP"]), 0, []),
        (outcome("<", "RCP value", 1.0), 0, []),
        (outcome("<", 1.0, None), 0, []),
    ],
)
def test_there_is_a_strip_per_expected_number(case, rows, dots):
    found = strip.strips(case)
    assert [len(one.dots) for one in found] == dots
    assert strip.svg(case).count("class=band") == rows


def test_an_infinite_number_is_an_arrow_at_the_end_and_counts():
    svg = strip.svg(outcome("<=", 3.0, [1.0, math.inf], seeds=2))
    assert "1 of 2 measured values meet the check" in svg
    assert svg.count("<circle class=in") == 1
    assert f"<path class=out d='M{strip.WIDTH - strip.EDGE:.2f}" in svg
    assert strip.svg(outcome("<=", "formula", math.inf, target=math.inf)) == ""


@pytest.mark.parametrize(
    ("metric", "value", "measured", "says"),
    [
        ("flow_rate_bps", 5e7, 4.95669e7, "≈ 50 Mb/s ± 3 %; 49.5669 Mb/s"),
        ("steady_rate_mbps[x1,x2]", [0.5, 0.4], [0.49, 0.41], "≈ 500, 400 kb/s ± 3 %; 490, 410 kb/s"),
        ("fct_s[TCP, 230 packets]", 0.158, 0.16, "≈ 158 ms ± 3 %; 160 ms"),
        ("settling_time_s", 4.0, 0.002, "≈ 4 s ± 3 %; 0.002 s"),
        ("interval_timer_jitter_us", 90.0, 1200.0, "≈ 0.09 ms ± 3 %; 1.2 ms"),
        ("overshoot_pct", 8.0, 8.1, "≈ 8 % ± 3 % of it; 8.1 %"),
        ("mean_queue_bytes", 50_000, 50_100, "≈ 50 kB ± 3 %; 50.1 kB"),
        ("buffer_mean_pkts", 101.0, [101.0, 101.0, 101.0], "≈ 101 packets ± 3 %; 101 packets (each of 3)"),
        ("capacity_packets_per_s", 1.0, 2.0, "≈ 1 ± 3 %; 2"),
        ("time_share_in_band_1.5_2.4_mbps", 0.5, 0.6, "≈ 0.5 ± 3 %; 0.6"),
        ("packets_sent_in_first_3_rtts", "TCP value", 7, "≈ TCP value ± 3 %; 7"),
        ("time_to_fair_s", 0.0, math.inf, "≈ 0 s ± 3 %; inf s"),
        ("x_over_c", 1.0, 1.0, "≈ 1 ± 3 %; 1"),
        ("rate_kbps", 1.0, [0.25 * n for n in range(1, 10)], "≈ 1 kb/s ± 3 %; 0.25 to 2.25 kb/s (9 numbers)"),
    ],
)
def test_numbers_have_the_unit_that_people_write(metric, value, measured, says):
    case = outcome("~=", value, measured, metric, tol_rel=0.03)
    unit = wording.unit_of(case)
    assert f"{wording.expected(case.check, unit)}; {wording.measured(case, unit)[0]}" == says


@given(st.floats(1e-5, 1e11))
def test_a_rate_in_any_unit_is_the_same_rate(bps):
    case = outcome("==", bps, bps, "rate_bps")
    number, unit = wording.measured(case, wording.unit_of(case))[0].split()
    size = {"b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9}[unit]
    assert float(number) * size == pytest.approx(bps, rel=1e-5)
    assert float(number) <= 1000 or unit == "Gb/s"


@pytest.mark.parametrize(
    ("op", "value", "seeds", "says"),
    [
        ("<=", 3.0, [5.0, 1.0, 2.0], ("2 (1 to 5)", "median, lowest and highest; 2 of 3 seeds meet it")),
        ("<=", 3.0, [[1.0, 8.0], [2.0, 9.0]], ("1.5 (1 to 2), 8.5 (8 to 9)", "median, lowest and highest; 0 of 2")),
        ("<=", 3.0, [1.0], ("1", "one seed")),
        ("<=", 3.0, [1.0, 1.0], ("1", "the same in 2 seeds")),
        ("<=", 3.0, [[float(n) for n in range(9)]] * 2, ("0 to 8 (9 numbers)", "the same in 2 seeds")),
        ("<=", 3.0, [[n + i for n in range(9)] for i in (0, 1)], ("0.5 to 8.5 (9 numbers)", "medians; 0 of 2 seeds")),
        ("<=", 3.0, [[*range(9), math.inf]] * 2, ("0 to inf (10 numbers)", "the same in 2 seeds")),
        ("true", None, [True, True, False], ("true (2); false (1)", "2 of 3 seeds meet it")),
        ("==", ["a", "b"], [["a", "b"], ["b", "a"], ["a", "b"]], ("a, b (2); b, a (1)", "2 of 3 seeds meet it")),
    ],
)
def test_seeds_are_a_median_and_a_range_and_how_many_meet_the_check(op, value, seeds, says):
    text, about = wording.measured(outcome(op, value, seeds, seeds=len(seeds)), wording.PLAIN)
    assert (text, about.startswith(says[1])) == (says[0], True)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=7))
def test_the_spread_of_seeds_is_taken_element_by_element(values):
    found = spread(Seeds(values), lambda pair: pair[0] > 0)
    table = np.array(values)
    np.testing.assert_allclose(found.median, np.median(table, axis=0))
    assert (found.low, found.high) == (table.min(axis=0).tolist(), table.max(axis=0).tolist())
    assert (found.seeds, found.met) == (len(values), (table[:, 0] > 0).sum())


def test_seeds_are_drawn_as_their_median_and_the_band_that_holds_them_all():
    axes = Canvas().subplots()
    x = np.arange(5.0)
    curves = [(x, x), (x, x + 1), (x[1:], x[1:] + 5)]
    drawing.draw_seeds(axes, curves, "rate")
    (line,), (band,) = axes.lines, axes.collections
    np.testing.assert_equal(line.get_ydata(), [0.5, 2, 3, 4, 5])  # the third curve has no value at 0
    corners = band.get_paths()[0].vertices
    for at, low, high in ((0, 0, 1), (1, 1, 6), (4, 4, 9)):
        ends = corners[corners[:, 0] == at][:, 1]
        assert (ends.min(), ends.max()) == (low, high)


@pytest.mark.parametrize("along", ["y", "x"])
@pytest.mark.parametrize(
    ("check", "lines", "band"),
    [
        (Check("m", "~=", 50.0, tol_rel=0.1), [51], (46, 56)),
        (Check("m", "<=", 50.0, tol_abs=2.0), [51], (51, 53)),
        (Check("m", ">=", 50.0), [51], (51, 51)),
        (Check("m", "between", [20.0, 50.0], tol_abs=1.0), [21, 51], (20, 52)),
    ],
)
def test_what_a_check_expects_is_drawn_where_its_numbers_stand(along, check, lines, band):
    axes = Canvas().subplots()
    drawing.draw_expected(axes, drawn_from(check), "one[0]", (3.0, 7.0), shift=1, along=along)
    shade, line = axes.collections
    own, other = (0, 1) if along == "x" else (1, 0)
    corners = shade.get_paths()[0].vertices
    assert (corners[:, own].min(), corners[:, own].max()) == pytest.approx(band)
    assert (corners[:, other].min(), corners[:, other].max()) == (3, 7)
    np.testing.assert_allclose([segment[:, own] for segment in line.get_segments()], [[at, at] for at in lines])


def test_each_number_of_a_check_is_drawn_in_its_window_and_derived_ones_are_dashed():
    axes = Canvas().subplots()
    check = Check("m", "==", [1.0, 2.0], basis="derived")
    drawing.draw_expected(axes, drawn_from(check), "one[0]", [(0, 1), (5, 5)], scale=1000)
    first, second = axes.collections[1], axes.collections[2]
    np.testing.assert_equal(first.get_segments(), [[[0, 1000], [1, 1000]]])
    np.testing.assert_equal(second.get_segments(), [[[5, 2000], [5, 2000]]])
    assert first.get_linestyle()[0][1] is not None
    assert [text.get_text() for text in axes.texts] == ["one[0]: = 1000, 2000"]


def test_an_unknown_check_cannot_be_drawn():
    with pytest.raises(KeyError, match=r"one\[1\]"):
        drawing.draw_expected(Canvas().subplots(), drawn_from(Check("m", "<", 1.0)), "one[1]")


def drawn_from(check):
    """Returns a figure with a single check."""
    entry = Entry("one", "Zhang 2008, eq 1", "theory", "title", "setup", (check,))
    return SimpleNamespace(claim=Claim(Path(), (entry,)))


def test_a_picture_says_what_its_panels_show():
    def plot(figure, canvas):
        left, right = canvas.subplots(1, 2)
        left.plot([1, 2], label="RCP")
        left.plot([2, 3], label="TCP")
        left.set(xlabel="time (s)", ylabel="rate (Mb/s)", title="Figure 8")
        right.set(ylabel="R/C")
        drawing.draw_expected(right, figure, "one[0]")
        right.text(0, 0.5, "a remark")

    (picture,) = images.draw(drawn_from(Check("m", "<=", 0.5)), plot)
    assert picture.alt == ("Figure 8; rate (Mb/s) against time (s); curves: RCP, TCP. R/C; expected: one[0]: ≤ 0.5")
    assert picture.png.startswith(b"\x89PNG")
    assert mpl.rcParams["axes.grid"] is False


def result_of(seed, rate, **raw):
    raw = {"seed": seed, **raw}
    flows = pl.DataFrame({"t": [0.0, 1.0], "rate": rate})
    return Result(flows, flows, flows, summary={}, manifest={"raw": raw, "scenario": raw})


def test_a_plot_of_the_first_run_has_the_band_of_the_same_run_with_other_seeds(monkeypatch):
    made = []

    def curve(result, unit):
        canvas = Canvas()
        assert unit in {("Mb/s", 1e6), ("ms", 1e-3)}  # units of the papers, equal for all seeds
        axes = canvas.subplots()
        axes.plot(result.flows["t"], result.flows["rate"], label="x1")
        axes.plot([], [], label="fair")
        axes.set(title="rates", ylim=(0, result.flows["rate"].max()))
        made.append(axes)
        return canvas

    monkeypatch.setattr(images.plots, "rates", curve)
    monkeypatch.setattr(images.plots, "queues", curve)
    runs = [result_of(1, [2.0, 2.0]), result_of(1, [7.0, 7.0], law="rcp"), result_of(2, [1.0, 5.0])]
    images.draw(SimpleNamespace(results=runs), None)
    axes = made[0]
    (band,) = axes.collections
    assert (band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()) == (1, 5)
    assert axes.get_lines()[0].get_ydata().tolist() == [2, 2]
    assert axes.get_ylim()[1] == 5
    assert axes.get_title("left").endswith("band: 2 seeds")
    images.draw(SimpleNamespace(results=runs[:2]), None)
    assert not made[-1].collections
    assert images.draw(SimpleNamespace(results=[]), None) == ()


class Tags(html.parser.HTMLParser):
    """Returns the tags of a page with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_a_screen_reader_finds_words_for_pictures_strips_and_tables():
    one = outcome("<=", 1.0, [0.5, 2.0], seeds=2)
    claim = Claim(Path("papers/paper/figure"), (one.entry,))
    page = report.page([FigureOutcome(claim, (one,), (Picture(b"x", "R/C against 'time'"),), (), 0.1, "quick")], "b")
    tags = Tags(page).found
    (image,) = [attrs for tag, attrs in tags if tag == "img"]
    assert image["alt"] == "our plot of paper/figure. R/C against 'time'"
    (svg,) = [attrs for tag, attrs in tags if tag == "svg"]
    assert (svg["role"], svg["aria-label"]) == ("img", "1 of 2 measured values meet the check")
    assert all("aria-label" in attrs for tag, attrs in tags if tag in ("table", "nav"))
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in tags if tag == "th")


def test_the_other_tier_is_shown_with_the_judged_one():
    quick = outcome("<=", 1.0, 0.5)
    full = replace(quick, verdict="not reproduced", measured=2.5, tier="full", other=quick)
    claim = Claim(Path("papers/paper/figure"), (quick.entry,))
    page = report.page([FigureOutcome(claim, (full,), (), (), 0.1, "full")], "b")
    assert "<p class=meta>quick tier: 0.5, reproduced</p>" in page
