"""Who takes more than TCP: utilities that belong to throughputs (section IV)."""

from dataclasses import replace
from functools import cache

import numpy as np

from levelflow.claims import Against
from levelflow.theory.fluid.ks import random_windows
from levelflow.theory.laws.ks import TCP_BETA, Users, best, rest_rate, utility_exponent

CAPACITY, EACH = 300.0, 50
NU = np.array([0.0, 0.5, 1.0, 2.0])[:, None]
LOSS = np.array([0.001, 0.003, 0.01, 0.02, 0.05])
DELAY = 1.5
TAKEN = 0.1  # of the window of rest, by a nack
ANSWERS, COPIES = 40_000, 20


def beside_tcp(loss_exponent, scaled=False):
    """Rates of 50 users whose throughput goes as `p^-e`, and of 50 TCP users on the same link.

    The slope of `-1/x^nu` has a factor `nu`; `scaled` users have a weight without it, and at small `nu` are nearly
    those of `log x`.
    """
    nu = utility_exponent(loss_exponent)
    users = Users(
        exponents=[nu] * EACH + [utility_exponent(1 / 2)] * EACH,
        weights=[1 / nu if scaled and nu else 1.0] * EACH + [1.0] * EACH,
    )
    rates = best([[0]] * (2 * EACH), [CAPACITY], users).rates
    return rates[0], rates[-1]


@cache
def window_rates():
    """Mean rates of windows by exponent and loss."""
    users = Users(exponents=NU[..., None], delays=DELAY)
    rest = rest_rate(users, TCP_BETA, LOSS[:, None])
    users = replace(users, gains=TAKEN * rest ** (1 - users.exponents) / TCP_BETA)
    start = np.repeat(rest * DELAY / 2, COPIES, axis=-1)
    return random_windows(users, TCP_BETA, LOSS[:, None], start, acks=ANSWERS, seed=2).mean(axis=-1)


def measure(figure):
    log, beside_log = beside_tcp(1.0)
    square, beside_square = beside_tcp(1 / 3)
    exponents = np.polyfit(np.log(LOSS), np.log(window_rates()).T, 1)[0]
    return {
        "ks-friendly-log": [log, beside_log, bool(log <= beside_log)],
        "ks-friendly-nu2": [square, beside_square],
        "ks-friendliness-map": [Against(exponents.tolist(), (-1 / (NU[:, 0] + 1)).tolist())],
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for nu, rates in zip(NU[:, 0], window_rates(), strict=True):
        line = left.loglog(LOSS, rest_rate(Users(exponents=nu), TCP_BETA, LOSS))[0]
        label = "log x" if nu == 0 else f"-1/x^{nu:g}"
        left.plot(LOSS, rates, "o", color=line.get_color(), label=label)
    left.set(xlabel="share of packets lost", ylabel="rate", title="Rates of windows, and p^(-1/(nu+1))")
    left.legend()
    shares = np.linspace(0.2, 1.0, 60)
    both = np.array([beside_tcp(share, scaled=True) for share in shares])
    for column, label in enumerate(("50 users with p^-e", "50 TCP users")):
        right.plot(shares, both[:, column], label=label)
        right.plot((1 / 3, 1.0), [beside_tcp(e)[column] for e in (1 / 3, 1.0)], "o", color=f"C{column}")
    right.set(xlabel="e", ylabel="rate", title="Beside TCP on a link of 300; the text has the dots")
    right.legend()
