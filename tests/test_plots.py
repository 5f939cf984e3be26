import re

import pytest

from levelflow import Scenario
from levelflow.report import plots


def crowd(flows):
    scenario = Scenario("crowd", "2 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
    for number in range(flows):
        scenario.flow(f"x{number}", "jetmax", "R1", "R2", rtt="50 ms")
    return scenario.run()


def test_each_flow_has_a_line_and_the_fair_rate_beside_it(finished):
    axes = plots.rates(finished).axes[0]
    solid = [line for line in axes.get_lines() if line.get_linestyle() == "-"]
    assert [line.get_label() for line in solid] == ["x1 (jetmax)", "x2 (jetmax)"]
    assert solid[0].get_ydata()[-1] == pytest.approx(5, rel=0.05)
    assert axes.get_lines()[2].get_ydata()[[0, -1]] == pytest.approx([10, 5], rel=0.02)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "rate (Mb/s)")


def test_a_hundred_flows_are_grey_with_their_mean():
    axes = plots.rates(crowd(100)).axes[0]
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["100 curves", "their mean"]


def test_transfers_are_drawn_as_delivered():
    scenario = Scenario("web", "3 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
    scenario.flow("web", "rcp", "R1", "R2", size="20 packets", arrivals={"poisson": "40 /s"})
    result = scenario.run()
    own = result.flows.filter(result.flows["active"] > 0)
    line = plots.rates(result).axes[0].get_lines()[0]
    assert line.get_label() == "web (rcp, mean, delivered)"
    assert line.get_ydata() == pytest.approx((own["delivered_bps"] / own["active"] / 1e6).to_list())


@pytest.mark.parametrize("name", ["\U0001f680", "$\\x$"], ids=["in no font", "bad mathematics"])
def test_a_name_is_drawn_as_it_is_and_without_a_warning(tmp_path, name):
    scenario = Scenario("crowd", "1 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
    plots.write(scenario.flow(name, "jetmax", "R1", "R2").run(out=tmp_path / "r"))


def test_what_never_happened_is_said_in_words(finished):
    axes = plots.losses(finished).axes[0]
    assert [text.get_text() for text in axes.texts] == ["no queue dropped a packet"]


def test_the_page_needs_nothing_else(finished):
    page = plots.write(finished)[-1].read_text()
    assert page.count("<svg") == 3
    assert "<script" not in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "x1" in page


def test_no_two_elements_of_the_page_share_an_id(finished):
    page = plots.write(finished)[-1].read_text()
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    named = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert named
    assert set(named) <= set(ids)


def test_text_of_the_page_is_text(finished):
    page = plots.write(finished)[-1].read_text()
    assert re.search(r"<text [^>]*>time \(s\)</text>", page)


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_equal_figures_give_equal_files(tmp_path, finished, ending):
    for name in ("one", "two"):
        plots.save(plots.rates(finished), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_a_long_legend_has_its_place_beside_the_axes(finished):
    figure = plots.queues(finished)
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.x0 > figure.axes[0].get_window_extent().x1
    assert legend.x1 <= figure.bbox.x1


def test_a_result_in_memory_has_no_place_for_pictures():
    with pytest.raises(ValueError, match="no directory"):
        plots.write(crowd(1))
