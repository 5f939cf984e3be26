"""Completion times under processor sharing, and the least ones (Dukkipati et al. 2005, section III-A and eq. 3).

Times are in s, capacities in bit/s, sizes in bytes. RTPD is the round-trip propagation delay.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from levelflow.theory.network import Floats

#: Propagation part of a completion time in round trips: handshake 1, then one way.
ROUND_TRIPS = 1.5


class TransferError(ValueError):
    """Transfers or a capacity on which sharing is not defined."""


def least_fct(rtpd: float, size: float, capacity: float) -> float:
    """Least completion time after a handshake, 1.5 RTPD + L/C; arguments may be arrays."""
    return ROUND_TRIPS * rtpd + 8 * size / capacity


def mean_fct(rtpd: float, size: float, capacity: float, load: float) -> float:
    """Mean completion time of a size, 1.5 RTPD + L / (C (1 - rho)), for Poisson arrivals; arguments may be arrays."""
    return ROUND_TRIPS * rtpd + 8 * size / (capacity * (1 - load))


def mean_active(arrivals: float, rtpd: float, mean_size: float, capacity: float, load: float) -> float:
    """Mean number of active flows, by Little's law; arrivals in 1/s."""
    return arrivals * mean_fct(rtpd, mean_size, capacity, load)


def completion_times(
    starts: ArrayLike, sizes: ArrayLike, capacity: float, delays: ArrayLike = 0.0, weights: ArrayLike | None = None
) -> Floats:
    """Returns how long each transfer takes if at any moment the active ones share a link.

    While flow `i` is active, it gets `w_i / sum w` of the capacity. In virtual time, which advances by the work that is
    done per unit of weight, a flow that starts at `v` ends at `v + L/w`, whatever comes in between; so the events of
    `n` flows take `O(n log n)` steps.

    Args:
        starts: when each begins, s, in any order.
        sizes: what each carries, bytes.
        capacity: of the link, bit/s.
        delays: added to each time in the link, s: one for all flows or one each.
        weights: per flow; 1 each by default.

    Raises:
        TransferError: if a number is not finite, a start or delay negative, or a size, weight or the capacity not above 0.

    >>> completion_times([0.0, 1.0], [1e6, 1e6], 8e6).tolist()
    [1.0, 1.0]
    >>> completion_times([0.0, 0.0], [1e6, 2e6], 8e6, delays=0.15).tolist()
    [2.15, 3.15]
    """
    start = _checked("start", starts, None, 0.0)
    work = 8 * _checked("size", sizes, start.size) / float(_checked("capacity", [capacity], None)[0])
    delay = _checked("delay", delays, start.size, 0.0)
    weight = _checked("weight", 1.0 if weights is None else weights, start.size)
    times = np.empty(start.size)
    active: list[tuple[float, int]] = []
    now = virtual = total = 0.0
    for arrival in [*np.argsort(start, kind="stable").tolist(), -1]:
        arrives = float(start[arrival]) if arrival >= 0 else np.inf
        while active:
            ends, leaving = active[0]
            leaves = now + (ends - virtual) * total
            if leaves > arrives:
                break
            heapq.heappop(active)
            now, virtual, total = leaves, ends, total - float(weight[leaving])
            times[leaving] = now - start[leaving]
        if active:
            virtual += (arrives - now) / total
        else:
            virtual = total = 0.0  # an idle link forgets, and with it the rounding of a long run
        now = arrives
        if arrival >= 0:
            total += float(weight[arrival])
            heapq.heappush(active, (virtual + float(work[arrival] / weight[arrival]), arrival))
    return times + delay


def _checked(what: str, values: ArrayLike, count: int | None, least: float | None = None) -> Floats:
    """Returns one finite number per flow, at least `least`, or above 0 without one."""
    array = np.array(values, dtype=np.float64)
    if count is not None:
        if array.shape not in {(), (count,)}:
            raise TransferError(f"{array.size} {what}s for {count} flows; needs one each")
        array = np.full(count, array)
    allowed = array > 0 if least is None else array >= least
    bad = np.flatnonzero(~(np.isfinite(array) & allowed))
    if bad.size:
        place = what if what == "capacity" else f"flow {bad[0]}: {what}"
        needs = "> 0" if least is None else f">= {least:g}"
        raise TransferError(f"{place} {array[bad[0]]} is not allowed; needs a finite number {needs}")
    return array
