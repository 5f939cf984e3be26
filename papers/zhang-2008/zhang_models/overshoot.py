"""Overshoot of a full link before the first feedback about a loss (Zhang 2008, chapter III).

A single sender uses the link, which is full at time 0. Packets beyond its capacity are queued, or dropped if the buffer
is full. The sender continues to increase for the `D` seconds until the first loss signal arrives. All delay is queueing
delay. Until the signal arrives, ACKs arrive at the rate of the capacity, whatever the queue. The laws are then

    window AIMD          W += 1/W per ACK          excess  sqrt(2 C D + W0^2) - W0         eq. 12 to 18
    Scalable TCP         W += 0.01 per ACK                 0.01 C D                        eq. 22
    rate AIMD            r += alpha per RTT                   alpha D^2 / (2 RTT)             eq. 19 to 21
    rate AIMD, true RTT  r' = alpha / RTT(t - lag)            ~ D sqrt(log D)                 eq. 20
    TFRC                 r = omega sqrt(T / M)                omega^2 D^2 / (4 M)             eq. 23 to 26

Each law has an equation of motion, `change`, for a state whose last component is the excess. A law also has its closed
form, if one exists. `integrate_excess` integrates the equation of motion. Units are packets and seconds throughout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.stability.equations import Past, Trajectory, integrate, iterate
from levelflow.theory.validate import explained, not_negative, positive, share


@dataclass(frozen=True)
class Law(ABC):
    """Base of all laws of this module.

    Attributes:
        capacity: capacity of the link, packets/s.

    Raises:
        ParameterError: if a number is not positive and finite.
    """

    capacity: float

    def __post_init__(self) -> None:
        positive(**vars(self))

    @abstractmethod
    def start(self) -> Floats:
        """Returns the state at time 0; its last component is the excess."""

    @abstractmethod
    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Returns the derivative of the state."""


def integrate_excess(law: Law, duration: float, *, step: float, longest: float = 0.0, every: int = 1) -> Trajectory:
    """Integrates a law's equation of motion from time 0.

    Args:
        law: a law of this module.
        duration: duration, s.
        step: integration step, s.
        longest: largest delay with which the law uses past states, s.
        every: number of steps per recorded state.

    Returns:
        Times and states. The excess is `states[:, -1]`, packets.

    Raises:
        ParameterError: if a number is not allowed.

    >>> law = WindowAimd(capacity=100.0, window=10.0)
    >>> excess = integrate_excess(law, 5.0, step=0.001).states[-1, -1]
    >>> round(float(excess), 4), round(float(law.excess(5.0)), 4)
    (23.1662, 23.1662)
    """
    return integrate(law.change, law.start(), duration, step=step, longest=longest, every=every)


@dataclass(frozen=True)
class Windows(Law):
    """A law that increases a window with each ACK.

    Attributes:
        window: window at which the link is full, packets.
    """

    window: float

    @abstractmethod
    def per_ack(self, windows: Floats) -> Floats:
        """Returns the increase of each window per ACK, packets."""

    @abstractmethod
    def windows(self, times: ArrayLike) -> Floats:
        """Window, packets."""

    def windows_per_ack(self, acks: int) -> Floats:
        """Returns the window before the first ACK and after each ACK, by the recurrence that `windows` approximates."""
        return iterate(lambda _n, past: past(1) + self.per_ack(past(1)), self.window, acks, longest=1).states

    def rates(self, times: ArrayLike) -> Floats:
        """Sending rate, packets/s: one packet per ACK, plus the increase of the window."""
        return self.capacity * (1 + self.per_ack(self.windows(times)))

    def excess(self, times: ArrayLike) -> Floats:
        """Packets sent beyond the capacity: the growth of the window."""
        return self.windows(times) - self.window

    def start(self) -> Floats:
        """Window and excess at time 0."""
        return np.array([self.window, 0.0])

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 13, 16 and 22, with ACKs at the rate of the capacity."""
        return np.full(2, self.capacity * self.per_ack(state[0]))


class WindowAimd(Windows):
    """TCP in congestion avoidance: `W += 1/W` per ACK, eq. 12. The excess is eq. 18; lemma 2 prints a bound of it."""

    def per_ack(self, windows: Floats) -> Floats:
        """Eq. 12."""
        return 1 / windows

    def windows(self, times: ArrayLike) -> Floats:
        """Window, packets: `sqrt(2 C t + W0^2)`, eq. 14."""
        return np.sqrt(2 * self.capacity * _times(times) + self.window**2)


@dataclass(frozen=True)
class ScalableTcp(Windows):
    """Scalable TCP: `W += step` per ACK, eq. 22.

    Attributes:
        step: packets per ACK.
    """

    step: float = 0.01

    def per_ack(self, windows: Floats) -> Floats:
        """Returns the constant step."""
        return np.full_like(windows, self.step)

    def windows(self, times: ArrayLike) -> Floats:
        """Window, packets: `W0 + step C t`, lemma 4."""
        return self.window + self.step * self.capacity * _times(times)


@dataclass(frozen=True)
class Rates(Law):
    """AIMD on a rate: `r += gain` per `rtt`, eq. 19.

    Attributes:
        gain: packets/s per round trip.
        rtt: round trip with an empty queue, s.
    """

    gain: float
    rtt: float

    def start(self) -> Floats:
        """Rate and excess at time 0."""
        return np.array([self.capacity, 0.0])


class RateAimd(Rates):
    """Rate-based AIMD of a sender that assumes a constant round trip."""

    def rates(self, times: ArrayLike) -> Floats:
        """Sending rate, packets/s."""
        return self.capacity + self.gain * _times(times) / self.rtt

    def excess(self, times: ArrayLike) -> Floats:
        """Packets sent beyond the capacity: `gain t^2 / (2 rtt)`, lemma 3."""
        return self.gain * _times(times) ** 2 / (2 * self.rtt)

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 20 with a constant round trip, and eq. 21."""
        return np.array([self.gain / self.rtt, state[0] - self.capacity])


