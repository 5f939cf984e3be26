"""What utilities mean for rates (Kunniyur and Srikant 2003): throughputs, the climb to an optimum, marking levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure, FigureBase

from kunniyur_models.fluid import Network, run, run_adaptive
from levelflow.style import GREY, STYLE
from levelflow.theory.fluid.topology import FluidError
from levelflow.theory.laws.ks import TCP_BETA, Users, best, equilibrium_rate, utility_exponent
from levelflow.theory.validate import explained, not_negative, positive, read_number, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

LOG_STYLE = STYLE | {"text.parse_math": True}  # labels of logarithmic axes are formulas
#: What is missing is drawn down to this; the optimum is not known better.
SEEN = 1e-9
#: A log user over both links of a chain and one of `-1/x` over the first.
PAIR = Network.of_routes(
    [[0, 1], [0]], [10.0, 4.0], Users(weights=[2.0, 20.0], exponents=[0.0, 1.0], gains=[1.0, 0.2]), 2.0
)
#: Three links that each mark on their own; one user crosses all.
CHAIN = Network.of_routes(
    [[0, 1, 2], [0], [1], [2]], [4.0, 6.0, 8.0], Users(exponents=[0.0, 1.0, 0.0, 1.0]), 2.0, marks=True
)


@explained
def utility_name(exponent: float) -> str:
    """Writes a utility as the paper does.

    >>> utility_name(0), utility_name(1), utility_name(0.5)
    ('log x', '-1/x', '-1/x^0.5')
    """
    if exponent == 0:
        return "log x"
    return "-1/x" if exponent == 1 else f"-1/x^{exponent:g}"


@explained
def throughputs(
    exponents: Sequence[float] = (0.0, 0.5, 1.0, 2.0),
    beta: float = TCP_BETA,
    each: int = 50,
    capacity: float = 300.0,
    canvas: FigureBase | None = None,
) -> FigureBase:
    """Draws the rate of a user by the share of its packets that is lost, and rates beside TCP (section IV).

    On the right, users have the weight `1/nu`, so that utilities go over into `log x`.

    Args:
        exponents: `nu` of the utilities.
        beta: what a loss costs.
        each: how many TCP users, and how many others, share a link.
        capacity: of that link, in packets per unit of time.
        canvas: an empty figure to draw on; a new one by default.

    >>> [axes.get_ylabel() for axes in throughputs(each=1).axes]
    ['rate', 'rate']
    """
    read_number("capacity", capacity)
    not_negative(exponents=exponents)
    whole(1, each=each)
    losses = np.geomspace(1e-3, 0.1, 100)
    shares = np.linspace(0.2, 1.0, 41)
    beside = np.array([_beside_tcp(utility_exponent(share), each, capacity) for share in shares])
    with mpl.rc_context(LOG_STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained") if canvas is None else canvas
        left, right = figure.subplots(1, 2)
        for exponent in exponents:
            rates = equilibrium_rate(Users(exponents=exponent), beta, losses)
            left.loglog(losses, rates, label=utility_name(exponent) + (" (TCP)" if exponent == 1 else ""))
        left.set(xlabel="share of packets lost, p", ylabel="rate", title="a utility is a slope of rate against loss")
        left.legend()
        right.plot(shares, beside[:, 0], label="users of rate 1/(d p^e)")
        right.plot(shares, beside[:, 1], label="TCP users")
        right.set(xlabel="e", ylabel="rate", title="beside TCP on one link")
        right.legend()
    return figure


def _beside_tcp(exponent: float, each: int, capacity: float) -> tuple[float, float]:
    users = Users(
        weights=[1 / exponent if exponent else 1.0] * each + [1.0] * each, exponents=[exponent] * each + [1.0] * each
    )
    rates = best([[0]] * (2 * each), [capacity], users).rates
    return float(rates[0]), float(rates[-1])


@explained
def climb(
    network: Network = PAIR,
    starts: ArrayLike = ((0.3, 0.3), (12.0, 1.0), (1.0, 12.0), (12.0, 12.0), (0.3, 7.0), (7.0, 0.3)),
    duration: float = 15.0,
    canvas: FigureBase | None = None,
) -> FigureBase:
    """Draws how the rates of two users climb to the optimum, over what they climb (proposition 2).

    Args:
        network: of two users.
        starts: pairs of rates.
        duration: in units of time.
        canvas: an empty figure to draw on; a new one by default.

    Raises:
        FluidError: if the network is not one of two users.

    >>> climb(duration=1.0).axes[0].get_xlabel()
    'rate of user 0'
    """
    positive(duration=duration)
    if network.crossings.shape[-1] != 2 or network.batch:
        raise FluidError("a picture of a climb needs one network of two users")
    start = np.array(starts, dtype=np.float64)
    went = run(network, start, duration, step=0.01)
    states, rest = went.states, network.rest()
    top = 1.05 * states.max(axis=(0, 1))
    ground = np.stack(np.meshgrid(*(np.linspace(0.02, 1, 200) * side for side in top)), axis=-1)
    height = network.worth(rest) - network.worth(ground)
    with mpl.rc_context(LOG_STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained") if canvas is None else canvas
        left, right = figure.subplots(1, 2)
        levels = np.geomspace(height.max() / 1e4, height.max(), 16)
        left.contour(ground[..., 0], ground[..., 1], height, levels=levels, colors=GREY, linewidths=0.5)
        missing = network.worth(rest) - network.worth(went.states[1:])
        for number in range(start.shape[0]):
            left.plot(states[:, number, 0], states[:, number, 1])
            right.plot(went.times[1:], np.where(missing[:, number] > SEEN, missing[:, number], np.nan))
        left.plot(*rest, "o", color="black")
        left.set(xlabel="rate of user 0", ylabel="rate of user 1", title="every path leads uphill to the optimum")
        right.set(xlabel="time", ylabel="what is missing of the largest worth", xscale="log", yscale="log")
        right.set_title("and never down")
    return figure


@explained
def levels(
    network: Network = CHAIN,
    gain: float = 0.2,
    target: float = 0.95,
    duration: float = 60.0,
    canvas: FigureBase | None = None,
) -> FigureBase:
    """Draws how links that know none of their users find levels at which nothing is lost (section V-D).

    Args:
        network: whose links mark.
        gain: `a` of their levels.
        target: `gamma`, of the capacities.
        duration: in units of time.
        canvas: an empty figure to draw on; a new one by default.

    >>> [axes.get_ylabel() for axes in levels(duration=1.0).axes]
    ['load over capacity', 'marking level over capacity']
    """
    users = network.crossings.shape[-1]
    went = run_adaptive(network, np.full(users, 0.2), duration, step=0.01, gain=gain, target=target)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained") if canvas is None else canvas
        left, right = figure.subplots(1, 2)
        for link, (load, level) in enumerate(
            zip((network.loads(went.rates) / network.capacities).T, (went.levels / network.capacities).T, strict=True)
        ):
            left.plot(went.times, load, label=f"link {link}")
            right.plot(went.times, level)
        for axes, value, style in ((left, target, "--"), (left, 1.0, "-")):
            axes.axhline(value, color=GREY, lw=0.8, ls=style)
        left.set(xlabel="time", ylabel="load over capacity", title="loads come to the target")
        right.set(xlabel="time", ylabel="marking level over capacity", title="each link finds its own level")
        left.legend()
    return figure
