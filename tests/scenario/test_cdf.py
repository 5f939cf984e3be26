import json

import numpy as np
import pytest

from levelflow import Scenario, ScenarioError, cdf

#: Published means of these distributions, in bytes, from the simulation scripts of MQ-ECN (Bai et al. 2016).
PUBLISHED = {"web-search": 1_711_250, "data-mining": 12_658_199}


def web(size, **options):
    scenario = Scenario("web", "5 s").link("A", "B", "100 Mb/s", "1 ms", duplex=True)
    return scenario.flow("web", "rcp", "A", "B", size=size, **options)


def numbers(points):
    return np.array([[float(size.split()[0]), probability] for size, probability in points]).T


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_files_have_the_published_means(name):
    sizes, shares = numbers(cdf.read(cdf.names()[name]))
    assert np.trapezoid(sizes, shares) == pytest.approx(PUBLISHED[name], abs=0.5)


def test_the_facts_that_the_papers_state_of_data_mining():
    # VL2, section 3: 99 % of the flows are smaller than 100 MB, and 90 % of the bytes are in flows of 100 MB to 1 GB.
    sizes, shares = numbers(cdf.read(cdf.names()["data-mining"]))
    assert np.interp(100e6, sizes, shares) == pytest.approx(0.99, abs=0.011)
    large = sizes >= 100e6
    assert np.trapezoid(sizes[large], shares[large]) / np.trapezoid(sizes, shares) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("0,0\n1000,0.5\n9000,1\n", [("0 B", 0), ("1000 B", 0.5), ("9000 B", 1)]),
        ("# why\n\npackets,probability\n 1 , 0.5 # half\n7, 1.0", [("1 packets", 0.5), ("7 packets", 1)]),
        ("bytes probability\n1e3\t0.25\n1000  0.25\n2000 1\n", [("1000 B", 0.25), ("1000 B", 0.25), ("2000 B", 1)]),
    ],
)
def test_a_file_is_lines_of_sizes_and_probabilities(tmp_path, text, points):
    (tmp_path / "sizes.csv").write_text(text)
    assert cdf.read(tmp_path / "sizes.csv") == points


def test_a_name_stands_for_the_points_of_its_file():
    named = web({"cdf": "web-search"})
    points = [list(point) for point in cdf.read(cdf.names()["web-search"])]
    assert named.to_json() == web({"empirical": points}).to_json()
    assert named.raw["flow"][0]["size"] == {"cdf": "web-search"}
    assert named.resolve()["flows"][0]["finite"]


def test_a_path_leads_from_the_scenario_file_and_a_file_beside_the_user_has_precedence(tmp_path, monkeypatch):
    (tmp_path / "own" / "scenarios" / "traffic").mkdir(parents=True)
    (tmp_path / "own" / "mine.csv").write_text("500,1")
    (tmp_path / "own" / "s.toml").write_text(web({"cdf": "mine.csv"}).to_toml())
    (tmp_path / "own" / "scenarios" / "traffic" / "web-search.csv").write_text("700,1")
    own = Scenario.load(tmp_path / "own" / "s.toml")
    assert json.loads(own.to_json())["flow"][0]["size"] == {"empirical": [["500 B", 1]]}
    monkeypatch.chdir(tmp_path / "own")
    assert json.loads(web({"cdf": "web-search"}).to_json())["flow"][0]["size"] == {"empirical": [["700 B", 1]]}
    assert json.loads(web({"cdf": "./mine.csv"}).to_json())["flow"][0]["size"] == {"empirical": [["500 B", 1]]}


def test_a_result_holds_the_points(tmp_path):
    file = tmp_path / "sizes.csv"
    file.write_text("800,0.5\n2000,1")
    first = web({"cdf": str(file)}).run()
    assert first.manifest["raw"]["flow"][0]["size"] == {"empirical": [["800 B", 0.5], ["2000 B", 1]]}
    file.write_text("800,0.6\n2000,1")
    assert web({"cdf": str(file)}).run().manifest["scenario_hash"] != first.manifest["scenario_hash"]


def test_sizes_of_a_run_have_the_distribution(tmp_path):
    (tmp_path / "sizes.csv").write_text("1000,0.2\n2000,0.5\n2000,0.6\n30000,1")
    scenario = web({"cdf": str(tmp_path / "sizes.csv")}, arrivals={"poisson": "1000 /s"}, limit=3000)
    found = np.sort(scenario.run().completions["bytes"].to_numpy())
    assert found.size == 3000
    points = numbers(cdf.read(tmp_path / "sizes.csv"))
    for size in (999, 1000, 1500, 1999, 2000, 10_000, 29_999):
        below = 0.0 if size < 1000 else np.interp(size + 1e-9, *points)
        at_5_percent_of_chance_for_all = 1.63 / np.sqrt(found.size)  # Kolmogorov-Smirnov test at the level of 1 %
        assert np.mean(found <= size) == pytest.approx(below, abs=at_5_percent_of_chance_for_all)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "ends at 0 with probability 0; needs 1"),
        ("1000,0.5\n2000,0.9", "ends at 2000 with probability 0.9; needs 1, at a size above 0"),
        ("0,1", "ends at 0 with probability 1; needs 1, at a size above 0"),
        ("1000,0.5\n900,1", "line 2: size 900 is not allowed; needs a whole number, at least 1000"),
        ("1000,0.5\n2000,0.4", "line 2: probability 0.4 is not allowed; needs 0.5 as in the line before, up to 1"),
        ("1000,50\n2000,100", "line 1: probability 50 is not allowed; needs 0"),
        ("1000,nan", "line 1: probability nan is not allowed"),
        ("inf,1", "line 1: size inf is not allowed"),
        ("-5,1", "line 1: size -5 is not allowed"),
        ("10.5,1", "line 1: size 10.5 is not allowed; needs a whole number"),
        ("1000;0.5", "line 1: needs a size and a probability"),
        ("1000,1,0.5", "line 1: needs a size and a probability"),
        ("octets,probability\n1000,1", "line 1: unknown unit of sizes; allowed: bytes, packets"),
    ],
)
def test_a_file_that_is_no_distribution_is_refused(tmp_path, text, line):
    (tmp_path / "sizes.csv").write_text(text)
    with pytest.raises(ScenarioError) as error:
        web({"cdf": str(tmp_path / "sizes.csv")}).to_json()
    assert str(error.value).startswith(f"flow 1 (web), size: {tmp_path / 'sizes.csv'}")
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_binary_or_a_number_is_refused(tmp_path):
    (tmp_path / "sizes.csv").write_bytes(b"1000,\xff")
    with pytest.raises(ScenarioError, match="byte 6 is not UTF-8"):
        web({"cdf": str(tmp_path / "sizes.csv")}).to_json()
    with pytest.raises(ScenarioError, match="cdf is 3; needs the name or the path of a file"):
        web({"cdf": 3}).to_json()


def test_only_sizes_come_from_files():
    with pytest.raises(ScenarioError, match="only the size of a flow may name a cdf"):
        web("1 MB", rtt={"cdf": "web-search"}).resolve()
