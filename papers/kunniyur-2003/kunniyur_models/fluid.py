"""Fluid models of the users of `theory.laws.ks` in networks with delays, short flows and adaptive marking levels.

Time is in the unit of the users' delays, and rates are in packets per unit. Without delays, users receive losses and
marks immediately, as in the paper. With delays, the feedback at time `t` is about packets sent at `t - d`, and about
the load at the links when these packets arrived. Windows then grow only by ACKs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.errors import ConvergenceError
from levelflow.theory.fluid.topology import FluidError
from levelflow.theory.laws.ks import Users, best, nack_rate, program, rate_change, window_change
from levelflow.theory.networks.routes import Routes, crossing_matrix, read_capacities
from levelflow.theory.queues.marking import excess_paid, excess_share, level_change
from levelflow.theory.stability.equations import Past, Trajectory, integrate
from levelflow.theory.validate import explained, positive, read_numbers, share, whole

Control = Literal["rate", "window", "blind window"]

#: Lower bound of rates, relative to the smaller of 1 and the smallest capacity. No rate reaches this bound, because
#: `x'` is above 0 there.
LEAST = 1e-9
#: Largest stable step of Heun's method, relative to the time constant.
HEUN = 2.0
#: Number of bisection steps for a best reply, in logarithms.
HALVINGS = 52
MOST_ROUNDS = 10_000
#: Smallest window, packets; the paper defines none.
FLOOR = 0.1


@dataclass(frozen=True)
class Network:
    """Users and links. Arrays with additional leading axes describe a batch of networks of equal size.

    Attributes:
        crossings: Number of times that users cross links, of shape (..., links, users).
        capacities: For each link, the load above which it loses or marks packets; above 0.
        users: Users, one per column of the crossings.
        beta: Cost of a nack.
        control: Controller of rates (eq 9-10), windows (eq 12-13) or windows that ignore delays (eq 20-21).
        marks: True if nacks are received marks (eq 40-41), False if they are losses.
    """

    crossings: Floats
    capacities: Floats
    users: Users
    beta: float
    control: Control = "rate"
    marks: bool = False

    def __post_init__(self) -> None:
        program(self.users, self.beta)
        if self.control not in get_args(Control):
            raise FluidError(f"control {self.control!r} is not allowed; needs one of {', '.join(get_args(Control))}")
        crossings = np.array(self.crossings, dtype=np.float64)
        capacities = read_capacities(self.capacities)
        if crossings.ndim < 2 or not ((crossings >= 0) & (crossings == np.round(crossings))).all():
            raise FluidError("crossings need the shape (..., links, users), and whole numbers >= 0")
        if not (crossings.sum(axis=-2) > 0).all():
            raise FluidError("a user that crosses no link is not allowed, as nothing limits it")
        if not (capacities > 0).all() or capacities.shape[-1:] != crossings.shape[-2:-1]:
            raise FluidError(f"capacities {capacities.tolist()} are not allowed; needs one above 0 for each link")
        for values in (self.users.weights, self.users.exponents, self.users.delays, self.users.kept, self.users.gains):
            if values.ndim and values.shape[-1] not in {1, crossings.shape[-1]}:
                raise FluidError(f"{values.shape[-1]} users for {crossings.shape[-1]} routes; needs one each")
        object.__setattr__(self, "crossings", crossings)
        object.__setattr__(self, "capacities", capacities)
        try:
            _ = self.batch
        except ValueError:
            raise FluidError("users and links of several networks do not fit; needs one of each per network") from None

    @classmethod
    def of_routes(cls, routes: Routes, capacities: ArrayLike, *args: object, **kwargs: object) -> Network:
        """Builds a network from routes: per user, the indices of the links that it crosses."""
        capacity = read_capacities(capacities)
        return cls(crossing_matrix(routes, capacity.size).T, capacity, *args, **kwargs)  # type: ignore[arg-type]

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the leading axes."""
        own = [getattr(self.users, field.name).shape[:-1] for field in fields(Users)]
        return np.broadcast_shapes(self.crossings.shape[:-2], self.capacities.shape[:-1], *own)

    @property
    def blind(self) -> bool:
        """True if windows ignore the delay."""
        return self.control == "blind window"

    def rest(self) -> Floats:
        """Returns the equilibrium rates of users without delays (`theory.laws.ks.best`)."""
        links, users = self.crossings.shape[-2:]
        crossings = np.broadcast_to(self.crossings, (*self.batch, links, users))
        capacities = np.broadcast_to(self.capacities, (*self.batch, links))
        own = [np.broadcast_to(getattr(self.users, field.name), (*self.batch, users)) for field in fields(Users)]
        rates = np.empty((*self.batch, users))
        for case in np.ndindex(self.batch):
            routes = [np.repeat(np.arange(links), times.astype(int)).tolist() for times in crossings[case].T]
            one = Users(*(values[case] for values in own))
            rates[case] = best(routes, capacities[case], one, self.beta, marks=self.marks, blind=self.blind).rates
        return rates

    def loads(self, rates: Floats) -> Floats:
        """Returns the load of each link."""
        return _times(self.crossings, rates)

    def path_shares(self, shares: Floats) -> Floats:
        """Returns the sum of loss or marking rates along each route."""
        return _times(self.crossings.swapaxes(-1, -2), shares)

    def change(self, rates: Floats, foreign: Numbers = 0.0, levels: Numbers | None = None) -> Floats:
        """Returns `x'` without delays.

        Args:
            rates: Rate of each user.
            foreign: Load of unresponsive flows, per link (eq 31).
            levels: Current loss or marking level of each link; the capacities by default.
        """
        shares = excess_share(self.capacities if levels is None else levels, self.loads(rates) + foreign)
        nacks = nack_rate(self.users, rates, self.path_shares(shares), marks=self.marks)
        return rate_change(self.users, self.beta, rates, nacks, blind=self.blind)

    def jacobian(self, rates: Floats, levels: Numbers | None = None) -> Floats:
        """Returns the derivatives of `x'` by the rates, of shape (..., users, users), without delays.

        The matrix is the product of the symmetric curvature of `worth` and a positive diagonal matrix. Its eigenvalues
        are therefore real. They are below 0, except for users with utility `log x` that cross no full link.
        """
        users, loads = self.users, self.loads(rates)
        level = np.broadcast_to(self.capacities if levels is None else levels, loads.shape)
        steep = np.divide(level, loads**2, out=np.zeros_like(loads), where=(loads >= level) & (loads > 0))
        shared = np.swapaxes(self.crossings, -1, -2) @ (steep[..., None] * self.crossings)
        speed = users.gains * (users.delays ** (users.exponents - 1) if self.blind else 1.0) * self.beta
        nacks = nack_rate(users, rates, self.path_shares(excess_share(level, loads)), marks=self.marks)
        own = (users.exponents + 1) * rates ** (users.exponents - 1) * nacks
        by_links = (speed * users.kept * rates ** (users.exponents + 1))[..., None] * shared
        return np.asarray(-(by_links + (speed * own)[..., None] * np.eye(rates.shape[-1])))

    def worth(self, rates: Floats) -> Floats:
        """Returns the objective of the optimum (`theory.laws.ks.program`). Leading axes are separate cases. Without
        delays, the objective never decreases: `x'` of each user is the slope of the objective times a positive
        factor. For rates, this factor is `kappa alpha x^(nu+1)`. This proves convergence (proposition 2).
        """
        wanted = program(self.users, self.beta, marks=self.marks, blind=self.blind)
        power = np.where(wanted.exponents > 0, wanted.exponents, 1.0)
        utilities = np.where(wanted.exponents > 0, -(rates**-power), np.log(rates))
        paid = excess_paid(self.capacities, self.loads(rates)).sum(axis=-1)
        return np.asarray((wanted.weights * utilities - wanted.costs * rates).sum(axis=-1) - self.beta * paid)


