"""Comparison of buffers: means and confidence intervals of a link, and search for the best fixed size."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import in_full
from experiments import buffer_tables

from levelflow.buffers.candidates import OURS, Targets, best_fixed, candidates, compare, with_buffer
from levelflow.measure import utilisation
from levelflow.measure.intervals import interval
from levelflow.topology.bottleneck import LINK, identical_flows, single_bottleneck
from zhang_models import buffer_rows

CAPACITY = 10e6  # bit/s


def network(count=16, duration=60.0):
    return identical_flows(single_bottleneck(10, "50 packets", duration), count, (30, 62))


def run(scenarios):
    return [scenario.run() for scenario in scenarios]


def test_use_is_what_the_counters_of_the_link_say():
    result = network().run()
    (link,) = (row for row in result.summary["links"] if row["name"] == LINK)
    used = utilisation.use(result.links, LINK, CAPACITY, (0.0, 60.0))
    assert used.loss == pytest.approx(link["dropped_packets"] / link["arrived_packets"], rel=0.02)
    assert used.utilisation == pytest.approx(link["utilisation"], rel=1e-3)
    assert used.buffer == 50


def test_intervals_of_confidence_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 1.0, (2000, 10))
    covers = [abs(sample.mean() - 3.0) <= interval(sample).half for sample in samples]
    assert np.mean(covers) == pytest.approx(0.95, abs=0.015)


def test_the_best_fixed_buffer_meets_its_targets_and_a_smaller_one_does_not():
    targets = Targets(0.0, 0.05)
    best = best_fixed(network(), LINK, targets, run)
    assert best.miss == 0
    smaller = compare(network(), LINK, targets, {"smaller": f"{int(best.used.buffer * 0.8)} packets"}, run)[0]
    assert smaller.miss > 0


def test_unreachable_targets_get_the_closest_candidate():
    network_of_one = single_bottleneck(10, "1 packet", 40).flow("x", {"cbr": {"rate": "20 Mb/s"}}, "A", "B")
    best = best_fixed(network_of_one, LINK, Targets(0.9, 0.1), run)
    assert best.miss == pytest.approx(0.5 / 0.1 - 1, rel=0.1)


def test_comparing_does_not_change_the_scenario():
    scenario = network(duration=40.0)
    lines = compare(scenario, LINK, Targets(0.98, 0.02), candidates(Targets(0.98, 0.02)), run)
    assert scenario.raw["link"][0]["buffer"] == "50 packets"
    assert [line.name for line in lines] == list(candidates(Targets(0.98, 0.02)))
    assert with_buffer(scenario, LINK, "7 packets").raw["link"][0]["buffer"] == "7 packets"


def test_means_and_intervals_of_several_seeds_are_those_of_independent_runs():
    buffers, seeds = {"fixed": "30 packets"}, (1, 2, 3)
    several = compare(network(duration=40.0), LINK, Targets(0.98, 0.02), buffers, run, seeds)[0]
    single = [compare(network(duration=40.0), LINK, Targets(0.98, 0.02), buffers, run, [seed])[0] for seed in seeds]
    assert several.each == tuple(item.used for item in single)
    losses = [item.used.loss for item in single]
    assert len(set(losses)) == 3
    assert several.used.loss == pytest.approx(np.mean(losses))
    assert several.half.loss == pytest.approx(4.3027 * np.std(losses, ddof=1) / np.sqrt(3), rel=1e-4)


def test_the_best_fixed_buffer_of_several_seeds_meets_the_targets_by_its_mean():
    best = best_fixed(network(duration=40.0), LINK, Targets(0.0, 0.05), run, (1, 2, 3))
    assert np.mean([used.loss for used in best.each]) <= 0.05 < max(used.loss for used in best.each) * 1.2
    assert best.miss == 0


@pytest.mark.full
@pytest.mark.parametrize("table", ["II", "III"])
def test_abs_in_logarithms_meets_its_targets_in_the_quick_rows_of_a_table(table, capsys):
    assert buffer_tables.main(["--quick", "--seeds", "2", "--table", table]) == 0
    printed = capsys.readouterr().out
    assert "abs_log met its targets in 3 of 3 rows" in printed
    assert "means over 2 runs, with seeds 1 to 2" in printed


CROWDED = [row if row.flows in {128, 1024} else in_full(row) for row in buffer_rows.second() if row.flows >= 128]
FAST = [row for row in buffer_rows.third() if row.capacity == 256]


@pytest.mark.parametrize("row", [*CROWDED, *FAST], ids=lambda row: f"{row.flows} flows, {row.capacity} Mb per s")
def test_abs_in_logarithms_meets_its_targets_among_many_flows_and_on_a_fast_link(row):
    (line,) = buffer_rows.measure(row, run, [1], [OURS]).values()
    assert buffer_rows.meets(line.used), line.used


def small(_full):
    return {"II": buffer_tables.Table("Small", "flows", {2: buffer_rows.Row(2, 10, 40, 60)})}


def test_tables_fail_where_abs_in_logarithms_misses_its_targets(monkeypatch, capsys):
    monkeypatch.setattr(buffer_tables, "tables", small)
    assert buffer_tables.main(["--table", "II", "--seeds", "1", "--gain", "0.0001"]) == 1
    printed = capsys.readouterr().out
    assert "met its targets in 0 of 1 rows" in printed
    assert "in 0 of 1 single runs." in printed
    assert "abs_log missed them with 2 flows." in printed
    assert "batch means" in printed


def test_a_table_in_which_no_buffer_can_meet_the_targets_fails(monkeypatch, capsys):
    monkeypatch.setattr(buffer_tables, "tables", small)
    monkeypatch.setattr(buffer_rows, "TARGETS", Targets(0.98, 0.02, 1e-6))
    assert buffer_tables.main(["--table", "II", "--seeds", "1"]) == 1
    assert capsys.readouterr().out.endswith("No fixed buffer meets the targets in any row: nothing was judged.\n")


def test_an_interruption_keeps_the_rows_that_were_printed():
    words = [sys.executable, "-m", "experiments.buffer_tables", "--table", "I", "--seeds", "2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not process.stdout.readline().startswith("| 100 | Reno"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "experiments.buffer_tables: interrupted; the rows above are whole\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--seeds", "0"],
        ["--gain", "5"],
        ["--gain", "nan"],
        ["--gain", "x"],
        ["--seeds", "x"],
        ["--table", "IV"],
        ["--quick", "--full"],
    ],
)
def test_a_bad_option_is_refused(words, capsys):
    with pytest.raises(SystemExit) as caught:
        buffer_tables.main(words)
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("python -m experiments.buffer_tables: error: argument ")


def test_table_one_prints_results_of_rem(monkeypatch, capsys):
    monkeypatch.setattr(buffer_rows, "REM_SECONDS", 80.0)
    assert buffer_tables.main(["--table", "I", "--seeds", "1"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| 10")]
    assert [row[1:3] for row in rows][::7] == [[" 100 ", " Reno "], [" 10 ", " Reno "]]
    assert float(rows[0][3].split()[0]) == pytest.approx(50, abs=10)
