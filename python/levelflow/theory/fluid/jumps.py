"""Senders whose state jumps at losses and marks: as a mean over many losses, or loss by loss.

A flow receives `m` losses and marks in a round trip. If it reacts at most once in this time, the probability of a
reaction is `1 - e^-m`. It then reacts `(1 - e^-m)/RTT` times per second, which is `m/RTT = x p` if losses are rare. The
mean of a state that jumps to `cut(state)` then follows

    state' = growth + (1 - e^-m)/RTT (cut(state) - state)                  Misra, Gong, Towsley 2000, eq 2

If losses are simulated one by one, a flow jumps when its losses add up to a whole packet. It does not jump again within
a round trip (Bohacek, Hespanha, Lee, Obraczka 2003). In both cases, the reaction to the first loss is immediate and
ends slow start.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.fluid.law import LOSSES, Feedback, Law

#: State components of all these laws: accumulated losses, packets; time until which a flow ignores further losses, s,
#: or -1 before the first reaction.
CREDIT, CALM = range(2)


class Jumps(Law):
    """A law whose state jumps at a loss or mark."""

    FEEDBACK: ClassVar[frozenset[str]] = frozenset({LOSSES})

    @abstractmethod
    def cut(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state after a loss or mark."""

    def signalled(self, feedback: Feedback) -> Floats:
        """Returns the rate of losses and marks to which the law reacts, packets/s."""
        return feedback.lost + feedback.marked

    def reactions(self, signalled: Floats, rtt: Floats) -> Floats:
        """Returns the mean number of reactions per second for a given rate of losses and marks."""
        return -np.expm1(-signalled * rtt) / rtt

    def is_fresh(self, state: Floats) -> Bools:
        """Returns True for flows that have not yet reacted to a loss."""
        return state[CALM] < 0

    def jumps(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the mean effect of jumps on the state, per second; 0 if losses are simulated one by one."""
        signalled = self.signalled(feedback)
        if self.each_loss or not signalled.any():
            return np.zeros_like(state)
        often = np.where(
            self.is_fresh(state) | (feedback.now < state[CALM]), 0.0, self.reactions(signalled, feedback.rtt)
        )
        change = often * (self.cut(state, feedback) - state)
        change[:2] = 0.0
        return change

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Applies the jumps that are simulated one by one."""
        signalled = self.signalled(feedback)
        if not signalled.any():
            return state
        credit = np.where(feedback.now < state[CALM], 0.0, state[CREDIT] + feedback.step * signalled)
        due = (credit >= 1) & (self.each_loss | self.is_fresh(state))
        after = np.where(due, self.cut(state, feedback), state)
        after[CREDIT] = np.where(due, 0.0, credit)
        after[CALM] = np.where(due, feedback.now + feedback.rtt, state[CALM])
        return after
