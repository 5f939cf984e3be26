import numpy as np
import pytest

from levelflow import Scenario, library
from levelflow.theory.references import MAX_MIN, UTILITY, reference
from levelflow.theory.units import base

PACKET = 8000  # bits
UNIT = 0.02  # s, time unit of Kunniyur and Srikant's experiments


def network(*capacities, duration="10 s", **options):
    """Returns a chain of nodes A, B, C, ... with these capacities."""
    scenario = Scenario("chain", duration)
    for here, there, capacity in zip("ABCD", "BCDE", capacities, strict=False):
        scenario.link(here, there, capacity, "10 ms", duplex=True, **options)
    return scenario


def parking_lot(law, *capacities, **options):
    """Returns a scenario with one flow over all links and one flow over each link."""
    scenario = network(*capacities, **options)
    scenario.flow("long", law, "A", "ABCDE"[len(capacities)], rtt="100 ms")
    for here, there, _ in zip("ABCD", "BCDE", capacities, strict=False):
        scenario.flow(here, law, here, there, rtt="100 ms")
    return scenario


def rates(scenario, *active, name):
    resolved = scenario.resolve()
    found = reference(resolved, active or [1] * len(resolved["flows"]))
    assert found.name == name
    return found.rates


@pytest.mark.parametrize("law", ["jetmax", "emkc", "rcp", "maxnet", "xcp"])
def test_laws_that_follow_the_tightest_router_are_max_min_fair_in_its_target(law):
    scenario = parking_lot(law, "30 Mb/s", "10 Mb/s")
    first, second = (scenario.resolve()["links"][number]["target_bps"] for number in (0, 2))
    assert rates(scenario, name=MAX_MIN) == pytest.approx([second / 2, first - second / 2, second / 2])
    assert rates(scenario, 2, 0, 0.5, name=MAX_MIN) == [pytest.approx(second / 2.5), None, pytest.approx(second / 2.5)]
    assert rates(scenario, 0, 0, 0, name=MAX_MIN) == [None, None, None]


def test_maxnet_shares_by_the_demand_at_price_zero():
    scenario = network("8 Mb/s").law("maxnet", mu=1.0)
    scenario.flow("x", "maxnet", "A", "B").flow("y", {"maxnet": {"x_max": "3e14 b/s"}}, "A", "B", rtt="50 ms")
    scenario.set("flow.x.law.maxnet.x_max", "1e14 b/s")
    assert rates(scenario, name=MAX_MIN) == pytest.approx([2e6, 6e6])


def test_unresponsive_flows_get_their_rate_first():
    scenario = network("10 Mb/s", "10 Mb/s").flow("noise", {"cbr": {"rate": "2 Mb/s"}}, "A", "B", count=2)
    scenario.flow("x", "rcp", "A", "C").flow("y", "rcp", "A", "C")
    assert rates(scenario, 2, 1, 1, name=MAX_MIN) == [None, 3e6, 3e6]
    assert rates(scenario, 6, 1, 1, name=MAX_MIN) == [None, 0, 0]
    assert rates(scenario.set("flow.x.law", "reno").set("flow.y.law", "reno"), 6, 1, 1, name=MAX_MIN) == [None, 0, 0]
    assert rates(scenario, 1, 1, 1, name=UTILITY)[1:] == pytest.approx([4e6, 4e6])


@pytest.mark.parametrize("law", ["reno", "tfrc"])
def test_tcp_shares_a_link_by_the_inverse_of_the_round_trip(law):
    scenario = network("9 Mb/s").flow("near", law, "A", "B", rtt="40 ms").flow("far", law, "A", "B", rtt="80 ms")
    assert rates(scenario, name=UTILITY) == pytest.approx([6e6, 3e6])
    assert rates(scenario, 1, 4, name=UTILITY) == pytest.approx([3e6, 1.5e6])


def test_tcp_over_a_bad_wire_has_the_rate_of_the_square_root_law():
    scenario = network("1 Gb/s", loss=0.01).flow("x", "reno", "A", "B", rtt="50 ms")
    assert rates(scenario, name=UTILITY) == pytest.approx([PACKET / 0.05 * np.sqrt(1.5 / 0.01)])


@pytest.mark.parametrize("law", ["vegas", "fast"])
def test_laws_that_keep_a_number_of_packets_in_queues_are_proportionally_fair(law):
    assert rates(parking_lot(law, "8 Mb/s", "8 Mb/s", "8 Mb/s"), name=UTILITY) == pytest.approx([2e6, 6e6, 6e6, 6e6])


def test_proportional_shares_go_with_the_number_of_packets():
    scenario = network("8 Mb/s").flow("x", "fast", "A", "B").flow("y", {"fast": {"alpha": 60}}, "A", "B")
    assert rates(scenario, name=UTILITY) == pytest.approx([2e6, 6e6])


def test_kelly_control_exceeds_the_fair_share_by_what_flows_pay():
    scenario = network("10 Mb/s").flow("x", {"kelly": {"omega": "50 kb/s"}}, "A", "B", count=5)
    assert rates(scenario, 5, name=UTILITY) == pytest.approx([2e6 + 50e3])


