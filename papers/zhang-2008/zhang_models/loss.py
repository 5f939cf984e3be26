"""Loss of queues with a limited buffer (Zhang 2008, chapter VII.1).

    a Markov chain feeds a queue  E Z / E X,  Z = (q + X - c - b)^+,  q' = min((q + X - c)^+, b)
    interrupted Bernoulli         the same, of sources that are on and off                 eq. 153
    the same, from an unlimited   (1 - rho) P{q' > b, X = 0} / (rho P{q' <= b, X = 0})     eq. 158
    TCP                           8 N^2 / (3 (C R + b)^2), 128 N^2 / (27 (C R + b)^2)      eq. 159, 160

`zhang_models.windows` has the windows of TCP as a chain that reacts to its losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polymul, polypow
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, not_negative, positive, share, whole
from zhang_models.markov import read_moves, stationary

#: Limits on the model of an unlimited queue: probability of queues longer than the model; number of states.
CUT, MOST_STATES = 1e-14, 400_000


def tcp_loss(flows: ArrayLike, pipe: ArrayLike, buffer: ArrayLike) -> Floats:
    """Returns the loss rate of TCP flows, eq. 159: each flow loses one of `3 W^2 / 8` packets, with `W = (C R + b) /
    N`.

    Args:
        flows: `N`.
        pipe: `C R`, capacity by round-trip time, packets.
        buffer: `b`, packets.

    Raises:
        ParameterError: if a pipe or number of flows is not positive, a buffer is negative, or a value is not finite.

    >>> tcp_loss(10, 100, 100).round(6).tolist()
    0.006667
    """
    positive(flows=flows, pipe=pipe)
    not_negative(buffer=buffer)
    room = np.asarray(pipe, dtype=np.float64) + np.asarray(buffer, dtype=np.float64)
    return 8 / 3 * (np.asarray(flows, dtype=np.float64) / room) ** 2


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Arrivals per slot from a Markov chain (discrete batch Markovian arrival process).

    Attributes:
        moves: transition probabilities of the chain, from row to column.
        packets: number of arrivals per slot in each state. Random numbers of arrivals need additional states.

    Raises:
        ChainError: if the probabilities are not valid.
        ParameterError: if a number of packets is not whole or is negative, there is not one number per state, or all
            are 0.
    """

    moves: csr_array
    packets: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", read_moves(self.moves))
        whole(0, packets=self.packets)
        packets = np.asarray(self.packets, dtype=np.int64)
        object.__setattr__(self, "packets", packets)
        if packets.shape != self.moves.shape[:1]:
            raise ParameterError(f"{packets.size} numbers of packets for {self.moves.shape[0]} states; needs one each")
        if not self.mean > 0:
            raise ParameterError("nothing ever arrives; needs a state with packets to which the chain returns")

    @cached_property
    def mean(self) -> float:
        """Mean number of packets per slot."""
        return float(stationary(self.moves).law @ self.packets)


@explained
def interrupted_bernoulli(sources: int, on: float, off: float) -> Arrivals:
    """Returns arrivals from equal sources that send one packet per slot while they are on.

    Args:
        sources: number of sources.
        on: probability that an off source turns on.
        off: probability that an on source turns off.

    Raises:
        ParameterError: if there is no source, or a probability is 0.

    >>> round(interrupted_bernoulli(4, 0.02, 0.08).mean, 6)
    0.8
    """
    whole(1, sources=sources)
    positive(on=on, off=off)
    share(on=on, off=off)
    # Generating function of the number of sources that are on in the next slot. In the current slot, `n` sources are on
    # and may turn off. The other sources may turn on.
    moves = np.zeros((sources + 1, sources + 1))
    for n, row in enumerate(moves):
        chances = polymul(polypow((off, 1 - off), n), polypow((1 - on, on), sources - n))
        row[: chances.size] = chances
    return Arrivals(moves, np.arange(sources + 1))


class Queue(NamedTuple):
    """Stationary distribution of a queue whose arrivals come from a chain.

    Attributes:
        law: probability of a queue length after a slot (rows, from 0 to the buffer) and of a state of the chain in the
            slot (columns).
        loss: fraction of packets lost.
        residual: error of the distribution, as in `Stationary`.
    """

    law: Floats
    loss: float
    residual: float


