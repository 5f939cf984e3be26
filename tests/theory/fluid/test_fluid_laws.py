"""Fluid models of the laws, compared with closed forms, equilibria and stability boundaries.

An equilibrium does not depend on the step, so tests of equilibria have steps that are longer than the default.
"""

import numpy as np
import pytest
from conftest import in_full

from levelflow.theory.fluid import Flow, Link, Network, simulate
from levelflow.theory.fluid.rates import loss_rate, packets_per_rtt
from levelflow.theory.laws import emkc, xcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.utility import optimum

RTT, PACKET = 0.5, 8000.0
SEEDS = pytest.mark.parametrize("seed", [0, 2, in_full(5), in_full(21)])


def chain(seed):
    """Returns routes over random sections of a chain of links, capacities, and round trips of 200 to 400 ms."""
    rng = np.random.default_rng(seed)
    links, flows = int(rng.integers(1, 6)), int(rng.integers(1, 13))
    routes = [range(first, int(rng.integers(first, links)) + 1) for first in rng.integers(0, links, flows)]
    return routes, rng.uniform(5e6, 50e6, links), rng.uniform(0.2, 0.4, flows)


def settled(law, routes, capacities, rtts, duration, own=None, buffer=np.inf):
    links = [Link(capacity, 0.002, buffer=buffer, routers={law: own or {}}) for capacity in capacities]
    flows = [Flow(law, route, rtt, own or {}) for route, rtt in zip(routes, rtts, strict=True)]
    return simulate(Network(links, flows), duration, 0.04, every=duration / 50)


def one(law, duration=60.0, parameters=None, routers=None, link=None, rtts=(RTT,), **options):
    """Returns the run of flows of one law over a link of 10 Mb/s, one flow per round trip in `rtts`."""
    own = None if routers is None else {law: routers}
    link = {"capacity": 10e6, "delay": 0.02, "routers": own, **(link or {})}
    flows = [Flow(law, [0], rtt, parameters or {}) for rtt in rtts]
    return simulate(Network([Link(**link)], flows), duration, **{"every": 0.1, **options})


@SEEDS
@pytest.mark.parametrize(
    ("law", "duration", "parameters"),
    [
        ("jetmax", 40.0, {"settle": "per-switch"}),
        ("rcp", 40.0, {"alpha": 0.4, "beta": 0.3}),
        ("maxnet", 120.0, {"mu": 0.9}),
    ],
)
def test_signalling_of_the_tightest_link_leads_to_max_min_rates(law, duration, parameters, seed):
    routes, capacities, rtts = chain(seed)
    run = settled(law, routes, capacities, rtts, duration, parameters)
    fair = maxmin(routes, capacities) * parameters.get("mu", 1.0)
    assert run.rates[-1] == pytest.approx(fair, rel=0.005)
    assert run.queues[-1].max() < 0.002 * capacities.max() / 8


@SEEDS
def test_emkc_overshoots_by_its_closed_form_on_networks_that_drop(seed):
    routes, capacities, rtts = chain(seed)
    run = settled("emkc", routes, capacities, rtts, 100.0, {"alpha": 1e6, "beta": 0.5}, buffer=0.0)
    rest = emkc.fixed_point(routes, capacities, 1e6 / 0.5, thinned=True)
    assert run.rates[-1] == pytest.approx(rest.rates, rel=0.005)


@SEEDS
def test_equilibria_of_xcp_are_constrained_max_min_rates(seed):
    routes, capacities, rtts = chain(seed)
    run = settled("xcp", routes, capacities, np.full(rtts.size, 0.2), 30.0)
    assert run.rates[-1] == pytest.approx(xcp.fixed_point(routes, capacities).rates, rel=0.005)


