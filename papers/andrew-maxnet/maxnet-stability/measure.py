"""Section VIII: loop of one flow, algorithm 3, lemma 2 and proposition 2, and the tuning rule."""

from functools import cache

import numpy as np
from scipy.optimize import brentq

from andrew_models.maxnet_fluid import Network, Start, run
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.laws.shared.maxnet_model import PAPER, Parameters
from levelflow.theory.laws.shared.maxnet_stability import Compensator, general, static_ratio, unstable_roots
from levelflow.theory.stability.loops import Loop

RANDOM = 1  # seed of the mixtures of delays
OWN, LONGEST = Compensator.of(PAPER), 1000.0  # s
FIGURE_10, LONGEST_10 = Compensator(eta=0.7, alpha_t=0.1), 3.0  # s
TAU, PHI = np.geomspace(0.01, 1000, 200), np.geomspace(1e-4, 20, 1000)
#: RTTs of the cross-traffic experiment, and of the longest path, s.
SHORT, LONG = 0.029, 0.179
POINTS = 3000  # of a curve
ETAS = (0.02, 0.06, 0.18, 0.5)


def measure(figure):
    line, line_10 = OWN.line(LONGEST), FIGURE_10.line(LONGEST_10)
    return {
        "maxnet-eq11-13-loop": loop(),
        "maxnet-alg3-1000s": {
            "omega_low": line.frequency,
            "gamma": line.gamma,
            "alpha_max": line.alpha_max,
            "stable": stable(),
        },
        "maxnet-fig10": {"alpha_max": line_10.alpha_max, "omega_low": line_10.frequency, "gamma": line_10.gamma},
        "maxnet-fig11": {"points_above_line": above(line_10)},
        "maxnet-lemma2": lemma_2(),
        "maxnet-prop2": proposition_2(),
        "maxnet-global-z-slow": {"time_constant_s": common_zero(1e-3)},
        "maxnet-tuning-rule": tuning(),
    }


def loop():
    """Verifies eq 11-13: lead or lag of the compensator's phase, dependence on the capacity, and a matched delay."""
    s, ratio = 1j * np.geomspace(1e-3, 1e3, 200), np.geomspace(0.01, 100, 41)[:, None]
    turned = np.angle(general(s, 1.0, OWN.eta, ratio) / general(s, 1.0, OWN.eta, 1.0))
    lead, lag = (turned > 0).all(axis=1), (turned < 0).all(axis=1)
    apart = np.abs(ratio[:, 0] - 1) > 1e-9

    rates = np.geomspace(1e6, 1e12, 7)
    slopes = maxnet.demand(maxnet.price_of(rates)) / PAPER.scale
    ratios = static_ratio(rates, slopes, SHORT, PAPER.alpha) / OWN.ratio(SHORT)
    runs = []
    for capacity in (1e6, 1e10):
        start = Start(np.array([0.8, 0.01]) * capacity, maxnet.floor([capacity / 3]))
        went = run(Network([[0], [0]], [capacity], [0.05, 0.2]), 10.0, step=0.005, start=start)
        runs.append(went.rates / capacity)
    differ = not (np.allclose(ratios, 1, rtol=1e-9) and np.allclose(*runs, rtol=1e-6))

    cancelled = np.allclose(Compensator(OWN.eta, 0.3)(s, 0.3), np.exp(-0.3 * s) / (0.3 * s), rtol=1e-12)
    return {
        "lead_when": said("alpha T/tau > 1", np.array_equal(lead[apart], ratio[apart, 0] > 1)),
        "lag_when": said("alpha T/tau < 1", np.array_equal(lag[apart], ratio[apart, 0] < 1)),
        "rate_convergence_depends_on_C": differ,
        "reduces_to": said("alpha e^{-s tau}/(s tau) when alpha T = tau", cancelled),
    }


def said(text, holds):
    return text if holds else f"not: {text}"


def stable():
    """Returns True if links are stable with single delays and with random mixtures of delays."""
    random = np.random.default_rng(RANDOM)
    alone = [unstable_roots([tau], [1.0], OWN, PAPER.alpha) for tau in np.geomspace(1e-3, LONGEST, 61)]
    mixed = []
    for _ in range(500):
        count = int(random.integers(2, 11))
        delays, shares = 10 ** random.uniform(-3, 3, count), random.dirichlet(np.ones(count))
        mixed.append(unstable_roots(delays, shares, OWN, PAPER.alpha))
    return not any(alone) and not any(mixed)


