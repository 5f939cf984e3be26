"""Fluid networks: conservation, queues, delays, rejected input, and scenarios."""

import dataclasses

import numpy as np
import pytest
from conftest import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from levelflow import Scenario, library
from levelflow.theory.errors import ParameterError
from levelflow.theory.fluid import Flow, FluidError, Link, Network, from_scenario, simulate
from levelflow.theory.fluid.disciplines import DISCIPLINES
from levelflow.theory.fluid.registry import model as model_of
from levelflow.theory.fluid.transport import Lines
from levelflow.theory.laws import supporting


@st.composite
def networks(draw):
    links = [
        Link(
            capacity=draw(st.floats(1e6, 20e6)),
            delay=draw(st.floats(0, 0.02)),
            buffer=draw(st.sampled_from([0.0, 20e3, np.inf])),
            queue=draw(st.sampled_from(list(DISCIPLINES))),
            loss=draw(st.sampled_from([0.0, 0.0, 0.01])),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    flows = []
    for _ in range(draw(st.integers(1, 6))):
        first = draw(st.integers(0, len(links) - 1))
        last = draw(st.integers(first, len(links) - 1))
        start = draw(st.floats(0, 1))
        flows.append(
            Flow(
                law=draw(st.sampled_from(list(supporting("fluid")))),
                route=range(first, last + 1),
                rtt=draw(st.floats(0.1, 0.3)),
                access=draw(st.floats(0, 0.01)),
                packet=draw(st.sampled_from([500.0, 1500.0])),
                start=start,
                stop=draw(st.sampled_from([np.inf, start + 1.0])),
            )
        )
    return Network(links, flows)


# **Invariant** (Theory): fluid models conserve data: sent = delivered + queued + in flight + lost. The parameters of a
# law have the defaults of the packet simulator. See `test_defaults_are_those_of_the_packet_simulator`.
@examples(25, suppress_health_check=[HealthCheck.too_slow])
@given(networks(), st.booleans())
def test_sent_data_is_delivered_queued_in_flight_or_lost(network, each_loss):
    run = simulate(network, 3.0, each_loss=each_loss)
    step = run.times[0]
    delivered = run.delivered.sum(axis=0) * step / 8
    assert np.isfinite(run.rates).all()
    assert (run.rates >= 0).all()
    assert (run.queues >= 0).all()
    assert delivered + run.lost + run.queued + run.in_flight == pytest.approx(run.sent, rel=1e-9, abs=1e-6)
    assert (run.queues <= [link.buffer + 1e-6 for link in network.links]).all()
    assert run.queued.sum() == pytest.approx(run.queues[-1].sum(), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("law", supporting("fluid"))
def test_every_law_sends_something_and_stays_finite(law):
    queue = {"queue": "virtual_queue"}
    network = Network([Link(10e6, 0.01, buffer=60e3, **queue)], [Flow(law, [0], 0.1), Flow(law, [0], 0.2, start=1.0)])
    run = simulate(network, 10.0, every=1.0)
    assert np.isfinite(run.rates).all()
    assert (run.delivered[-1] > 0).all()


def test_a_queue_integrates_the_excess_until_it_is_full():
    flows = [Flow("cbr", [0], 0.1, {"rate": 6e6}), Flow("cbr", [0], 0.1, {"rate": 9e6}, start=1.0)]
    run = simulate(Network([Link(10e6, 0.02, buffer=1e6)], flows), 4.0, step=0.005)
    t, queue = run.times, run.queues[:, 0]
    assert queue == pytest.approx(np.clip(5e6 / 8 * (t - 1), 0, 1e6), abs=5e6 / 8 * 0.006)
    full = run.mean(run.losses, 3.0)
    assert full == pytest.approx([5e6])
    # The shares of the flows in the departures equal their shares in the arrivals.
    assert run.mean(run.delivered, 3.8) == pytest.approx([4e6, 6e6], rel=0.02)


def test_dropped_packets_do_not_reach_the_next_link():
    flows = [Flow("cbr", [0, 1], 0.1, {"rate": 20e6}), Flow("cbr", [1], 0.1, {"rate": 1e6})]
    run = simulate(Network([Link(10e6, 0.02, buffer=0.0), Link(12e6, 0.02, buffer=0.0)], flows), 2.0)
    assert run.mean(run.loads, 1.0) == pytest.approx([20e6, 11e6])
    assert run.mean(run.losses, 1.0) == pytest.approx([10e6, 0.0])


def test_wires_lose_their_share():
    run = simulate(Network([Link(10e6, 0.02, loss=0.1)], [Flow("cbr", [0], 0.1)]), 10.0)
    assert run.lost / run.sent == pytest.approx(0.1, rel=0.01)
    assert run.mean(run.losses, 5.0) == pytest.approx([0.0])  # no queue drops data


def test_bits_take_the_delays_of_their_path():
    links = [Link(1e9, 0.013), Link(1e9, 0.0), Link(1e9, 0.0004), Link(1e9, 0.02)]
    step, access = 0.001, 0.0052
    run = simulate(Network(links, [Flow("cbr", range(4), 0.1, access=access)]), 0.1, step=step)
    first = run.times[np.argmax(run.loads > 0, axis=0)] - step
    # The delay between two links is at least one step. The round trip is still the configured one.
    expected = access + np.array([0, 0.013, 0.014, 0.015])
    assert first == pytest.approx(expected, abs=0.6 * step)


def test_acks_come_back_a_round_trip_later_with_the_wait():
    """A flow sends its constant window once per round trip. ACKs arrive a round trip after sending. The round trip
    includes the queueing delay.
    """
    parameters = {"initial_window": 10.0, "slow_start": False, "window_limit": 10.0}
    run = simulate(Network([Link(10e6, 0.03)], [Flow("newreno", [0], 0.1, parameters)]), 2.0, step=0.001)
    assert run.mean(run.rates, 1.0) == pytest.approx([10 * 8000 / 0.1])
    crowded = Network([Link(1e6, 0.03)], [Flow("newreno", [0], 0.1, {**parameters, "window_limit": 50.0})])
    grown = simulate(crowded, 30.0, every=1.0)
    # 50 packets over 1 Mb/s take 0.4 s, of which 0.3 s are queueing delay.
    assert grown.queues[-1] == pytest.approx([0.3 * 1e6 / 8], rel=0.02)


def test_news_of_a_growing_queue_comes_at_the_rate_at_which_it_drains():
    """Data that departs at `t` arrived at `t/2`, because the load is twice the capacity."""
    step, steps = 0.01, 400
    lines = Lines(np.zeros(1), step, 3.0)
    arrived = np.array([-1])
    for number in range(steps):
        wait = number * step
        arrived, waited = lines.waited(number, arrived, np.array([wait]), np.array([0]))
        lines.row(number)[0] = wait + step / 2
        assert waited == pytest.approx([number * step / 2], abs=1.5 * step)


def test_a_network_stays_at_rest_without_senders_and_ends_empty_after_them():
    run = simulate(Network([Link(10e6, 0.01)], [Flow("rcp", [0], 0.1, start=1.0, stop=3.0)]), 6.0)
    assert not run.rates[run.times <= 1.0].any()
    assert not run.delivered[run.times > 4.0].any()
    assert run.in_flight == pytest.approx([0.0])


def test_samples_are_means_of_steps():
    network = Network([Link(10e6, 0.01, buffer=30e3)], [Flow("newreno", [0], 0.1)])
    fine, coarse = simulate(network, 5.0, step=0.005), simulate(network, 5.0, step=0.005, every=0.5)
    assert coarse.rates[:, 0] == pytest.approx(fine.rates.reshape(10, 100).mean(axis=1))
    assert coarse.queues[:, 0] == pytest.approx(fine.queues[99::100, 0])


def test_the_order_of_flows_does_not_matter():
    links = [Link(10e6, 0.01, buffer=30e3), Link(8e6, 0.01, buffer=30e3)]
    flows = [Flow("rcp", [0, 1], 0.1), Flow("newreno", [1], 0.12), Flow("rcp", [0], 0.15), Flow("cbr", [1], 0.1)]
    run = simulate(Network(links, flows), 5.0, every=1.0)
    turned = simulate(Network(links, flows[::-1]), 5.0, every=1.0)
    assert turned.rates[:, ::-1] == pytest.approx(run.rates, rel=1e-6)
    assert turned.queues == pytest.approx(run.queues, rel=1e-6, abs=1e-3)


LINK, FLOW = Link(10e6, 0.01), Flow("rcp", [0], 0.1)


@pytest.mark.parametrize(
    ("links", "flows", "columns"),
    [
        ([], [FLOW], "at least one link"),
        ([LINK], [], "at least one link and one flow"),
        ([dataclasses.replace(LINK, capacity=0.0)], [FLOW], "capacity 0.0"),
        ([dataclasses.replace(LINK, capacity=np.nan)], [FLOW], "capacity nan"),
        ([dataclasses.replace(LINK, delay=-1.0)], [FLOW], "delay -1.0"),
        ([dataclasses.replace(LINK, buffer=-1.0)], [FLOW], "buffer -1.0"),
        ([dataclasses.replace(LINK, loss=1.0)], [FLOW], "loss 1.0"),
        ([LINK], [dataclasses.replace(FLOW, route=[])], "crosses no link"),
        ([LINK], [dataclasses.replace(FLOW, route=[1])], "no link 1"),
        ([LINK], [dataclasses.replace(FLOW, route=[0, 0])], "twice"),
        ([LINK], [dataclasses.replace(FLOW, rtt=0.0)], "round trip 0.0"),
        ([LINK], [dataclasses.replace(FLOW, rtt=0.005)], "shorter than the forward path"),
        ([LINK], [dataclasses.replace(FLOW, start=np.inf)], "start inf"),
        ([LINK], [dataclasses.replace(FLOW, start=2.0, stop=1.0)], "not before its start"),
        ([LINK], [dataclasses.replace(FLOW, packet=-1.0)], "packet -1.0"),
    ],
)
def test_an_ill_posed_network_is_refused(links, flows, columns):
    with pytest.raises((FluidError, ParameterError), match=columns):
        Network(links, flows)


@pytest.mark.parametrize(
    ("link", "flow", "columns"),
    [
        ({}, {"law": "codel"}, "no fluid model of law codel: theory has no record of codel; there are: aimd"),
        ({"queue": "codel"}, {}, "no fluid model of queue 'codel'"),
        ({"queue": "red", "queue_parameters": {"low": 1.0}}, {}, "no parameter low"),
        ({"queue": "red", "queue_parameters": {"min": 20.0}}, {}, "max 15.0 is below min 20.0"),
        ({"routers": {}}, {}, "needs a router on its path"),
        ({}, {"parameters": {"alpha": np.nan}}, "alpha nan"),
        ({}, {"parameters": {"gamma": 1.0}}, "no parameter gamma"),
        ({}, {"parameters": {"rtt": 1.0}}, "something like 'mean'"),
        ({}, {"parameters": {"loss_aware": True}}, "loss_aware = True has no fluid model"),
    ],
)
def test_networks_without_a_fluid_model_are_rejected(link, flow, columns):
    network = Network([dataclasses.replace(LINK, **link)], [dataclasses.replace(FLOW, **flow)])
    with pytest.raises((FluidError, ParameterError), match=columns):
        simulate(network, 1.0)


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        ({"duration": -1.0}, "duration -1.0"),
        ({"duration": np.nan}, "duration nan"),
        ({"step": 0.0}, "step 0.0"),
        ({"step": 0.2}, "step 0.2"),
        ({"every": 0.0}, "every 0.0"),
        ({"step": 1e-12}, "too many"),
    ],
)
def test_an_invalid_run_is_rejected(arguments, columns):
    with pytest.raises((FluidError, ParameterError), match=columns):
        simulate(Network([LINK], [FLOW]), **{"duration": 1.0, **arguments})


def test_a_path_of_more_links_than_steps_asks_for_smaller_ones():
    network = Network([LINK] * 30, [Flow("rcp", range(30), 0.61)])
    assert simulate(network, 1.0, step=0.01).times.size == 100
    with pytest.raises(FluidError, match="needs a shorter step"):
        simulate(network, 1.0, step=0.03)


def _defaults(table):
    from levelflow.theory.fluid.conversion import _value

    return lambda known: {
        row["name"]: _value(row["default"], known[row["name"]]) for row in table if row["name"] in known
    }


@pytest.mark.parametrize(
    ("kind", "name"), [("law", name) for name in supporting("fluid")] + [("queue", name) for name in DISCIPLINES]
)
def test_defaults_are_those_of_the_packet_simulator(kind, name):
    described = {own["name"]: own["params"] for own in (library.laws() if kind == "law" else library.queues())}
    model = model_of(name) if kind == "law" else DISCIPLINES[name]
    known = {**model.PARAMETERS, **model.ONLY}
    assert _defaults(described[name])(known) == known


def scenario(**options):
    made = Scenario("one", "10 s").link("R1", "R2", "10 Mb/s", "20 ms", buffer="50 packets", duplex=True)
    return made.flow("x", options.pop("law", "rcp"), "R1", "R2", **options)


def test_a_scenario_gives_its_network():
    made = scenario(law={"reno": {"initial_window": 4}}, rtt="100 ms", count=2, start="1 s", stop="5 s")
    made.set("link.1.queue", {"red": {"min": "7 packets"}})
    network = from_scenario(made.resolve())
    assert [link.name for link in network.links] == ["R1->R2", "R2->R1"]
    assert network.links[0].buffer == 50_000
    assert network.links[0].queue_parameters["min"] == 7
    first, second = network.flows
    assert (first.name, second.name) == ("x#1", "x#2")
    ack = 14 + 20 + 8 + 24 + 16  # Ethernet, IPv4, UDP, shim and history, bytes
    assert first.rtt == pytest.approx(0.1 + 8 * (1000 + ack) / 10e6)
    assert first.access == pytest.approx(0.03)
    assert (first.start, first.stop, first.route) == (1, 5, [0])
    assert first.parameters["initial_window"] == 4
    run = simulate(network, 6.0, every=1.0)
    assert not run.rates[0].any()
    assert run.rates[3].all()


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"arrivals": {"poisson": "5 /s"}, "size": "10 packets"}, "arrive at random"),
        ({"size": "1 MB"}, "transfers and lifetimes"),
        ({"lifetime": {"exponential": "5 s"}}, "transfers and lifetimes"),
        ({"rtt": {"uniform": ["50 ms", "90 ms"]}}, "a random rtt"),
        ({"start": {"uniform": ["0 s", "1 s"]}}, "a random start"),
    ],
)
def test_scenarios_of_chance_are_refused(options, columns):
    with pytest.raises((FluidError, ParameterError), match=columns):
        from_scenario(scenario(**options).resolve())


def test_a_queue_without_a_model_is_refused():
    with pytest.raises(FluidError, match="no fluid model of queue codel"):
        from_scenario(scenario().set("link.1.queue", "codel").resolve())


@pytest.mark.parametrize("name", ["joining", "parking-lot", "t1-emkc", "t1-jetmax", "t1-rcp", "t1-xcp", "two-flows"])
def test_included_scenarios_run(name):
    network = from_scenario(Scenario.load(library.find(name)).resolve())
    assert simulate(network, 1.0, every=0.5).rates.any()