@pytest.mark.parametrize(("tau", "propose"), [(0.3, True), (0.6, True), (1.0, True), (0.6, False), (1.5, False)])
def test_jetmax_goes_a_part_of_its_way_in_each_step(tau, propose):
    """Eq 134: a step takes a round trip plus an interval, and covers the fraction `tau` of the remaining distance."""
    parameters = {"tau": tau, "settle": "per-switch", "initial_rate": 1e6, "propose": propose}
    run = one("jetmax", 8.0, parameters, link={"capacity": 9e6, "buffer": 0.0}, step=0.02, every=None)
    left = (9e6 - run.rates[:, 0]) / 8e6
    first = np.argmax(left < 0.99)
    middle = first + (RTT + 0.1) / 0.02 * (np.arange(8) + 0.5)
    assert left[middle.astype(int)] == pytest.approx((1 - tau) ** np.arange(1, 9), abs=0.01)


def test_jetmax_flows_that_join_a_full_link_wait_for_room():
    """Proposed increases never overload the link, for any round trips. Increases without proposals overload the
    link.
    """
    for propose, overloads in ((True, False), (False, True)):
        own = {"propose": propose}
        flows = [Flow("jetmax", [0], 0.8, own), Flow("jetmax", [0], 0.2, own, start=10.0)]
        run = simulate(Network([Link(10e6, 0.02)], flows), 25.0, step=0.02, every=0.1)
        peak = run.loads.max() / 10e6
        assert run.rates[-1] == pytest.approx([5e6, 5e6], rel=0.01)
        assert (peak > 1.25) == overloads
        assert (peak > 1.05) == overloads


@pytest.mark.parametrize(("beta", "stable"), [(0.5, True), (1.9, True), (2.1, False)])
def test_emkc_is_stable_below_a_gain_of_two(beta, stable):
    """Theorem 9 holds for any delays. The load at equilibrium is `C + N alpha/beta`."""
    parameters = {"alpha": 100e3, "beta": beta, "initial_rate": 4.9e6}
    run = one("emkc", 60.0, parameters, link={"buffer": 0.0}, rtts=(0.37, 0.53), step=0.05)
    late = run.loads[run.times > 40, 0]
    rest = 10e6 + 2 * 100e3 / beta
    assert (np.ptp(late) < 1e-3 * rest) == stable
    if stable:
        assert late.mean() == pytest.approx(rest, rel=1e-3)


@pytest.mark.parametrize(("part", "grows"), [(0.95, False), (1.05, True)])
@pytest.mark.parametrize("intervals", [1, in_full(3)])
def test_kelly_control_is_stable_up_to_the_gain_of_its_continuous_form(part, grows, intervals):
    """The gain limit is `pi/(2n - 1)` for `n - 1` intervals per round trip. In eq 3, the limit is
    `2 sin(pi/(2(2n - 1)))`.
    """
    critical = np.pi / (2 * intervals + 1)
    assert critical == pytest.approx(2 * np.sin(critical / 2), rel=0.05)
    parameters = {"kappa": part * critical, "interval": RTT / intervals, "omega": 20e3, "initial_rate": 9.9e6}
    run = one("kelly", 60.0, parameters, parameters, {"buffer": 0.0}, step=RTT / 20, every=None)
    off = np.abs(run.rates[:, 0] / 10.02e6 - 1)
    early, late = off[(run.times > 15) & (run.times < 25)].max(), off[run.times > 50].max()
    assert (late > early) == grows


def test_kelly_control_overloads_by_its_price():
    parameters = {"kappa": 0.5, "omega": 2e6, "interval": 0.25}
    run = one("kelly", 50.0, parameters, parameters, {"buffer": 0.0}, rtts=(0.3, 0.4), step=0.05)
    assert run.rates[-1] == pytest.approx([7e6] * 2, rel=1e-3)


def test_emkc_avq_fills_its_target_and_no_queue():
    run = one("emkc_avq", 60.0, {}, {"gamma": 0.9}, rtts=(0.2, 0.3), step=0.05)
    assert run.rates[-1] == pytest.approx([4.5e6] * 2, rel=0.01)
    assert run.queues[-1] == pytest.approx([0.0], abs=1.0)


