"""Compares closed forms with equations of motion, for the losses of senders that overshoot a full link."""

import itertools

import numpy as np
from scipy.optimize import brentq

from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from zhang_models.overshoot import MarkedTfrc, RateAimd, ScalableTcp, Tfrc, TrackedAimd, WindowAimd, integrate_excess

CAPACITY, RTT = 244.0, 0.06  # packets/s, s
PIPE = CAPACITY * RTT
ONE_A_TRIP = 1 / RTT  # packets/s per second: one more packet per round trip
LATE = np.geomspace(100.0, 1000.0, 50)  # s
MTU = 12.0  # kb
TRIPS = (0.0138, 0.014)  # round-trip times of figure 8, s
LINK = 1000.0  # kb/s


def slope(times, values):
    """Slope of a straight line through the points `(log time, log value)`."""
    return np.polyfit(np.log(times), np.log(values), 1)[0]


def lost(law, duration, step, every=100):
    """Losses over time by the equation of motion, compared with the closed form."""
    went = integrate_excess(law, duration, step=step, every=every)
    return Against(went.states[1:, -1], law.excess(went.times[1:]))


def windows():
    """Lemma 1: compares the recurrence per ACK with eq 14."""
    errors = []
    for start in (10.0, PIPE, 100.0):
        law = WindowAimd(CAPACITY, start)
        exact = law.windows_per_ack(round(CAPACITY * 100))
        times = np.arange(exact.size) / CAPACITY
        errors.append(np.abs(law.windows(times) / exact - 1).max())
        if start == PIPE:
            late = times >= 50
            grows = slope(times[late], exact[late])
    return {"max_rel_error_vs_eq14": max(errors), "loglog_slope_W_vs_t": grows}


def scalable():
    """Lemma 4, with packets counted per ACK. Each ACK permits one packet, plus the growth of the window."""
    law = ScalableTcp(CAPACITY, PIPE)
    seconds = 20
    after = law.windows_per_ack(round(CAPACITY * seconds))
    sent = (after.size - 1) + after[-1] - after[0]
    full = ScalableTcp(CAPACITY, 100.0).windows_per_ack(100)
    return {
        "steady_rate_over_C": sent / seconds / CAPACITY,
        "window_growth_per_rtt": full[-1] / full[0],
        "excess_packets_per_ack": (after[-1] - after[0]) / (after.size - 1),
        "S_closed_form": lost(law, 10.0, 0.01),
        "loglog_slope_S_vs_D": slope(LATE, law.excess(LATE)),
    }


def tracked():
    """Eq 20: exponents of the growth of r - C, early and late."""
    law = TrackedAimd(CAPACITY, ONE_A_TRIP, RTT)
    early = integrate_excess(law, 0.02, step=1e-5, every=100)
    late = integrate_excess(law, 100.0, step=0.005, every=200)
    risen = late.states[10:, 0] - CAPACITY
    if not (np.diff(risen) > 0).all():
        raise ValueError("the rate does not grow")
    return {
        "early_growth_exponent": slope(early.times[1:], early.states[1:, 0] - CAPACITY),
        "late_growth_exponent": slope(late.times[10:], risen),
    }


def map_of(omega):
    return MarkedTfrc(LINK, omega)


def quotient(law, h=1e-4):
    """Slope of the map at its equilibrium, by differences."""
    return float(law.update(law.rest + h) - law.update(law.rest - h)) / (2 * h)


def marked():
    """Lemma 6, with equilibrium, slope and boundary computed from the map itself."""
    rests, slopes = [], []
    for omega in (300.0, 800.0, 1200.0):
        law = map_of(omega)
        rest = brentq(lambda r, law=law: float(law.update(r)) - r, LINK * (1 + 1e-6), 1e5, xtol=1e-10, rtol=1e-14)
        rests.append((rest, (LINK + np.sqrt(LINK**2 + 4 * omega**2)) / 2))
        slopes.append((quotient(law), -LINK / (2 * (law.rest - LINK))))
    boundary = map_of(brentq(lambda omega: quotient(map_of(omega)) + 1, 500.0, 1500.0))
    return {
        "fixed_point": Against(*map(list, zip(*rests, strict=True))),
        "slope_at_fixed_point": Against(*map(list, zip(*slopes, strict=True))),
        "stability_boundary_r_over_C": boundary.rest / LINK,
        "loss_at_boundary": 1 - LINK / boundary.rest,
    }


def settles():
    """Figure 8(a): verifies that the orbit from 1 % away changes sides at each step and converges."""
    law = map_of(MTU / TRIPS[0])
    away = law.orbit(1.01 * law.rest, 1000) - law.rest
    decays = (away[1:] * away[:-1] < 0).all() and (np.diff(np.abs(away)[::2]) < 0).all() and abs(away[-1]) < 0.1
    return {"fixed_point_kbps": law.rest, "slope_modulus": abs(quotient(law)), "decaying_oscillation": bool(decays)}


