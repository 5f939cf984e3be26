"""RCP near its equilibrium: gain and phase of G(s) = e^-s (alpha s + beta) / s^2, with time in units of d0 (Dukkipati
2005, IV).
"""

import numpy as np
from scipy.optimize import brentq

from levelflow.measure import grid
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws import rcp
from levelflow.theory.pictures import nyquist, regions
from levelflow.theory.stability.loops import Loop

BETAS = grid(0.05, 0.5, 0.05)
LINK = rcp.Link()
ALPHA, BETA = 0.4, 0.3


def finite_differences(link):
    """Slopes of eq 4-5 at equilibrium. Rows are R(t-d0), R(t-T) and q; columns are q' and R'."""

    def model(delayed, before, queue):
        load = rcp.arrivals(delayed, link)
        return load - link.capacity, rcp.rate_change(ALPHA, BETA, before, load, queue, link)

    rate, _ = link.equilibrium
    rest = np.array([rate, rate, 0.0])
    pushes = np.array([rate, rate, link.capacity * link.d0]) * 1e-6
    up, down = ([model(*(rest + side * push)) for push in np.diag(pushes)] for side in (1, -1))
    return (np.array(up) - np.array(down)) / (2 * pushes[:, None])


def jacobian_error():
    """Largest error of the finite differences, relative to eq 8, or to alpha/d0 where eq 8 has a 0."""
    slopes = rcp.slopes(ALPHA, BETA, LINK)
    expected = np.array([[slopes.queue_by_rate, slopes.rate_by_rate], [0, 0], [0, slopes.rate_by_queue]])
    scale = np.where(expected != 0, np.abs(expected), abs(slopes.rate_by_rate))
    return float((np.abs(finite_differences(LINK) - expected) / scale).max())


def transfer(x, link):
    """G at w d0 = x, computed from the slopes of the model in physical units."""
    s = 1j * x / link.d0
    delayed, _, queue = finite_differences(link)
    return -np.exp(-1j * x) * (delayed[1] + queue[1] * delayed[0] / s) / s


def unchanged(**other):
    """True if G, as a function of w d0, is the same for another link."""
    x = np.geomspace(0.01, 10, 200)
    return bool(np.allclose(transfer(x, rcp.Link(**other)), transfer(x, LINK), rtol=1e-6, atol=0))


def magnitude_error():
    x = np.geomspace(0.01, 100, 400)
    g = np.array([rcp.loop(ALPHA, BETA, delay).response(x / delay) for delay in (1.0, LINK.d0)])
    return float(np.abs(np.abs(g) / rcp.magnitude(x, ALPHA, BETA) - 1).max())


def encircled(beta):
    """Ends of the stable range of alpha: the gains at which the exact Nyquist curve of G1 goes through -1."""
    margins = rcp.loop_of_alpha(beta).margins
    return [margins.gain_down, margins.gain]


def pade_loop_of_alpha(beta):
    """G1 with Padé's approximation of the delay (Dukkipati 2005, footnote 11)."""
    numerator, denominator = rcp.PADE
    below = np.polyadd(np.polymul([1, 0, 0], denominator), beta * numerator)
    return Loop.rational(np.polymul([1, 0], numerator), below)


def polynomial_error(denominator):
    """Relative difference at s d0 = j between G1 with the given denominator, and G1 with the approximated delay."""
    d = LINK.d0
    numerator = np.array([d**3 / 12, -(d**2) / 2, d, 0])
    approximated = pade_loop_of_alpha(BETA).response(np.array([1.0]))[0]
    s = 1j / d
    return float(abs(np.polyval(numerator, s) / np.polyval(denominator(d), s) / approximated - 1))


def printed(d):
    return [d**4 / 12, d**3 / 2, 0, d**2 + BETA * d**2 / 12 - d * BETA / 2, BETA]


def corrected(d):
    return [d**4 / 12, d**3 / 2, d**2 + BETA * d**2 / 12, -d * BETA / 2, BETA]


def printed_rate_change():
    """Value of R'/R at equilibrium, if R' were f of eq 18."""
    rate, queue = LINK.equilibrium
    load = rcp.arrivals(rate, LINK)
    return float((rate + rcp.rate_change(ALPHA, BETA, rate, load, queue, LINK)) / rate)