def above(line):
    """Returns the number of points of F above the line, or above the real axis if w < w_low, for delays below the
    longest.
    """
    delay = line.longest * np.geomspace(1e-6, 1 - 1e-9, 600)[:, None]
    frequency = line.frequency * np.geomspace(1e-2, 1e4, 2000)
    return int((line.room(frequency, delay) < -1e-12 / line.alpha_max).sum())


def lemma_2():
    """Verifies lemma 2 on the whole grid. Items 3 and 4 are also verified only where the phase falls with the
    frequency.
    """
    found = []
    for own in (OWN, FIGURE_10):
        slopes, phase = own.slopes(PHI, TAU[:, None]), own.phase(PHI, TAU[:, None])
        turned = phase < -np.pi / 2
        pole = own.eta * own.ratio(TAU[:, None])
        falls = own.eta / (own.eta**2 + PHI**2) - pole / (pole**2 + PHI**2) < 1
        found.append(
            {
                "omega_0 falls with tau": np.diff([own.lowest_real(tau) for tau in TAU]) < 0,
                "|F(theta, phi)| falls with phi for theta < -pi/2": slopes.size_by_phi[turned] < 0,
                "|F(theta, tau)| rises with tau for theta < -pi/2": slopes.size_by_delay[turned] > 0,
                "|F(theta, omega)| falls with omega": slopes.size_by_frequency < 0,
                "arg F(phi, tau) falls with tau": slopes.phase_by_delay < 0,
                "|F(phi, tau)| rises with tau": slopes.size_by_delay_alone > 0,
                "items 3 and 4 where arg F falls with omega at constant tau": (
                    (slopes.size_by_delay > 0) & (slopes.size_by_frequency < 0)
                )[falls],
                "|F| falls with omega at constant tau": np.diff(np.abs(own.response(PHI / TAU[:, None], TAU[:, None])))
                < 0,
            }
        )
    own, other = found
    return {f"holds[{item}]": [bool(own[item].all()), bool(other[item].all())] for item in own}


def proposition_2():
    """Returns relative changes of alpha_max.

    The tail is cut at the largest crossing (as printed) or at the smallest.
    """
    cases = ((OWN, LONGEST), (FIGURE_10, LONGEST_10))
    full = [own.line(longest).alpha_max for own, longest in cases]
    printed = [cut_at_largest(own, longest).alpha_max for own, longest in cases]
    smallest = [own.line(longest, own.line(longest).needed_tail).alpha_max for own, longest in cases]
    where = "full tail against truncated tail"
    return {
        f"alpha_max_rel_difference[{where}]": [abs(a / b - 1) for a, b in zip(printed, full, strict=True)],
        f"alpha_max_rel_difference[{where}, cut at the smallest such delay]": [
            abs(a / b - 1) for a, b in zip(smallest, full, strict=True)
        ],
    }


def cut_at_largest(own, longest):
    """Returns algorithm 3's line with the tail cut by proposition 2. The cut uses the slope of the resulting line."""
    line = own.line(longest)
    for _ in range(2):
        line = own.line(longest, largest_parallel(line))
    return line


def largest_parallel(line):
    """Returns the largest delay, up to `line.longest`, at which the tail crosses the parallel line through 0."""

    def beyond(tau):
        return line.compensator.phase(line.frequency * tau, tau) - np.arctan(line.gamma) + np.pi

    delays = np.geomspace(line.longest * 1e-6, line.longest, POINTS)
    last = np.flatnonzero(np.diff(np.sign(beyond(delays))))[-1]
    return brentq(beyond, delays[last], delays[last + 1])


def common_zero(zero):
    """Returns the time constants of the common zero, of the largest stable zero, and of the slowest mode of two flows
    with the common zero.
    """
    largest = brentq(lambda eta: Compensator(eta, OWN.alpha_t).gain(LONGEST) - PAPER.alpha, 0.01, 2.0) / LONGEST

    def slowest(tau):
        pole = zero * float(OWN.ratio(tau))
        flow = Loop.rational([1.0, zero], [1.0, pole, 0.0], delay=tau, gain=PAPER.alpha / tau)
        return -1 / flow.roots[0].value.real

    return [1 / zero, 1 / largest, slowest(SHORT), slowest(LONG)]


