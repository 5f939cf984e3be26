"""Overshoot of a full link (Zhang 2008, figures 6 to 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure, FigureBase

from levelflow.style import GREY, STYLE
from levelflow.theory.validate import explained, positive
from zhang_models.overshoot import MarkedTfrc, RateAimd, ScalableTcp, Tfrc, TrackedAimd, WindowAimd, integrate_excess

if TYPE_CHECKING:
    from levelflow.theory.arrays import Floats

#: The link of figures 5 to 7: packets/s of 1024 B at 2 Mb/s, and s.
CAPACITY, RTT = 244.0, 0.06
#: Figure 8: kb/s, kb and the round trips in s.
KBPS, PACKET, TRIPS = 1000.0, 12.0, (0.0138, 0.014)
LOG_STYLE = STYLE | {"text.parse_math": True}  # labels of logarithmic axes are formulas


@explained
def excess(capacity: float = CAPACITY, rtt: float = RTT, canvas: FigureBase | None = None) -> FigureBase:
    """Draws what senders send beyond the capacity until they hear of it, and what they send meanwhile.

    Rate-based senders add one packet per round trip; TFRC has lost one packet before.

    Args:
        capacity: packets/s.
        rtt: of an empty queue, s.
        canvas: an empty figure to draw on; a new one by default.

    >>> [axes.get_ylabel() for axes in excess().axes]
    ['packets lost', 'rate / capacity']
    """
    positive(capacity=capacity, rtt=rtt)
    window, gain = capacity * rtt, 1 / rtt
    laws: dict[str, WindowAimd | ScalableTcp | RateAimd | Tfrc] = {
        "TCP": WindowAimd(capacity, window),
        "Scalable TCP": ScalableTcp(capacity, window),
        "rate AIMD": RateAimd(capacity, gain, rtt),
        "TFRC": Tfrc(capacity, 1 / rtt, 1.0),
    }
    late, soon = np.geomspace(0.1, 1000, 200), np.linspace(0, 10, 200)
    tracked = integrate_excess(TrackedAimd(capacity, gain, rtt), soon[-1], step=0.005)
    with mpl.rc_context(LOG_STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained") if canvas is None else canvas
        left, right = figure.subplots(1, 2)
        for name, law in laws.items():
            left.plot(late, law.excess(late), label=name)
            right.plot(soon, law.rates(soon) / capacity)
        right.plot(tracked.times, tracked.states[:, 0] / capacity, "--", label="rate AIMD that sees its RTT grow")
        left.set(xscale="log", yscale="log", xlabel="until the sender hears (s)", ylabel="packets lost")
        left.set_title("self-clocked windows overshoot least")
        right.set(xlabel="time from when the link is full (s)", ylabel="rate / capacity", ylim=(0.9, 3))
        right.set_title("rates grow without bound")
        left.legend()
        right.legend(loc="center right")
    return figure


def marked_tfrc(canvas: FigureBase | None = None) -> FigureBase:
    """Draws figure 8: TFRC with the loss rate as input settles above a loss of one third, and not below.

    Args:
        canvas: an empty figure to draw on; a new one by default.

    >>> figure = marked_tfrc()
    """
    laws = [MarkedTfrc(KBPS, PACKET / trip) for trip in TRIPS]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained") if canvas is None else canvas
        for axes, law, trip, off in zip(figure.subplots(1, 2), laws, TRIPS, (1.01, 1.002), strict=True):
            rates = law.orbit(off * law.rest, 300)
            axes.plot(np.arange(rates.size), rates, linewidth=0.7)
            axes.axhline(law.rest, color=GREY, linestyle="--", linewidth=1)
            axes.axhline(KBPS, color=GREY, linestyle=":", linewidth=1)
            axes.set(xlabel="step", ylabel="rate (kb/s)", xlim=(0, 300), ylim=_around(law, rates))
            axes.set_title(f"RTT {1e3 * trip:g} ms: rest at {law.rest:.0f} kb/s, loss {100 * law.loss:.1f} %")
    return figure


def _around(law: MarkedTfrc, rates: Floats) -> tuple[float, float]:
    """Limits that hold the rates, but for the last before they leave the domain."""
    reach = 1.2 * np.abs(rates[rates < 2 * law.rest] - law.rest).max()
    return law.rest - reach, law.rest + reach
