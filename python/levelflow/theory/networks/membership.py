"""Search of JetMax for bottlenecks, in rounds, without packets.

The theorems on JetMax assume given bottlenecks; here, flows choose them. In a round, each router computes price and
share (Zhang 2008, eq. 133, 135 and 150) from the proposals and bottlenecks of flows. The routers of a path select one
router, and each flow receives the report of this router. If this router is the flow's bottleneck, the flow steps (eq.
134). Otherwise it may change its bottleneck (eq. 135 and 136). Feedback is never stale and counts are exact, so only
the rules can cause a failure. A flow with *pace* `k` waits `k` rounds after a change, like a flow with a long round
trip.

`Rules` has a switch for each rule that Levelflow adds. Many networks of equal size run at once: arrays are networks by
flows by links. Flows and links are identified by their index. A packet passes links in the order of their index.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.validate import explained, read_numbers, read_whole, whole

#: Magnitude below which prices and relative distances are rounding errors.
ROUNDING = 1e-9
#: Initial rate of each flow.
FIRST = 0.01


@dataclass(frozen=True)
class Rules:
    """Rules of membership. Defaults are those printed in the dissertation.

    Attributes:
        tau: gain.
        eps_p: largest magnitude of a price that counts as 0.
        eps_s: relative distance from its share within which a flow is stationary, for the rule on ties; infinite
            without this rule.
        propose: True if increases wait for approval (section VI.6.4). False if only equations 133 to 136 apply.
        keep: True if a flow keeps its proposal when it changes its bottleneck. The dissertation does not specify this.
        smaller: True if a flow changes only to a link with a smaller share, except for ties.
        patience: number of reports from another router after which a flow changes in any case; 0 for no limit.
        shareless: True if a router without a share selects itself when no other router refuses proposals.
        largest: True if the header keeps the largest price of the path, from any router of the path.
        confirm: True if another router must be selected in two rounds before a flow changes.
        hysteresis: True if the bottleneck's report stays in the header until another router is overloaded, or has a
            larger price and a smaller share.
        floor: smallest rate.
    """

    tau: float = 0.6
    eps_p: float = ROUNDING
    eps_s: float = 0.05
    propose: bool = True
    keep: bool = False
    smaller: bool = False
    patience: int = 0
    shareless: bool = False
    largest: bool = False
    confirm: bool = False
    hysteresis: bool = False
    floor: float = 0.0


PRINTED = Rules()
#: Rules of equations 133 to 136 alone, without approval.
EQUATIONS = replace(PRINTED, propose=False)
#: Default rules of Levelflow's JetMax.
LEVELFLOW = Rules(eps_p=0.05, keep=True, smaller=True, patience=8, shareless=True, largest=True, floor=1e-3)


@dataclass(frozen=True, eq=False)
class Batch:
    """Networks with equal numbers of links and flows.

    Attributes:
        routes: per network, the routes of its flows.
        capacity: networks by links.
        pace: per flow, number of rounds that the flow waits after a change.
    """

    routes: Sequence[Sequence[Sequence[int]]]
    capacity: Floats
    pace: Ints

    @cached_property
    def crosses(self) -> Bools:
        """Networks by flows by links; True if the flow crosses the link."""
        links = self.capacity.shape[1]
        return np.array([[[link in route for link in range(links)] for route in own] for own in self.routes])

    @cached_property
    def fair(self) -> Floats:
        """Max-min fair rates, with a row per network and a column per flow."""
        return np.array([maxmin(own, row) for own, row in zip(self.routes, self.capacity, strict=True)])


@dataclass(frozen=True)
class State:
    """State of the senders, networks by flows.

    Attributes:
        rate: sending rate.
        proposal: proposed rate.
        bottleneck: link that the flow follows; -1 for none.
        share: last share reported by the bottleneck; NaN before the first report.
        named: other link that the last reports selected; -1 for none.
        reports: number of consecutive reports of that other link.
        wait: rounds until the flow reacts to a report again.
    """

    rate: Floats
    proposal: Floats
    bottleneck: Ints
    share: Floats
    named: Ints
    reports: Ints
    wait: Ints

    @property
    def parts(self) -> tuple[Floats, Ints]:
        """Numbers and labels of the state as two arrays, with the fields as the leading axis."""
        numbers = np.stack([self.rate, self.proposal, np.nan_to_num(self.share, nan=-1.0)])
        return numbers, np.stack([self.bottleneck, self.named, self.reports, self.wait])


def begin(batch: Batch) -> State:
    """Returns the state after a simultaneous start of all flows, with the rate `FIRST`."""
    rate = np.full(batch.crosses.shape[:2], FIRST)
    zero = np.zeros(rate.shape, dtype=np.int64)
    return State(rate, rate, zero - 1, rate * np.nan, zero - 1, zero, zero)


def report(batch: Batch, state: State) -> tuple[Floats, Floats]:
    """Returns price and share of each link, networks by links; an infinite share if no flow is responsive."""
    responsive = state.bottleneck[..., None] == np.arange(batch.capacity.shape[1])
    load = (batch.crosses * state.proposal[..., None]).sum(axis=1)
    others = ((batch.crosses & ~responsive) * state.proposal[..., None]).sum(axis=1)
    number = responsive.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(number > 0, (batch.capacity - others) / number, np.inf)
        return np.where(load > 0, 1 - batch.capacity / load, -np.inf), share


@dataclass
class _Header:
    """Headers of the flows' packets along their paths, networks by flows."""

    price: Floats
    share: Floats
    named: Ints
    own_zero: Bools

    def pass_link(self, rules: Rules, link: int, price: Floats, share: Floats, crosses: Bools, own: Ints) -> None:
        """Updates the header at a link."""
        self.own_zero |= crosses & (own == link) & (np.abs(price) <= rules.eps_p)
        limits = crosses & ((self.named < 0) | self._limits(rules, link, price, share, own))
        heard = crosses if rules.largest else limits
        self.price = np.where(heard, np.maximum(self.price, price) if rules.largest else price, self.price)
        self.share = np.where(limits, share, self.share)
        self.named = np.where(limits, link, self.named)

    def _limits(self, rules: Rules, link: int, price: Floats, share: Floats, own: Ints) -> Bools:
        tie = (np.abs(price) <= rules.eps_p) & (np.abs(self.price) <= rules.eps_p)
        refuses = (price > ROUNDING) & (self.price <= ROUNDING)
        smaller = _below(share, self.share)
        if rules.shareless:
            heard_of_one = np.where(np.isinf(self.share), (price > ROUNDING) | (self.price <= ROUNDING), smaller)
            smaller = np.where(np.isinf(share), refuses, heard_of_one)
        limits = np.where(tie, smaller, price > self.price)
        if rules.hysteresis:
            mine = overrules(rules, (price, share), (self.price, self.share))
            theirs = overrules(rules, (self.price, self.share), (price, share))
            limits = np.where(own == link, ~theirs, np.where(self.named == own, mine, limits))
        return limits