def ks(**parameters):
    """Returns experiment 1. The flow with the utility -1/sqrt(x) crosses both links. The flows with the utilities log x
    and -1/x cross one link each. Packets have 32 bytes, without headers.
    """
    scenario = network("2 Mb/s", "1 Mb/s").set("encapsulation", "none").law("ks", **parameters)
    scenario.flow("user0", {"ks": {"utility": "power", "nu": 0.5}}, "A", "C", packet="32 B")
    scenario.flow("user1", {"ks": {"utility": "log"}}, "A", "B", packet="32 B")
    return scenario.flow("user2", {"ks": {"utility": "power", "nu": 1}}, "B", "C", packet="32 B")


def in_packets(rates, packet=256):
    return np.array(rates) * UNIT / packet


def test_kunniyur_and_srikants_users_meet_their_first_order_condition():
    x = in_packets(rates(ks(beta=0.5), name=UTILITY))
    load = np.array([x[0] + x[1], x[0] + x[2]])
    price = 0.5 * np.maximum(1 - np.array([156.25, 78.125]) / load, 0)
    assert [0.5 * x[0] ** -1.5, 1 / x[1], 1 / x[2] ** 2] == pytest.approx([price.sum(), *price])
    dear = in_packets(rates(ks(beta=1e5), name=UTILITY))
    assert dear.round(2).tolist() == [16.56, 139.69, 61.57]  # values of the paper for hard capacities


def test_windows_that_ignore_their_delay_favour_short_ones():
    # Kunniyur and Srikant, remark 3: if the round trips of two TCP users differ by a factor of 2, their rates do, too.
    scenario = network("9 Mb/s").law("ks", delay=1.0, utility="power", nu=1.0, beta=1e4)
    scenario.flow("near", "ks", "A", "B", rtt="40 ms").flow("far", "ks", "A", "B", rtt="80 ms")
    assert rates(scenario, name=UTILITY) == pytest.approx([6e6, 3e6], rel=1e-3)
    assert rates(scenario.law("ks", delay=0.0), name=UTILITY) == pytest.approx([4.5e6, 4.5e6], rel=1e-3)


def test_marks_begin_at_their_level_and_lost_packets_count_only_where_losses_do():
    users, level = 4, 0.9
    queue = {"virtual_queue": {"level": level, "ecn": True}}
    marks = network("8 Mb/s", queue=queue, loss=0.02).law("ks", utility="log", signal="mark", beta=0.5)
    marks.flow("x", "ks", "A", "B", count=users)
    (rate,) = in_packets(rates(marks, users, name=UTILITY), PACKET)
    assert users * rate == pytest.approx(level * 8e6 * UNIT / PACKET + users / (0.5 * 0.98))  # section V-A, eq. 42
    losses = network("1 Gb/s", loss=0.02).law("ks", utility="power", nu=1.0, beta=0.5, delay=0.0)
    losses.flow("x", "ks", "A", "B")
    assert in_packets(rates(losses, name=UTILITY), PACKET) == pytest.approx([1 / np.sqrt(0.5 * 0.02)])  # eq. 18


@pytest.mark.parametrize(
    "scenario",
    [
        network("9 Mb/s").flow("x", "reno", "A", "B").flow("y", "rcp", "A", "B"),
        network("9 Mb/s").flow("x", "reno", "A", "B", rtt={"uniform": ["50 ms", "60 ms"]}).flow("y", "reno", "A", "B"),
        network("9 Mb/s", queue={"virtual_queue": {"adapt": "load", "ecn": True}})
        .flow("x", {"ks": {"signal": "mark"}}, "A", "B")
        .flow("y", {"ks": {"signal": "mark", "weight": 9}}, "A", "B"),
    ],
    ids=["two laws", "round trips that are drawn", "a level that moves"],
)
def test_without_a_common_known_optimum_the_yardstick_is_max_min(scenario):
    assert rates(scenario, name=MAX_MIN) == pytest.approx([4.5e6, 4.5e6])


# **Invariant** (Results): every law has a reference, and no transfer completes in less than its ideal time. See
# `test_no_transfer_takes_less_than_its_ideal_time`.
@pytest.mark.parametrize("law", library.laws(), ids=lambda law: law["name"])
def test_there_is_a_reference_for_every_law(law):
    scenario = network("10 Mb/s", queue={"virtual_queue": {"ecn": True}}).flow("x", law["name"], "A", "B", count=2)
    (rate,) = reference(scenario.resolve(), [2]).rates
    assert rate is None if law["signal"] == "nothing" else rate > 1e6


def test_parameters_read_as_scenarios_write_them():
    for law in library.laws():
        for row in law["params"]:
            if row["kind"] in {"time", "rate", "number"}:
                assert base(row["low"]) <= base(row["default"]) <= base(row["high"])


def test_many_flows_in_an_entry_are_as_many_entries():
    together = network("10 Mb/s", "10 Mb/s").flow("many", "reno", "A", "C", count=3).flow("x", "reno", "A", "B")
    apart = network("10 Mb/s", "10 Mb/s").flow("x", "reno", "A", "B")
    for number in range(3):
        apart.flow(f"one of many {number}", "reno", "A", "C")
    many, one = rates(together, 3, 1, name=UTILITY)
    assert rates(apart, name=UTILITY) == pytest.approx([one, many, many, many])