def phase_peak(loop):
    """Frequency at which the slope of the phase, the real part of G'/G, is 0."""
    parts = [(part, part.derivative()) for part in (loop.numerator, loop.denominator)]

    def slope(x):
        (p, dp), (q, dq) = ((f(1j * x), df(1j * x)) for f, df in parts)
        return (dp / p - dq / q).real

    return brentq(slope, 1e-3, 1.5, xtol=1e-14)


def measure(figure):
    loop = rcp.loop(0.4, 0.2)
    x = np.geomspace(1e-3, 10, 4000)
    pade = list(rcp.alpha_range(0.3, pade=True))
    approximated = pade_loop_of_alpha(0.3)
    pairs = [zip(rcp.alpha_range(beta, pade=True), rcp.alpha_range(beta), strict=True) for beta in BETAS]
    independent = {"N": {"flows": 1000}, "C": {"capacity": 1e10}, "d0": {"d0": 1.0}}
    return {
        "rcp-eq8-linearisation": {
            "jacobian_rel_error": jacobian_error(),
            "rate_change_in_equilibrium": printed_rate_change(),
        },
        "rcp-fig32": {
            "depends_on_N_or_C": not (unchanged(flows=1000) and unchanged(capacity=1e10)),
            "magnitude_rel_error": magnitude_error(),
        },
        "rcp-fig33": {
            "beta_max": rcp.beta_limit(),
            "alpha_max": rcp.alpha_range(1e-4)[1],
            "alpha_range[beta = 0.3]": list(rcp.alpha_range(0.3)),
            "alpha_range[beta = 0.1]": list(rcp.alpha_range(0.1)),
            "alpha_range[beta = 0.5]": list(rcp.alpha_range(0.5)),
            "stable_independent_of": [name for name, other in independent.items() if unchanged(**other)],
        },
        "rcp-fig34": {
            "open_loop_unstable_poles": approximated.unstable_poles,
            "alpha_range_pade": pade,
            "nyquist_real_axis_crossings": [crossing.value.real for crossing in approximated.margins.phase_crossings],
            "alpha_range_exact": encircled(0.3),
            "plot_depends_on_d0": not unchanged(d0=1.0),
            "polynomial_rel_error[as printed]": polynomial_error(printed),
            "polynomial_rel_error[corrected]": polynomial_error(corrected),
        },
        "rcp-fig35": {
            "stable_alpha_exists": [rcp.alpha_range(0.6, pade=pade) is not None for pade in (False, True)],
            "beta_limit": [rcp.beta_limit(pade=pade) for pade in (False, True)],
        },
        "rcp-fig36": {"alpha_limit_rel_difference": max(abs(p / e - 1) for pair in pairs for p, e in pair)},
        "rcp-fig47": {
            "phase_crossing_exists": any(c.frequency < np.pi / 2 for c in rcp.loop(0.2, 0.4).margins.phase_crossings),
            "phase_monotone_decreasing": bool(np.all(np.diff(rcp.loop(0.2, 0.4).bode(x).phase) < 0)),
            "stable": rcp.stable_pade(0.2, 0.4) or rcp.loop(0.2, 0.4).stable,
        },
        "rcp-fig48": {
            "phase_crossing_wd0": loop.margins.phase_crossings[0].frequency,
            "gain_crossing_wd0": loop.margins.gain_crossings[0].frequency,
            "stable": loop.stable,
            "phase_peak_wd0": phase_peak(loop),
        },
    }


def plot(figure, canvas):
    left, middle, right = canvas.subfigures(1, 3, width_ratios=(1.5, 1, 1))
    regions.rcp_region(canvas=left)
    nyquist.nyquist(rcp.loop_of_alpha(0.3), canvas=middle)
    nyquist.bode(rcp.loop(0.4, 0.2), canvas=right)
    draw_expected(left.axes[0], figure, "rcp-fig33[0]")
    draw_expected(left.axes[0], figure, "rcp-fig33[1]", along="x")
    for check, beta in (("rcp-fig33[2]", 0.3), ("rcp-fig33[3]", 0.1), ("rcp-fig33[4]", 0.5)):
        draw_expected(left.axes[0], figure, check, (beta, beta), along="x")