@dataclass(frozen=True)
class TrackedAimd(Rates):
    """Rate-based AIMD of a sender that measures its growing round trip, possibly with a lag (eq. 20).

    The round trip is `rtt + q / C`. The text omits `rtt`, so its equation divides by 0 at time 0.

    Attributes:
        lag: age of the measured round trip, s; may be 0.
    """

    lag: float = 0.0

    def __post_init__(self) -> None:
        positive(capacity=self.capacity, gain=self.gain, rtt=self.rtt)
        not_negative(lag=self.lag)

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 20, and the growth of the queue."""
        queue = past(self.lag)[1] if self.lag else state[1]
        return np.array([self.gain / (self.rtt + queue / self.capacity), state[0] - self.capacity])


@dataclass(frozen=True)
class Tfrc(Law):
    """TFRC until the next loss signal: `r = omega / sqrt(p)`, where `p = lost / T`; `T` is the number of packets sent.

    Attributes:
        omega: packets/s, the inverse of the round trip, which the sender assumes to be constant.
        lost: number of packets lost before time 0, `M` of eq. 24.
    """

    omega: float
    lost: float

    def sent(self, times: ArrayLike) -> Floats:
        """Number of packets sent. Its square root grows linearly, eq. 26."""
        return self.lost * (self.rates(times) / self.omega) ** 2

    def rates(self, times: ArrayLike) -> Floats:
        """Sending rate, packets/s: `C + omega^2 t / (2 lost)`."""
        return self.capacity + self.omega**2 * _times(times) / (2 * self.lost)

    def excess(self, times: ArrayLike) -> Floats:
        """Packets sent beyond the capacity: `omega^2 t^2 / (4 lost)`, lemma 5."""
        return self.omega**2 * _times(times) ** 2 / (4 * self.lost)

    def start(self) -> Floats:
        """Packets sent, and the excess, at time 0, when the rate is the capacity."""
        return np.array([self.lost * (self.capacity / self.omega) ** 2, 0.0])

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 26, and the growth of the excess."""
        rate = self.omega * np.sqrt(state[0] / self.lost)
        return np.array([rate, rate - self.capacity])


@dataclass(frozen=True)
class MarkedTfrc:
    """TFRC with routers that signal the loss rate `(r - C) / r` at the sender's last rate, eq. 27. Rates are in any
    unit.

    Attributes:
        capacity: capacity of the link.
        omega: packet size divided by round trip.

    Raises:
        ParameterError: if a number is not positive and finite.
    """

    capacity: float
    omega: float

    def __post_init__(self) -> None:
        positive(capacity=self.capacity, omega=self.omega)

    def update(self, rates: ArrayLike) -> Floats:
        """Returns the next rate, eq. 27; NaN for a rate below the capacity, because such a rate causes no loss."""
        r = np.asarray(rates, dtype=np.float64)
        with np.errstate(all="ignore"):
            return self.omega * np.sqrt(r) / np.sqrt(r - self.capacity)

    def orbit(self, start: float, steps: int) -> Floats:
        """Returns the rate of each step, beginning with `start`; NaN after a rate for which the next rate is not
        defined.

        Raises:
            ParameterError: if the start is not finite or not above 0.
        """
        positive(start=start)
        return iterate(lambda _n, past: self.update(past(1)), start, steps, longest=1).states

    @property
    def rest(self) -> float:
        """Equilibrium rate, eq. 28."""
        capacity, omega = astuple(self)
        return float(capacity + np.sqrt(capacity**2 + 4 * omega**2)) / 2

    @property
    def loss(self) -> float:
        """Loss rate at equilibrium."""
        return 1 - self.capacity / self.rest


@explained
def immediate_aimd(start: ArrayLike, capacity: float, step: float, rounds: int, keep: float = 0.5) -> Floats:
    """AIMD of users that all receive each overload signal at once (figure 4(b)). Their rates become equal.

    Args:
        start: rate of each user, in any unit of rate.
        capacity: capacity of the link.
        step: increase of each rate per round without overload.
        rounds: number of rounds.
        keep: factor by which each rate is multiplied at an overload.

    Returns:
        Rates by round and user, beginning with the start.

    Raises:
        ParameterError: if a rate is negative, another number is not positive, a number is not finite, or `keep` exceeds
            1.

    >>> immediate_aimd([1.0, 5.0], 8.0, 1.0, 4).tolist()
    [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [1.5, 3.5], [2.5, 4.5]]
    """
    not_negative(rate=start)
    positive(capacity=capacity, step=step, keep=keep)
    share(keep=keep)

    def update(_n: int, past: Past) -> Floats:
        rates = past(1)
        return rates * keep if rates.sum() > capacity else rates + step

    return iterate(update, start, rounds, longest=1).states


def _times(times: ArrayLike) -> Floats:
    not_negative(time=times)
    return np.asarray(times, dtype=np.float64)