@explained
def queue(arrivals: Arrivals, buffer: int, service: int = 1) -> Queue:
    """Returns the stationary distribution and the loss rate of a queue.

    In each slot, packets arrive, and `service` packets leave. If more packets than the buffer remain, the excess is
    lost (eq. 155).

    Args:
        arrivals: the arrival process.
        buffer: `b`, packets: room in addition to the packets that leave in the slot.
        service: number of packets that leave per slot.

    Raises:
        ParameterError: if the buffer is not whole or is negative, or the service is below 1.
        ChainError: if the arrivals' stationary distribution is not unique.

    >>> at_four_places = queue(interrupted_bernoulli(4, 0.02, 0.08), buffer=3)
    >>> round(at_four_places.loss, 4)
    0.2156
    """
    whole(0, buffer=buffer)
    whole(1, service=service)
    phases, lengths = arrivals.packets.size, np.arange(buffer + 1)
    left = lengths[:, None] + arrivals.packets - service
    start, end = arrivals.moves.nonzero()
    chances = arrivals.moves[start, end]
    before = lengths[:, None] * phases + start
    after = np.clip(left, 0, buffer)[:, end] * phases + end
    size = phases * lengths.size
    found = stationary(
        coo_array((np.tile(chances, lengths.size), (before.ravel(), after.ravel())), (size, size)).tocsr()
    )
    law = found.law.reshape(lengths.size, phases)
    lost = ((law @ arrivals.moves) * np.maximum(left - buffer, 0)).sum()
    return Queue(law, float(lost / arrivals.mean), found.residual)


@explained
def interrupted_bernoulli_loss(sources: int, on: float, off: float, places: int) -> float:
    """Returns the fraction of cells lost, by eq. 153. The divisor is the mean number of arriving cells. The printed
    divisor is the mean number of queued cells.

    Args:
        sources: number of sources.
        on: probability that an off source turns on.
        off: probability that an on source turns off.
        places: `b`, cells, including the cell that leaves at the end of the slot.

    Raises:
        ParameterError: if a number is not allowed.

    >>> round(interrupted_bernoulli_loss(4, 0.02, 0.08, 32), 4)
    0.0641
    """
    whole(1, places=places)
    return queue(interrupted_bernoulli(sources, on, off), places - 1).loss


@explained
def loss_from_unlimited(arrivals: Arrivals, buffer: int) -> float:
    """Returns the loss rate of a queue from the length distribution of an unlimited queue, eq. 158.

    One packet leaves per slot. The result is exact if only one state has no arrivals, or if all such states have the
    same transitions, as with on-off sources. Otherwise the result is approximate.

    Args:
        arrivals: the arrival process, with a mean below one packet per slot.
        buffer: `b`, packets.

    Raises:
        ParameterError: if the load is not below 1, or packets arrive in every state. The formula then divides by 0.

    >>> arrivals = interrupted_bernoulli(4, 0.02, 0.2)
    >>> abs(loss_from_unlimited(arrivals, 8) / queue(arrivals, 8).loss - 1) < 1e-9
    True
    """
    whole(0, buffer=buffer)
    load, silent = arrivals.mean, arrivals.packets == 0
    if not load < 1:
        raise ParameterError(f"a load of {load} is not allowed; needs less than one packet per slot")
    if not silent.any():
        raise ParameterError("packets come in every state; needs one without arrivals")
    law = _unlimited(arrivals, buffer)
    idle = law @ arrivals.moves[:, silent].sum(axis=1)
    return float((1 - load) * idle[buffer + 1 :].sum() / (load * idle[: buffer + 1].sum()))


def _unlimited(arrivals: Arrivals, buffer: int) -> Floats:
    """Returns the distribution of a queue with a limit so large that the queue is hardly ever full."""
    longest = 2 * (buffer + int(arrivals.packets.max()) + 10)
    while longest * arrivals.packets.size < MOST_STATES:
        law = queue(arrivals, longest).law
        if law[-1].sum() < CUT:
            return law
        longest *= 2
    raise ParameterError(f"a load of {arrivals.mean} is too near to 1; needs queues of less than {longest} packets")
