"""Builder of random transfers over one link, which several figures share."""

from types import SimpleNamespace

import pytest

from dukkipati_models.arrivals import LATER, LINK, OneLink, settled
from levelflow.measure import queues


def test_arrival_rates_are_the_printed_ones():
    assert OneLink(2.4e9, 0.1, 0.9, 25).arrivals == pytest.approx(10800)
    assert OneLink(150e6, 1.6, 0.9, 25).arrivals == pytest.approx(675)


def test_settings_omitted_by_the_quick_tier_have_no_duration():
    quick, full = SimpleNamespace(full=False), SimpleNamespace(full=True)
    setting = LATER["fig20 9.6 Gb/s"]
    assert (setting.runs_in(quick), setting.runs_in(full), setting.duration(full)) == (False, True, 20)
    with pytest.raises(ValueError, match="omits this run"):
        setting.duration(quick)


def test_the_link_carries_the_offered_load():
    plan = OneLink(50e6, 0.02, 0.6, 10)
    result = plan.scenario(40, size={"exponential": "10 kB"}).set("profile", "paper").run()
    share, _ = queues.utilisation(result.links, LINK, plan.capacity, settled(40))
    headers_and_noise = 0.05
    assert share == pytest.approx(0.6, rel=headers_and_noise)


def test_round_trip_and_buffer_follow_from_the_plan():
    scenario = OneLink(50e6, 0.02, 0.6, 10).scenario(1)
    resolved = scenario.resolve()
    assert resolved["links"][0]["delay_s"] == pytest.approx(0.01)
    assert scenario.raw["link"][0]["buffer"] == "125 packets"
    assert resolved["flows"][0]["base_rtt_s"] == pytest.approx(0.02)


def test_tcp_alone_runs_as_in_ns2():
    laws = [OneLink(50e6, 0.02, 0.6, 10).scenario(1, law=law).raw.get("law", {}) for law in ("reno", "xcp")]
    assert laws == [{"reno": {"sack": False, "min_timeout": "10 ms", "timeout_floor": "200 ms"}}, {}]
