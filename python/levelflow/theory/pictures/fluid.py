"""Pictures of fluid runs: rates and queues, optionally with the rates and queues of a packet simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import COLOURS, GREY, Look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from levelflow.theory.arrays import Floats
    from levelflow.theory.fluid import FluidRun

#: Largest number of coloured curves. With more curves, all curves are grey and their mean is black.
MOST_LINES = len(COLOURS)
#: Style of the packet simulation, whose curves are behind the curves of the fluid.
PALE: Look = {"linewidth": 0.8, "alpha": 0.45, "zorder": 1}


@dataclass(frozen=True)
class Packets:
    """Record of a packet simulation of the same network.

    Attributes:
        times: end times of samples, s.
        rates: rates by flow name, bit/s.
        queues: queues by link name, bytes.
    """

    times: Floats
    rates: Mapping[str, Floats]
    queues: Mapping[str, Floats]


def rates_and_queues(
    run: FluidRun, packets: Packets | None = None, title: str = "", canvas: Figure | None = None
) -> Figure:
    """Draws arrival rates, and the queues of links that had a queue at any time.

    Args:
        run: result of the fluid simulation.
        packets: result of the packet simulation, drawn in a pale style for flows and links with equal names.
        title: title of the picture.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> from levelflow.theory.fluid import Flow, Link, Network, simulate
    >>> run = simulate(Network([Link(10e6)], [Flow("rcp", [0], 0.1)]), 5.0, every=0.1)
    >>> [axes.get_ylabel() for axes in rates_and_queues(run).axes]
    ['rate (Mb/s)', 'queue (kB)']
    """
    with drawn_on(canvas, 9, 6) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        rates = dict(zip(run.flows, run.delivered.T / 1e6, strict=True))
        pale = {} if packets is None else {name: rate / 1e6 for name, rate in packets.rates.items()}
        _draw(above, run.times, rates, packets, pale)
        queues = {name: queue / 1e3 for name, queue in zip(run.links, run.queues.T, strict=True) if queue.any()}
        pale = {} if packets is None else {n: q / 1e3 for n, q in packets.queues.items() if n in queues or q.any()}
        _draw(below, run.times, queues, packets, pale)
        what = "fluid, and packets pale behind it" if packets else "fluid"
        above.set(title=f"{title}: {what}" if title else what, ylabel="rate (Mb/s)")
        below.set(xlabel="time (s)", ylabel="queue (kB)")
        for axes in (above, below):
            axes.set_ylim(bottom=0)
    return figure


def _draw(
    axes: Axes, times: Floats, curves: dict[str, Floats], packets: Packets | None, pale: dict[str, Floats]
) -> None:
    if not curves:
        axes.text(0.5, 0.5, "no queue ever formed", transform=axes.transAxes, ha="center", color=GREY)
    many = len(curves) > MOST_LINES
    names = list(dict.fromkeys([*curves, *pale]))
    for number, name in enumerate(names):
        colour = GREY if many else COLOURS[number % MOST_LINES]
        if packets is not None and name in pale:
            axes.plot(packets.times, pale[name], color=colour, **PALE)
        if name in curves:
            thin: Look = {"linewidth": 0.6, "alpha": 0.5} if many else {}
            axes.plot(times, curves[name], color=colour, label=None if many else name, **thin)
    if many:
        axes.plot(times, np.mean(list(curves.values()), axis=0), color="black", label=f"mean of {len(curves)}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