@pytest.mark.parametrize(("alpha", "stable"), [(1.54, True), (1.6, False)])
def test_rcp_without_a_queue_term_is_stable_up_to_a_gain_of_pi_over_two(alpha, stable):
    """The loop of eq 9 with `beta = 0` is `alpha e^(-s d)/(s d)`."""
    routers = {"alpha": alpha, "beta": 0.0, "initial": 0.495}
    link = Link(10e6, 0.02, buffer=0.0, routers={"rcp": routers})
    flows = [Flow("rcp", [0], RTT, handshake=False)] * 2
    run = simulate(Network([link], flows), 60.0, step=RTT / 20)
    off = np.abs(run.loads[:, 0] / 10e6 - 1)
    early, late = off[(run.times > 10) & (run.times < 20)].max(), off[run.times > 50].max()
    assert (late < early) == stable


def test_maxnet_sends_at_one_demand_curve_whatever_the_delay():
    run = one("maxnet", 30.0, link={"capacity": 100e6}, rtts=(0.1, 0.25), step=0.02)
    assert run.rates[-1] == pytest.approx([45e6] * 2, rel=0.01)
    assert run.prices["maxnet"][-1] == pytest.approx(maxnet.price_of([45e6]), rel=1e-3)


CALM_RED = {"queue": "red", "queue_parameters": {"min": 0.0, "max": 3000.0, "max_p": 0.1, "weight": 0.05}}


@pytest.mark.parametrize("law", ["newreno", in_full("reno"), in_full("dctcp")])
def test_equilibrium_of_windows_under_red_balances_growth_and_cuts(law):
    """A window W and a low marking probability p satisfy `W^2 p/2 = 1` (Misra, Gong, Towsley 2000). For DCTCP, they
    satisfy `W^2 p alpha/2 = 1` with `alpha = p`.
    """
    run = one(law, 150.0, {"ecn": True}, link=CALM_RED, rtts=(RTT,) * 25, step=RTT / 10)
    late = run.times > 130
    assert np.ptp(run.queues[late]) < 1e-2 * run.queues[-1]
    rtt = RTT + 8 * run.queues[-1, 0] / 10e6
    window, share = run.rates[-1, 0] * rtt / PACKET, run.signalled[-1, 0]
    mean = window * share
    cuts = 1 - np.exp(-mean) if law != "reno" else 2 - (2 + mean) * np.exp(-mean)
    cut = share / 2 if law == "dctcp" else 0.5
    assert cuts * cut * window == pytest.approx(1, rel=0.01)
    if law == "newreno":
        assert window**2 * share / 2 == pytest.approx(1, rel=0.1)


def lossy(law, near, loss=2e-3, rtt=RTT):
    """Returns the window and the loss reactions per round trip of one flow on a lossy link, far below the capacity."""
    start = {"slow_start": False, "initial_window": near}
    link = {"capacity": 1e9, "loss": loss}
    run = one(law, 150.0, start, link=link, rtts=(rtt,), step=rtt / 5, every=1.0)
    window = run.rates[-1, 0] * rtt / PACKET
    assert run.rates[-1] == pytest.approx(run.rates[-20], rel=0.01)
    return window, 1 - np.exp(-window * loss)


def test_equilibrium_of_scalable_balances_growth_and_cuts():
    window, answers = lossy("scalable", 42)
    assert 0.01 * window * (1 - 2e-3) == pytest.approx(answers * window / 8, rel=0.01)


def test_equilibrium_of_highspeed_balances_growth_and_cuts():
    """RFC 3649 gives the window `W = 0.12/p^0.835` for regular losses at rate p. This window is 263 packets."""
    window, answers = lossy("highspeed", 280, loss=1e-4)
    along = np.log(window / 38) / np.log(83000 / 38)
    cut = 0.5 - 0.4 * along
    growth = window**2 * 1e-3 * 1e-4**along * 2 * cut / (2 - cut)
    assert growth == pytest.approx(answers * cut * window, rel=0.01)
    assert window == pytest.approx(263, rel=0.25)


def test_htcp_grows_with_the_mean_time_since_a_loss():
    window, answers = lossy("htcp", 50)
    late = RTT / answers - 1
    alpha = 1 + 10 * late + (late / 2) ** 2
    # Without queueing delay, a loss reduces the window to 0.8 of its size.
    assert 2 * 0.2 * alpha * (1 - 2e-3) == pytest.approx(answers * 0.2 * window, rel=0.01)


