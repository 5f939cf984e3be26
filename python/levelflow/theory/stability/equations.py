"""Delay equations: differential equations in small steps, and difference equations.

A state is an array of any shape. Additional leading axes make it a batch of independent cases that advance together.
Before the start, the state is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, finite, not_negative, positive, shown, whole


class Trajectory(NamedTuple):
    """Recorded states of a run.

    Attributes:
        times: times in s, or numbers of steps; the first is 0.
        states: states at these times. The first axis is time.
    """

    times: Floats
    states: Floats


class Lags(NamedTuple):
    """Lags prepared by `Past.steps`, for repeated look-up in one past.

    Attributes:
        whole: steps to the state at or before each lag.
        part: remainder, as a fraction of a step.
        exact: True for each lag without a remainder.
        all_exact: True if no lag has a remainder.
    """

    whole: Ints
    part: Floats
    exact: Bools
    all_exact: bool


class Past:
    """Past states, interpolated linearly between steps."""

    def __init__(self, start: Floats, step: float, longest: float) -> None:
        self.step = step
        self.longest = longest
        self._kept = int(np.ceil(longest / step)) + 2
        self._rows = np.broadcast_to(start, (self._kept, *start.shape)).copy()
        self._now = 0

    def __call__(self, lag: ArrayLike | Lags, of: slice | int | None = None) -> Floats:
        """Returns the state at a lag.

        Args:
            lag: lag from 0 to `longest`. A number applies to the whole state. In an array (or `steps` of an array), the
                last axes are the axes of the state, and each element is the lag of its component. Additional leading
                axes also appear in the result. For example, lags of shape (links, flows) give the state of each flow
                that each link observes.
            of: components along the last axis of the state; all by default.

        Raises:
            ParameterError: if a lag is negative, beyond `longest` or not a number.
        """
        rows = self._rows if of is None else self._rows[..., of]
        if isinstance(lag, float | int):
            return self._whole_state(lag, rows)
        back = lag if isinstance(lag, Lags) else self.steps(lag)
        early = (self._now - back.whole) % self._kept
        components = _components(rows.shape[1:])
        older: Floats = rows[(early, *components)]
        if back.all_exact:
            return older
        newer = rows[((early + 1) % self._kept, *components)]
        return np.where(back.exact, older, older + back.part * (newer - older))

    def steps(self, lag: ArrayLike) -> Lags:
        """Returns lags in a form for repeated look-up.

        Raises:
            ParameterError: if a lag is negative, beyond `longest` or not a number.
        """
        back = np.asarray(lag, dtype=np.float64) / self.step
        if not (back >= 0).all() or back.max(initial=0.0) > self._kept - 1:
            raise self._refused(lag)
        whole = np.ceil(back - 1e-9).astype(np.int64)
        part = np.maximum(whole - back, 0.0)
        return Lags(whole, part, part == 0, not part.any())

    def _whole_state(self, lag: float, rows: Floats) -> Floats:
        """Returns the whole state at one lag. This is faster than an array of lags."""
        back = lag / self.step
        if not 0 <= back <= self._kept - 1:
            raise self._refused(lag)
        whole = ceil(back - 1e-9)
        part = max(whole - back, 0.0)
        early = (self._now - whole) % self._kept
        older: Floats = rows[early]
        return older.copy() if part == 0 else older + part * (rows[(early + 1) % self._kept] - older)

    def elements(self, lags: Ints, of: Ints) -> Floats:
        """Returns elements of a flat state, each at its lag in steps. Lags from 0 to `longest` are not checked."""
        width = self._rows.shape[-1]
        return self._rows.ravel().take((self._now - lags) % self._kept * width + of)

    def _refused(self, lag: ArrayLike) -> ParameterError:
        return ParameterError(f"a lag of {lag!r} is not allowed; needs numbers from 0 to {self.longest}")

    def advance(self, state: Floats) -> None:
        """Appends a state, which becomes the present state."""
        self._now += 1
        self.replace(state)

    def replace(self, state: Floats) -> None:
        """Changes the present state."""
        self._rows[self._now % self._kept] = state

    def wait(self) -> None:
        """Advances to the next time, whose state is not known yet."""
        self._now += 1


@lru_cache(maxsize=64)
def _components(shape: tuple[int, ...]) -> tuple[Ints, ...]:
    """Returns index arrays that select all components of a state, and broadcast."""
    return np.ix_(*map(range, shape)) if shape else ()


@explained
def integrate(
    change: Callable[[float, Floats, Past], ArrayLike],
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    longest: float = 0.0,
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    every: int = 1,
) -> Trajectory:
    """Integrates `dx/dt = change(t, x(t), past)` by Heun's method with a fixed step.

    Args:
        change: computes the derivative from the time in s, the state, and the past, a function `past(lag)`.
        start: state at time 0 and before.
        duration: duration, s.
        step: step, s. It is a small fraction of the shortest delay and time constant.
        longest: largest lag that `change` uses, s.
        bounds: smallest and largest value of each component, applied at every step. For example, a lower bound of 0
            keeps a queue from becoming negative.
        every: number of steps between two recorded steps.

    Raises:
        ParameterError: if a number is not allowed or a lag is longer than `longest`.

    >>> end = integrate(lambda t, x, past: -past(1.0), [1.0], 2.0, step=0.001, longest=1.0).states[-1]
    >>> end.round(4).tolist()
    [-0.5]
    """
    finite(start=start)
    not_negative(duration=duration, longest=longest)
    positive(step=step)
    whole(1, every=every)
    state = np.array(start, dtype=np.float64)
    low, high = bounds
    if not (np.less(low, np.inf).all() and np.greater(high, -np.inf).all()):
        raise ParameterError(f"bounds {shown(bounds)} are not allowed; needs numbers, or -inf and inf")
    past = Past(state, step, longest)
    steps = round(duration / step)
    recorded = [state]
    floored, capped = np.greater(low, -np.inf).any(), np.less(high, np.inf).any()

    def cut(state: Floats) -> Floats:
        if floored:
            state = np.maximum(state, low)
        return np.minimum(state, high) if capped else state

    with np.errstate(all="ignore"):
        for n in range(steps):
            first = np.asarray(change(n * step, state, past))
            ahead = cut(state + step * first)
            past.advance(ahead)
            second = np.asarray(change((n + 1) * step, ahead, past))
            state = cut(state + step / 2 * (first + second))
            past.replace(state)
            if (n + 1) % every == 0:
                recorded.append(state)
    return Trajectory(np.arange(len(recorded), dtype=np.float64) * (step * every), np.array(recorded))


@explained
def iterate(
    update: Callable[[int, Past], ArrayLike], start: ArrayLike, steps: int, *, longest: int, every: int = 1
) -> Trajectory:
    """Iterates `x(n) = update(n, past)`, where `past(1)` is `x(n-1)`; lags are whole numbers of at least 1.

    Args:
        update: computes the state at step `n` from the past.
        start: state at step 0 and before.
        steps: number of steps.
        longest: largest lag that `update` uses.
        every: number of steps between two recorded steps.

    Raises:
        ParameterError: if a number is not allowed or a lag is longer than `longest`.

    >>> iterate(lambda n, past: past(1) + past(2), [1.0], 5, longest=2).states[:, 0].tolist()
    [1.0, 2.0, 3.0, 5.0, 8.0, 13.0]
    """
    whole(0, steps=steps, longest=longest)
    whole(1, every=every)
    state = np.array(start, dtype=np.float64)
    past = Past(state, 1, longest)
    recorded = [state]
    with np.errstate(all="ignore"):
        for n in range(1, steps + 1):
            past.wait()
            state = np.asarray(update(n, past), dtype=np.float64)
            past.replace(state)
            if n % every == 0:
                recorded.append(state)
    return Trajectory(np.arange(len(recorded), dtype=np.float64) * every, np.array(recorded))
