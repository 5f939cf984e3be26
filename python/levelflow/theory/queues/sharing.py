"""Completion times under processor sharing (Dukkipati et al. 2005, section III-A and eq. 3).

Times are in s, capacities in bit/s, sizes in bytes. RTPD is the round-trip propagation delay.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.validate import explained, not_negative, positive, read_each, read_number

#: Propagation delay in a completion time, in round trips: 1 for the handshake, and half for the data.
ROUND_TRIPS = 1.5


@explained
def fct_processor_sharing(rtpd: Numbers, size: Numbers, capacity: Numbers, load: Numbers) -> Numbers:
    """Returns the mean completion time of flows of one size, 1.5 RTPD + L / (C (1 - rho)), s, for Poisson arrivals.

    >>> fct_processor_sharing(0.5, 1e6, 8e6, 0.5)
    2.75
    """
    positive(capacity=capacity, room=1 - load)
    return ROUND_TRIPS * rtpd + 8 * size / (capacity * (1 - load))


@explained
def fct_bound(rtpd: Numbers, size: Numbers, capacity: Numbers) -> Numbers:
    """Returns the shortest completion time with a handshake, s: 1.5 propagation round trips plus size/capacity."""
    return fct_processor_sharing(rtpd, size, capacity, 0.0)


@explained
def fct_slow_start(rtpd: Numbers, packets: Numbers, size: Numbers, capacity: Numbers) -> Numbers:
    """Returns the completion time in slow start without queues, `(log2(n + 1) + 1/2) RTPD + L/C`, s (III-B.1).

    Windows double each round trip. They start at 2 packets after a handshake, or at 1 packet without a handshake. The
    result is accurate to the transmission time of a packet.

    Args:
        rtpd: round-trip propagation delay, s.
        packets: `n`, the size in packets.
        size: `L`, bytes.
        capacity: bit/s.

    >>> float(fct_slow_start(0.5, 7, 7e3, 56e3))
    2.75
    """
    positive(capacity=capacity)
    not_negative(packets=packets)
    return (np.log2(packets + 1) + 0.5) * rtpd + 8 * size / capacity


@explained
def active_processor_sharing(
    arrivals: Numbers, rtpd: Numbers, mean_size: Numbers, capacity: Numbers, load: Numbers
) -> Numbers:
    """Returns the mean number of active flows by Little's law, for `arrivals` flows per second."""
    return arrivals * fct_processor_sharing(rtpd, mean_size, capacity, load)


def completion_times(
    starts: ArrayLike, sizes: ArrayLike, capacity: float, delays: ArrayLike = 0.0, weights: ArrayLike = 1.0
) -> Floats:
    """Returns the duration of each transfer, s. All active transfers share the link at any time.

    An active flow `i` has the fraction `w_i / sum w` of the capacity. Virtual time advances by the work done per unit
    of weight. A flow that starts at virtual time `v` ends at `v + L/w`, independently of later arrivals. `n` flows
    therefore take `O(n log n)` steps.

    Args:
        starts: start of each transfer, s, in any order.
        sizes: size of each transfer, bytes.
        capacity: link capacity, bit/s.
        delays: delay in addition to the time in the link, s, for all flows or per flow.
        weights: weights, for all flows or per flow.

    Raises:
        ParameterError: if a number is not finite, a start or delay is negative, or a size, weight or the capacity is
            not above 0.

    >>> completion_times([0.0, 1.0], [2e6, 1e6], 8e6, delays=0.25).tolist()
    [3.25, 2.25]
    """
    start = read_each("start", starts, np.size(starts), closed=True)
    delay = read_each("delay", delays, start.size, closed=True)
    weight = read_each("weight", weights, start.size)
    served = 8 * read_each("size", sizes, start.size) / weight / read_number("capacity", capacity)
    times = np.empty(start.size)
    in_flight: list[tuple[float, int]] = []
    now = virtual = total = 0.0
    for arrival in [*np.argsort(start, kind="stable").tolist(), None]:
        then = np.inf if arrival is None else float(start[arrival])
        while in_flight and (ends := now + (in_flight[0][0] - virtual) * total) <= then:
            virtual, leaving = heapq.heappop(in_flight)
            now, total = ends, total - float(weight[leaving])
            times[leaving] = now - start[leaving]
        if arrival is None:
            break
        if in_flight:
            virtual += (then - now) / total
        else:
            virtual = total = 0.0  # an idle link has no state, so rounding errors end here
        now, total = then, total + float(weight[arrival])
        heapq.heappush(in_flight, (virtual + float(served[arrival]), arrival))
    return times + delay