def test_equilibrium_of_cubic_is_on_its_curve_at_the_mean_time_since_a_loss():
    """Vardoyan, Hollot, Towsley 2018: in equilibrium, the window is `W_max`. The time since a loss is its mean."""
    window, answers = lossy("cubic", 100, loss=1e-3)
    since, k = RTT / answers, np.cbrt(0.3 * window / 0.4)
    above = 0.4 * (since + RTT - k) ** 3
    assert above == pytest.approx(answers * 0.3 * window, rel=0.01)


def test_westwood_keeps_what_it_measures():
    """Random losses hardly reduce the rate of ACKs. So a loss reduces the window only by the lost fraction."""
    link = {"capacity": 4e6, "loss": 2e-3, "buffer": 30e3}
    options = {"link": link, "rtts": (0.2,), "step": 0.02, "every": 1.0}
    assert one("westwood", 30.0, **options).rates[-1, 0] > 3.8e6
    assert one("newreno", 30.0, **options).rates[-1, 0] < 2e6


def test_equilibrium_of_aimd_balances_growth_and_cuts():
    run = one("aimd", 60.0, {"alpha": 50e3, "initial_rate": 1e6}, link={"loss": 0.01}, step=RTT / 10, every=1.0)
    rate = run.rates[-1, 0]
    answers = 1 - np.exp(-rate / PACKET * RTT * 0.01)
    assert answers * rate / 2 == pytest.approx(50e3, rel=0.01)


@pytest.mark.parametrize("loss", [1e-2, 5e-2])
def test_tfrc_sends_what_its_equation_says_for_its_loss_events(loss):
    run = one("tfrc", 150.0, link={"capacity": 100e6, "loss": loss}, step=RTT / 5, every=1.0)
    window = run.rates[-1, 0] * RTT / PACKET
    events = (1 - np.exp(-window * loss)) / window
    assert window == pytest.approx(packets_per_rtt(np.array(events)), rel=0.01)
    assert loss_rate(packets_per_rtt(np.array([loss])))[0] == pytest.approx(loss, rel=1e-6)


def test_fast_keeps_its_packets_in_the_queue_and_shares_alike():
    run = one("fast", 40.0, {"alpha": 15.0, "initial_window": 2.0}, rtts=(0.1, 0.2, 0.4), step=0.02)
    assert run.queues[-1] == pytest.approx([45_000], rel=1e-3)
    assert run.rates[-1] == pytest.approx([10e6 / 3] * 3, rel=1e-3)


def test_a_late_fast_flow_counts_the_queue_as_propagation_delay():
    """Rates sum to `20/x + 20/(x - x0)` packets/s.

    `x` is the queueing delay with both flows, and `x0` is the queueing delay with the first flow alone.
    """
    flows = [Flow("fast", [0], 0.1), Flow("fast", [0], 0.1, start=10.0)]
    run = simulate(Network([Link(10e6, 0.02)], flows), 30.0, step=0.02, every=0.1)
    wait = 8 * run.queues[-1, 0] / 10e6
    assert 20 / wait + 20 / (wait - 0.016) == pytest.approx(10e6 / PACKET, rel=1e-2)
    assert run.rates[-1] == pytest.approx([20 / wait * PACKET, 20 / (wait - 0.016) * PACKET], rel=1e-2)


def test_vegas_keeps_its_packets_between_its_thresholds():
    run = one("vegas", 100.0, rtts=(0.2, 0.3, 0.4), step=0.04)
    packets = run.rates[-1] * 8 * run.queues[-1, 0] / 10e6 / PACKET
    assert (packets > 1.95).all()
    assert (packets < 4.05).all()
    assert run.rates[-1].sum() == pytest.approx(10e6, rel=1e-3)


