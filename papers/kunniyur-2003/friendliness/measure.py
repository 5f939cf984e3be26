"""TCP-friendliness of users, computed from the utility functions that correspond to their throughputs (section IV)."""

from dataclasses import replace

import numpy as np

from kunniyur_models.fluid import random_windows
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws.ks import TCP_BETA, Users, best, equilibrium_rate, utility_exponent

CAPACITY, EACH = 300.0, 50
NU = np.array([0.0, 0.5, 1.0, 2.0])[:, None]
LOSS = np.array([0.001, 0.003, 0.01, 0.02, 0.05])
DELAY = 1.5
TAKEN = 0.1  # fraction of the equilibrium window that one nack removes
ACKS = 40_000
COPIES, QUICK_COPIES = 200, 100


def beside_tcp(loss_exponent, weight=1.0):
    """Returns the rates of 50 users with throughput proportional to `p^-e`, and of 50 TCP users on the same link."""
    exponents = [utility_exponent(loss_exponent)] * EACH + [utility_exponent(1 / 2)] * EACH
    users = Users(weights=[weight] * EACH + [1.0] * EACH, exponents=exponents)
    rates = best([[0]] * (2 * EACH), [CAPACITY], users).rates
    return rates[0], rates[-1]


def window_rates(copies):
    """Returns the mean rates of window-based users, by exponent and loss rate."""
    users = Users(exponents=NU[..., None], delays=DELAY)
    rest = equilibrium_rate(users, TCP_BETA, LOSS[:, None])
    users = replace(users, gains=TAKEN * rest ** (1 - users.exponents) / TCP_BETA)
    start = np.repeat(rest * DELAY / 2, copies, axis=-1)
    return random_windows(users, TCP_BETA, LOSS[:, None], start, acks=ACKS, seed=2).mean(axis=-1)


def measure(figure):
    log, beside_log = beside_tcp(1.0)
    square, beside_square = beside_tcp(1 / 3)
    figure.window_rates = window_rates(figure.draws(COPIES, QUICK_COPIES))
    exponents = np.polyfit(np.log(LOSS), np.log(figure.window_rates).T, 1)[0]
    return {
        "ks-friendly-log": {"rate_log_user": log, "rate_tcp_user": beside_log, "tcp_friendly": bool(log <= beside_log)},
        "ks-friendly-nu2": {"rate_nu2_user": square, "rate_tcp_user": beside_square},
        "ks-friendliness-map": {"loss_exponent": Against(exponents.tolist(), (-1 / (NU[:, 0] + 1)).tolist())},
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    losses, slopes = np.geomspace(1e-3, 0.1, 100), np.linspace(0.2, 1.0, 41)
    utilities = ("log x", "-1/x^0.5", "-1/x (TCP)", "-1/x^2")
    for number, (nu, name, rates) in enumerate(zip(NU[:, 0], utilities, figure.window_rates, strict=True)):
        left.loglog(losses, equilibrium_rate(Users(exponents=nu), TCP_BETA, losses), label=name)
        left.plot(LOSS, rates, "o", color=f"C{number}")
    right.plot(slopes, [beside_tcp(e, 1 / (utility_exponent(e) or 1.0)) for e in slopes])
    for e in (1 / 3, 1.0):
        for number, rate in enumerate(beside_tcp(e)):
            right.plot(e, rate, "o", color=f"C{number}")
    left.set(xlabel="share of packets lost, p", ylabel="rate", title="dots: windows with random losses")
    right.set(xlabel="e", ylabel="rate", title="compared with TCP; dots: weights of 1")
    left.legend()
    right.legend(right.lines[:2], ["users of rate 1/(d p^e)", "TCP users"])
    for check in ("ks-friendly-log[0]", "ks-friendly-log[1]"):
        draw_expected(right, figure, check, (1, 1))
    for check in ("ks-friendly-nu2[0]", "ks-friendly-nu2[1]"):
        draw_expected(right, figure, check, (1 / 3, 1 / 3))
