"""Adaptive Buffer Sizing (Zhang 2008, chapter VII.2): controllers, their training, and a plant for tests.

Every `T` seconds the router measures the loss rate `p` and the utilisation `u`, and sets its buffer `b`, in packets:

    b_p += I_p T (p - p*)                            eq. 162
    b_u -= I_u T (u - u*)                            eq. 163
    b_u -= I_u T (u - u_before) (u - u*)             eq. 164: damped
    b = max(b_u, b_p)                                eq. 165
    I_u -= step T (u - u*),  I_p -= step T (p* - p)  eq. 170, 171: training

All functions accept numbers and, element by element, arrays. `p` and `u` are fractions.

Three statements of the text are doubtful:

- Eq. 164 does not regulate: any buffer with a constant `u` is an equilibrium. Below the target, a falling `u` shrinks
  the buffer. Noise of variance `s^2` in `u` moves the buffer by `-I_u T s^2` per step, because
  `E (w_n - w_{n-1}) w_n = s^2`. `damping="absolute"` uses `|u - u_before|`.
- Eq. 169, the gradient of eq. 170, lacks the factor `u - u_before` that follows from eq. 164. `gradient="full"`
  includes this factor.
- Training descends on the error instead of its square. The error has no minimum, so gains have a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, finite, not_negative, positive, read_number, read_numbers, share, whole

Damping = Literal["signed", "absolute", "none"]
Training = Literal["none", "fraction", "percent"]
Gradient = Literal["printed", "full"]
Previous = Literal["own", "common"]


@explained
def measured(admitted: ArrayLike, dropped: ArrayLike, capacity: float, interval: float) -> tuple[Floats, Floats]:
    """Returns the loss rate `S_2 / (S_1 + S_2)` and the utilisation `S_1 / (C T)` of a control interval.

    The text prints other formulas: `S_1 / (S_1 + S_2)`, the admitted fraction, and `(S_1 + S_2) / (C T)`, the offered
    load.

    Args:
        admitted: `S_1`, admitted bytes.
        dropped: `S_2`, dropped bytes.
        capacity: capacity of the link, bit/s.
        interval: s.

    Raises:
        ParameterError: if a counter is negative, the capacity or interval is not positive, or a number is not finite.

    >>> [float(value) for value in measured(9000, 1000, 360e3, 0.2)]
    [0.1, 1.0]
    """
    not_negative(admitted=admitted, dropped=dropped)
    positive(capacity=capacity, interval=interval)
    kept, lost = np.asarray(admitted, dtype=np.float64), np.asarray(dropped, dtype=np.float64)
    offered = kept + lost
    loss: Floats = np.where(offered > 0, lost / np.where(offered > 0, offered, 1.0), 0.0)
    utilisation: Floats = 8 * kept / (capacity * interval)
    return loss, utilisation


@explained
def loss_controller(buffer: ArrayLike, loss: ArrayLike, target: float, gain: ArrayLike, interval: float) -> Floats:
    """Returns the next `b_p`, eq. 162, packets.

    >>> loss_controller(100.0, 0.07, 0.02, 3000.0, 0.2).round(9)
    np.float64(130.0)
    """
    finite(buffer=buffer, loss=loss, target=target, gain=gain, interval=interval)
    return np.asarray(buffer) + np.asarray(gain) * interval * (np.asarray(loss) - target)


@explained
def utilisation_controller(
    buffer: ArrayLike, utilisation: ArrayLike, target: float, gain: ArrayLike, interval: float, factor: ArrayLike = 1.0
) -> Floats:
    """Returns the next `b_u`, packets: by eq. 163, or by eq. 164 with a factor from `damping_factor`.

    >>> utilisation_controller(100.0, 0.9, 0.95, 3000.0, 0.2).round(9)
    np.float64(130.0)
    """
    finite(buffer=buffer, utilisation=utilisation, target=target, gain=gain, interval=interval, factor=factor)
    error = np.asarray(utilisation, dtype=np.float64) - target
    return np.asarray(buffer) - np.asarray(gain) * interval * np.asarray(factor) * error


@explained
def damping_factor(utilisation: ArrayLike, before: ArrayLike, damping: Damping) -> Floats:
    """Returns `u - u_before`, its absolute value, or 1, depending on the damping.

    >>> [float(damping_factor(0.5, 0.75, way)) for way in ("signed", "absolute", "none")]
    [-0.25, 0.25, 1.0]
    """
    change = np.asarray(utilisation, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    return np.ones_like(change) if damping == "none" else np.abs(change) if damping == "absolute" else change


@explained
def utilisation_gradient(after: ArrayLike, target: float, interval: float, factor: ArrayLike = 1.0) -> Floats:
    """Returns `dF_u/dI_u`: eq. 169 as printed or, with the damping factor, the derivative for eq. 164.

    `F_u` is `I T factor (u(n+1) - u*)`. This is the difference between two buffers: the buffer that was set, and the
    buffer for the target `u(n+1)`.

    Args:
        after: `u(n+1)`, the utilisation with the buffer.
        target: `u*`.
        interval: s.
        factor: damping factor with which the controller set the buffer.
    """
    return interval * np.asarray(factor) * (np.asarray(after) - target)


@explained
def loss_gradient(after: ArrayLike, target: float, interval: float) -> Floats:
    """Returns `dF_p/dI_p` of eq. 171, from the loss rate `p(n+1)` with the buffer."""
    return interval * (target - np.asarray(after))


@explained
def trained(gain: ArrayLike, gradient: ArrayLike, step: float = 1.0, least: float = 1.0) -> Floats:
    """Returns the next gain by eq. 168, at least `least`.

    >>> trained([3000.0, 2.0], [10.0, 10.0]).tolist()
    [2990.0, 1.0]
    """
    return np.maximum(np.asarray(gain) - step * np.asarray(gradient), least)


@dataclass(frozen=True)
class Settings:
    """Settings of an ABS router.

    Attributes:
        utilisation: `u*`; None for a router without `b_u`.
        loss: `p*`; None for a router without `b_p`.
        interval: `T`, s.
        gain: initial `I_u` and `I_p`, packets/s.
        damping: damping of the utilisation controller.
        training: training of the gains, with `p` and `u` as fractions or in per cent. With fractions, a step changes a
            gain by at most `T`, which is negligible compared with the initial gain of 3000.
        gradient: gradient used in training.
        previous: buffer that both controllers change, either their own last output or the last buffer of the port.
        step: step size of training, gamma.
        largest: upper limit on buffers, packets. The lower limit is 1. Both `b_u` and `b_p` are clipped to this range.

    Raises:
        ParameterError: if there is no target, or a number or word is not allowed.
    """

    utilisation: float | None = None
    loss: float | None = None
    interval: float = 0.2
    gain: float = 3000.0
    damping: Damping = "signed"
    training: Training = "none"
    gradient: Gradient = "printed"
    previous: Previous = "own"
    step: float = 1.0
    largest: float = 10_000.0

    def __post_init__(self) -> None:
        targets = {"utilisation": self.utilisation, "loss": self.loss}
        given = {name: target for name, target in targets.items() if target is not None}
        if not given:
            raise ParameterError("there is no target; needs a utilisation, a loss or both")
        share(**given)
        positive(interval=self.interval, gain=self.gain, step=self.step)
        read_number("largest", self.largest, 1, closed=True)
        for name, word, words in (
            ("damping", self.damping, ("signed", "absolute", "none")),
            ("training", self.training, ("none", "fraction", "percent")),
            ("gradient", self.gradient, ("printed", "full")),
            ("previous", self.previous, ("own", "common")),
        ):
            if word not in words:
                raise ParameterError(f"{name} {word!r} is not allowed; needs one of {', '.join(words)}")


class State(NamedTuple):
    """State of an ABS router: numbers, or arrays of one shape.

    Attributes:
        buffer_u: `b_u`, packets.
        buffer_p: `b_p`, packets.
        gain_u: `I_u`, packets/s.
        gain_p: `I_p`, packets/s.
        utilisation: utilisation in the last interval; NaN before the first interval.
        factor: damping factor of the utilisation controller in the last interval.
    """

    buffer_u: Floats
    buffer_p: Floats
    gain_u: Floats
    gain_p: Floats
    utilisation: Floats
    factor: Floats


def start(settings: Settings, buffer: ArrayLike) -> State:
    """Returns the initial state of a router with this buffer, in packets.

    Raises:
        ParameterError: if a buffer is below 1 or above the upper limit.
    """
    b = read_numbers("buffer", buffer, 1, settings.largest, closed=True)
    gains = np.full_like(b, settings.gain)
    nothing = np.zeros_like(b)
    return State(b, b, gains, gains, np.full_like(b, np.nan), nothing)


def size(settings: Settings, state: State) -> Floats:
    """Returns the buffer of a router, eq. 165, packets."""
    if settings.loss is None:
        return state.buffer_u
    return state.buffer_p if settings.utilisation is None else np.maximum(state.buffer_u, state.buffer_p)


@explained
def update(settings: Settings, state: State, utilisation: ArrayLike, loss: ArrayLike) -> State:
    """Returns the state after an interval: trains the gains on the effect of the last buffer, then sets the next
    buffer.

    In the first interval, gains are not trained, because there is no last buffer. A damped controller keeps its buffer
    in this interval.

    Args:
        settings: settings of the router.
        state: state before the interval.
        utilisation: measured utilisation, `u(n)`.
        loss: measured loss rate, `p(n)`.
    """
    finite(utilisation=utilisation, loss=loss)
    u, p = np.asarray(utilisation, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    first = np.isnan(state.utilisation)
    buffer_u, gain_u, factor = state.buffer_u, state.gain_u, state.factor
    if settings.utilisation is not None:
        gain_u = _train_u(settings, state, u)
        factor = damping_factor(u, np.where(first, u, state.utilisation), settings.damping)
        buffer_u = utilisation_controller(buffer_u, u, settings.utilisation, gain_u, settings.interval, factor)
    buffer_p, gain_p = state.buffer_p, state.gain_p
    if settings.loss is not None:
        if settings.training != "none":
            gradient = _unit(settings) * loss_gradient(p, settings.loss, settings.interval)
            gain_p = trained(gain_p, np.where(first, 0.0, gradient), settings.step)
        buffer_p = loss_controller(buffer_p, p, settings.loss, gain_p, settings.interval)
    low, high = 1.0, settings.largest
    after = State(np.clip(buffer_u, low, high), np.clip(buffer_p, low, high), gain_u, gain_p, u, factor)
    if settings.previous == "common":
        after = after._replace(buffer_u=size(settings, after), buffer_p=size(settings, after))
    return after


def _train_u(settings: Settings, state: State, u: Floats) -> Floats:
    if settings.training == "none" or settings.utilisation is None:
        return state.gain_u
    unit = _unit(settings)
    damped = settings.gradient == "full" and settings.damping != "none"
    factor = unit * state.factor if damped else np.ones_like(u)
    gradient = unit * utilisation_gradient(u, settings.utilisation, settings.interval, factor)
    return trained(state.gain_u, np.where(np.isnan(state.utilisation), 0.0, gradient), settings.step)


def _unit(settings: Settings) -> float:
    return 100.0 if settings.training == "percent" else 1.0


@dataclass(frozen=True)
class Plant:
    """Model of the traffic at an ABS router: utilisation and loss follow the buffer.

    Attributes:
        utilisation: equilibrium utilisation as a function of the buffer in packets.
        loss: equilibrium loss rate as a function of the buffer in packets.
        lag: fraction of the distance to equilibrium by which utilisation and loss rate move per interval; above 0 and
            at most 1.
        noise: standard deviation of the noise that is added to the measured utilisation.

    Raises:
        ParameterError: if a number is not allowed.
    """

    utilisation: Callable[[Floats], Floats] = np.ones_like
    loss: Callable[[Floats], Floats] = np.zeros_like
    lag: float = 1.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        positive(lag=self.lag)
        share(lag=self.lag)
        not_negative(noise=self.noise)


class Run(NamedTuple):
    """History of a router. The first axis is the interval. The other axes are those of the initial buffers.

    Attributes:
        buffers: initial buffer, then the buffer set in each interval, packets.
        utilisations: measured utilisations.
        losses: measured loss rates.
        gains_u: `I_u`, packets/s.
        gains_p: `I_p`, packets/s.
    """

    buffers: Floats
    utilisations: Floats
    losses: Floats
    gains_u: Floats
    gains_p: Floats


@explained
def run(settings: Settings, plant: Plant, buffer: ArrayLike, steps: int, seed: int = 1) -> Run:
    """Runs a router that sizes its buffer. The plant starts at equilibrium with the initial buffer.

    Args:
        settings: settings of the router.
        plant: model of the traffic.
        buffer: initial buffer, packets; an array gives one independent run per element.
        steps: number of intervals.
        seed: seed of the noise.

    Raises:
        ParameterError: if a buffer is below 1 or above the upper limit, or there is no interval.

    >>> plant = Plant(loss=lambda b: 1 / (b + 1))
    >>> run(Settings(loss=0.02), plant, 20.0, 300).buffers[-1].round(3)
    np.float64(49.0)
    """
    whole(0, seed=seed)
    whole(1, steps=steps)
    rng = np.random.default_rng(seed)
    state = start(settings, buffer)
    b = size(settings, state)
    u, p = plant.utilisation(b), plant.loss(b)
    rows = [(b, u, p, state.gain_u, state.gain_p)]
    for _ in range(steps):
        u = u + plant.lag * (plant.utilisation(b) - u)
        p = p + plant.lag * (plant.loss(b) - p)
        seen = u + plant.noise * rng.standard_normal(b.shape)
        state = update(settings, state, seen, p)
        b = size(settings, state)
        rows.append((b, seen, p, state.gain_u, state.gain_p))
    return Run(*(np.array(column) for column in zip(*rows, strict=True)))