def diverges():
    """Figure 8(b): verifies that the orbit from 0.2 % away leaves the rates for which the map is defined."""
    law = map_of(MTU / TRIPS[1])
    return {
        "fixed_point_kbps": law.rest,
        "slope_modulus": abs(quotient(law)),
        "diverges[start_offset_0.2pct]": bool(np.isnan(law.orbit(1.002 * law.rest, 1000)[-1])),
    }


def measure(figure):
    tcp, stcp = WindowAimd(CAPACITY, PIPE), ScalableTcp(CAPACITY, PIPE)
    aimd = RateAimd(CAPACITY, ONE_A_TRIP, RTT)
    video = RateAimd(CAPACITY, 0.1e6 / (1024 * 8), 0.1)
    tfrc = Tfrc(CAPACITY, ONE_A_TRIP, lost=10.0)
    times = np.geomspace(10.0, 1e6, 6)
    laws = (tcp, stcp, aimd)
    amounts = [law.excess(LATE) for law in laws]
    wide = np.geomspace(1e3, 1e4, 50)
    return {
        "tcp-lemma1": windows(),
        "tcp-lemma2": {"S_closed_form": lost(tcp, 10.0, 0.002), "loglog_slope_S_vs_D": slope(wide, tcp.excess(wide))},
        "aimd-lemma3-fig6b": {
            "S_closed_form": lost(video, 10.0, 0.01),
            "loglog_slope_S_vs_D": slope(LATE, video.excess(LATE)),
            "rate_unbounded_in_D": bool(np.allclose(np.diff(np.log10(video.rates(times) - CAPACITY)), 1.0)),
        },
        "aimd-variable-rtt": tracked(),
        "stcp-lemma4": scalable(),
        "overshoot-fig7b": {
            "slopes[tcp,_stcp,_aimd]": [slope(LATE, amount) for amount in amounts],
            "ordering_for_large_D": [bool((less < more).all()) for less, more in itertools.pairwise(amounts)],
        },
        "tfrc-lemma5": {"loglog_slope_T_vs_t": slope(wide, tfrc.sent(wide)), "loglog_slope_S_vs_D": follows(tfrc)},
        "tfrc-lemma6": marked(),
        "tfrc-fig8a": settles(),
        "tfrc-fig8b": diverges(),
    }


def follows(law):
    """Growth exponent of late losses under the equation of TFRC."""
    went = integrate_excess(law, 100.0, step=0.01, every=100)
    late = went.times >= 10
    return slope(went.times[late], went.states[late, -1])


def plot(figure, canvas):
    canvas.set_size_inches(9, 7)
    (lost, rates), below = canvas.subplots(2, 2)
    draw_excess(lost, rates)
    for axes, trip, off in zip(below, TRIPS, (1.01, 1.002), strict=True):
        law = map_of(MTU / trip)
        orbit = law.orbit(off * law.rest, 300)
        axes.plot(orbit, linewidth=0.7)
        axes.axhline(LINK, color="grey", linestyle=":", linewidth=1)
        reach = 1.2 * np.abs(orbit[orbit < 2 * law.rest] - law.rest).max()  # without rates that leave the domain
        axes.set(xlabel="step", ylabel="rate (kb/s)", xlim=(0, 300), ylim=(law.rest - reach, law.rest + reach))
        axes.set_title(f"RTT {1e3 * trip:g} ms: rest at {law.rest:.0f} kb/s, loss {1 - LINK / law.rest:.1%}")
    for axes, check in zip(below, ("tfrc-fig8a[0]", "tfrc-fig8b[0]"), strict=True):
        draw_expected(axes, figure, check)


def draw_excess(left, right):
    """Draws the packets sent beyond the capacity until the first feedback, and the sending rates until then."""
    laws = {
        "TCP": WindowAimd(CAPACITY, PIPE),
        "Scalable TCP": ScalableTcp(CAPACITY, PIPE),
        "rate AIMD": RateAimd(CAPACITY, ONE_A_TRIP, RTT),
        "TFRC": Tfrc(CAPACITY, ONE_A_TRIP, 1.0),
    }
    late, soon = np.geomspace(0.1, 1000, 200), np.linspace(0, 10, 200)
    for name, law in laws.items():
        left.plot(late, law.excess(late), label=name)
        right.plot(soon, law.rates(soon) / CAPACITY)
    tracked = integrate_excess(TrackedAimd(CAPACITY, ONE_A_TRIP, RTT), soon[-1], step=0.005)
    right.plot(tracked.times, tracked.states[:, 0] / CAPACITY, "--", label="rate AIMD that measures its RTT")
    left.set(xscale="log", yscale="log", xlabel="time until feedback (s)", ylabel="packets lost")
    left.set_title("self-clocked windows overshoot least")
    right.set(xlabel="time from when the link is full (s)", ylabel="rate / capacity", ylim=(0.9, 3))
    right.set_title("rates grow without bound")
    left.legend()
    right.legend(loc="center right")
