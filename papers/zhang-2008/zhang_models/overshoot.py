"""How far senders overshoot a link before they hear of it (Zhang 2008, chapter III).

One sender has the link to itself. At time 0 it is full; every packet beyond its capacity waits, and is lost if there is
no room. The sender goes on growing for the `D` seconds until it hears of the first loss. All delay is in the queue.
Until then a law does

    window AIMD          W += 1/W per ACK          excess  sqrt(2 C D + W0^2) - W0         eq. 12 to 18
    Scalable TCP         W += 0.01 per ACK                 0.01 C D                        eq. 22
    rate AIMD            r += alpha per RTT                   alpha D^2 / (2 RTT)             eq. 19 to 21
    rate AIMD, true RTT  r' = alpha / RTT(t - lag)            ~ D sqrt(log D)                 eq. 20
    TFRC                 r = omega sqrt(T / M)                omega^2 D^2 / (4 M)             eq. 23 to 26

because ACKs to windows come back at the capacity, however long the queue. Each law has its equation of motion,
`change`, for a state whose last component is the excess, and the closed form of it where there is one;
`integrate_excess` follows the equation. Packets and seconds throughout.
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
    """What all laws of this module have.

    Attributes:
        capacity: packets/s.

    Raises:
        ParameterError: if a number is not positive and finite.
    """

    capacity: float

    def __post_init__(self) -> None:
        positive(**vars(self))

    @abstractmethod
    def start(self) -> Floats:
        """The state at time 0; its last component is the excess."""

    @abstractmethod
    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """The derivative of the state."""


def integrate_excess(law: Law, duration: float, *, step: float, longest: float = 0.0, every: int = 1) -> Trajectory:
    """Follows a law's equation of motion from time 0.

    Args:
        law: one of this module.
        duration: s.
        step: s.
        longest: lag that the law asks for, s.
        every: how many steps there are between two that are recorded.

    Returns:
        Times and states; the excess, in packets, is `states[:, -1]`.

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
    """A law that opens a window by each ACK.

    Attributes:
        window: when the link is full, packets.
    """

    window: float

    @abstractmethod
    def per_ack(self, windows: Floats) -> Floats:
        """What an ACK adds to each window, packets."""

    @abstractmethod
    def windows(self, times: ArrayLike) -> Floats:
        """The window, packets."""

    def windows_per_ack(self, acks: int) -> Floats:
        """The window after each ACK, the first one before any: the recurrence that `windows` makes a fluid of."""
        return iterate(lambda _n, past: past(1) + self.per_ack(past(1)), self.window, acks, longest=1).states

    def rates(self, times: ArrayLike) -> Floats:
        """What is sent, packets/s: a packet for each that leaves, and what ACKs add."""
        return self.capacity * (1 + self.per_ack(self.windows(times)))

    def excess(self, times: ArrayLike) -> Floats:
        """What was sent beyond the capacity, packets: by how much the window grew."""
        return self.windows(times) - self.window

    def start(self) -> Floats:
        """Window and excess at time 0."""
        return np.array([self.window, 0.0])

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 13, 16 and 22, at ACKs that come at the capacity."""
        return np.full(2, self.capacity * self.per_ack(state[0]))


class WindowAimd(Windows):
    """TCP in congestion avoidance: `W += 1/W` per ACK, eq. 12; the excess is eq. 18, lemma 2 prints a bound."""

    def per_ack(self, windows: Floats) -> Floats:
        """Eq. 12."""
        return 1 / windows

    def windows(self, times: ArrayLike) -> Floats:
        """The window, packets: `sqrt(2 C t + W0^2)`, eq. 14."""
        return np.sqrt(2 * self.capacity * _times(times) + self.window**2)


@dataclass(frozen=True)
class ScalableTcp(Windows):
    """Scalable TCP: `W += step` per ACK, eq. 22.

    Attributes:
        step: packets per ACK.
    """

    step: float = 0.01

    def per_ack(self, windows: Floats) -> Floats:
        """Always the same."""
        return np.full_like(windows, self.step)

    def windows(self, times: ArrayLike) -> Floats:
        """The window, packets: grown by `step C t`, lemma 4."""
        return self.window + self.step * self.capacity * _times(times)


@dataclass(frozen=True)
class Rates(Law):
    """AIMD on a rate: `r += gain` per `rtt`, eq. 19.

    Attributes:
        gain: packets/s per round trip.
        rtt: of an empty queue, s.
    """

    gain: float
    rtt: float

    def start(self) -> Floats:
        """Rate and excess at time 0."""
        return np.array([self.capacity, 0.0])


class RateAimd(Rates):
    """AIMD on a rate, by a sender who does not see its round trip grow."""

    def rates(self, times: ArrayLike) -> Floats:
        """What is sent, packets/s."""
        return self.capacity + self.gain * _times(times) / self.rtt

    def excess(self, times: ArrayLike) -> Floats:
        """What was sent beyond the capacity, packets: `gain t^2 / (2 rtt)`, lemma 3."""
        return self.gain * _times(times) ** 2 / (2 * self.rtt)

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 20 with a constant round trip, and eq. 21."""
        return np.array([self.gain / self.rtt, state[0] - self.capacity])