@explained
def random_network(
    links: int,
    users: int,
    *,
    seed: int,
    batch: tuple[int, ...] = (),
    exponents: ArrayLike = (0.0, 0.5, 1.0, 2.0),
    control: Control = "rate",
    marks: bool = False,
) -> Network:
    """Returns networks with random routes and users.

    A user crosses each link with probability 1/2, and at least one link. Capacities are 0.5 to 2 per user. Weights,
    delays and gains are 0.5 to 2. Random losses remove 0 to 10 % of the packets. A nack costs 1.

    Args:
        links: Number of links.
        users: Number of users.
        seed: Seed of the random numbers.
        batch: Shape of the leading axes.
        exponents: Exponents of utility; each user draws one of them.
        control: See `Network`.
        marks: See `Network`.
    """
    whole(1, links=links, users=users)
    random = np.random.default_rng(seed)
    size = (*batch, users)
    crossings = (random.random((*batch, links, users)) < 1 / 2).astype(np.float64)
    np.put_along_axis(crossings, random.integers(links, size=(*batch, 1, users)), 1.0, axis=-2)
    return Network(
        crossings,
        random.uniform(0.5, 2.0, (*batch, links)) * np.maximum(crossings.sum(axis=-1), 1.0),
        Users(
            weights=random.uniform(0.5, 2.0, size),
            exponents=random.choice(np.asarray(exponents), size),
            delays=random.uniform(0.5, 2.0, size),
            kept=random.uniform(0.9, 1.0, size),
            gains=random.uniform(0.5, 2.0, size),
        ),
        beta=1.0,
        control=control,
        marks=marks,
    )


