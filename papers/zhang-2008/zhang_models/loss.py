"""What queues of limited length lose (Zhang 2008, chapter VII.1).

    a Markov chain feeds a queue  E Z / E X,  Z = (q + X - c - b)^+,  q' = min((q + X - c)^+, b)
    interrupted Bernoulli         the same, of sources that are on and off                 eq. 153
    the same, from an unlimited   (1 - rho) P{q' > b, X = 0} / (rho P{q' <= b, X = 0})     eq. 158
    TCP                           8 N^2 / (3 (C R + b)^2), 128 N^2 / (27 (C R + b)^2)      eq. 159, 160

The windows of TCP as a chain that hears of its losses are in `zhang_models.windows`.
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

#: An unlimited queue is cut where it is longer with less than this probability, but not beyond so many states.
CUT, MOST_STATES = 1e-14, 400_000


def tcp_loss(flows: ArrayLike, pipe: ArrayLike, buffer: ArrayLike) -> Floats:
    """Returns the share of packets that TCP flows lose, eq. 159: each loses one per `3 W^2 / 8`, `W = (C R + b) / N`.

    Args:
        flows: `N`.
        pipe: `C R`, capacity by round-trip time, packets.
        buffer: `b`, packets.

    Raises:
        ParameterError: if a pipe or number of flows is not positive, a buffer negative, or one not finite.

    >>> tcp_loss(10, 100, 100).round(6).tolist()
    0.006667
    """
    positive(flows=flows, pipe=pipe)
    not_negative(buffer=buffer)
    room = np.asarray(pipe, dtype=np.float64) + np.asarray(buffer, dtype=np.float64)
    return 8 / 3 * (np.asarray(flows, dtype=np.float64) / room) ** 2


def satellite_tcp_loss(flows: ArrayLike, pipe: ArrayLike, buffer: ArrayLike) -> Floats:
    """Returns the same for geostationary satellites, eq. 160: 16/9 of eq. 159."""
    return 16 / 9 * tcp_loss(flows, pipe, buffer)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Packets per slot that a Markov chain brings, a discrete batch Markovian arrival process.

    Attributes:
        moves: probabilities of its transitions, from row to column.
        packets: that come in a slot in each state; random numbers of packets are more states.

    Raises:
        ChainError: if the probabilities are none.
        ParameterError: if the numbers of packets are not whole and at least 0, one per state, or all 0.
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
    """Returns arrivals from equal sources, each of which brings a packet per slot while it is on.

    Args:
        sources: how many.
        on: probability to go on for one that is off.
        off: probability to go off for one that is on.

    Raises:
        ParameterError: if there is no source, or one cannot go on or off.

    >>> round(interrupted_bernoulli(4, 0.02, 0.08).mean, 6)
    0.8
    """
    whole(1, sources=sources)
    positive(on=on, off=off)
    share(on=on, off=off)
    # Of n that are on, some stay, and of the others some go on: coefficients of a generating function.
    moves = np.zeros((sources + 1, sources + 1))
    for n, row in enumerate(moves):
        chances = polymul(polypow((off, 1 - off), n), polypow((1 - on, on), sources - n))
        row[: chances.size] = chances
    return Arrivals(moves, np.arange(sources + 1))


class Queue(NamedTuple):
    """A queue that a chain feeds, in its stationary law.

    Attributes:
        law: probability of each length after a slot (rows, 0 to the buffer) and state of the chain in it (columns).
        loss: share of packets that are lost.
        residual: of the law.
    """

    law: Floats
    loss: float
    residual: float


@explained
def queue(arrivals: Arrivals, buffer: int, service: int = 1) -> Queue:
    """Returns the stationary law of a queue and what it loses.

    In each slot, packets arrive, `service` leave, and of what is left more than the buffer holds is lost: eq. 155.

    Args:
        arrivals: what comes.
        buffer: `b`, packets: room beside those that leave in the slot.
        service: packets per slot.

    Raises:
        ParameterError: if the buffer is not whole or negative, or the service not at least 1.
        ChainError: if the arrivals' stationary law is not unique.

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
    """Returns the share of cells lost, eq. 153 with the mean number of arrivals, not of cells held, below the line.

    Args:
        sources: how many.
        on: probability to go on for one that is off.
        off: probability to go off for one that is on.
        places: `b`, cells, with the one that leaves at the end of the slot.

    Raises:
        ParameterError: if a number is not allowed.

    >>> round(interrupted_bernoulli_loss(4, 0.02, 0.08, 32), 4)
    0.0641
    """
    whole(1, places=places)
    return queue(interrupted_bernoulli(sources, on, off), places - 1).loss


@explained
def loss_from_unlimited(arrivals: Arrivals, buffer: int) -> float:
    """Returns what a queue loses from how long it were without a limit, eq. 158, with one packet sent per slot.

    It is exact if nothing arrives in one state only, or in several that go on alike, as with sources that are on and
    off, and near otherwise.

    Args:
        arrivals: what comes, less than one packet per slot in the mean.
        buffer: `b`, packets.

    Raises:
        ParameterError: if the load is not below 1, or packets come in every state, so that the formula divides by 0.

    >>> arrivals = interrupted_bernoulli(4, 0.02, 0.2)
    >>> abs(loss_from_unlimited(arrivals, 8) / queue(arrivals, 8).loss - 1) < 1e-9
    True
    """
    whole(0, buffer=buffer)
    load, silent = arrivals.mean, arrivals.packets == 0
    if not load < 1:
        raise ParameterError(f"a load of {load} is not allowed; needs less than one packet per slot")
    if not silent.any():
        raise ParameterError("packets come in every state; needs one in which nothing arrives")
    law = _unlimited(arrivals, buffer)
    idle = law @ arrivals.moves[:, silent].sum(axis=1)
    return float((1 - load) * idle[buffer + 1 :].sum() / (load * idle[: buffer + 1].sum()))


def _unlimited(arrivals: Arrivals, buffer: int) -> Floats:
    """Returns the law of a queue so long that it is hardly ever full."""
    longest = 2 * (buffer + int(arrivals.packets.max()) + 10)
    while longest * arrivals.packets.size < MOST_STATES:
        law = queue(arrivals, longest).law
        if law[-1].sum() < CUT:
            return law
        longest *= 2
    raise ParameterError(f"a load of {arrivals.mean} is too near to 1; needs queues of less than {longest} packets")
