"""JetMax on a real path, with queues of Levelflow and of the kernel: needs root and `levelflow-net`."""

import subprocess

import polars as pl
import pytest
from conftest import lack

from levelflow import dataplane
from levelflow.report import compare
from levelflow.results import Result
from levelflow.scenario import Scenario

pytestmark = pytest.mark.real_time

PACKET = 1000 * 8  # bit
CAPACITY = {"R1->R2": 20e6, "R2->R3": 12e6}  # bit/s
#: Allowed queueing delay in addition to the expected delay, s. Other programs may stall the machine.
STALLS = 0.02
SETTLED = 5.0  # s
#: Target utilisation. The remaining capacity drains the backlog after a stall of the machine.
GAMMA = 0.98


def on_the_network(scenario, folder, form="user", *more):
    try:
        program = dataplane.usable()
    except dataplane.DataPlaneError as error:
        lack(["root"], str(error))
    (folder / "network.toml").write_text(scenario.to_toml())
    if form == "kernel" and not dataplane.has_kernel_router():
        lack(
            ["root", "clang"], "no router in the kernel here: it takes root, clang at the build, and a kernel with BPF"
        )
    command = [program, "testbed", folder / "network.toml", "--form", form, "--out", folder / "out", "--json", *more]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return Result.load(folder / "out")


@pytest.fixture(scope="module")
def scenario():
    """Returns a scenario of 12 s: flow x1 over both links, x2 over the first link, x3 over the second link."""
    scenario = Scenario("two bottlenecks", "12 s", sample="50 ms")
    scenario.link("R1", "R2", "20 Mb/s", "5 ms", buffer="100 kB", duplex=True)
    scenario.link("R2", "R3", "12 Mb/s", "5 ms", buffer="100 kB", duplex=True)
    for name, source, to in (("x1", "R1", "R3"), ("x2", "R1", "R2"), ("x3", "R2", "R3")):
        scenario.flow(name, "jetmax", source, to)
    return scenario.set("law.jetmax.gamma", GAMMA)


@pytest.mark.parametrize("form", ["user", "kernel"])
def test_jetmax_on_a_real_path_is_that_of_the_simulator(scenario, form, tmp_path):
    simulated = scenario.run()

    run = on_the_network(scenario, tmp_path, form)
    nothing_is_dropped(run)
    shares_are_max_min_fair(run)
    for link in ("R1->R2", "R2->R3"):
        queues_hold_a_packet_per_flow(run, link, flows=2)
    throughput_is_that_of_the_simulator(simulated, run)


def nothing_is_dropped(run):
    assert {link["dropped_packets"] for link in run.summary["links"]} == {0}


def shares_are_max_min_fair(run):
    shares = {flow["name"]: flow["share_bps"] for flow in run.summary["flows"]}
    assert shares["x2"] == pytest.approx(GAMMA * 20e6 - shares["x1"], rel=0.01)
    assert shares["x1"] == pytest.approx(shares["x3"])
    for flow in run.summary["flows"]:
        assert flow["law_rate_bps"] == pytest.approx(flow["share_bps"], rel=0.05), flow["name"]


def queues_hold_a_packet_per_flow(run, link, flows):
    own = run.links.filter((pl.col("link").cast(pl.String) == link) & (pl.col("t") > SETTLED))
    waits = own["backlog_bytes"] * 8 / CAPACITY[link]
    packets = flows * PACKET / CAPACITY[link]
    assert waits.quantile(0.5) <= packets + STALLS / 10, link
    assert waits.quantile(0.99) <= packets + STALLS, link


def throughput_is_that_of_the_simulator(simulated, run):
    both = compare.beside([simulated, run])
    assert both.names == ("simulator", "network")
    for flow in compare.data(both)["flows"]:
        ours, real = (flow[side]["throughput_bps"] for side in both.names)
        assert real == pytest.approx(ours, rel=0.05), flow["name"]
    for link in run.summary["links"]:
        assert link["arrived_packets"] == link["delivered_packets"], link["name"]


@pytest.mark.parametrize("form", ["user", "kernel"])
def test_over_ipv6_shares_are_the_same_and_acks_longer(scenario, form, tmp_path):
    short = scenario.set("duration", "8 s")

    result = on_the_network(short, tmp_path, form, "--ipv6")
    assert result.manifest["network"]["ipv6"]
    nothing_is_dropped(result)
    for flow in result.summary["flows"]:
        assert flow["law_rate_bps"] == pytest.approx(flow["share_bps"], rel=0.05), flow["name"]
    back = next(link for link in result.summary["links"] if link["name"] == "R2->R1")
    ack = 14 + 40 + 8 + 24 + 28 + 16  # Ethernet, IPv6, UDP, shim, header of JetMax, ACK history
    assert back["arrived_bytes"] / back["arrived_packets"] == pytest.approx(ack, abs=2)


def test_a_flow_that_ends_at_the_time_of_a_sample_is_in_it(tmp_path):
    scenario = Scenario("a second", "1.5 s", sample="50 ms")
    scenario.link("R1", "R2", "5 Mb/s", "1 ms", duplex=True)
    scenario.flow("x", "aimd", "R1", "R2", start="0.5 s", stop="1 s")

    def is_in_it(result):
        active = {round(t, 2): count for t, count in result.flows.select("t", "active").rows()}
        assert [active[t] for t in (0.45, 0.55, 0.95, 1.0, 1.05)] == [0, 1, 1, 1, 0]

    is_in_it(scenario.run())
    is_in_it(on_the_network(scenario, tmp_path))


@pytest.mark.parametrize("law", ["newreno", "rcp"])
def test_a_transfer_on_a_real_path_takes_as_long_as_in_the_simulator(law, tmp_path):
    """Sends 20 packets on an idle path with a round trip of 60 ms, of which 10 ms are link delays."""
    scenario = Scenario("transfers", "3 s").link("R1", "R2", "20 Mb/s", "5 ms", duplex=True)
    times = [f"{number * 0.5:g} s" for number in range(5)]
    scenario.flow("x", law, "R1", "R2", rtt="60 ms", size="20 packets", arrivals={"times": times})
    simulated = scenario.run().transfers

    real = on_the_network(scenario, tmp_path).transfers
    assert real["outcome"].to_list() == simulated["outcome"].to_list()
    assert real["fct_s"].median() == pytest.approx(simulated["fct_s"].median(), abs=STALLS / 2)
    assert real["ideal_s"].to_list() == pytest.approx(simulated["ideal_s"].to_list(), rel=0.01)
