"""Senders that answer losses and marks by a jump: as the mean of many, or each by itself.

Losses and marks that a flow hears of are `m` packets in a round trip. Where it answers at most once in that time, the
chance of an answer is `1 - e^-m`, so `(1 - e^-m)/RTT` answers come per second, which is `m/RTT = x p` where losses
are rare. The mean of a state that answers by a jump to `cut(state)` then moves by

    state' = growth + (1 - e^-m)/RTT (cut(state) - state)                  Misra, Gong, Towsley 2000, eq 2

With each loss by itself, a flow jumps as soon as a whole packet of losses has come together, and not again for a
round trip (Bohacek, Hespanha, Lee, Obraczka 2003). Either way the first loss of all is answered at once: it ends slow
start.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from levelflow.theory.fluid.law import LOSSES, Heard, Law

if TYPE_CHECKING:
    from levelflow.theory.arrays import Bools, Floats

#: Components of the state that all of them have: losses that have come together, packets, and until when a flow does
#: not answer another, s; before the first answer that is -1.
CREDIT, CALM = range(2)


class Jumps(Law):
    """A law of which each loss cuts something."""

    HEARS: ClassVar[frozenset[str]] = frozenset({LOSSES})

    @abstractmethod
    def cut(self, state: Floats, heard: Heard) -> Floats:
        """Returns the state after a loss or mark."""

    def told(self, heard: Heard) -> Floats:
        """Returns the losses and marks that count, packets per s."""
        return heard.lost + heard.marked

    def answers(self, told: Floats, rtt: Floats) -> Floats:
        """Returns how many answers to how many losses per second there are on average, per s."""
        answers: Floats = -np.expm1(-told * rtt) / rtt
        return answers

    def is_fresh(self, state: Floats) -> Bools:
        """Tells flows that have not answered a loss yet."""
        fresh: Bools = state[CALM] < 0
        return fresh

    def jumps(self, state: Floats, heard: Heard) -> Floats:
        """Returns by how much jumps change the state per second, where they are taken in the mean."""
        told = self.told(heard)
        if self.each_loss or not told.any():
            return np.zeros_like(state)
        often = np.where(self.is_fresh(state) | (heard.now < state[CALM]), 0.0, self.answers(told, heard.rtt))
        change = often * (self.cut(state, heard) - state)
        change[:2] = 0.0
        return change

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Lets flows jump that do so at once."""
        told = self.told(heard)
        if not told.any():
            return state
        credit = np.where(heard.now < state[CALM], 0.0, state[CREDIT] + heard.step * told)
        due = (credit >= 1) & (self.each_loss | self.is_fresh(state))
        after = np.where(due, self.cut(state, heard), state)
        after[CREDIT] = np.where(due, 0.0, credit)
        after[CALM] = np.where(due, heard.now + heard.rtt, state[CALM])
        return after