@cache
def step_response(eta, tau):
    """Returns times, and the completed fraction of a flow's rise from 540 to 940 Mb/s at each time."""
    law = Parameters(mu=0.94, eta=eta)
    start = Start([540e6], maxnet.price_of([540e6]))
    went = run(Network([[0]], [1e9], [tau], [[tau / 2]]), 250 * tau, step=tau / 12, law=law, start=start)
    return went.times, (went.rates[:, 0] - 540e6) / 400e6


def tuning():
    """Evaluates section VIII-E: alpha for a margin of 45 degrees, and the effect of eta on a step."""
    matched = [(Compensator(eta, tau), tau) for tau in (0.01, 0.1, 1.0, 10.0) for eta in (0.01, 0.1, 1.0)]
    slower = [eta_slows(tau) for tau in (SHORT, LONG)]
    return {
        "alpha": [own.gain(tau, np.pi / 4) for own, tau in matched],
        "settling_vs_eta": said("smaller eta: smaller first rise, longer settling", all(slower)),
        "stable": [not unstable_roots([tau], [1.0], own, 0.99 * printed_gain(own, tau)) for own, tau in matched],
    }


def eta_slows(tau):
    """Returns True if a smaller eta makes the first half of a step faster, and settling slower."""
    rise, settled = [], []
    for eta in ETAS:
        times, done = step_response(eta, tau)
        rise.append(times[np.argmax(done >= 0.5)])
        settled.append(times[np.flatnonzero(np.abs(done - 1) > 0.02)[-1]])
    return (np.diff(rise) > 0).all() and (np.diff(settled) < 0).all()


def printed_gain(own, tau):
    """Returns the largest alpha with Arg F > -3 pi/2 wherever |F| > 1."""
    return 1 / float(np.abs(own.response(own.frequency_at(tau, -1.5 * np.pi), tau)))


def plot(figure, canvas):
    construction, tails, steps = canvas.subplots(1, 3)
    line = FIGURE_10.line(LONGEST_10)
    own, unit = line.compensator, 1 / line.alpha_max
    for axes in (construction, tails):
        draw_line(axes, line)
    construction.plot(-unit, 0, "ko", markersize=5)
    construction.annotate(
        f"alpha_max = {line.alpha_max:.3f}", (-unit, 0), xytext=(6, -16), textcoords="offset points", ha="left"
    )
    construction.set_title(f"tau_bar = {line.longest:g} s\neta = {own.eta:g}, alpha T = {own.alpha_t:g} s")
    construction.legend(loc="lower right")
    for delay in line.longest * 0.72 ** np.arange(1, 10):
        low = own.lowest_real(delay)
        if line.frequency < low:
            draw_curve(tails, own.response(np.geomspace(line.frequency, low, POINTS), delay), color="C2", linewidth=0.7)
    tails.set_title("tails of shorter delays,\nw > w_low")
    for eta in ETAS:
        times, done = step_response(eta, SHORT)
        steps.plot(times, done, label=f"eta = {eta:g}")
    steps.set(xlim=(0, 5), xlabel="time (s)", ylabel="part of a step", title="step of the capacity,\nRTT 29 ms")
    steps.legend()


def draw_line(axes, line):
    """Draws spiral, tail and the line above both, which crosses the real axis at `-1/alpha_max` (figure 10).

    The spiral S is `F(jw, tau_bar)` for `w > w_low`. The tail T is `F(j w_low, tau)` for `tau < tau_bar`.
    """
    own, unit = line.compensator, 1 / line.alpha_max
    axes.axhline(0, color="black", linewidth=0.6)
    draw_curve(axes, own.response(line.frequency * np.geomspace(1, 40, POINTS), line.longest), label="spiral S")
    draw_curve(axes, own.response(line.frequency, line.longest * np.geomspace(1e-6, 1, POINTS)), label="tail T")
    x = np.array([-1.9, 0.7]) * unit
    axes.plot(x, line.gamma * (x + unit), color="grey", label="line L")
    axes.set(xlim=x, ylim=(-2.0 * unit, 0.9 * unit), xlabel="Re F", ylabel="Im F", aspect="equal")


def draw_curve(axes, values, **style):
    axes.plot(values.real, values.imag, **style)
