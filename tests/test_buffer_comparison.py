"""Comparing buffers: means of a link, their confidence, and the search for the best of fixed size."""

import numpy as np
import pytest

from levelflow import buffer_tables
from levelflow.claims.metrics import sizing
from levelflow.claims.sized import LINK, crowd, one_link
from levelflow.sizing import Targets, best_fixed, candidates, compare, with_buffer

CAPACITY = 10e6  # bit/s


def network(count=16, duration=60.0):
    return crowd(one_link(10, "50 packets", duration), count, (30, 62))


def run(scenarios):
    return [scenario.run() for scenario in scenarios]


def test_use_is_what_the_counters_of_the_link_say():
    result = network().run()
    (link,) = (row for row in result.summary["links"] if row["name"] == LINK)
    used = sizing.use(result.links, LINK, CAPACITY, (0.0, 60.0))
    assert used.loss == pytest.approx(link["dropped_packets"] / link["arrived_packets"], rel=0.02)
    assert used.utilisation == pytest.approx(link["utilisation"], rel=1e-3)
    assert used.buffer == 50


def test_intervals_of_confidence_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 1.0, (2000, 10))
    covers = [abs(sample.mean() - 3.0) <= sizing.half_width(sample) for sample in samples]
    assert np.mean(covers) == pytest.approx(0.95, abs=0.015)


def test_the_best_fixed_buffer_meets_its_targets_and_a_smaller_one_does_not():
    targets = Targets(0.0, 0.05)
    best = best_fixed(network(), LINK, targets, run)
    assert best.miss == 0
    smaller = compare(network(), LINK, targets, {"smaller": f"{int(best.used.buffer * 0.8)} packets"}, run)[0]
    assert smaller.miss > 0


def test_targets_that_nothing_meets_get_what_misses_them_least():
    network_of_one = one_link(10, "1 packet", 40).flow("x", {"cbr": {"rate": "20 Mb/s"}}, "A", "B")
    best = best_fixed(network_of_one, LINK, Targets(0.9, 0.1), run)
    assert best.miss == pytest.approx(0.5 / 0.1 - 1, rel=0.1)


def test_comparing_leaves_the_scenario_alone():
    scenario = network(duration=40.0)
    lines = compare(scenario, LINK, Targets(0.98, 0.02), candidates(Targets(0.98, 0.02)), run)
    assert scenario.raw["link"][0]["buffer"] == "50 packets"
    assert [line.name for line in lines] == list(candidates(Targets(0.98, 0.02)))
    assert with_buffer(scenario, LINK, "7 packets").raw["link"][0]["buffer"] == "7 packets"


@pytest.mark.parametrize("table", ["II", "III"])
def test_abs_in_logarithms_meets_its_targets_in_the_quick_rows_of_a_table(table, capsys):
    assert buffer_tables.main(["--quick", "--table", table]) == 0
    assert "abs_log met its targets in 3 of 3 rows" in capsys.readouterr().out


def test_table_one_says_what_rem_does(capsys):
    buffer_tables.main(["--table", "I"])
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| 10")]
    assert [row[1:3] for row in rows][::7] == [[" 100 ", " Reno "], [" 10 ", " Reno "]]
    assert float(rows[0][3].split()[0]) == pytest.approx(50, abs=10)