@dataclass(frozen=True)
class TrackedAimd(Rates):
    """AIMD on a rate, by a sender who sees its round trip grow, perhaps later: eq. 20.

    The round trip is `rtt + q / C`; the text leaves out `rtt` and would divide by 0 at first.

    Attributes:
        lag: after which the sender knows it, s; it may be 0.
    """

    lag: float = 0.0

    def __post_init__(self) -> None:
        positive(capacity=self.capacity, gain=self.gain, rtt=self.rtt)
        not_negative(lag=self.lag)

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 20, and the queue."""
        queue = past(self.lag)[1] if self.lag else state[1]
        return np.array([self.gain / (self.rtt + queue / self.capacity), state[0] - self.capacity])


@dataclass(frozen=True)
class Tfrc(Law):
    """TFRC until it hears of another loss: `r = omega / sqrt(p)`, where `p` is `lost / T` and `T` what was sent.

    Attributes:
        omega: packets/s: one over the round trip, which the sender takes for constant.
        lost: packets that were lost before time 0, `M` of eq. 24.
    """

    omega: float
    lost: float

    def sent(self, times: ArrayLike) -> Floats:
        """All that was sent, packets; the square root of it grows linearly, eq. 26."""
        return self.lost * (self.rates(times) / self.omega) ** 2

    def rates(self, times: ArrayLike) -> Floats:
        """What is sent, packets/s: `C + omega^2 t / (2 lost)`."""
        return self.capacity + self.omega**2 * _times(times) / (2 * self.lost)

    def excess(self, times: ArrayLike) -> Floats:
        """What was sent beyond the capacity, packets: `omega^2 t^2 / (4 lost)`, lemma 5."""
        return self.omega**2 * _times(times) ** 2 / (4 * self.lost)

    def start(self) -> Floats:
        """What was sent, and the excess, at time 0, when the rate is the capacity."""
        return np.array([self.lost * (self.capacity / self.omega) ** 2, 0.0])

    def change(self, time: float, state: Floats, past: Past) -> Floats:
        """Eq. 26, and the excess."""
        rate = self.omega * np.sqrt(state[0] / self.lost)
        return np.array([rate, rate - self.capacity])


@dataclass(frozen=True)
class MarkedTfrc:
    """TFRC that routers tell the loss rate `(r - C) / r` of its last rate, eq. 27; any unit of rate.

    Attributes:
        capacity: of the link.
        omega: packet size over round trip.

    Raises:
        ParameterError: if a number is not positive and finite.
    """

    capacity: float
    omega: float

    def __post_init__(self) -> None:
        positive(capacity=self.capacity, omega=self.omega)

    def update(self, rates: ArrayLike) -> Floats:
        """The next rate, eq. 27: NaN where a rate is below the capacity, as there is no loss then."""
        r = np.asarray(rates, dtype=np.float64)
        with np.errstate(all="ignore"):
            return self.omega * np.sqrt(r) / np.sqrt(r - self.capacity)

    def orbit(self, start: float, steps: int) -> Floats:
        """The rates, from the first: NaN from where the next one is not defined.

        Raises:
            ParameterError: if the start is not finite or not above 0.
        """
        positive(start=start)
        return iterate(lambda _n, past: self.update(past(1)), start, steps, longest=1).states

    @property
    def rest(self) -> float:
        """The rate that stays, eq. 28."""
        capacity, omega = astuple(self)
        return float(capacity + np.sqrt(capacity**2 + 4 * omega**2)) / 2

    @property
    def loss(self) -> float:
        """Share of packets that are lost there."""
        return 1 - self.capacity / self.rest


@explained
def immediate_aimd(start: ArrayLike, capacity: float, step: float, rounds: int, keep: float = 0.5) -> Floats:
    """AIMD of users who hear of an overload at once and together, figure 4(b): they approach equal rates.

    Args:
        start: rate of each user, in any unit of rate.
        capacity: of the link.
        step: what each adds per round while they fit.
        rounds: how many.
        keep: the part of its rate that each keeps when they do not.

    Returns:
        Rates by round and user; the first are those of the start.

    Raises:
        ParameterError: if a rate is negative, another number not positive, one not finite, or `keep` above 1.

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