def overrules(rules: Rules, other: tuple[Floats, Floats], own: tuple[Floats, Floats]) -> Bools:
    """Returns True if another router replaces a flow's own router (`hysteresis`). Arguments are (price, share)."""
    (price, share), (own_price, own_share) = other, own
    fuller = price > own_price + ROUNDING
    tie = (np.abs(price) <= rules.eps_p) & (np.abs(own_price) <= rules.eps_p)
    alone = np.isinf(share) & (price > ROUNDING) & (own_price <= ROUNDING)
    return (fuller & (price > rules.eps_p)) | ((fuller | tie) & _below(share, own_share)) | alone


def _below(share: Floats, other: Floats) -> Bools:
    """Returns True where a share is smaller by more than rounding errors."""
    with np.errstate(invalid="ignore"):
        return (share < other) & ~(np.abs(share - other) <= ROUNDING * np.abs(other))


def step(rules: Rules, batch: Batch, state: State) -> State:
    """Returns the state after a round."""
    prices, shares = report(batch, state)
    shape = state.rate.shape
    head = _Header(np.full(shape, -np.inf), np.full(shape, np.inf), np.full(shape, -1), np.zeros(shape, dtype=bool))
    for link in range(prices.shape[1]):
        price, share = (np.broadcast_to(values[:, link, None], shape) for values in (prices, shares))
        head.pass_link(rules, link, price, share, batch.crosses[:, :, link], state.bottleneck)
    ready = state.wait == 0
    own = ready & (head.named == state.bottleneck)
    foreign = ready & ~own
    counted = np.where(head.named == state.named, np.minimum(state.reports + 1, max(rules.patience, 2)), 1)
    reports = np.where(foreign, counted, np.where(own, 0, state.reports))
    moves = foreign & ((state.bottleneck < 0) | _wins(rules, state, head, reports))
    steps = own & np.isfinite(head.share)
    base = np.where(head.price <= ROUNDING, state.proposal, state.rate)
    wanted = np.maximum((1 - rules.tau) * base + rules.tau * np.where(steps, head.share, 0.0), rules.floor)
    rate = np.where(steps, np.where((wanted <= base) | (not rules.propose), wanted, base), state.rate)
    kept = state.proposal if rules.keep else np.where(moves, rate, state.proposal)
    return State(
        rate=rate,
        proposal=np.where(steps, wanted, kept),
        bottleneck=np.where(moves, head.named, state.bottleneck),
        share=np.where(moves, np.nan, np.where(steps, head.share, state.share)),
        named=np.where(own | moves, -1, np.where(foreign, head.named, state.named)),
        reports=np.where(moves, 0, reports),
        wait=np.where(steps | moves, batch.pace - 1, np.maximum(state.wait - 1, 0)),
    )


