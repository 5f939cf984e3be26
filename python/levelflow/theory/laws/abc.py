"""ABC on one link: what it settles at, and when (Goyal et al. 2020, section 3.1).

    w (1 - 2 f) = 1                                  of each flow, with its share f of packets that accelerate
    load = eta + N / (mu RTT)                        where that is below 1, without a queue
    x    = d_t + delta (N / (mu RTT) - 1 + eta)      elsewhere, RTT with x

Times are in s, the capacity `mu` in packets/s.
"""

from __future__ import annotations

import math

from levelflow.theory.record import Theory
from levelflow.theory.validate import explained, read_number

#: `delta` must be above this part of the round-trip time (Goyal et al. 2020, theorem 3.1).
LEAST_DELTA = 2 / 3


@explained
def load(flows: float, mu: float, rtt: float, eta: float = 0.98) -> float:
    """Returns the load in equilibrium over the capacity; `rtt` is without a queue.

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
    """Returns the queueing delay in equilibrium; 0 where the additive increase leaves room, and `target` is d_t.

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
    # x = d_t + delta (N / (mu (rtt + x)) - spare), a quadratic in rtt + x.
    constant = rtt + target - delta * spare
    whole = (constant + math.sqrt(constant**2 + 4 * delta * flows / mu)) / 2
    # Below d_t eq 1 sees no queue: it is as long as fills the link, N / (mu (rtt + x)) = 1 - eta.
    return whole - rtt if whole - rtt >= target else flows / (mu * spare) - rtt


@explained
def stable(delta: float, rtt: float) -> bool:
    """Returns whether flows of this round-trip time, queues included, settle at any capacity and number (theorem 3.1).

    >>> stable(0.133, 0.1), stable(0.06, 0.1)
    (True, False)
    """
    return read_number("delta", delta) > LEAST_DELTA * read_number("rtt", rtt)


THEORY = Theory()
