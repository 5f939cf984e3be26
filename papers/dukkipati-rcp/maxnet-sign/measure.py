"""MaxNet's link rule in Dukkipati 2005, d <- d + a (C - y), compared with Andrew et al.'s p' = (y - mu C)/C."""

import numpy as np

from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.pictures.nyquist import nyquist
from levelflow.theory.stability.loops import Loop

LAW = maxnet.Parameters(mu=1.0)
CAPACITY, RTT = 1e9, 0.1


def direction():
    above, below = maxnet.price_change(np.array([1.01, 0.99]) * CAPACITY, 0.0, CAPACITY, LAW)
    return "rises when y > C" if above > 0 > below else "does not"


def loop(sign):
    """Loop of one flow on one link. The demand falls with the price. The price integrates sign (y - C)/C."""
    slope = float(maxnet.steepest(CAPACITY, RTT, LAW))
    return Loop.rational([-sign * slope / CAPACITY], [1, 0], delay=RTT)


def measure(figure):
    return {
        "rcp-related-maxnet-sign": {
            "price_direction": direction(),
            "stable[as quoted: d <- d + a (C - y)]": loop(-1).stable,
            "stable[d <- d + a (y - C)]": loop(1).stable,
        }
    }


def plot(figure, canvas):
    for part, (name, sign) in zip(
        canvas.subfigures(1, 2), {"(y - C)/C": 1, "as quoted, (C - y)/C": -1}.items(), strict=True
    ):
        nyquist(loop(sign), canvas=part)
        axes = part.axes[0]
        axes.set_title(f"{name}\n{axes.get_title('left')}")