@explained
def run(
    network: Network,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    foreign: Callable[[float], ArrayLike] | None = None,
    to_links: ArrayLike | None = None,
    every: int = 1,
) -> Trajectory:
    """Returns the trajectory of the rates.

    Args:
        network: Network.
        start: Rates up to time 0, above 0.
        duration: Duration, units of time.
        step: Integration step, a small fraction of the shortest delay and time constant.
        foreign: Load of unresponsive flows on each link, as a function of time; only without delays.
        to_links: Delays from users to links, of shape (links, users), each at most the user's delay; None for undelayed
            feedback.
        every: Number of integration steps per recorded step.

    Raises:
        FluidError: If a delay to a link exceeds the user's delay, foreign loads are combined with delays, or the step
            is too long for the final rates.
        ParameterError: If a rate, the duration or the step is not allowed.

    >>> network = Network.of_routes([[0], [0]], [8.0], Users(), 1.0)
    >>> run(network, [1.0, 5.0], 99.0, step=0.1).states[-1].round(4).tolist()
    [5.0, 5.0]
    """
    rates = _read_start(network, start)
    low = LEAST * min(1.0, float(network.capacities.min()))
    if to_links is None:
        none = np.zeros(1)

        def change(time: float, rates: Floats, _past: Past) -> Floats:
            return network.change(rates, none if foreign is None else np.asarray(foreign(time)))

        went = integrate(change, rates, duration, step=step, bounds=(low, np.inf), every=every)
        _check_step(step, network, went.states[-1], network.capacities)
        return went
    if foreign is not None:
        raise FluidError("unresponsive flows are not allowed together with delays")
    delayed = _Delayed(network, to_links)
    return integrate(delayed, rates, duration, step=step, bounds=(low, np.inf), every=every, longest=delayed.longest)


class Marked(NamedTuple):
    """Trajectory of rates and marking levels. The first axis is time.

    Attributes:
        times: Times, units of time.
        rates: Rate of each user.
        levels: Marking level of each link.
    """

    times: Floats
    rates: Floats
    levels: Floats


