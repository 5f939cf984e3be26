"""Published rules for the size of a router's buffer (Zhang 2008, chapter II.2).

    rule              packets                                                       reference there
    thumb             C R                                                           Villamizar and Song
    Stanford          C R / sqrt(N), or twice that                                  Appenzeller et al.
    Avrachenkov       (C R)^2 / (32 N^3)                                            Avrachenkov et al.
    Enachescu         10 to 20, for paced or Poisson traffic                        Enachescu et al.
    BSCL, full link   (p C R_e - 2 S N (1 - p)) / (2 - p),  p = 1 - (1 - 1/N)^L     Dhamdhere et al., eq. 9
    BSCL, loss        K N - C R_p,  K = 0.87 / sqrt(loss)                           eq. 10
    BSCL              the larger of both
    Eun and Wang      anything from C R / sqrt(N) to C R N
    Adaptive DropTail b + K (u* - u),  0 < K < 2 / k_2                              Kellett et al., eq. 11

`N` is the number of flows. `C R`, the bandwidth-delay product, is in packets. BSCL is "Buffer Sizing for Congested
Links". In BSCL, `R_e` is the harmonic mean of round-trip times, `R_p` excludes queueing, `p` is the fraction of flows
that lose a packet in a congestion event with `L` losses, and `S` is one packet. In ADT, `u` is the utilisation, `u*`
its target, and `k_2` the slope of utilisation over the buffer. Controllers that adapt the buffer at run time are in
`zhang_models.adaptive_buffer`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.validate import not_negative, positive, read_numbers, share

#: Smallest and largest buffer of Enachescu et al. in packets, for any link and any number of flows.
ENACHESCU = (10.0, 20.0)
#: Packets that BSCL assumes to be lost per flow in a congestion event.
LOST_PER_FLOW = 0.6
#: Constant of BSCL: a flow with loss rate `p` has a window of `0.87 / sqrt(p)`.
WINDOW = 0.87


def pipe(capacity: ArrayLike, rtt: ArrayLike, packet: float = 1500.0) -> Floats:
    """Returns the bandwidth-delay product `C R` in packets, which is also the rule of thumb.

    Args:
        capacity: link capacity, bit/s.
        rtt: round-trip time, s.
        packet: packet size, bytes.

    Raises:
        ParameterError: if a number is not positive and finite.

    >>> round(float(pipe(10e6, harmonic_rtt(0.030, 0.062))), 1)
    36.7
    """
    positive(capacity=capacity, rtt=rtt, packet=packet)
    return np.asarray(capacity, dtype=np.float64) * np.asarray(rtt, dtype=np.float64) / (8 * packet)


def harmonic_rtt(least: ArrayLike, largest: ArrayLike) -> Floats:
    """Returns the harmonic mean of round-trip times that are uniformly distributed between two values, in their unit.

    Raises:
        ParameterError: if a value is not positive and finite, or `largest` is not above `least`.

    >>> round(float(harmonic_rtt(30.0, 30.0 + 2 * 1024)), 1)
    483.3
    """
    positive(least=least, largest=largest)
    low, high = np.asarray(least, dtype=np.float64), np.asarray(largest, dtype=np.float64)
    positive(range=high - low)
    return (high - low) / np.log(high / low)


def stanford(pipe: ArrayLike, flows: ArrayLike, times: float = 1.0) -> Floats:
    """Returns `times C R / sqrt(N)`, packets. The dissertation compares with twice the rule.

    Raises:
        ParameterError: if a number is not positive and finite.

    >>> stanford(400.0, 16)
    np.float64(100.0)
    """
    positive(pipe=pipe, flows=flows, times=times)
    return times * np.asarray(pipe) / np.sqrt(flows)


def avrachenkov(pipe: ArrayLike, flows: ArrayLike) -> Floats:
    """Returns `(C R)^2 / (32 N^3)`, packets.

    Raises:
        ParameterError: if a number is not positive and finite.

    >>> avrachenkov(1000.0, [1, 10]).tolist()
    [31250.0, 31.25]
    """
    positive(pipe=pipe, flows=flows)
    return np.asarray(pipe) ** 2 / (32 * np.asarray(flows, dtype=np.float64) ** 3)


def flows_that_lose(flows: ArrayLike, lost: ArrayLike) -> Floats:
    """Returns `p(N)`, the fraction of flows that lose a packet when `lost` packets are lost at random.

    Raises:
        ParameterError: if there is less than one flow, or a number is negative or not finite.

    >>> flows_that_lose(2, 3)
    np.float64(0.875)
    """
    read_numbers("flows", flows, 1, closed=True)
    not_negative(lost=lost)
    return 1 - (1 - 1 / np.asarray(flows, dtype=np.float64)) ** np.asarray(lost)


def bscl_utilisation(pipe: ArrayLike, flows: ArrayLike, lost_per_flow: float = LOST_PER_FLOW) -> Floats:
    """Returns the buffer in packets that keeps a link busy if only some flows lose packets, eq 9; may be negative.

    Args:
        pipe: `C R_e`, with the harmonic mean of the round-trip times.
        flows: `N`, number of flows.
        lost_per_flow: packets lost in a congestion event, `L_N / N`.

    Raises:
        ParameterError: if there is less than one flow, or another number is not positive and finite.

    >>> bscl_utilisation(26.63, 2).round(1)
    np.float64(9.3)
    """
    positive(pipe=pipe, flows=flows, lost_per_flow=lost_per_flow)
    n = np.asarray(flows, dtype=np.float64)
    lose = flows_that_lose(n, lost_per_flow * n)
    return (lose * np.asarray(pipe) - 2 * n * (1 - lose)) / (2 - lose)


def window_at_loss(loss: ArrayLike) -> Floats:
    """Returns `K_p = 0.87 / sqrt(p)`, the packets in flight of a flow with loss rate `p`.

    Raises:
        ParameterError: if a loss rate is not above 0 and at most 1.

    >>> window_at_loss(0.02).round(4)
    np.float64(6.1518)
    """
    positive(loss=loss)
    share(loss=loss)
    return WINDOW / np.sqrt(np.asarray(loss, dtype=np.float64))


def bscl_loss(pipe: ArrayLike, flows: ArrayLike, loss: ArrayLike) -> Floats:
    """Returns the buffer in packets that limits the loss rate of flows, eq 10; may be negative.

    Args:
        pipe: `C R_p`, with the round-trip time without queueing, packets.
        flows: `N`, number of flows.
        loss: `p*`, largest loss rate.

    Raises:
        ParameterError: if a pipe or number of flows is not positive and finite, or a loss rate not above 0 and at most
            1.

    >>> bscl_loss(400.0, 1024, 0.02).round(1)
    np.float64(5899.5)
    """
    positive(pipe=pipe, flows=flows)
    return window_at_loss(loss) * np.asarray(flows) - np.asarray(pipe)


def bscl(pipe: ArrayLike, flows: ArrayLike, loss: ArrayLike, lost_per_flow: float = LOST_PER_FLOW) -> Floats:
    """Returns the larger of `bscl_utilisation` and `bscl_loss`, at least 1 packet.

    Raises:
        ParameterError: as for `bscl_utilisation` and `bscl_loss`.

    >>> bscl(36.73, 16, 0.02).round(1)
    np.float64(61.7)
    """
    both = np.maximum(bscl_utilisation(pipe, flows, lost_per_flow), bscl_loss(pipe, flows, loss))
    return np.maximum(both, 1.0)


def eun_wang(pipe: ArrayLike, flows: ArrayLike) -> tuple[Floats, Floats]:
    """Returns the smallest and largest buffer without losses and without idle times: `C R / sqrt(N)` and `C R N`.

    Raises:
        ParameterError: if a number is not positive and finite.

    >>> eun_wang(400.0, 16)
    (np.float64(100.0), np.float64(6400.0))
    """
    return stanford(pipe, flows), np.asarray(pipe) * np.asarray(flows, dtype=np.float64)


def adaptive_drop_tail(buffer: ArrayLike, utilisation: ArrayLike, target: ArrayLike, gain: ArrayLike) -> Floats:
    """Returns the next buffer of Adaptive DropTail (ADT), `b + K (u* - u)`, eq. 11, in packets.

    With `K = I_u T`, this is eq. 163 of ABS.

    Raises:
        ParameterError: if a buffer is negative, a gain not positive, or a utilisation or target not from 0 to 1.

    >>> adaptive_drop_tail(100.0, 0.9, 0.95, 600.0).round(6)
    np.float64(130.0)
    """
    not_negative(buffer=buffer)
    positive(gain=gain)
    share(utilisation=utilisation, target=target)
    return np.asarray(buffer) + np.asarray(gain) * (np.asarray(target) - np.asarray(utilisation))


def largest_gain(slope: ArrayLike, lag: ArrayLike = 1.0) -> Floats:
    """Returns the gain in packets below which an integral controller of the buffer size is stable.

    The controller is `b(n) = b(n-1) - K (y(n) - y*)`, and `y` follows the buffer, `y(n) = (1-l) y(n-1) + l f(b(n-1))`.
    The characteristic polynomial of the linearised system is `z^2 - (2 - l - l K k) z + 1 - l`. Its roots are in the
    unit disc for `0 < K k < 2 (2 - l) / l` (Jury). ADT's `2 / k_2` is the case `l = 1`, an immediate response.

    Args:
        slope: `k`, the derivative of `f`, per packet.
        lag: `l`, the fraction of the distance to `f` that `y` covers in a step; above 0 and at most 1.

    Raises:
        ParameterError: if a number is not allowed.

    >>> largest_gain(0.01)
    np.float64(200.0)
    """
    positive(slope=slope, lag=lag)
    share(lag=lag)
    part = np.asarray(lag, dtype=np.float64)
    return 2 * (2 - part) / (part * np.asarray(slope))
