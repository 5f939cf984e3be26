"""Completion times under processor sharing (Dukkipati et al. 2005, section III-A and eq. 3).

Times are in s, capacities in bit/s, sizes in bytes. RTPD is the round-trip propagation delay.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.validate import explained, not_negative, positive, read_each, read_number

#: Propagation part of a completion time in round trips: handshake 1, then one way.
ROUND_TRIPS = 1.5


@explained
def fct_processor_sharing(rtpd: Numbers, size: Numbers, capacity: Numbers, load: Numbers) -> Numbers:
    """Mean completion time of a size, 1.5 RTPD + L / (C (1 - rho)), for Poisson arrivals, s.

    >>> fct_processor_sharing(0.5, 1e6, 8e6, 0.5)
    2.75
    """
    positive(capacity=capacity, room=1 - load)
    return ROUND_TRIPS * rtpd + 8 * size / (capacity * (1 - load))


@explained
def fct_bound(rtpd: Numbers, size: Numbers, capacity: Numbers) -> Numbers:
    """Least completion time after a handshake over equal delays there and back, 1.5 RTPD + L/C, s."""
    return fct_processor_sharing(rtpd, size, capacity, 0.0)


@explained
def fct_slow_start(rtpd: Numbers, packets: Numbers, size: Numbers, capacity: Numbers) -> Numbers:
    """Completion time in TCP's slow start without losses and queues, `(log2(n + 1) + 1/2) RTPD + L/C`, s (III-B.1).

    Windows double each round trip, from 2 packets after a handshake, or from 1 without one, to within a packet.

    Args:
        rtpd: s.
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
    """Mean number of active flows by Little's law; arrivals in 1/s."""
    return arrivals * fct_processor_sharing(rtpd, mean_size, capacity, load)


def completion_times(
    starts: ArrayLike, sizes: ArrayLike, capacity: float, delays: ArrayLike = 0.0, weights: ArrayLike = 1.0
) -> Floats:
    """Returns how long each transfer takes, in s, if those that are under way share a link at any moment.

    While flow `i` is under way it has `w_i / sum w` of the capacity. In virtual time, which advances by the work done
    per unit of weight, a flow that starts at `v` ends at `v + L/w` whatever comes in between; so `n` flows take
    `O(n log n)` steps.

    Args:
        starts: when each begins, s, in any order.
        sizes: what each carries, bytes.
        capacity: of the link, bit/s.
        delays: added to the time in the link, s, for all flows or per flow.
        weights: for all flows or per flow.

    Raises:
        ParameterError: if a number is not finite, a start or delay is negative, or a size, weight or the capacity not
            above 0.

    >>> completion_times([0.0, 1.0], [2e6, 1e6], 8e6, delays=0.25).tolist()
    [3.25, 2.25]
    """
    start = read_each("start", starts, np.size(starts), closed=True)
    delay = read_each("delay", delays, start.size, closed=True)
    weight = read_each("weight", weights, start.size)
    served = 8 * read_each("size", sizes, start.size) / weight / read_number("capacity", capacity)
    times = np.empty(start.size)
    under_way: list[tuple[float, int]] = []
    now = virtual = total = 0.0
    for arrival in [*np.argsort(start, kind="stable").tolist(), None]:
        then = np.inf if arrival is None else float(start[arrival])
        while under_way and (ends := now + (under_way[0][0] - virtual) * total) <= then:
            virtual, leaving = heapq.heappop(under_way)
            now, total = ends, total - float(weight[leaving])
            times[leaving] = now - start[leaving]
        if arrival is None:
            break
        if under_way:
            virtual += (then - now) / total
        else:
            virtual = total = 0.0  # an idle link forgets, and so do the rounding errors of a long run
        now, total = then, total + float(weight[arrival])
        heapq.heappush(under_way, (virtual + float(served[arrival]), arrival))
    return times + delay
