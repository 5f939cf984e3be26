"""Windows that share a queue, as a Markov chain: three readings of eq. 154 and 155 (Zhang 2008, chapter VII.1.4).

In round `n`, `X = sum W_i` packets arrive at a queue. The queue sends `C` packets per round, holds `b` packets, and
drops `Z` packets. Flow `i` has no loss with probability `(1 - v)^W_i`. The window `W` of a flow becomes `rise(W)`
without a loss, and `fall(W)` with a loss.

    literal        Z = (q + X - C - b)^+,  q' = min((q + X - C)^+, b),  v = Z / X
    self-clocked   Z = (X - C - b)^+, v = Z / X: the queue contains the packets beyond the pipe, `X - C`
    exogenous      the queue of the literal chain, but `v` is a constant: windows do not react to its losses

Theorem 19 states that the loss `E Z / E X` falls as the buffer grows. Its proof assumes that the distribution of the
arrivals is given. This holds for the exogenous chain. In the literal chain, the distribution changes with the buffer,
and the loss rises. The duration of a round does not depend on the queue, so the queue does not slow the windows down.
For a buffer so large that the queue is never empty, the mean window exceeds the capacity. The whole excess is then
lost: `1 - C / E X`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, share, whole
from zhang_models.markov import ChainError, stationary

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

    from levelflow.theory.arrays import Floats, Ints

    Change = Callable[[Ints], Ints]

Reading = Literal["literal", "self-clocked", "exogenous"]
READINGS: tuple[Reading, ...] = ("literal", "self-clocked", "exogenous")
#: Largest number of transitions for an exact solution.
MOST_MOVES = 4_000_000
#: Initial fraction of a simulation that is ignored, because it depends on the start.
FORGET = 0.25


def one_more(windows: Ints) -> Ints:
    """Additive increase: `W + 1`."""
    return windows + 1


def half(windows: Ints) -> Ints:
    """Multiplicative decrease: half the window, rounded down."""
    return windows // 2


@dataclass(frozen=True)
class Windows:
    """Flows whose windows share a queue.

    Attributes:
        flows: `N`.
        capacity: `C`, packets per round.
        buffer: `b`, packets.
        reading: reading of the equations, one of `READINGS`.
        largest: upper limit on windows, packets. The lower limit is 1.
        chance: `v` of the exogenous chain.
        rise: function that returns the window after a round without loss, `W + alpha(W)`.
        fall: function that returns the window after a round with loss, `W - beta(W)`.

    Raises:
        ParameterError: if a number or the reading is not allowed.
    """

    flows: int
    capacity: int
    buffer: int
    reading: Reading = "literal"
    largest: int = 10_000
    chance: float = 0.0
    rise: Change = one_more
    fall: Change = half

    def __post_init__(self) -> None:
        whole(1, flows=self.flows, capacity=self.capacity, largest=self.largest)
        whole(0, buffer=self.buffer)
        share(chance=self.chance)
        if self.reading not in READINGS:
            raise ParameterError(f"reading {self.reading!r} is not allowed; needs one of {', '.join(READINGS)}")
        if (self.reading == "exogenous") != (self.chance > 0):
            raise ParameterError(
                f"a chance of {self.chance} is not allowed for {self.reading} windows; "
                "needs one above 0 if they are exogenous, and none otherwise"
            )

    def round(self, total: Floats, queue: Floats) -> tuple[Floats, Floats, Floats]:
        """Returns the packets lost in a round, the queue after the round, and the loss probability of each packet.

        Args:
            total: arriving packets, `X`.
            queue: queue length before these packets arrive.
        """
        held = total - self.capacity + (0.0 if self.reading == "self-clocked" else queue)
        lost = np.maximum(held - self.buffer, 0.0)
        chance = np.full_like(lost, self.chance) if self.reading == "exogenous" else lost / total
        return lost, np.clip(held, 0.0, self.buffer), chance

    def next(self, windows: Ints, *, lossless: bool) -> Ints:
        """Returns the windows after a round."""
        moved = self.rise(windows) if lossless else self.fall(windows)
        return np.minimum(np.maximum(moved, 1), self.largest)  # faster than `clip`


class Exact(NamedTuple):
    """Windows in their stationary distribution.

    Attributes:
        loss: fraction of packets lost.
        law: probability of each state. The first axes are the flows' windows, from 1. The last axis is the queue, from
            0.
        residual: error of the distribution, as in `Stationary`.
    """

    loss: float
    law: Floats
    residual: float


class Estimate(NamedTuple):
    """Mean over independent copies.

    Attributes:
        loss: fraction of packets lost.
        error: standard error of the loss.
    """

    loss: float
    error: float


def matrix(windows: Windows) -> csr_array:
    """Returns the transition probabilities of the chain. Its states are `(W_1, ..., W_N, q)` in lexical order.

    The text omits `q`, but the next state depends on `q`, except in the self-clocked chain.

    Raises:
        ChainError: if there are too many states.
    """
    return _states(windows)[0]


def exact(windows: Windows) -> Exact:
    """Solves for the stationary distribution.

    Raises:
        ChainError: if there are too many states, or the distribution is not unique.

    >>> chains = [Windows(2, 8, buffer, largest=12) for buffer in (0, 16)]
    >>> [round(100 * exact(chain).loss, 2) for chain in chains]  # per cent: it rises
    [10.09, 11.7]
    """
    moves, total, lost = _states(windows)
    found = stationary(moves)
    shape = (*[windows.largest] * windows.flows, -1)
    return Exact(float(found.law @ lost / (found.law @ total)), found.law.reshape(shape), found.residual)


def _states(windows: Windows) -> tuple[csr_array, Floats, Floats]:
    """Returns the transition probabilities, and the numbers of arriving and of lost packets in each state."""
    queues = 1 if windows.reading == "self-clocked" else windows.buffer + 1
    if (2 * windows.largest) ** windows.flows * queues > MOST_MOVES:
        raise ChainError(
            f"{windows.flows} windows of up to {windows.largest} and a queue of up to {queues - 1} are too many states;"
            f" needs at most {MOST_MOVES} transitions, or a simulation"
        )
    width = windows.largest**windows.flows
    each = np.indices((windows.largest,) * windows.flows).reshape(windows.flows, width) + 1
    total = np.broadcast_to(each.sum(axis=0)[:, None].astype(np.float64), (width, queues))
    lost, after, chance = windows.round(total, np.arange(queues, dtype=np.float64))
    safe = (1 - chance) ** each[:, :, None]
    up, down = windows.next(each, lossless=True), windows.next(each, lossless=False)
    places = windows.largest ** np.arange(windows.flows)[::-1]
    state = np.arange(width * queues).reshape(width, queues)
    data, rows, columns = [], [], []
    for rises in product((True, False), repeat=windows.flows):
        outcome = np.array(rises)[:, None]
        data.append(np.where(outcome[:, :, None], safe, 1 - safe).prod(axis=0))
        target = ((np.where(outcome, up, down) - 1) * places[:, None]).sum(axis=0)
        columns.append(target[:, None] * queues + (after.astype(np.int64) if queues > 1 else 0))
        rows.append(state)
    moves = coo_array((np.ravel(data), (np.ravel(rows), np.ravel(columns))), shape=(state.size, state.size)).tocsr()
    moves.eliminate_zeros()
    return moves, total.ravel(), lost.ravel()


@explained
def simulate(windows: Windows, rounds: int = 2000, copies: int = 200, seed: int = 1) -> Estimate:
    """Simulates independent copies. The first quarter of the rounds is not counted. Exogenous windows depend only on
    the seed, and not on the buffer.

    Args:
        windows: the chain.
        rounds: number of rounds.
        copies: number of copies.
        seed: seed of the random numbers.

    Raises:
        ParameterError: if there are fewer than 4 rounds or fewer than 2 copies.

    >>> estimate = simulate(Windows(2, 8, 16, largest=12))
    >>> abs(estimate.loss - exact(Windows(2, 8, 16, largest=12)).loss) < 4 * estimate.error
    True
    """
    whole(0, seed=seed)
    whole(4, rounds=rounds)
    whole(2, copies=copies)
    rng = np.random.default_rng(seed)
    fair = min(max(windows.capacity // windows.flows, 1), windows.largest)
    each = np.full((copies, windows.flows), fair)
    queue, lost, came = np.zeros(copies), np.zeros(copies), np.zeros(copies)
    for n in range(rounds):
        total = each.sum(axis=1).astype(np.float64)
        now, queue, chance = windows.round(total, queue)
        if n >= FORGET * rounds:
            lost += now
            came += total
        safe = rng.random(each.shape) < (1 - chance)[:, None] ** each
        each = np.where(safe, windows.next(each, lossless=True), windows.next(each, lossless=False))
    loss = lost.sum() / came.sum()
    return Estimate(float(loss), float(np.std(lost - loss * came, ddof=1) / came.mean() / np.sqrt(copies)))