def _wins(rules: Rules, state: State, head: _Header, reports: Ints) -> Bools:
    """Returns True for flows that change from their bottleneck to the selected router."""
    known = ~np.isnan(state.share)
    tie = head.own_zero & (head.price <= rules.eps_p)
    with np.errstate(invalid="ignore"):
        settled = known & (np.abs(state.rate - state.share) <= rules.eps_s * np.abs(state.share))
        smaller = ~known | (head.share < state.share) | (not rules.smaller)
    wins = np.where(tie, settled & ~(np.isinf(head.share) & rules.shareless), smaller)
    if rules.patience:
        wins = wins | (reports >= rules.patience)
    return wins & ((reports >= 2) | (not rules.confirm))


@dataclass(frozen=True, eq=False)
class Rest:
    """Long-term behaviour of networks, per network.

    Attributes:
        period: period of the state in rounds; 0 if none was observed.
        moves: True if bottlenecks change within a period.
        lowest: smallest rate in the last rounds, networks by flows.
        highest: largest rate in the last rounds, networks by flows.
        distance: largest relative deviation of a flow's rate from max-min fairness in the last rounds.
    """

    period: Ints
    moves: Bools
    lowest: Floats
    highest: Floats
    distance: Floats


@explained
def rest(rules: Rules, batch: Batch, rounds: int = 600, longest: int = 240) -> Rest:
    """Runs networks from `begin`, then observes them for the longest detectable period.

    Raises:
        ParameterError: if a number is not whole and above 0.
    """
    whole(1, rounds=rounds, longest=longest)
    state = begin(batch)
    for _ in range(rounds):
        state = step(rules, batch, state)
    numbers, labels = state.parts
    bottleneck, lowest, highest = state.bottleneck, state.rate, state.rate
    period = np.zeros(len(batch.routes), dtype=np.int64)
    moves = np.zeros(len(batch.routes), dtype=bool)
    for elapsed in range(1, longest + 1):
        state = step(rules, batch, state)
        lowest, highest = np.minimum(lowest, state.rate), np.maximum(highest, state.rate)
        moves |= (state.bottleneck != bottleneck).any(axis=1)
        now, tags = state.parts
        near = np.where(np.isfinite(now), np.abs(now - numbers), 0.0).max(axis=(0, 2)) <= 1e-6
        back = near & (tags == labels).all(axis=(0, 2)) & (period == 0)
        period[back] = elapsed
    distance = np.maximum(np.abs(lowest / batch.fair - 1), np.abs(highest / batch.fair - 1)).max(axis=1)
    return Rest(period, moves, lowest, highest, distance)


@explained
def networks(links: int, flows: int, capacities: ArrayLike, pace: ArrayLike) -> Batch:
    """Returns all networks of a size, with all choices of capacities and routes. The order of flows is ignored.

    Raises:
        ParameterError: if a number is not allowed.
    """
    whole(1, links=links, flows=flows)
    every = [route for size in range(1, links + 1) for route in itertools.combinations(range(links), size)]
    chosen = itertools.combinations_with_replacement(every, flows)
    routes = [own for own in chosen if len({link for route in own for link in route}) == links]
    rows = list(itertools.product(read_numbers("capacities", capacities).ravel(), repeat=links))
    pairs = list(itertools.product(routes, rows))
    return Batch(
        [own for own, _ in pairs], np.array([row for _, row in pairs], dtype=np.float64), read_pace(pace, flows)
    )


@explained
def read_pace(pace: ArrayLike, flows: int) -> Ints:
    """Returns the number of rounds that each flow waits after a change.

    Raises:
        ParameterError: if the paces are not whole numbers above 0, one per flow.
    """
    read = read_whole("pace", pace, 1)
    if read.shape != (flows,):
        raise ParameterError(f"pace: needs one number for each of {flows} flows")
    return read


def failures(rules: Rules, batch: Batch, within: float = 0.02) -> Iterator[dict[str, Any]]:
    """Yields the networks whose rates stay more than `within` from max-min fairness, the worst network first."""
    found = rest(rules, batch)
    for index in np.argsort(-found.distance, kind="stable"):
        if found.distance[index] <= within:
            return
        yield {
            "routes": [list(route) for route in batch.routes[index]],
            "capacities": batch.capacity[index].tolist(),
            "pace": batch.pace.tolist(),
            "period": int(found.period[index]),
            "moves": bool(found.moves[index]),
            "lowest": found.lowest[index],
            "highest": found.highest[index],
            "fair": batch.fair[index],
        }
