"""Verifies conditions that chapter II quotes: Kelly's for unlike delays, MaxNet's, Vinnicombe's, Ying's and XCP's."""

import numpy as np
from scipy.optimize import brentq

from levelflow.reproduce import Against
from levelflow.theory.laws import xcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.pictures.nyquist import nyquist
from levelflow.theory.stability.equations import integrate
from levelflow.theory.stability.loops import Loop
from zhang_models import vinnicombe, ying

DELAYS = (0.01, 0.1, 1.0, 5.0, 20.0)  # s
ALL = [[delay] for delay in DELAYS] + [list(DELAYS)]  # each delay alone, and one flow of each delay on a link
DIES_OUT = 0.1  # largest fraction of a deviation that may remain at the end of a run


def critical_gain():
    """Gains at which `x' = -k x(t-1)` neither grows nor decays, by the amplitudes of two waves and by Nyquist."""
    gains = np.linspace(1.55, 1.59, 21)
    run = integrate(lambda _t, _x, past: -gains * past(1.0), np.ones(gains.size), 160.0, step=0.02, longest=1.0)
    early, late = (np.abs(run.states[(run.times >= a) & (run.times < a + 40)]).max(axis=0) for a in (40, 120))
    return float(np.interp(0.0, np.log(late / early), gains)), Loop.rational([1.0], [1, 0], delay=1.0).margins.gain


def loads_at_rest():
    """y/C of two links whose prices integrate y - gamma C. One flow crosses both links, and delays differ."""
    law = maxnet.Parameters()
    capacity = np.array([1e9, 0.6e9])
    crosses = np.array([[True, True], [True, False], [False, True]])
    delay = np.array([0.15, 0.03, 0.08])
    lags = np.broadcast_to(delay[:, None], crosses.shape)

    def loads(prices):
        rates = maxnet.static_demand(np.where(crosses, prices, -np.inf).max(axis=1), delay, law)
        return crosses.T @ rates

    def change(t, price, past):
        return maxnet.price_change(loads(past(lags)), 0.0, capacity, law)

    end = integrate(change, maxnet.floor(capacity, law), 30.0, step=0.006, longest=delay.max()).states[-1]
    return loads(end) / capacity, law.mu


def stable(loop):
    """True if the loop is stable by Nyquist's criterion and by its rightmost root."""
    return loop.stable and loop.roots[0].value.real < 0


def dies_out(law, link, delays, rest, speed):
    """True if rates that start up to 20 % off return to equilibrium in the nonlinear equations."""
    step = min(min(delays) / 4, 0.1 / speed)
    duration = 30 * max(*delays, 1 / speed)
    start = rest * np.linspace(0.8, 1.2, len(delays) + 2)[1:-1] if len(delays) > 1 else rest * 1.2
    run = vinnicombe.follow(law, link, delays, start, duration=duration, step=step)
    return bool(np.abs(run.states[-1] / rest - 1).max() <= DIES_OUT * 0.2)


def vinnicombe_stable():
    law = vinnicombe.DEFAULTS
    return [
        stable(vinnicombe.loop(100.0, delays, law)) and vinnicombe.condition(100.0, delays, law).holds for delays in ALL
    ]


def ying_stable():
    law = ying.DEFAULTS
    return [stable(ying.loop(float(len(delays)), delays, law)) and law.delay_independent for delays in ALL]


def runs_die_out():
    """Runs of the nonlinear equations, each with one delay."""
    quick = []
    for delay in DELAYS:
        rest, _ = vinnicombe.rest(100.0, [delay])
        quick.append(dies_out(vinnicombe.change, (100.0, vinnicombe.DEFAULTS.buffer), [delay], rest, 1 / delay))
        quick.append(
            dies_out(
                lambda x, before, eta, _: ying.change(x, before, eta),
                (1.0, ying.DEFAULTS.buffer),
                [delay],
                np.ones(1),
                1.0,
            )
        )
    return quick


def alpha_limit():
    """Gain at which XCP's phase margin is 0."""
    return brentq(
        lambda alpha: xcp.aggregate_loop(alpha, xcp.balanced(alpha).item()).margins.phase, 0.1, 1.0, xtol=1e-12
    )


def measure(figure):
    loads, gamma = loads_at_rest()
    return {
        "kelly-eq4-heterogeneous-continuous": {"scalar_delay_ode_critical_gain_times_delay": list(critical_gain())},
        "maxnet-eq5-local": {"price_integrator_equilibrium_y_over_C": Against(loads, [gamma] * loads.size)},
        "vinnicombe-ying-eq6-8": {
            "stable_for_every_delay_in_set": all(vinnicombe_stable() + ying_stable() + runs_die_out())
        },
        "xcp-stability-bound": {"alpha_max": alpha_limit()},
    }


def plot(figure, canvas):
    loops = {
        "Vinnicombe": vinnicombe.loop(100.0, DELAYS),
        "Ying": ying.loop(float(len(DELAYS)), DELAYS),
        "XCP, alpha 0.4": xcp.aggregate_loop(0.4, xcp.balanced(0.4).item()),
    }
    for part, (name, loop) in zip(canvas.subfigures(1, 3), loops.items(), strict=True):
        nyquist(loop, canvas=part)
        axes = part.axes[0]
        axes.set_title(f"{name}\n{axes.get_title('left')}")
