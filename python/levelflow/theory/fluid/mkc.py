"""EMKC, EMKC-AVQ and Kelly control: the equations of Zhang 2008.

    emkc      x(n) = x(n-D) + alpha - beta eta x(n-D),             eta = max_j (1 - C_j/y_j)          (61, 62, 85)
    emkc_avq  emkc with Cv for C,  Cv' = tau (gamma C - y)/D_max,  Cv <= gamma C                      (129, 130)
    kelly     x(n) = x(n-1) + kappa (omega - x(n-D) sum_j mu_j),   mu_j = 1 - C_j/y_j                 (1, 2)

Symbols are those of `theory.laws.emkc`, `emkc_avq` and `kelly`; `Cv` is `V` there. The unit of `n` is the router's
interval. `D` is the round trip plus one interval. In this interval, a router measures the load. It signals this load in
the next interval. The equations of EMKC remain difference equations and hold at all times, as if several senders with
interleaved steps shared the flow. The equation of Kelly is replaced by its continuous limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import BEFORE, SIGNALS, Feedback, Law, Load, Routers, Table, number
from levelflow.theory.fluid.topology import Parameters
from levelflow.theory.laws import emkc, emkc_avq, kelly
from levelflow.theory.laws.shared import mkc


class LoadRouters(Routers):
    """Routers that announce their load and their offered capacity in bit/s. The sender computes the price `1 - C/y`.

    If a flow arrives within a time bin, the mean load of this bin is valid. A mean price would not be valid.
    """

    SIGNAL_COUNT = 2

    def first(self) -> Floats:
        """Returns the signals of an idle link: zero load, and the capacity."""
        return np.array([np.zeros_like(self.capacity), self.capacity])

    def advance(self, load: Load) -> Floats:
        """Returns the load of the step, and the capacity."""
        return np.array([load.rate, self.capacity])


class VirtualRouters(LoadRouters):
    """Routers that announce a virtual capacity, and lower it until the load fits (eq 130)."""

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.tau, self.aim = parameters["tau"], parameters["gamma"] * capacity
        self.offered = self.aim.copy()

    def first(self) -> Floats:
        """Returns the signals of an idle link: zero load, and the offered capacity."""
        return np.array([np.zeros_like(self.capacity), self.offered])

    def advance(self, load: Load) -> Floats:
        """Integrates the virtual capacity, with a gain set by the largest round trip of the arriving flows."""
        longest = load.most(np.where(load.own > 0, load.rtt[load.path.flow], 0.0))
        gain = np.divide(self.tau, longest, out=np.zeros_like(longest), where=longest > 0)
        moved = emkc_avq.virtual(self.offered, load.rate, self.aim, load.step * gain)
        middle, self.offered = (self.offered + moved) / 2, moved
        return np.array([load.rate, middle])


class Emkc(Law):
    """Sender of EMKC and EMKC-AVQ. It steps from the rate that caused the received price."""

    PARAMETERS: ClassVar[Parameters] = {"interval": 0.1}
    alpha = number(200e3)
    beta = number(0.5)
    initial = number(100e3, "initial_rate")
    floor = number(1e3, "min_rate")
    ONLY: ClassVar[Parameters] = {"sender": "proper", "switch": "hold"}
    FEEDBACK = frozenset({BEFORE, SIGNALS})
    ROUTERS = LoadRouters

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns the age of signals (one interval), and the age of the rate (a round trip plus one interval)."""
        self.lag = self.base + intervals
        return intervals, (self.lag,)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate by eq 61, once the flow's first feedback has returned."""
        price = feedback.path.most(emkc.price(*feedback.signals))
        stepped = mkc.sender(feedback.before[0], price, self.alpha, self.beta)
        known = (feedback.age > self.lag + feedback.step) & np.isfinite(price)
        return np.where(known, np.maximum(stepped, self.floor), self.initial)


class EmkcAvq(Emkc):
    """EMKC with virtual capacities."""

    PARAMETERS: ClassVar[Parameters] = {"gamma": 1.0, "tau": 0.2}
    ROUTERS = VirtualRouters


class Kelly(Law):
    """Kelly control in continuous time (eq 4): `x' = (kappa/Delta) (omega - x(t-D) sum mu)`.

    `Delta` is the router's interval, and `D` is a round trip plus half an interval. Let a round trip take `n - 1`
    intervals. This form is stable below a gain of `pi/(2n - 1)`, and eq 1 below `2 sin(pi/(2(2n - 1)))` (eq 3). The two
    bounds differ by at most 5 % for `n >= 2`. Eq 1 cannot hold at all times, because senders that step once per
    interval would affect each other. Steps are counted in router time: while queues grow, fewer intervals return per
    second.
    """

    PARAMETERS: ClassVar[Parameters] = {"interval": 0.04}
    kappa = number(0.5)
    omega = number(20e3)
    initial = number(1e6, "initial_rate")
    floor = number(100e3, "min_rate")
    FEEDBACK = frozenset({BEFORE, SIGNALS})
    ROUTERS = LoadRouters

    def start(self) -> Floats:
        """Returns the initial rates."""
        return self.initial[None, :].copy()

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns the age of signals (half an interval), and of the rate (a round trip plus half an interval)."""
        self.interval = intervals
        return intervals / 2, (self.base + intervals / 2,)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state, at least the floor."""
        return np.maximum(state[0], self.floor)

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change by eq 4, once the flow's first feedback has returned."""
        price, (delayed,) = emkc.price(*feedback.signals), feedback.before
        known = (delayed > 0) & np.isfinite(feedback.path.least(price))
        step = kelly.sender(np.zeros_like(delayed), delayed, feedback.path.total(price), self.kappa, self.omega)
        slope: Floats = np.where(known, feedback.pace[feedback.path.starts] * step / self.interval, 0.0)
        return slope[None, :]

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Applies the floor."""
        return np.maximum(state, self.floor)
