"""Windows that maximise utilities, and TCP as a special case (sections III, III-A and III-B)."""

from dataclasses import replace

import numpy as np

from kunniyur_models.fluid import random_network, random_windows, run
from levelflow.reproduce import Against
from levelflow.theory.laws.ks import (
    TCP_BETA,
    TCP_BETA_HALVING,
    Users,
    best,
    equilibrium_rate,
    full_link_rate,
    halved,
    harmful_loss,
    hurley_utility,
    tcp_users,
    window_change,
)
from levelflow.theory.stability.equations import integrate

NU = np.array([0.0, 0.5, 1.0, 2.0])[:, None, None]
DELAY = np.array([0.5, 1.0, 2.0])[:, None]
RANDOM_DELAY = 1.5
LOSS = np.array([0.001, 0.003, 0.01, 0.02])
TAKEN = 0.1  # fraction of the equilibrium window that a nack removes
ANSWERS, COPIES = 40_000, 100
RTT, BITS = 0.1, 8000  # round trip of Reno, s; its packet size, bits
WIRES = {"rare": 0.001, "middle": 0.003, "often": 0.01}


def gains(users, rest):
    return TAKEN * rest ** (1 - users.exponents) / TCP_BETA


def fluid_windows():
    """Returns the relative error of the fluid equilibrium of eq 12-13, compared with eq 4."""
    users = Users(exponents=NU, delays=DELAY)
    rest = equilibrium_rate(users, TCP_BETA, LOSS)
    users = replace(users, gains=gains(users, rest))

    # Time is scaled to the interval between nacks, so that all windows are equally fast.
    def change(_time, windows, _past):
        return window_change(users, TCP_BETA, windows, 1 / LOSS, 1.0)

    end = integrate(change, rest * users.delays / 2, 1000.0, step=0.2).states[-1]
    return np.abs(end / users.delays / rest - 1).max()


def lossy_windows():
    """Returns the relative error of the mean rates under random losses, compared with eq 4."""
    users = Users(exponents=NU, delays=RANDOM_DELAY)
    rest = equilibrium_rate(users, TCP_BETA, LOSS)[..., None]
    users = Users(exponents=NU[..., None], delays=RANDOM_DELAY, gains=gains(users, rest[..., 0])[..., None])
    start = np.repeat(rest * RANDOM_DELAY / 2, COPIES, axis=-1)
    rates = random_windows(users, TCP_BETA, LOSS[:, None], start, acks=ANSWERS, seed=1)
    return np.abs(rates.mean(axis=-1) / rest[..., 0] - 1).max()


def reno(result):
    """Returns the rates of Reno in packets/s, divided by 1/(d sqrt(ln 2 p))."""
    sent = {flow: result.flows.filter(result.flows["flow"] == flow)["sending_rate_bps"].mean() / BITS for flow in WIRES}
    return {flow: sent[flow] / equilibrium_rate(tcp_users(RTT), TCP_BETA_HALVING, loss) for flow, loss in WIRES.items()}


def mapping(figure):
    lost = np.arange(1, 6)
    per_nack = np.log(1.0 / halved(1.0, 0, lost)) / lost
    return {
        "beta_halving": per_nack.tolist(),
        "rate_rel_error": [abs(ratio - 1) for ratio in reno(figure.run()).values()],
    }


def blind(exponents, **changes):
    """Returns the largest relative error of windows whose constants ignore delays, compared with (26)."""
    networks = random_network(4, 6, seed=1, batch=(20,), exponents=exponents, control="blind window")
    networks = replace(networks, users=replace(networks.users, **changes))
    start = np.random.default_rng(1).uniform(0.1, 5.0, (20, 6))
    return np.abs(run(networks, start, 200.0, step=0.05, every=100).states[-1] / networks.rest() - 1).max()


def full_link():
    capacity, delay = 50.0, 1.5
    x = float(full_link_rate(capacity, TCP_BETA, delay))
    found, formula = [], []
    for capacity_, delay_, beta in ((50.0, 1.5, TCP_BETA), (20.0, 4.0, TCP_BETA_HALVING), (300.0, 0.2, 2.0)):
        for part in (0.5, 0.99, 1.01, 2.0):
            loss = part * harmful_loss(capacity_, beta, delay_)
            # In eq 17, the rate of random losses is 1 - alpha.
            kept = 1 - loss
            found.append(bool(best([[0]], [capacity_], tcp_users(delay_, kept), beta).rates[0] < capacity_))
            formula.append(bool(loss > harmful_loss(capacity_, beta, delay_)))
    return {
        "kkt_residual": abs(x * (x - capacity) * TCP_BETA * delay**2 - 1),
        "deterioration_threshold": Against(found, formula),
    }


def far_and_near():
    rates = best([[0], [0]], [100.0], tcp_users([1.0, 2.0]), TCP_BETA).rates
    return rates[0] / rates[1]


def lone_tcp(beta, weight=1.0):
    users = tcp_users(1.0, 0.95)
    return best([[0]], [1e3], replace(users, weights=weight * users.weights), beta).rates[0]


def measure(figure):
    return {
        "ks-eq12-13": {"rest_rate_rel_difference": fluid_windows(), "mean_rate_rel_difference": lossy_windows()},
        "ks-tcp-mapping": mapping(figure),
        "ks-remark2": {"solution_rel_difference": blind((1.0,), weights=1.0)},
        "ks-eq18": {
            "rate[beta = 0.5, d = 1, 1 - alpha = 0.05]": lone_tcp(TCP_BETA),
            "rate[beta = ln 2]": lone_tcp(TCP_BETA_HALVING),
            "rate[optimum of (17) as printed, beta = 0.5]": lone_tcp(TCP_BETA, weight=0.95),
        },
        "ks-eq19": full_link(),
        "ks-remark3": {"solution_rel_difference": blind((0.0, 0.5, 1.0, 2.0)), "rate_ratio": far_and_near()},
        "ks-hurley-utility": {"abs_error": abs(float(hurley_utility(100.0)) + 1 / 100.0)},
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    loss = np.geomspace(5e-4, 0.02, 50)
    for beta, label in ((TCP_BETA, "beta = 0.5"), (TCP_BETA_HALVING, "beta = ln 2")):
        left.loglog(loss, equilibrium_rate(tcp_users(RTT), beta, loss), label=f"1/(d sqrt(beta p)), {label}")
    for result in figure.results[:1]:
        rates = [
            ratio * equilibrium_rate(tcp_users(RTT), TCP_BETA_HALVING, WIRES[flow])
            for flow, ratio in reno(result).items()
        ]
        left.plot(list(WIRES.values()), rates, "o", color="black", label="Reno, packet by packet")
    left.set(xlabel="share of packets lost", ylabel="rate (packets/s)", title="TCP at 100 ms")
    capacity = np.geomspace(2, 500, 40)
    for kept in (1.0, 0.9999, 0.999, 0.99):
        rates = [best([[0]], [c], tcp_users(1.0, kept), TCP_BETA).rates[0] for c in capacity]
        right.semilogx(capacity, np.array(rates) / capacity, label=f"{1 - kept:.2%} lost at random")
    right.set(xlabel="d C (packets)", ylabel="rate over capacity", title="One TCP user on a link, beta = 0.5")
