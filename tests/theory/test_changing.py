"""Links that change: references of runs, traces from files, and predictions of theory."""

import subprocess

import pytest
from experiments import changing_line

from levelflow import Scenario, ScenarioError
from levelflow.theory.check import check
from levelflow.theory.competition import in_force
from levelflow.theory.errors import TheoryError
from levelflow.theory.fluid.conversion import from_scenario

STEP = [{"at": "4 s", "capacity": "4 Mb/s"}]


def line(changes, law="level", **options):
    return (
        Scenario("line", "20 s")
        .link("A", "B", "10 Mb/s", "10 ms", buffer="200 packets", duplex=True, changes=changes, **options)
        .flow("x", law, "A", "B")
        .flow("y", law, "A", "B")
    )


@pytest.mark.parametrize("measured", [False, True])
def test_a_run_is_compared_with_the_capacity_after_the_change(measured):
    summary = line(STEP, measured=measured).run().summary
    assert (summary["last_event"], summary["last_event_s"]) == ("change of a link", 4)
    assert [flow["share_bps"] for flow in summary["flows"]] == pytest.approx([0.95 * 2e6] * 2)
    assert summary["settled"]
    later = line([*STEP, {"at": "60 s", "capacity": "9 Mb/s"}], measured=measured).run().summary
    assert later["last_event_s"] == 4  # the run ends before the next event
    assert summary["links"][0]["utilisation"] == pytest.approx(0.95, abs=0.05)


def test_a_line_that_never_rests_is_compared_with_its_mean():
    changes = [{"at": f"{s} s", "capacity": f"{4 if s % 2 else 8} Mb/s"} for s in range(1, 20)]
    summary = line(changes).run().summary
    assert summary["last_event"] == "arrival or departure"
    assert summary["window_s"] == [16, 20]
    assert summary["flows"][0]["share_bps"] == pytest.approx(0.95 * 3e6)


def test_waits_count_at_the_capacity_of_their_time():
    slow = line([{"at": "1 ms", "capacity": "1 Mb/s"}], law="cubic").run().summary["links"][0]
    others = 199  # packets of 1000 B ahead in the buffer, without the packet in service
    assert 1e3 * slow["queueing_delay_s"]["max"] == pytest.approx(8 * others, rel=0.02)


def test_links_in_force_at_a_time_and_over_a_window():
    scenario = line([*STEP, {"at": "8 s", "over": "4 s", "capacity": "8 Mb/s", "delay": "30 ms"}]).resolve()

    def capacity(*when):
        return in_force(scenario, *when)["links"][0]["capacity_bps"]

    assert [capacity(t) for t in (0, 3.9, 4, 10.001, 12, 99)] == pytest.approx([10e6, 10e6, 4e6, 6e6, 8e6, 8e6])
    assert capacity(2, 6) == pytest.approx(7e6)
    assert in_force(scenario, 12)["links"][0]["delay_s"] == pytest.approx(0.03)
    assert check(scenario, 5.0).rates == pytest.approx([1.9e6] * 2)
    with pytest.raises(TheoryError, match="links that change have no fluid model"):
        from_scenario(scenario)


def test_a_trace_beside_the_scenario_is_the_list_of_its_changes(tmp_path):
    (tmp_path / "line.csv").write_text("t_s,capacity_bps\n4,4e6\n")
    (tmp_path / "s.toml").write_text(line({"csv": "line.csv"}).to_toml())
    traced = Scenario.load(tmp_path / "s.toml")
    assert traced.resolve() == line(STEP).resolve()
    (tmp_path / "line.csv").write_text("t_s,speed\n")
    with pytest.raises(ScenarioError, match=r"s\.toml: .*link 1 \(A->B\), changes: line\.csv: columns"):
        traced.resolve()
    (tmp_path / "line.csv").unlink()
    with pytest.raises(ScenarioError, match=r"line\.csv: no such file"):
        traced.resolve()


def test_a_buffer_with_an_algorithm_needs_a_link_that_stays():
    with pytest.raises(ScenarioError, match="algorithms need a link that does not change"):
        line(STEP).set("link.1.buffer", {"abs_log": {}}).resolve()


def test_a_call_beside_the_kernels_tcp_has_a_constant_rate(monkeypatch):
    asked = []

    def run(command, **_options):
        asked.append(Scenario.load(command[2]).raw)
        return subprocess.CompletedProcess(command, 2, "", "")

    monkeypatch.setattr(changing_line.subprocess, "run", run)
    for law in ("cubic", "jetmax"):
        assert changing_line.on_linux("levelflow-net", changing_line.scenario("lte", law, "drop_tail")) is None
    calls = [next(flow for flow in raw["flow"] if flow["name"] == "call") for raw in asked]
    assert [(call["law"], "application" in call) for call in calls] == [("cbr", False), ("jetmax", True)]
