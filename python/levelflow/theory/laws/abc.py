"""ABC on one link: equilibrium and stability (Goyal et al. 2020, section 3.1).

      w (1 - 2 f) = 1                  for each flow, with its fraction f of accelerating packets
    load = eta + N / (mu RTT)                        if that is below 1, without a queue
    x    = d_t + delta (N / (mu RTT) - 1 + eta)      otherwise; RTT includes x

`w` is the window in packets, and `N` the number of flows. `x` is the queueing delay, and `d_t` its tolerated part.
`eta` is the target utilisation, and `delta` the target time to drain the excess. Times are in s, the capacity `mu` is
in packets/s.
"""

from __future__ import annotations

import math

from levelflow.theory.record import Theory
from levelflow.theory.validate import explained, read_number

#: Fraction of the round-trip time that `delta` must exceed (Goyal et al. 2020, theorem 3.1).
LEAST_DELTA = 2 / 3


@explained
def load(flows: float, mu: float, rtt: float, eta: float = 0.98) -> float:
    """Returns the equilibrium load relative to the capacity. `rtt` excludes queueing delay.

    Raises:
        ParameterError: if a number is not above 0, or `eta` above 1.

    >>> round(load(2, 2000, 0.1), 3)
    0.99
    """
    flows, mu, rtt = read_number("flows", flows), read_number("mu", mu), read_number("rtt", rtt)
    return min(read_number("eta", eta, high=1.0) + flows / (mu * rtt), 1.0)


@explained
def queueing_delay(
    flows: float, mu: float, rtt: float, eta: float = 0.98, delta: float = 0.133, target: float = 0.05
) -> float:
    """Returns the equilibrium queueing delay; 0 if the additive increase leaves capacity unused. `target` is d_t.

    Raises:
        ParameterError: if a number is not above 0 (`target`: below 0), or `eta` above 1.

    >>> round(queueing_delay(20, 2000, 0.1), 4), queueing_delay(2, 2000, 0.1)
    (0.0559, 0.0)
    """
    flows, mu, rtt = read_number("flows", flows), read_number("mu", mu), read_number("rtt", rtt)
    delta, target = read_number("delta", delta), read_number("target", target, closed=True)
    spare = 1.0 - read_number("eta", eta, high=1.0)
    if flows / (mu * rtt) <= spare:
        return 0.0
    # x = d_t + delta (N / (mu (rtt + x)) - spare) is a quadratic equation for rtt + x.
    constant = rtt + target - delta * spare
    whole = (constant + math.sqrt(constant**2 + 4 * delta * flows / mu)) / 2
    # Below d_t, eq 1 ignores the queue. The queue grows until the link is full: N / (mu (rtt + x)) = 1 - eta.
    return whole - rtt if whole - rtt >= target else flows / (mu * spare) - rtt


@explained
def stable(delta: float, rtt: float) -> bool:
    """Returns True if flows with this round-trip time, queues included, are stable at any capacity (theorem 3.1).

    >>> stable(0.133, 0.1), stable(0.06, 0.1)
    (True, False)
    """
    return read_number("delta", delta) > LEAST_DELTA * read_number("rtt", rtt)


THEORY = Theory()
