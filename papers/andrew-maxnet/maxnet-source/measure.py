"""Dynamics of the source, and average of the receiver, for given prices. xi is the state of the source (eq 6)."""

import numpy as np

from levelflow.laws import Sender
from levelflow.reproduce import Against

X_MAX, T, ALPHA, ETA = 1e15, 0.4, 0.66, 0.06  # bit/s, s
LSB = 2.0**-19  # s
TAUS = (0.001, 0.029, 0.179, 1.0)  # s


def measure(figure):
    settled = [settle(tau) for tau in TAUS]
    overshoot, crosses = zip(*(clipping(tau, wait) for tau in TAUS for wait in (0.5, 1, 2, 5, 10)), strict=True)
    return {
        "maxnet-eq6-10-equilibrium": {
            "xi_equilibrium": Against(
                [xi for xi, _, _ in settled],
                [q * (ALPHA / tau - 1 / T) for (_, _, q), tau in zip(settled, TAUS, strict=True)],
            ),
            "rate_equilibrium": Against([rate for _, rate, _ in settled], [demand(q) for _, _, q in settled]),
            "xi_time_constant_s[tau = 29 ms: tau^2/(alpha eta T)]": time_constant(0.029),
            "xi_time_constant_s[tau = 179 ms]": time_constant(0.179),
        },
        "maxnet-xi-clipping": {"xi_overshoot": max(overshoot), "sign_change_of_error": any(crosses)},
        "maxnet-receiver-average": {
            "burst_bias": burst_bias(),
            "step_response": average([(ms / 1000, 6.1) for ms in range(101)])[-1] / 0.1,
        },
        "maxnet-fixed-point": {"window_rel_error": max(arithmetic_error(tau) for tau in TAUS)},
    }


def demand(q):
    return X_MAX * np.exp(-q / T)


def hear(sender, now, q, tau):
    """Passes an ACK with a price to a sender, and returns the coded price."""
    code = round(q / LSB)
    header = sender.send(now, 1, 1500)[:5] + code.to_bytes(3, "big")
    sender.feedback(now, 1, tau, header, "data")
    return code * LSB


def constant(tau):
    """Returns the time constant of xi."""
    return tau**2 / (ALPHA * ETA * T)


def stepped(tau, every, acks):
    """Returns the target rate after each ACK, and the coded price. At the first ACK, the price rises from 6.0 to 6.01
    s.
    """
    sender = Sender("maxnet")
    hear(sender, every, 6.0, tau)
    q = 0.0
    rates = np.empty(acks)
    for i in range(acks):
        q = hear(sender, (i + 2) * every, 6.01, tau)
        rates[i] = sender.proposal_bps
    return rates, q


def settle(tau):
    """Returns xi, rate and price long after a step of the price."""
    rates, q = stepped(tau, constant(tau) / 100, 3000)
    return np.log(rates[-1] / X_MAX) + ALPHA * q / tau, rates[-1], q


def time_constant(tau):
    """Returns the time in which `log(rate/demand)` falls to 1/e of its initial value."""
    every = constant(tau) / 1000
    rates, q = stepped(tau, every, 3000)
    error = np.log(rates / demand(q))
    times = np.arange(error.size) * every
    return float(np.interp(-1.0, np.log(error / error[0])[::-1], times[::-1]))


def clipping(tau, wait):
    """Returns the overshoot of the sender's state xi of eq (6), and whether xi overshoots.

    ACKs have equal prices and are `wait` round trips apart.
    """
    rates, q = stepped(tau, wait * tau, 100)
    on_curve = Sender("maxnet")
    hear(on_curve, 1.0, q, tau)
    error = rates - on_curve.proposal_bps
    passed = -error * np.sign(error[0])
    return max(0.0, float(passed.max() / on_curve.proposal_bps)), bool((error * error[0] < 0).any())


def average(prices, rtt=0.1):
    """Returns the receiver's average of the prices minus its initial value of 6 s, after each element of `prices`. An
    element has a time since the initial price, and a price. The average q is computed from the rate of a sender with
    constant xi, which is x_max exp(xi - alpha q/tau).
    """
    sender = Sender("maxnet", {"eta": 0.0, "dt_min": "0 s", "max_start": False})
    sender.feedback(0.0, 0, rtt, sender.send(0.0, 0, 40, "syn")[:5] + bytes(3), "syn")
    hear(sender, rtt, 6.0, rtt)
    first = sender.proposal_bps
    seen = []
    for after, q in prices:
        hear(sender, rtt + after, q, rtt)
        seen.append(-rtt / ALPHA * np.log(sender.proposal_bps / first))
    return np.array(seen)


def burst_bias():
    """Returns the bias of the average for two prices that alternate every 5 ms, one of them in bursts of ten packets.
    The bias is relative to the difference of the prices. An average over packets would have a bias of 10/11 - 1/2 =
    0.41.
    """
    gap, low, high = 0.005, 6.0, 6.1
    prices = []
    for turn in range(200):
        at = gap * (turn + 1)
        burst = [(at + i * 12e-6, high) for i in range(10)]
        prices.append(burst if turn % 2 else [(at, low)])
    seen = average([price for burst in prices for price in burst])
    last = np.cumsum([len(burst) for burst in prices]) - 1
    return abs(float(np.mean(seen[last][100:])) / (high - low) - 0.5)


def arithmetic_error(tau):
    """Returns the largest relative difference between integer and float windows, for a price that covers all rates."""
    float_, fixed = (Sender("maxnet", {"arithmetic": word}) for word in ("float", "fixed"))
    random, worst = np.random.default_rng(1), 0.0
    for phase in np.linspace(0.0, 4 * np.pi, 8000):
        q = T * np.log(X_MAX / 32.0) * (1 - np.cos(phase)) / 2 + 0.01 * random.random()
        now = phase * tau
        rates = []
        for sender in (float_, fixed):
            hear(sender, now, q, tau)
            rates.append(sender.proposal_bps)
        worst = max(worst, abs(rates[1] / rates[0] - 1))
    return worst


def plot(figure, canvas):
    axes = canvas.subplots()
    for tau in (0.029, 0.179):
        every = constant(tau) / 100
        rates, q = stepped(tau, every, 400)
        axes.plot(np.arange(400) * every / constant(tau), rates / demand(q), label=f"tau = {1000 * tau:g} ms")
    axes.set(xlabel="time over tau^2/(alpha eta T)", ylabel="rate / D(q)", title="A step of the price by 10 ms")
