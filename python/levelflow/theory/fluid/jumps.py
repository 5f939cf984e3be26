"""Senders that react to losses and marks by a jump: as the mean of many, or each by itself.

A flow sees losses and marks of `m` packets in a round trip. Where it reacts at most once in that time, the
chance of a reaction is `1 - e^-m`, so it reacts `(1 - e^-m)/RTT` times per second, which is `m/RTT = x p` where losses
are rare. The mean of a state that jumps to `cut(state)` then moves by

    state' = growth + (1 - e^-m)/RTT (cut(state) - state)                  Misra, Gong, Towsley 2000, eq 2

With each loss by itself, a flow jumps as soon as a whole packet of losses has come together, and not again for a
round trip (Bohacek, Hespanha, Lee, Obraczka 2003). Either way the reaction to the first loss of all is immediate:
it ends slow start.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.fluid.law import LOSSES, Heard, Law

#: Components of the state that all of them have: losses that have come together, packets, and until when a flow does
#: not react to another, s; before the first reaction it is -1.
CREDIT, CALM = range(2)


class Jumps(Law):
    """A law of which each loss cuts something."""

    HEARS: ClassVar[frozenset[str]] = frozenset({LOSSES})

    @abstractmethod
    def cut(self, state: Floats, heard: Heard) -> Floats:
        """Returns the state after a loss or mark."""

    def signalled(self, heard: Heard) -> Floats:
        """Returns the losses and marks that count, packets per s."""
        return heard.lost + heard.marked

    def reactions(self, signalled: Floats, rtt: Floats) -> Floats:
        """Returns the mean number of reactions per second to this many losses per second."""
        return -np.expm1(-signalled * rtt) / rtt

    def is_fresh(self, state: Floats) -> Bools:
        """Returns which flows have not reacted to a loss yet."""
        return state[CALM] < 0

    def jumps(self, state: Floats, heard: Heard) -> Floats:
        """Returns by how much jumps change the state per second, where they are taken in the mean."""
        signalled = self.signalled(heard)
        if self.each_loss or not signalled.any():
            return np.zeros_like(state)
        often = np.where(self.is_fresh(state) | (heard.now < state[CALM]), 0.0, self.reactions(signalled, heard.rtt))
        change = often * (self.cut(state, heard) - state)
        change[:2] = 0.0
        return change

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Lets flows jump that do so at once."""
        signalled = self.signalled(heard)
        if not signalled.any():
            return state
        credit = np.where(heard.now < state[CALM], 0.0, state[CREDIT] + heard.step * signalled)
        due = (credit >= 1) & (self.each_loss | self.is_fresh(state))
        after = np.where(due, self.cut(state, heard), state)
        after[CREDIT] = np.where(due, 0.0, credit)
        after[CALM] = np.where(due, heard.now + heard.rtt, state[CALM])
        return after
