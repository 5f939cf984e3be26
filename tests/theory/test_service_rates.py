"""Service rates of links: references, predictions, loads and buffers behind shapers and policers."""

import pytest

from levelflow import Scenario
from levelflow.theory.check import check
from levelflow.theory.competition import in_force, listed
from levelflow.theory.references import reference


def line(queue, law="cubic", capacity="100 Mb/s", count=1, **link):
    scenario = Scenario("line", "4 s").link("A", "B", capacity, "5 ms", duplex=True, queue=queue, **link)
    return scenario.flow("x", law, "A", "B", count=count, rtt="20 ms")


def share(scenario, start=0.0, end=None):
    resolved = in_force(scenario.resolve(), start, end)
    return reference(resolved, listed(resolved)).rates[0]


@pytest.mark.parametrize(
    ("queue", "rate"),
    [
        ({"cake": {"rate": "20 Mb/s", "isolation": "destinations"}}, 20e6),
        ({"cake": {"rate": "200 Mb/s"}}, 100e6),
        ({"policer": {"rate": "20 Mb/s", "burst": "100 kB"}}, 20e6),
        ("fq_codel", 100e6),
    ],
)
def test_the_fair_share_is_of_what_the_shaper_or_policer_lets_pass(queue, rate):
    assert share(line(queue, count=9)) == pytest.approx(rate / 9)
    assert share(line(queue, law="level", count=4)) <= rate / 4


def test_a_line_that_changes_serves_the_less_of_both_at_each_moment():
    changes = [{"at": "1 s", "capacity": "4 Mb/s"}, {"at": "3 s", "capacity": "50 Mb/s"}]
    scenario = line({"cake": {"rate": "20 Mb/s"}}, changes=changes, buffer="100 kB")
    for at, rate in [(0.5, 20e6), (2.0, 4e6), (3.5, 20e6)]:
        assert share(scenario, at) == pytest.approx(rate)
    assert share(scenario, 0.0, 4.0) == pytest.approx((20e6 + 2 * 4e6 + 20e6) / 4)


def test_a_run_is_judged_by_the_shaper_and_the_policer():
    for queue in ({"cake": {"rate": "10 Mb/s"}}, {"policer": {"rate": "10 Mb/s", "burst": "25 kB"}}):
        result = line(queue, capacity="1 Gb/s").run()
        flow, link = result.summary["flows"][0], result.summary["links"][0]
        assert flow["share_bps"] == pytest.approx(10e6), queue
        assert 0.5 < link["utilisation"] <= 1.02, queue  # the bucket holds 0.5 % of the traffic of 4 s


def test_buffers_in_products_are_of_the_service_rate():
    for queue, room in [({"policer": {"rate": "20 Mb/s"}}, 50_000), ("drop_tail", 250_000)]:
        link = line(queue, buffer="1 BDP").resolve()["links"][0]
        assert link["buffer"] == {50_000: "50 kB", 250_000: "250 kB"}[room]


def test_a_policer_keeps_no_queue_and_a_shaper_does():
    shaped = check(line({"cake": {"rate": "20 Mb/s"}}, law="reno", buffer="1 BDP").resolve())
    policed = check(line({"policer": {"rate": "20 Mb/s"}}, law="reno", buffer="1 BDP").resolve())
    assert shaped.rates_by_flow["x"] == policed.rates_by_flow["x"] == pytest.approx(20e6)
    assert policed.queues[0] == 0.0
    assert shaped.queues[0] != 0.0


def test_a_prediction_prints_rates_by_name():
    found = check(line("drop_tail", law="jetmax", count=4).resolve())
    assert str(found).splitlines()[0] == f"x: {found.rates_by_flow['x'] / 1e6:.4g} Mb/s at A->B"
    assert len(str(found)) < 200
    assert repr(found).startswith("<Prediction of 1 flow entry: stable=")
