import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from levelflow import Scenario, ScenarioError
from levelflow.report import plots, series
from levelflow.report.transfers import transfers


def crowd(flows):
    scenario = Scenario("crowd", "2 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
    for number in range(flows):
        scenario.flow(f"x{number}", "jetmax", "R1", "R2", rtt="50 ms")
    return scenario.run()


def named(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_each_flow_has_a_line_and_the_fair_rate_beside_it(finished):
    axes = plots.rates(finished).axes[0]
    lines = named(axes)
    assert list(lines) == ["x1 (jetmax)", "x2 (jetmax)", "thin: max-min fair"]
    assert lines["x1 (jetmax)"].get_ydata()[-1] == pytest.approx(5, rel=0.05)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "throughput (Mb/s)")
    assert lines["x1 (jetmax)"].get_linestyle() != lines["x2 (jetmax)"].get_linestyle()


def test_a_flow_with_an_application_is_drawn_as_it_sends():
    scenario = Scenario("call", "5 s").link("A", "B", "10 Mb/s", "5 ms", duplex=True)
    scenario.flow("call", "level", "A", "B", application={"rate": "200 kb/s"})
    panel = series.rates(scenario.run())
    (curve,) = panel.curves
    assert curve.label == "call (level)"
    late = curve.y[curve.t > 2] * panel.unit[1]  # limited by the application; the law allows 9.5 Mb/s
    assert late.mean() == pytest.approx(200e3 * 1000 / 903, rel=0.1)  # a packet has 97 B of headers


def test_the_fair_rate_falls_upright_when_a_flow_comes(finished):
    fair = next(curve for curve in series.rates(finished).steps if curve.name == "x1")
    assert fair.t == pytest.approx([0, 2, 2, 20], abs=1.01 * finished.scenario["sample_s"])
    assert fair.t[1] == fair.t[2]
    assert fair.y == pytest.approx([10, 10, 5, 5], rel=1e-6)


def test_a_hundred_flows_are_grey_with_their_median():
    result = crowd(100)
    axes = plots.rates(result).axes[0]
    assert list(named(axes)) == ["their median", "100 flows"]
    last = result.flows.filter(result.flows["t"] == result.flows["t"].max())
    unit = {"kb/s": 1e3, "Mb/s": 1e6}[axes.get_ylabel().removeprefix("throughput (").removesuffix(")")]
    assert named(axes)["their median"].get_ydata()[-1] * unit == pytest.approx(last["throughput_bps"].median())


def web(encapsulation="none", **flow):
    scenario = Scenario("web", "3 s", encapsulation=encapsulation)
    scenario.link("R1", "R2", "10 Mb/s", "10 ms", buffer="5 packets", duplex=True)
    return scenario.flow("web", "rcp", "R1", "R2", arrivals={"poisson": "40 /s"}, **flow).run()


def test_transfers_are_drawn_as_delivered_together():
    result = web(size="20 packets")
    own = result.flows.filter(result.flows["active"] > 0)
    drawn = series.rates(result).curves[0]
    assert drawn.label == "web (rcp), all"
    assert drawn.y[np.isfinite(drawn.y)] == pytest.approx((own["throughput_bps"] / 1e6).to_list())


def test_no_line_bridges_what_was_not_sampled():
    t, y = series.gaps(np.array([0.1, 0.2, 0.3, 0.9, 1.0]), np.arange(5.0))
    assert np.flatnonzero(np.isnan(y)).tolist() == [3]
    assert t.tolist() == [0.1, 0.2, 0.3, 0.3, 0.9, 1.0]


@pytest.mark.parametrize(
    ("capacity", "unit"), [("100 kb/s", "kb/s"), ("10 Mb/s", "Mb/s"), ("999 Mb/s", "Mb/s"), ("2 Gb/s", "Gb/s")]
)
def test_the_axis_of_rates_has_a_unit_that_fits(capacity, unit):
    scenario = Scenario("one", "2 s").link("R1", "R2", capacity, "1 ms", duplex=True)
    panel = series.rates(scenario.flow("x", {"cbr": {"rate": capacity}}, "R1", "R2").run())
    assert panel.unit[0] == unit
    assert 1 <= panel.top < 1000


def test_queues_are_times_with_bytes_beside_and_the_buffer_as_a_line():
    scenario = Scenario("full", "5 s").link("R1", "R2", "8 Mb/s", "10 ms", buffer="100 kB", duplex=True)
    panel = series.queues(scenario.flow("x", "reno", "R1", "R2").run())
    assert (panel.unit[0], panel.bytes_per_unit) == ("ms", 1000)
    assert panel.steps[0].y == pytest.approx([100, 100])  # the buffer of 100 kB takes 100 ms
    assert 90 < panel.top <= 100


def test_the_longest_of_many_queues_keep_their_names():
    scenario = Scenario("chain", "4 s")
    for number in range(9):
        scenario.link(f"R{number}", f"R{number + 1}", f"{20 - number} Mb/s", "1 ms", buffer=f"{30 + number} kB")
        scenario.link(f"R{number + 1}", f"R{number}", "50 Mb/s", "1 ms")
        scenario.flow(f"x{number}", "reno", f"R{number}", f"R{number + 1}")
    result = scenario.run()
    panel = series.queues(result)
    delays = {link["name"]: link["queueing_delay_s"] for link in result.summary["links"]}
    waits = {name: delay["mean"] for name, delay in delays.items() if delay}
    longest = sorted(waits, key=waits.get, reverse=True)[: series.NAMED_OF_MANY]
    assert {curve.name for curve in panel.curves} == set(longest)
    assert panel.others_label == f"{len(panel.others)} other links"
    assert len(panel.others) >= 4


def test_losses_are_shares_of_what_arrived():
    result = web(size="200 packets")
    panel = series.losses(result)
    dropped = result.links["dropped_bytes"].sum()
    assert dropped > 0
    span = 3 / series.BARS
    span = max(span, result.scenario["sample_s"])
    own = result.links.filter(result.links["link"] == "R1->R2")
    places = ((own["t"] / span - 1e-9).floor()).cast(int)
    arrived = (own["arrival_bps"] * own["t"].diff(null_behavior="ignore").fill_null(own["t"][0]) / 8).to_numpy()
    shares = np.array(panel.curves[0].y) / 100
    bins = ((panel.curves[0].t / span) - 0.5).round().astype(int)
    again = sum(shares[n] * arrived[places.to_numpy() == place].sum() for n, place in enumerate(bins))
    assert again == pytest.approx(dropped)


@pytest.mark.parametrize("name", ["\U0001f680", "$\\x$"], ids=["in no font", "bad mathematics"])
def test_a_name_is_drawn_as_it_is_and_without_a_warning(tmp_path, name):
    scenario = Scenario("crowd", "1 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
    plots.write(scenario.flow(name, "jetmax", "R1", "R2").run(out=tmp_path / "r"))


def test_a_run_without_drops_has_no_picture_of_losses(finished):
    assert plots.names_of(finished) == ["rates", "queues"]
    axes = plots.draw(finished, "losses").axes[0]
    assert [text.get_text() for text in axes.texts] == ["no queue dropped a packet"]


@pytest.mark.parametrize("encapsulation", ["none", "ethernet+ipv4+udp"])
def test_completion_times_lie_between_the_least_and_the_longest(encapsulation):
    result = web(encapsulation, size={"pareto": {"mean": "20 packets", "shape": 1.5}})
    (drawn,) = transfers(result)
    took = result.completions["fct_s"]
    assert drawn.times[[0, -1]] == pytest.approx([took.quantile(1 / len(drawn.times), "higher"), took.max()], rel=0.05)
    assert (drawn.median >= drawn.ideal * (1 - 1e-9)).all()
    assert (drawn.sharing > drawn.ideal).all()
    assert drawn.shares[-1] == len(took) / result.transfers.height
    assert (drawn.slowdown_late >= drawn.slowdown).all()
    assert [axes.get_xscale() for axes in plots.draw(result, "transfers").axes] == ["log"] * 3
    assert "transfers" in plots.names_of(result)


def test_a_run_without_transfers_has_no_picture_of_them(finished):
    with pytest.raises(ScenarioError, match="no transfer finished"):
        finished.plot("transfers")


def test_the_axes_of_time_of_all_pictures_agree(finished):
    for width in ("screen", "page", "column"):
        stacked = [axes.get_position() for axes in plots.draw(finished, "overview", width).axes]
        assert len({(round(place.x0, 6), round(place.x1, 6)) for place in stacked}) == 1
    apart = [plots.draw(finished, name).axes[0].get_position() for name in ("rates", "queues", "losses")]
    assert len({(round(place.x0, 6), round(place.x1, 6)) for place in apart}) == 1


@pytest.mark.parametrize(("width", "inches"), [("column", 3.4), ("page", 7.0)])
def test_a_picture_for_a_paper_has_its_width_and_letters_of_8_pt(tmp_path, finished, width, inches):
    figure = plots.draw(finished, "rates", width)
    assert figure.get_size_inches()[0] == inches
    assert figure.axes[0].get_title("left") == ""
    plots.save(figure, tmp_path / "rates.svg")
    text = (tmp_path / "rates.svg").read_text()
    assert set(re.findall(r"font-size: ([\d.]+px)", text)) == {"8px"}
    assert re.search(r"<text [^>]*>time \(s\)</text>", text)


def test_fonts_stay_fonts_in_a_pdf(tmp_path, finished):
    plots.save(plots.draw(finished, "rates", "column"), tmp_path / "rates.pdf")
    written = (tmp_path / "rates.pdf").read_bytes()
    assert b"/Type42" in written or b"/CIDFontType2" in written
    assert b"/Type3" not in written


def test_a_logarithmic_axis_has_plain_numbers(finished):
    axes = plots.draw(finished, "rates", log=True).axes[0]
    assert axes.get_yscale() == "log"
    plots.save(axes.figure, finished.path.parent / "log.svg")
    assert "<tspan" not in (finished.path.parent / "log.svg").read_text()


def test_a_short_logarithmic_axis_has_numbers_between_powers_of_ten():
    for high, shown in ((8e5, ["20,000", "", "50,000"]), (8e7, ["", "", ""])):
        axes = Figure().add_subplot()
        axes.plot([1.5e4, high], [1, 1])
        plots.logarithmic(axes, "x")
        assert axes.xaxis.get_minor_formatter().format_ticks([2e4, 3e4, 5e4]) == shown
        assert axes.xaxis.get_major_formatter().format_ticks([1e5]) == ["100,000"]


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_equal_figures_give_equal_files(tmp_path, finished, ending):
    for name in ("one", "two"):
        plots.save(plots.rates(finished), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_legends_lie_above_their_axes_and_inside_the_picture(finished):
    for width in ("screen", "column"):
        figure = plots.draw(finished, "overview", width)
        for axes in figure.axes:
            legend = axes.get_legend().get_window_extent()
            assert legend.y0 >= axes.get_window_extent().y1
            assert legend.x1 <= figure.bbox.x1
            assert legend.y1 <= figure.bbox.y1


def test_another_kind_takes_the_place_of_the_last_one(tmp_path):
    result = Scenario.named("two-flows").set("duration", "2 s").run(out=tmp_path / "r")
    plots.write(result, ("pdf", "svg"))
    written = plots.write(result, ("png",))
    assert {path.name for path in written} == {"rates.png", "queues.png", "report.html"}
    assert {path.name for path in (tmp_path / "r").glob("*.*")} >= {path.name for path in written}
    assert not list((tmp_path / "r").glob("*.pdf"))


def test_a_result_in_memory_has_no_place_for_pictures():
    with pytest.raises(ValueError, match="no directory"):
        plots.write(crowd(1))
