"""Controllers of Kunniyur and Srikant 2003: rates or windows with a cost for lost or marked packets.

    W' = kappa w' d^2/W ACKs - kappa beta d nacks                          log x     (eq 12)
    W' = kappa nu w' d^2/W ACKs - kappa beta W^nu/d^(nu-1) nacks        -1/x^nu     (eq 13)

ACKs and nacks are in packets per second. A nack reports a lost or marked packet, and also counts as an ACK. `w'` is the
weight. `d` is the round trip in time units, or a constant. A rate follows the same equations with `d = 1` (eq 9, 10).
Not modelled: timeouts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import ACKS, LOSSES, WAITS, Feedback, Law, number
from levelflow.theory.fluid.topology import Flow, Parameters
from levelflow.theory.laws import ks

LARGEST = 1e9


class KunniyurSrikant(Law):
    """State: a window in packets, or a rate in packets per time unit."""

    PARAMETERS: ClassVar[Parameters] = {"control": "window", "utility": "power", "signal": "loss"}
    nu = number(1.0)
    kappa = number(1.0)
    weight = number(1.0)
    beta = number(0.5)
    unit = number(0.02, "time_unit")
    delay = number(0.0)
    floor = number(0.1)
    FEEDBACK = frozenset({LOSSES, ACKS, WAITS})
    HANDSHAKE = True

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.is_rate = self.parameters.are("control", "rate")
        is_log = self.parameters.are("utility", "log")
        self.users = ks.Users(self.weight, np.where(is_log, 0.0, self.nu), 1.0, 1.0, self.kappa)
        self.heeds_losses = ~self.parameters.are("signal", "mark")
        self.heeds_marks = ~self.parameters.are("signal", "loss")
        self.ecn = self.heeds_marks

    def start(self) -> Floats:
        """Returns initial windows or rates of one packet."""
        return np.ones((1, self.base.size))

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate: a window per round trip, or the state itself."""
        return np.maximum(state[0], self.floor) * self.packet / np.where(self.is_rate, self.unit, feedback.rtt)

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change by eq 12 and 13."""
        size = np.maximum(state[0], self.floor)
        delay = np.where(self.is_rate, 1.0, np.where(self.delay > 0, self.delay, feedback.waits / self.unit))
        nacks = self.heeds_losses * feedback.lost + self.heeds_marks * feedback.marked
        users = dataclasses.replace(self.users, delays=delay)
        acks = feedback.acked + feedback.lost
        gain = ks.window_change(users, self.beta, size, acks, 0.0)
        cut = gain - ks.window_change(users, self.beta, size, acks, nacks)
        # If a small window receives many ACKs, each ACK adds less than the one before: `W^2` grows linearly.
        grown = np.sqrt(size**2 + 2 * feedback.step * size * gain)
        slope: Floats = (grown / (1 + feedback.step * cut / size) - size) / feedback.step
        return slope[None, :]

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Applies the lower and upper limit."""
        return np.clip(state, self.floor, LARGEST)