@explained
def run_adaptive(
    network: Network,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    gain: Numbers,
    target: Numbers = 1.0,
    levels: ArrayLike | None = None,
) -> Marked:
    """Returns the trajectory of rates and adaptive marking levels (section V-D), without delays.

    The price of a link is `beta` times its marking rate. Equilibria with levels above 0 therefore maximise utility
    under the hard capacities `gamma C`.

    Args:
        network: Network with the actual capacities.
        start: Rates at time 0.
        duration: Duration, units of time.
        step: Integration step, a small fraction of the shortest time constant.
        gain: `a`, one number for all links or one per link.
        target: `gamma`, the target load relative to the capacities.
        levels: Marking levels at time 0; by default the targets.

    Raises:
        FluidError: If a level is not allowed, or the step is too long for the rates at the end.
        ParameterError: If a rate, the gain, the target, the duration or the step is not allowed.
    """
    rates = _read_start(network, start)
    users = rates.shape[-1]
    positive(gain=gain, target=target)
    share(target=target)
    goal = target * network.capacities
    first = np.broadcast_to(np.array(goal if levels is None else levels, dtype=np.float64), goal.shape)
    if not ((first >= 0) & (first <= goal)).all():
        raise FluidError(f"levels {first.tolist()} are not allowed; needs numbers from 0 to {goal.tolist()}")

    def change(_time: float, state: Floats, _past: Past) -> Floats:
        rates, levels = state[..., :users], state[..., users:]
        moves = level_change(levels, network.loads(rates), goal, gain)
        return np.concatenate([network.change(rates, levels=levels), moves], axis=-1)

    low = np.r_[np.full(users, LEAST * min(1.0, float(network.capacities.min()))), np.zeros(goal.shape[-1])]
    high = np.concatenate([np.full_like(rates, np.inf), goal], axis=-1)
    went = integrate(change, np.concatenate([rates, first], -1), duration, step=step, bounds=(low, high))
    _check_step(step, network, went.states[-1, ..., :users], went.states[-1, ..., users:])
    return Marked(went.times, went.states[..., :users], went.states[..., users:])


class _Delayed:
    """Derivative `x'` of users with delayed feedback."""

    def __init__(self, network: Network, to_links: ArrayLike) -> None:
        links, users = network.crossings.shape[-2:]
        there = np.array(to_links, dtype=np.float64)
        delays = np.broadcast_to(network.users.delays, (users,))
        if network.crossings.ndim != 2 or there.shape != (links, users):
            raise FluidError(f"delays to links need the shape ({links}, {users}), and one network")
        late = (network.crossings > 0) & ~((there >= 0) & (there <= delays))
        if late.any():
            link, user = np.argwhere(late)[0]
            raise FluidError(f"delay {there[link, user]} from user {user} to link {link} is not in 0 to {delays[user]}")
        there = np.where(network.crossings > 0, there, 0.0)
        self.network = network
        self.delays = delays
        #: Age, at user r, of the packets of user s in the feedback of link l; shape (r, l, s).
        self.lags = (delays[:, None] - there.T)[:, :, None] + there[None, :, :]
        self.longest = float(max(self.lags.max(), delays.max()))

    def __call__(self, _time: float, rates: Floats, past: Past) -> Floats:
        network = self.network
        sent = past(self.delays)
        met = (network.crossings * past(self.lags)).sum(axis=-1)
        path_shares = (network.crossings.T * excess_share(network.capacities, met)).sum(axis=-1)
        nacks = nack_rate(network.users, sent, path_shares, marks=network.marks)
        acks = None if network.control == "rate" else sent
        return rate_change(network.users, network.beta, rates, nacks, blind=network.blind, acks=acks)


@explained
def nash(network: Network, start: ArrayLike, *, tolerance: float = 1e-9) -> Floats:
    """Returns rates at which each user's rate is the best reply to the rates of the other users (Nash equilibrium).

    User `r` maximises `w U(x) - beta_r beta int_0^x (u - z(u))/u du`. If the user sends at the rate `u` and the other
    users keep their rates, `z(u)` is the rate that is received. Users reply one after another, until no rate changes by
    more than the relative `tolerance`.

    Args:
        network: Network.
        start: Initial rates, above 0; leading axes are separate games.
        tolerance: Relative tolerance.

    Raises:
        ParameterError: If a rate is not allowed.
        ConvergenceError: If the rates do not converge within 10 000 rounds.

    >>> nash(Network.of_routes([[0], [0]], [8.0], Users(), 1.0), [1.0, 5.0]).round(6).tolist()
    [5.0, 5.0]
    """
    positive(tolerance=tolerance)
    rates = _read_start(network, start).copy()
    for _ in range(MOST_ROUNDS):
        before = rates.copy()
        for user in range(rates.shape[-1]):
            rates[..., user] = _best_reply(network, rates, user)
        if (np.abs(rates - before) <= tolerance * before).all():
            return rates
    raise ConvergenceError(f"replies did not settle within {MOST_ROUNDS} rounds")


