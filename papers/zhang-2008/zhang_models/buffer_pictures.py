"""Comparison of buffer rules, and the loss of three chains of windows (Zhang 2008, chapters II.2 and VII)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import LOG_STYLE
from levelflow.theory.validate import explained
from zhang_models.adaptive_buffer import Damping, Plant, Settings, run
from zhang_models.windows import READINGS, Windows, simulate

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

#: Comparison of section VII.3.2: capacity, bit/s, and target loss rate.
CAPACITY, LOSS = 10e6, 0.02
FLOWS = np.geomspace(2, 1024, 60)
CAPACITIES = np.geomspace(1e6, 1e10, 60)
FEW = 16
#: Theorem 19: buffers, packets, and loss probability of windows that do not react to losses.
BUFFERS, CHANCE = (0, 1, 4, 16, 32, 64, 128, 256, 512, 1024), 0.003

WAYS: tuple[tuple[Damping, str], ...] = (
    ("none", "eq. 163"),
    ("signed", "eq. 164"),
    ("absolute", "eq. 164 with |u - u before|"),
)


@explained
def loss_against_buffer(flows: int = 10, capacity: int = 300, canvas: FigureBase | None = None) -> FigureBase:
    """Draws the simulated loss rate of AIMD windows in the three chains of theorem 19.

    Args:
        flows: number of flows.
        capacity: packets per round.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> figure = loss_against_buffer(2, 20)
    """
    with drawn_on(canvas, 9, 4, LOG_STYLE) as figure:
        axes = figure.subplots()
        for reading, marker in zip(READINGS, "osD", strict=True):
            chance = CHANCE if reading == "exogenous" else 0.0
            losses = [simulate(Windows(flows, capacity, b, reading, chance=chance), 600, 100).loss for b in BUFFERS]
            axes.plot(BUFFERS, 100 * np.array(losses), marker=marker, markersize=4, label=reading)
        axes.set_xscale("symlog", linthresh=1)
        axes.set(yscale="log", xlabel="buffer (packets)", ylabel="loss (%)")
        axes.set_title(f"theorem 19 as printed fails: {flows} AIMD windows, {capacity} packets per round")
        axes.legend()
    return figure


def damping(canvas: FigureBase | None = None) -> FigureBase:
    """Draws the buffer of ABS's utilisation controller on a noisy plant for each damping (eq. 163 and 164).

    Args:
        canvas: an empty figure to draw on. By default, a new figure.

    >>> figure = damping()
    """
    plant = Plant(lambda b: 1 - 0.25 * np.exp(-b / 40), lag=0.5, noise=0.02)
    with drawn_on(canvas, 9, 4) as figure:
        axes = figure.subplots()
        for way, name in WAYS:
            went = run(Settings(utilisation=0.98, damping=way), plant, 200.0, 3000)
            axes.plot(np.arange(len(went.buffers)), went.buffers, label=name, linewidth=0.8)
        axes.axhline(40 * np.log(12.5), color="black", linestyle="--", linewidth=1, label="target")
        axes.set(
            xlabel="interval", ylabel="buffer (packets)", title="the printed damping drives the buffer to its floor"
        )
        axes.legend(loc="upper right")
    return figure


def training(canvas: FigureBase | None = None) -> FigureBase:
    """Draws the gains of ABS in training (eq. 168 to 171), with loss and utilisation as fractions and in per cent.

    Args:
        canvas: an empty figure to draw on. By default, a new figure.

    >>> [axes.get_ylabel() for axes in training().axes]
    ['gain (packets/s)', 'buffer (packets)']
    """
    plant = Plant(lambda b: np.minimum(1 - 0.25 * np.exp(-b / 40), 1.0), lambda b: 8 / (b + 100), lag=0.5, noise=0.01)
    with drawn_on(canvas, 9, 4) as figure:
        left, right = figure.subplots(1, 2)
        for unit, style in (("fraction", "-"), ("percent", "--")):
            settings = Settings(utilisation=0.98, loss=0.02, training=unit)  # type: ignore[arg-type]
            went = run(settings, plant, 10.0, 3000)
            left.plot(went.gains_p, style, color="C0", label=f"I_p, {unit}")
            left.plot(went.gains_u, style, color="C1", label=f"I_u, {unit}")
            right.plot(went.buffers, style, color="C2", label=unit)
        left.set(
            xlabel="interval", ylabel="gain (packets/s)", title="shares of 1: gains stay; per cent: one never rests"
        )
        right.set(xlabel="interval", ylabel="buffer (packets)", title="the buffer is the same")
        left.legend()
        right.legend()
    return figure