def test_lp_yields_to_reno_and_uses_an_idle_link():
    flows = [Flow("lp", [0], 0.2), Flow("newreno", [0], 0.2)]
    shared = simulate(Network([Link(5e6, 0.02, buffer=100e3)], flows), 40.0, step=0.02, every=0.1)
    assert shared.mean(shared.delivered, 20)[0] < 0.5e6
    alone = simulate(Network([Link(5e6, 0.02, buffer=100e3)], flows[:1]), 40.0, step=0.02, every=0.1)
    assert alone.mean(alone.delivered, 20)[0] > 3.5e6


def test_bbr_fills_the_pipe_with_a_short_queue_also_where_wires_lose():
    for loss in (0.0, 0.02):
        run = one("bbr", 8.0, link={"loss": loss, "buffer": 200e3}, rtts=(0.1,), step=0.01)
        assert run.mean(run.loads, 4)[0] > 9.5e6
        assert run.mean(run.queues, 4)[0] < 10e6 * 0.1 / 8 / 4


@pytest.mark.parametrize(
    ("parameters", "exponent"),
    [
        ({"utility": "log", "control": "rate", "kappa": 1.2e-2}, 0.0),
        in_full({"nu": 0.5, "kappa": 1.2e-2}, 0.5),
        in_full({"nu": 1.0, "signal": "mark", "kappa": 6e-3}, 1.0),
    ],
)
def test_kunniyur_and_srikant_reach_their_optimum_on_a_network(parameters, exponent):
    """Rates in packets per time unit maximise the utility. The price is `beta (y - C~)^+/y` for the load y of a link,
    and its real or virtual capacity C~.
    """
    routes, capacities, unit, beta = [[0, 1], [0], [1]], np.array([10e6, 6e6]), 0.02, 6.0
    marks = parameters.get("signal") == "mark"
    queue = {"queue": "virtual_queue", "queue_parameters": {"level": 0.9, "buffer": 1000.0}} if marks else {}
    links = [Link(capacity, 0.01, buffer=0.0, **queue) for capacity in capacities]
    own = {"beta": beta, "weight": 2.0, "time_unit": unit, **parameters}
    flows = [Flow("ks", route, 0.1 * len(route), own) for route in routes]
    run = simulate(Network(links, flows), 60.0, step=0.02, every=1.0)
    best = optimum(
        routes,
        capacities / PACKET * unit * (0.9 if marks else 1.0),
        weights=[2.0 / beta] * 3,
        exponents=exponent,
        penalty=1.0,
    )
    assert run.rates[-1] == pytest.approx(best.rates * PACKET / unit, rel=0.02)


@pytest.mark.parametrize(("law", "kept"), [("newreno", 0.5), ("cubic", 0.7)])
def test_each_loss_by_itself_makes_the_saw_of_one_flow(law, kept):
    """The largest window fills the pipe and the buffer. A loss multiplies this window by the factor `kept`."""
    buffer = 60e3
    run = one(law, 30.0, link={"buffer": buffer}, rtts=(0.1,), each_loss=True, step=0.005, every=None)
    late = run.times > 12
    rtt = 0.1 + 8 * np.concatenate(([0], run.queues[:-1, 0])) / 10e6
    window = (run.rates[:, 0] * rtt / PACKET)[late]
    assert window.max() == pytest.approx((10e6 * 0.1 + 8 * buffer) / PACKET, rel=0.1)
    assert window.min() == pytest.approx(kept * window.max(), rel=0.05)


@pytest.mark.parametrize(
    ("law", "link", "order"),
    [
        ("rcp", {"buffer": 0.0, "routers": {"rcp": {"alpha": 0.8, "beta": 0.0}}}, 1.7),
        in_full("newreno", CALM_RED, 0.8),
        ("maxnet", {}, 0.8),
    ],
)
def test_halving_the_step_halves_the_error_or_better(law, link, order):
    first = {"initial_window": 2.0} if law == "newreno" else None

    def late(step):
        return one(law, 16.0, first, link=link, rtts=(RTT,) * 25, step=step, every=2.0).rates[2:]

    coarse, middle, fine = (late(RTT / steps) for steps in (20, 40, 80))
    ratio = np.abs(coarse - middle).max() / np.abs(middle - fine).max()
    assert ratio > 2**order