def _best_reply(network: Network, rates: Floats, user: int) -> Floats:
    """Returns the rate at which a user's marginal utility equals the marginal loss, by bisection in logarithms."""
    own = network.crossings[..., user]
    others = network.loads(rates) - own * rates[..., user, None]
    kept, power, wanted = (
        np.broadcast_to(values, rates.shape)[..., user]
        for values in (
            network.users.kept,
            network.users.exponents,
            network.users.slopes * network.users.felt_weights(network.blind) / network.beta,
        )
    )
    alone = Users(kept=kept)
    order = power + 1

    def too_much(rate: Floats) -> Floats:
        path_shares = (own * excess_share(network.capacities, others + own * rate[..., None])).sum(axis=-1)
        return np.asarray(nack_rate(alone, rate, path_shares, marks=network.marks) * rate**power > wanted)

    # Bounds. The sum of loss rates is at most the number of crossed links, and a link at twice its capacity loses half.
    low = np.log((wanted / np.maximum(own.sum(axis=-1), 1.0)) ** (1 / order))
    low = np.broadcast_to(low, rates.shape[:-1]).copy()
    high = np.log(np.maximum((2 * wanted / kept) ** (1 / order), 2 * network.capacities.max(axis=-1)))
    high = np.broadcast_to(high, rates.shape[:-1]).copy()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        over = too_much(np.exp(middle))
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(np.exp((low + high) / 2))


@explained
def random_windows(
    users: Users,
    beta: float,
    losses: Numbers,
    start: ArrayLike,
    *,
    acks: int,
    seed: int,
    blind: bool = False,
) -> Floats:
    """Returns the mean rates of window-based users with independent packet losses, simulated ACK by ACK.

    The time between ACKs is `d/W`. The first half of the ACKs is ignored.

    Args:
        users: Users.
        beta: Cost of a loss.
        losses: Loss rate of each user.
        start: Initial windows, packets.
        acks: Number of ACKs, including lost packets.
        seed: Seed of the random numbers.
        blind: True if the constants of the controller ignore the delay.

    Raises:
        ParameterError: If a window, a loss rate or the number of ACKs is not allowed.
    """
    positive(beta=beta)
    random = np.random.default_rng(seed)
    windows = read_numbers("window", start)
    share(loss=losses)
    whole(1, acks=acks)
    taken = np.zeros_like(windows)
    for n in range(acks):
        lost = random.random(windows.shape) < losses
        windows = np.maximum(windows + window_change(users, beta, windows, 1.0, lost, blind=blind), FLOOR)
        if 2 * n >= acks:
            taken += users.delays / windows
    return np.asarray((acks - (acks + 1) // 2) / taken)


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _check_step(step: float, network: Network, rates: Floats, levels: Floats) -> None:
    """Rejects steps with which Heun's method does not converge to the equilibrium of the equations. With such a step,
    rates may stay just below a marking level while Heun's predictor is above it. The check therefore treats all links
    as full.
    """
    jacobian = network.jacobian(rates, np.minimum(levels, network.loads(rates)))
    fastest = float(np.abs(np.linalg.eigvals(jacobian)).max()) if np.isfinite(jacobian).all() else np.inf
    if step * fastest > HEUN:
        most = f"at most {HEUN / fastest:.3g}" if np.isfinite(fastest) else "a much smaller one"
        raise FluidError(f"a step of {step} is not allowed for these rates; needs {most}")


def _read_start(network: Network, start: ArrayLike) -> Floats:
    rates = read_numbers("rate", start)
    users = network.crossings.shape[-1]
    if rates.shape[-1:] != (users,):
        raise FluidError(f"rates of shape {rates.shape} for {users} users; needs one each")
    return np.broadcast_to(rates, np.broadcast_shapes(rates.shape, (*network.batch, users)))
