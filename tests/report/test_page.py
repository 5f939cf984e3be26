"""The page of a run."""

import html
import html.parser
import json
import re
import subprocess
import tomllib

import numpy as np
import pytest
from conftest import network

from levelflow import Scenario
from levelflow.report import network as drawing
from levelflow.report import page as paging
from levelflow.report import plots

#: Elements of HTML without an end tag.
VOID = {"meta", "br"}


class Tree(html.parser.HTMLParser):
    """Parses a page: asserts that elements are closed in order, and collects their text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(finished):
    plots.write(finished, command="levelflow run mine.toml --set 'flow.x1.law=rcp'")
    return (finished.path / "report.html").read_text()


def test_the_page_needs_nothing_else(finished, page):
    tree = Tree(page)
    assert tree.open == []
    linked = [a[key] for _, a in tree.elements for key in ("src", "href") if key in a]
    assert linked
    assert all((finished.path / name).is_file() for name in linked)
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", page)


def test_no_two_elements_share_an_id_and_each_picture_is_named(page):
    tree = Tree(page)
    ids = [attributes["id"] for _, attributes in tree.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    pictures = [attributes for attributes in tree.all("svg") if attributes.get("role") == "img"]
    assert len(pictures) == 4  # rates, round trips, queues, network
    for picture in pictures:
        assert set(picture["aria-labelledby"].split()) <= set(ids)


def test_tables_have_captions_and_heads(page):
    tree = Tree(page)
    assert len(tree.all("caption")) == len(tree.all("table")) == 2
    assert {attributes.get("scope") for attributes in tree.all("th")} == {"col", "row"}


def test_the_page_has_the_scenario_and_the_command(finished, page):
    text = Tree(page).text
    assert "levelflow run mine.toml --set 'flow.x1.law=rcp'" in text
    toml = text[text.index('name = "two flows"') : text.index("Data in the directory of this page")]
    assert tomllib.loads(toml) == finished.manifest["raw"]


def test_a_curve_of_the_page_has_the_values_of_the_run(finished, page):
    figure = re.search(r"<figure id=p0 .*?</figure>", page, re.DOTALL)[0]
    top, end = (float(re.search(rf"data-{key}='([^']+)'", figure)[1]) for key in ("top", "end"))
    drawn = re.search(r"<path class='curve[^']*' data-name='x1' d='M([^']*)'", figure)[1]
    x, y = np.array([[float(n) for n in pair.split(",")] for pair in drawn.split()]).T
    own = finished.flows.filter(finished.flows["flow"] == "x1")
    assert x / paging.WIDE * end == pytest.approx(own["t"].to_list(), abs=1e-3)
    assert (1 - y / paging.HIGH_UNITS) * top == pytest.approx((own["throughput_bps"] / 1e6).to_list(), abs=1e-3)


def test_a_long_curve_keeps_its_peaks_and_gaps():
    x = np.arange(50_000.0)
    y = np.sin(x / 997)
    y[12_345], y[20_000:20_040] = 7, np.nan
    kept_x, kept_y = paging.thinned(x, y)
    assert kept_x.size <= 1.4 * paging.POINTS
    assert (np.nanmax(kept_y), np.nanmin(kept_y)) == (7, np.nanmin(y))
    assert np.isnan(kept_y).any()
    assert (np.diff(kept_x) > 0).all()


def test_names_are_text(tmp_path):
    scenario = Scenario("<b>&'\"", "1 s").link("<i>", "R2", "10 Mb/s", "10 ms", duplex=True)
    result = scenario.flow("<x'>", "jetmax", "<i>", "R2").run(out=tmp_path / "r")
    plots.write(result)
    tree = Tree((tmp_path / "r" / "report.html").read_text())
    assert tree.open == []
    assert not [name for name, _ in tree.elements if name in {"b", "i", "x'"}]
    assert "<x'>" in {attributes.get("data-name") for _, attributes in tree.elements}


def chain():
    scenario = Scenario("chain", "3 s")
    for a, b, capacity in (("A", "B", "10 Mb/s"), ("B", "C", "2 Mb/s"), ("C", "D", "10 Mb/s")):
        scenario.link(a, b, capacity, "1 ms", buffer="20 packets", duplex=True)
    return scenario.flow("x", "newreno", "A", "D").flow("y", "newreno", "C", "D").run()


def test_bottlenecks_are_the_busiest_links_of_paths():
    assert drawing.bottlenecks(chain()) == ["B->C", "C->D"]


def test_nodes_of_a_chain_stand_in_a_row_at_equal_distances():
    result = chain()
    pairs = [(link["from"], link["to"]) for link in result.scenario["links"]]
    places, _ = drawing.placed(["A", "B", "C", "D"], pairs, result)
    x = [places[node][0] for node in "ABCD"]
    assert np.diff(x) == pytest.approx([(x[3] - x[0]) / 3] * 3, rel=1e-3)
    assert np.ptp([places[node][1] for node in "ABCD"]) < 1


def test_the_name_of_a_node_stands_where_it_has_no_links():
    places = {"M": np.zeros(2), "E": np.array([9.0, 0.0]), "N": np.array([0.0, -9.0]), "W": np.array([-9.0, 0.0])}
    side = {node: drawing.free_side(node, places, [("M", "E"), ("E", "M"), ("N", "M")]) for node in places}
    assert side["E"] == pytest.approx([1, 0])
    assert side["N"] == pytest.approx([0, -1])
    assert side["M"] == pytest.approx([-(0.5**0.5), 0.5**0.5])
    assert side["W"] == pytest.approx([0, 1])  # the name of a node without links is below the node


def test_disconnected_parts_of_a_network_are_drawn():
    scenario = Scenario("apart", "1 s").link("A", "B", "1 Mb/s", "1 ms", duplex=True)
    scenario.link("C", "D", "1 Mb/s", "1 ms", duplex=True).flow("x", "jetmax", "A", "B")
    assert "NaN" not in drawing.drawing(scenario.run()).replace("nan", "NaN")


def test_colours_have_the_contrast_that_people_need():
    style = paging._file("page.css")
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", part)) for part in style.split("@media screen")[:2])
    dark = dict(re.findall(r"--(\w+): (#\w+)", style.split("@media screen")[1].split("* {")[0]))
    for colours in (light, dark):
        for name, least in [
            ("ink", 4.5),
            ("quiet", 4.5),
            ("accent", 4.5),
            ("other", 3),
            *((f"c{n}", 4.5) for n in range(7)),
        ]:
            assert contrast(colours[name], colours["back"]) >= least, name


def contrast(one, two):
    """Returns the contrast ratio of two colours, as defined in WCAG 2.2."""

    def luminance(text):
        digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
        parts = np.array([int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)])
        return float(
            np.dot(
                np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4), [0.2126, 0.7152, 0.0722]
            )
        )

    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_ticks_are_round_and_inside():
    assert paging.nice(0, 0.7, 5) == [0, 0.2, 0.4, 0.6]
    assert paging.decades(0.3, 40) == [1, 10]
    assert paging.decades(3, 40) == [5, 10, 20]


def test_equal_results_have_equal_pages():
    assert paging.page(network().run()) == paging.page(network().run())


def test_a_flow_that_sent_nothing_leaves_a_page(tmp_path):
    result = (
        network().set("duration", "1 s").set("flow.x1.start", "3 s").set("flow.x2.start", "3 s").run(out=tmp_path / "r")
    )
    plots.write(result)
    assert "nothing arrived" in (tmp_path / "r" / "report.html").read_text()
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["reference"]


#: Script of a visitor's actions, appended to the page's script. It writes the resulting texts into the title.
VISIT = """
const area = figures[0].svg.getBoundingClientRect();
const touch = (type, share) => figures[0].svg.dispatchEvent(new PointerEvent(
  type, {clientX: area.left + share * area.width, clientY: area.top + 9, pointerType: "touch", bubbles: true},
));
touch("pointerdown", 0.5); touch("pointermove", 0.75); touch("pointerup", 0.75);
touch("pointermove", 0.5);
form.flow.value = "x2"; form.flow.dispatchEvent(new Event("change"));
document.title = JSON.stringify({
  heights: [...document.querySelectorAll("#p0 .y:not(.right) span")].map((span) => span.textContent),
  bytes: document.querySelector("#p2 .right span:last-child").textContent,
  ticks: [...document.querySelectorAll("#p0 .x span")].map((span) => span.textContent),
  said: form.at.textContent,
  values: [...document.querySelectorAll("#p0 output")].map((value) => value.textContent),
  picked: [...document.querySelectorAll("#p0 path.on")].map((path) => path.dataset.name),
  path: document.querySelectorAll(".map g.on").length,
});
</script>"""


@pytest.mark.needs("chromium")
def test_the_page_shows_values_zooms_and_selects(tmp_path, finished, page):
    (tmp_path / "page.html").write_text(page.replace("</script>", VISIT))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", "--dump-dom"]
    command = ["chromium", *options, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", done.stdout)[1]))
    assert (found["ticks"][0], found["ticks"][-1]) == ("10", "15")
    assert found["heights"] == ["0", "2", "4"]  # both flows get 5 Mb/s, after at most 10 Mb/s
    assert found["bytes"].endswith("kB")
    assert found["said"] == "at 12.50 s"
    own = finished.flows.filter((finished.flows["t"] - 12.5).abs() < 1e-9)
    assert [float(value.split()[0]) for value in found["values"]] == pytest.approx(
        (own["throughput_bps"] / 1e6).to_list(), rel=0.01
    )
    assert set(found["picked"]) == {"x2"}
    assert found["path"] == 1
