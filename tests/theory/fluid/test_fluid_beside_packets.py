"""Fluid models compared with the packet simulator: means over the second half of runs, on one link and on a network.

The profile `paper` makes hosts and clocks ideal and disables pacing, as the models assume.
"""

import numpy as np
import polars as pl
import pytest
from conftest import in_full

from levelflow import Scenario
from levelflow.theory.fluid import from_scenario, simulate

DURATION, HALF = 60.0, 30.0
MB = 1e6


def both(scenario, **options):
    """Returns arrival rates by flow (bit/s) and mean queues by link (bytes), first for packets, then for the fluid
    model.
    """
    return of_packets(scenario), of_fluid(scenario, **options)


def of_packets(scenario):
    result = scenario.run()
    late = pl.col("t") > HALF
    rates = result.flows.filter(late).group_by("flow", maintain_order=True).agg(pl.col("throughput_bps").mean())
    queues = result.links.filter(late).group_by("link", maintain_order=True).agg(pl.col("backlog_bytes").mean())
    return rates["throughput_bps"].to_numpy(), queues["backlog_bytes"].to_numpy()


def of_fluid(scenario, **options):
    run = simulate(from_scenario(scenario.resolve()), DURATION, every=0.1, **options)
    return run.mean(run.delivered, HALF), run.mean(run.queues, HALF)


def pair(law, capacity="20 Mb/s", rtt="200 ms", count=1, **link):
    made = Scenario("pair", "60 s").set("profile", "paper")
    made.link("R1", "R2", capacity, "20 ms", **{"buffer": "1 BDP", "duplex": True, **link})
    return made.flow("a", law, "R1", "R2", rtt=rtt).flow("b", law, "R1", "R2", rtt=rtt, start="5 s", count=count)


STEP = {"queue": {"red": {"weight": 1.0, "min": "50 packets", "max": "50 packets"}}}


@pytest.mark.parametrize(
    ("law", "link", "within", "queue_within"),
    [
        ("jetmax", {}, 0.01, None),  # in the fluid model, new flows leave a queue that never drains
        ({"emkc_avq": {"alpha": "1 Mb/s"}}, {}, 0.02, 0.02),
        ({"kelly": {"kappa": 0.1, "omega": "200 kb/s"}}, {}, 0.02, 0.01),
        ("level", {}, 0.001, None),
        ("rcp", {"capacity": "100 Mb/s"}, 0.02, None),
        ("maxnet", {}, 0.02, None),
        ("xcp", {}, 0.01, None),
        ({"aimd": {"alpha": "200 kb/s"}}, {}, 0.05, None),
        ("dctcp", STEP, 0.05, 0.25),
        ("cbr", {}, 0.01, None),
    ],
)
def test_two_flows_over_one_link_get_the_same_rates(law, link, within, queue_within):
    scenario = pair(law, **link)
    (packets, queues), (rates, waiting) = both(scenario)
    assert rates == pytest.approx(packets, rel=within)
    if queue_within is not None:
        assert waiting[0] == pytest.approx(queues[0], rel=queue_within)


#: Parameters without dither, because fluid models send evenly. With packets, dither would determine the shares of two
#: flows after losses.
EVEN_TFRC = {"tfrc": {"dither": 0}}


LAWS = ["newreno", "cubic", *map(in_full, ["htcp", "bic", "vegas", EVEN_TFRC])]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_flows_that_share_as_they_started_fill_the_link_alike(law):
    (packets, _), (rates, _) = both(pair(law), each_loss=True)
    assert rates.sum() == pytest.approx(packets.sum(), rel=0.03)


@pytest.mark.parametrize(
    ("law", "within"), [("newreno", 0.05), in_full("scalable", 0.08), in_full("cubic", 0.05), ("tfrc", 0.05)]
)
def test_random_losses_leave_the_same_rates(law, within):
    """Fluid models with single losses agree with packets: for a loss rate p, the window is `sqrt(3/(2p))`. A fluid
    model with the mean loss rate would give `sqrt(2/p)`.
    """
    scenario = Scenario("lossy", "60 s", profile="paper")
    scenario.link("R1", "R2", "1 Gb/s", "20 ms", loss=5e-3, duplex=True)
    scenario.set("link.1.reverse", {"loss": 0.0}).flow("a", law, "R1", "R2", rtt="100 ms", count=20)
    result = scenario.run()
    packets = result.flows.filter(pl.col("t") > HALF)["throughput_bps"].mean() / 20
    network = from_scenario(scenario.resolve())
    run = simulate(type(network)(network.links, network.flows[:1]), DURATION, every=0.1, each_loss=True)
    assert run.mean(run.delivered, HALF)[0] == pytest.approx(packets, rel=within)


def test_many_flows_under_red_leave_the_same_queue():
    """The fluid model averages the reactions of thirty flows. The results of packets are averaged over ten seeds."""
    queue = {"red": {"min": "20 packets", "max": "200 packets", "max_p": 0.1, "weight": 0.002, "ecn": True}}
    scenario = pair({"newreno": {"ecn": True}}, buffer="1 MB", count=29, queue=queue)
    rates, waiting = of_fluid(scenario)
    drawn = [of_packets(scenario.set("seed", seed)) for seed in range(1, 11)]
    assert rates.sum() == pytest.approx(np.mean([each.sum() for each, _ in drawn]), rel=0.02)
    assert waiting[0] == pytest.approx(np.mean([queues[0] for _, queues in drawn]), rel=0.2)


@pytest.mark.parametrize("law", [in_full("jetmax"), in_full("level"), "rcp", "maxnet"])
def test_a_parking_lot_reaches_the_same_rates(law):
    scenario = Scenario("lot", "60 s").set("profile", "paper")
    for number, capacity in enumerate(("50 Mb/s", "30 Mb/s", "40 Mb/s")):
        scenario.link(f"N{number}", f"N{number + 1}", capacity, "10 ms", duplex=True)
    scenario.flow("long", law, "N0", "N3", rtt="200 ms")
    for number in range(3):
        scenario.flow(f"x{number}", law, f"N{number}", f"N{number + 1}", rtt="150 ms", start=f"{3 + 3 * number} s")
    (packets, _), (rates, _) = both(scenario)
    assert rates == pytest.approx(packets, rel=0.03)


@pytest.mark.full
def test_a_late_fast_flow_gets_more_as_in_packets():
    scenario = pair("fast", "10 Mb/s", "60 ms", buffer="100 packets").set("flow.b.start", "15 s")
    (packets, queues), (rates, waiting) = both(scenario)
    assert rates == pytest.approx(packets, rel=0.05)
    assert waiting[0] == pytest.approx(queues[0], rel=0.1)
    assert np.diff(rates) > 2e6
