"""Bottlenecks of JetMax, round by round (`levelflow.theory.networks.membership`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike

from levelflow.picture import Picture
from levelflow.style import COLOURS, STYLE
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.membership import Batch, Rules, begin, read_pace, report, step
from levelflow.theory.networks.routes import Routes
from levelflow.theory.validate import explained, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@explained
def rounds(
    rules: Rules,
    routes: Routes,
    capacities: ArrayLike,
    pace: ArrayLike,
    first: int = 0,
    last: int = 40,
) -> Picture:
    """Draws the rates, proposals and prices of a small network from round `first` to round `last`.

    Lines are rates, dots are proposals, and dashes are max-min fair rates. A strip shows the bottleneck of a flow, in
    the colour of this link. The price of the link has the same colour.

    Raises:
        CapacityError: if a capacity is not a finite number above 0.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if another number is not allowed.
    """
    whole(0, first=first, last=last)
    if first > last:
        raise ParameterError(f"first: {first} is after the last round, {last}")
    maxmin(routes, capacities)
    batch = Batch([routes], np.array([capacities], dtype=np.float64), read_pace(pace, len(routes)))
    links = batch.capacity.shape[1]
    state, states, prices = begin(batch), [], []
    for number in range(last + 1):
        if number >= first:
            states.append(state)
            prices.append(report(batch, state)[0][0])
        state = step(rules, batch, state)
    x = np.arange(first, last + 1)
    with mpl.rc_context(STYLE):
        figure = Picture(figsize=(7.5, 4.6), layout="constrained")
        upper, strip, lower = figure.subplots(3, 1, sharex=True, height_ratios=[3, 0.35 * len(routes), 2])
        for flow in range(len(routes)):
            colour = COLOURS[flow + links]
            name = chr(ord("a") + flow)
            upper.step(x, [one.rate[0, flow] for one in states], where="post", color=colour, label=name)
            upper.plot(x + 0.5, [one.proposal[0, flow] for one in states], ".", color=colour, markersize=4)
            upper.axhline(batch.fair[0, flow], color=colour, linewidth=0.8, linestyle="--")
            _listens(strip, x, [int(one.bottleneck[0, flow]) for one in states], flow)
        upper.set_ylabel("rate")
        upper.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        strip.set_yticks(range(len(routes)), [chr(ord("a") + flow) for flow in range(len(routes))])
        strip.set_ylabel("listens\nto")
        strip.invert_yaxis()
        for link in range(links):
            label = f"link {link + 1}"
            lower.step(x, [max(price[link], -1.0) for price in prices], where="post", color=COLOURS[link], label=label)
        lower.axhline(0, color="black", linewidth=0.6)
        lower.set_ylabel("price")
        lower.set_xlabel("round")
        lower.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _listens(axes: Axes, x: np.ndarray, links: Sequence[int], flow: int) -> None:
    for here, link in zip(x, links, strict=True):
        if link >= 0:
            axes.barh(flow, 1.0, 0.8, here, color=COLOURS[link], align="center")
