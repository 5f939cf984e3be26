"""Level: machine checks of the lemmas and theorems of docs/theory/level.md, in exact arithmetic where possible.

The map of the law is written anew here, and compared with `levelflow.theory.laws.level`. The reference is progressive
filling. Most tests also verify that a constant is reached, so no smaller constant would be correct.
"""

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from levelflow.theory.laws import level
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.paths import paths as level_paths

INF = math.inf


def solution(target, limits):
    """Returns the solution of `sum of min(limit, level) = target`, with an infinite largest limit (definition 3)."""
    ordered = sorted(limits)
    left = target
    for i, limit in enumerate(ordered[:-1]):
        if limit * (len(ordered) - i) >= left:
            return left / (len(ordered) - i)
        left -= limit
    return left


def step(target, limits, threshold):
    """Returns the next threshold (eq 3) and the bound (eq 4)."""
    below = [e for e in limits if e < threshold]
    above = [e for e in limits if e >= threshold]
    left = target - sum(below)
    filled = left / len(above) if above else left + max(below)
    following = max(filled, target / len(limits))
    if below and max(below) > following:
        return following, min(max(below), target)
    if above and min(above) < following:
        return following, min(max(left - (len(above) - 1) * min(above), following), target)
    return following, following


def links(grid=(1, 2, 4, INF), targets=range(1, 12, 2)):
    """Yields all targets and limits of a link with up to four flows, on a small grid."""
    for flows in range(1, 5):
        for limits in itertools.combinations_with_replacement(grid, flows):
            for target in targets:
                yield Fraction(target), limits


THRESHOLDS = [Fraction(n, 2) for n in (1, 2, 3, 5, 7, 9, 30)]


def test_the_map_of_the_proof_is_the_map_of_the_law():
    rng = Random(1)
    for target, limits in rng.sample(list(links()), 300):
        threshold = rng.choice(THRESHOLDS)
        seen = level.census(
            np.array(limits), np.array([float(threshold)]), np.zeros(len(limits), int), np.ones(len(limits))
        )
        found = [each[0] for each in level.update(np.array([float(target)]), seen)]
        assert found == pytest.approx([float(each) for each in step(target, limits, threshold)])


def test_lemma_1_the_bound_is_at_least_the_solution_and_reaches_it():
    for target, limits in links():
        exact = solution(target, limits)
        for threshold in THRESHOLDS:
            following, bound = step(target, limits, threshold)
            assert bound >= exact
            same = all((e < threshold) == (e < following) for e in limits)
            assert bound == exact or not same


def test_lemma_1_fails_for_any_smaller_bound_of_the_third_case():
    """The largest limit is infinite, and all other limits are equal."""
    target, limits, threshold = Fraction(10), (1, 1, INF), Fraction(1, 2)
    assert step(target, limits, threshold)[1] == solution(target, limits) == 8


def steps_to_the_solution(target, limits, start):
    """Returns the number of distinct limits below the solution, and the number of steps until the bound is the
    solution. Verifies lemma 2.
    """
    exact = solution(target, limits)
    smaller = len({e for e in limits if e < exact})
    threshold, wrong = start, 0
    for number in range(1, smaller + 4):
        following, bound = step(target, limits, threshold)
        assert following <= exact
        assert following >= threshold or number == 1
        assert following == exact or number <= smaller
        wrong = number if bound != exact else wrong
        threshold = following
    return smaller, wrong + 1


def test_lemma_2_thresholds_rise_to_the_solution_in_one_step_per_smaller_limit():
    """The number of steps is at most `max(k + 1, 2)` for `k` distinct limits below the solution.

    For each `k`, a case needs all these steps.
    """
    cases = [
        (target, limits, Fraction(start, 2))
        for target, limits in links((7, 10, 11, INF), (11, 20, 29, 33, 40, 45))
        for start in (1, 16, 21, 120)
    ]
    most = {}
    for case in [*cases, (Fraction(45), (1, 9, 11, INF, INF), Fraction(1, 2))]:
        smaller, number = steps_to_the_solution(*case)
        assert number <= max(smaller + 1, 2)
        most[smaller] = max(most.get(smaller, 0), number)
    assert most == {smaller: max(smaller + 1, 2) for smaller in range(4)}


def test_a_level_is_at_least_the_equal_share_from_any_state():
    for target, limits in links():
        assert all(step(target, limits, threshold)[1] >= target / len(limits) for threshold in THRESHOLDS)


# --- Theorem 1: convergence without smoothing ---


def steps(depth, delay):
    """Returns the bound of theorem 1 for synchronous updates and information that is at most `delay` updates old."""
    return delay + 2 + sum(2 * delay + k for k in range(1, depth))


def depth(rates):
    """Returns the number of distinct rates."""
    return len({round(float(rate), 9) for rate in rates})


def test_the_bound_of_the_theory_is_that_of_theorem_1():
    routes = [[0, 1], [0], [1]]
    assert level.steps(routes, [10.0, 4.0], 5) == steps(2, 5)


def routes_of(size, flows):
    """Yields all networks of `size` links and `flows` flows in which each flow crosses a set of links."""
    paths = [p for n in range(1, size + 1) for p in itertools.combinations(range(size), n)]
    yield from itertools.combinations_with_replacement(paths, flows)


def settle_in_any_order(routes, targets, starts, delay):
    """Returns the last update after which a rate differs from its fair rate for some order of delays, and the bound.

    At each update, a link reads levels that are 1 to `delay` updates old. The search follows the states of all orders.
    """
    fair = maxmin(routes, [float(target) for target in targets])
    reads = [(f, link) for f, path in enumerate(routes) for link in path if len(path) > 1]
    states = {(((first,) * 2,) * delay, (threshold,) * 2) for first in starts for threshold in starts}
    last = 0
    for number in range(1, steps(depth(fair), delay) + 3):
        following = set()
        for history, thresholds in states:
            choices = [{history[age][1 - link] for age in range(delay)} for _, link in reads]
            for chosen in itertools.product(*choices):
                seen = dict(zip(reads, chosen, strict=True))
                new = [list(history[0]), list(thresholds)]
                for link in {link for path in routes for link in path}:
                    limits = [seen.get((f, link), INF) for f, path in enumerate(routes) if link in path]
                    new[1][link], new[0][link] = step(targets[link], limits, thresholds[link])
                following.add(((tuple(new[0]), *history[:-1]), tuple(new[1])))
        states = following
        away = [
            history
            for history, _ in states
            if any(
                min(history[0][link] for link in path) != pytest.approx(r) for path, r in zip(routes, fair, strict=True)
            )
        ]
        last = number if away else last
    return last, steps(depth(fair), delay)


def test_theorem_1_holds_on_two_links_for_all_orders_of_delays():
    """Some order of delays, in some network, needs exactly as many updates as the bound."""
    slack = []
    for routes in routes_of(2, 2):
        for targets in itertools.product((Fraction(1), Fraction(3, 2), Fraction(2)), repeat=2):
            last, bound = settle_in_any_order(routes, targets, (Fraction(1, 3), Fraction(5)), 2)
            assert last < bound, (routes, targets)
            slack.append(bound - last - 1)
    assert min(slack) == 0


def last_error(routes, targets, delays, start, most):
    """Returns the last of `most` updates after which some rate differs from the fair rate. Delays are per flow."""
    levels, thresholds = start
    fair = maxmin(routes, [float(target) for target in targets])
    history, last = [list(levels)], 0
    thresholds = list(thresholds)
    for number in range(1, most + 1):
        new = list(history[-1])
        for link in {link for path in routes for link in path}:
            seen = [history[max(number - d, 0)] for path, d in zip(routes, delays, strict=True) if link in path]
            paths = [path for path in routes if link in path]
            limits = [
                min((old[k] for k in path if k != link), default=INF) for old, path in zip(seen, paths, strict=True)
            ]
            thresholds[link], new[link] = step(targets[link], limits, thresholds[link])
        history.append(new)
        rates = [min(new[link] for link in path) for path in routes]
        if any(abs(float(rate) / r - 1) > 1e-9 for rate, r in zip(rates, fair, strict=True)):
            last = number
    return last, depth(fair)


def test_theorem_1_holds_on_all_networks_of_three_links_and_three_flows():
    rng = Random(3)
    for routes in routes_of(3, 3):
        for targets in rng.sample(list(itertools.product((1.0, 2.0, 5.0), repeat=3)), 8):
            delays = rng.choices((1, 2), k=3)
            start = rng.choices((0.3, 1.0, 4.0), k=3), rng.choices((0.3, 1.0, 4.0), k=3)
            last, levels = last_error(routes, targets, delays, start, 15)
            assert last < steps(levels, 2), (routes, targets, delays, start)


@pytest.mark.parametrize("delay", [1, 2, 5, 10, 20])
def test_theorem_1_is_reached_by_two_bottleneck_levels(delay):
    """The second level receives the first rates over a link that limits no flow: two delays, not one."""
    routes = [[0], [0, 1], [1, 2], [2], [2]]
    start = [Fraction(n, 10) for n in (80, 2, 81)], [Fraction(n, 10) for n in (6, 44, 6)]
    targets = [Fraction(n, 10) for n in (18, 25, 45)]
    last, levels = last_error(routes, targets, [delay] * 5, start, 3 * delay + 8)
    assert levels == 2
    assert last == steps(2, delay) - 1


def test_a_link_of_one_flow_always_announces_its_target():
    """Such a link represents a limit of the flow itself (corollary 1)."""
    for limit in (1, 3, 9, INF):
        assert all(step(Fraction(5), (limit,), threshold) == (5, 5) for threshold in THRESHOLDS)


# --- Smoothing ---


def perturbed(rng, clusters, unsettled, error):
    """Returns limits of a link's flows: within `error` of the rate for settled flows, and at least `1 - error` for
    others.
    """
    ends = (-1, -1, 1, 1, rng.uniform(-1, 1))
    limits = [rate + error * rng.choice(ends) for rate in clusters]
    top = (1 - error, 1 - error, 1 + error * rng.uniform(-1, len(clusters) + unsettled), 5.0, INF)
    return limits + [rng.choice(top) for _ in range(unsettled)]


def bounds_of_lemma_3(rng, clusters, unsettled, error):
    """Returns the errors of a link's bounds after the steps of lemma 3, as multiples of the largest error that the
    lemma allows.
    """
    target, flows = sum(clusters) + unsettled, len(clusters) + unsettled
    threshold, found = rng.choice((1e-3, 0.5, 1.0, 1 + error, 9.0)), []
    for number in range(1, 12):
        threshold, bound = step(target, perturbed(rng, clusters, unsettled, error), threshold)
        if number >= max(len(set(clusters)) + 1, 2):
            found.append((bound - 1) / error / max(flows - 1, 1))
    return found


def test_lemma_3_errors_of_a_level_are_at_most_the_number_of_other_flows_times_errors_of_limits():
    rng, found = Random(4), []
    for _ in range(1500):
        unsettled = rng.randint(1, 3)
        clusters = rng.choices((0.2, 0.5, 0.8), k=rng.randint(0, 3))
        flows, gap = len(clusters) + unsettled, 0.2 if 0.8 in clusters else 0.3
        error = rng.choice((0.999, 0.3)) * gap / flows**2
        found += bounds_of_lemma_3(rng, clusters, unsettled, error)
    assert max(found) <= 1 + 1e-9
    assert min(found) >= -1 - 1e-9
    assert max(found) > 0.999
    assert min(found) < -0.999


#: Relative change below which a level moves slowly, and the fraction of a slow step (eq 5).
NEAR, GAIN = 0.125, 0.25


def smoothed(last, bound):
    return bound if abs(bound - last) >= NEAR * last else last + GAIN * (bound - last)


def test_lemma_4_a_level_reaches_a_range_of_bounds_in_one_update_or_by_three_quarters():
    """The distance after the first update is at most 3/28 of the largest bound. Each update reduces it to 3/4 of its
    value.
    """
    rng, largest = Random(5), 0.0
    for _ in range(20_000):
        low, high = sorted((rng.uniform(0.5, 1), rng.choice((1.0, rng.uniform(0.5, 1)))))

        def away(level, low=low, high=high):
            return max(low - level, level - high, 0.0)

        first = smoothed(rng.choice((rng.uniform(0, 3), high * 8 / 7 * 0.99999)), rng.choice((low, high)))
        second = smoothed(first, rng.uniform(low, high))
        assert away(second) <= 0.75 * away(first) + 1e-12
        largest = max(largest, away(first) / high)
    assert 0.999 * 3 / 28 < largest <= 3 / 28


def updates_of_theorem_2(accuracy, flows, levels, most, delay):
    """Returns the bound of theorem 2 for synchronous updates."""
    near = math.ceil(math.log(2 * flows ** (2 * levels) * most / (7 * accuracy)) / math.log(4 / 3))
    return (2 * levels - 1) * delay + 2 * near * levels + 3 + sum(k + 2 for k in range(1, levels))


def test_theorem_2_smoothed_levels_reach_each_accuracy_within_the_bound():
    rng = np.random.default_rng(6)
    for _ in range(12):
        size = int(rng.integers(2, 6))
        routes = [
            rng.choice(size, rng.integers(1, size + 1), replace=False).tolist() for _ in range(rng.integers(2, 9))
        ]
        targets, delay = 10 ** rng.uniform(-0.5, 0.5, size), int(rng.integers(1, 5))
        fair = maxmin(routes, targets)
        rates = np.unique(np.round(fair, 9))
        flows = max(2, int(np.bincount(np.concatenate(routes)).max()))
        gap = np.diff(rates).min() if rates.size > 1 else targets.min()
        accuracy = 0.9 * gap / flows**2
        most = updates_of_theorem_2(accuracy, flows, rates.size, targets.max(), delay)
        network = level_paths(routes, size, delay)
        run = level.iterate(network, targets, most, targets * 10 ** rng.uniform(-2, 1, size), targets)
        assert np.abs(run.rates[most] - fair).max() <= accuracy


# --- Limited flows ---


def test_lemma_1_fails_for_flows_that_send_less_than_their_rates():
    """A flow that sends half of its rate counts half. Then the bound of the third case is below the solution."""
    seen = level.Census(*(np.array([each]) for each in (1.5, 0.0, 0.0, 0.0, 1.0)))
    _, bound = level.update(np.array([5.0]), seen)
    solved = 8.0  # one flow with limit 1, and half a flow without a limit: 1 + 8/2 = 5
    assert bound[0] == 4.5 < solved


def test_proposition_1_limited_flows_of_one_link_reach_max_min_fairness_for_all_delays():
    rng = Random(7)
    for _ in range(40):
        target, full = rng.uniform(1, 10), rng.randint(1, 3)
        demands = [rng.uniform(0.1, 0.9) * target / (full + 2) for _ in range(rng.randint(1, 3))]
        fair = maxmin([[0]] * full + [[0, n + 1] for n in range(len(demands))], [target, *demands]).max()
        levels = [target * 10 ** rng.uniform(-2, 1)] * 3
        for _ in range(600):
            counts = sum(min(1.0, demand / rng.choice(levels[-3:])) for demand in demands)
            levels.append(target / (full + counts))
        assert levels[-1] == pytest.approx(fair)


# --- Rates and loss: senders that propose, and a link that refuses ---

#: Control interval, ticks; capacity, and rate of a new flow, in the same unit.
INTERVAL, CAPACITY, INITIAL = 10, 100.0, 1.0


class Sender:
    """Sender in a fluid model with time in ticks. It sends a packet every `gap` ticks. Routers count the packet's rate
    and proposal for each of these ticks.

    `delays` are the delays to the first link, between links, and back. `links` are the links of the path.
    """

    def __init__(self, start, delays, rate=INITIAL, gap=1, links=(0,)):
        *passed, self.trip = itertools.accumulate(delays)
        self.start, self.back, self.gap = start, delays[-1], gap
        self.hops = dict(zip(links, passed, strict=True))
        self.rate = self.proposal = rate
        self.since = None
        self.counted = {}
        self.sent = {}

    def sends(self, tick):
        return tick >= self.start and (tick - self.start) % self.gap == 0

    def run(self, now, wait, acked):
        """Processes the ACK of this tick, and sends.

        `acked` has the wanted rate, the refusal flag, and the begin of the decided interval of each link.
        """
        if acked:
            wanted, refused, begins = acked
            decided = self.since is not None and now >= self.since + wait * INTERVAL + self.trip
            if decided and not refused:
                self.counted = begins if self.proposal > self.rate else self.counted
                self.rate = self.proposal
            if wanted < self.proposal:
                self.proposal = wanted
            elif wanted > self.proposal and (decided or self.proposal <= self.rate):
                self.proposal, self.since = wanted, None
            self.rate = min(self.rate, self.proposal)
        if self.sends(now):
            self.since = now if self.since is None else self.since
            self.sent[now] = self.rate, self.proposal, self.counted


def interval_of(link, tick):
    """Returns the number of the interval of a link. Intervals of different links begin at different times."""
    return (tick + 3 * link) // INTERVAL


def arrivals(senders, ticks, wait, level_of):
    """Yields each tick, and the last packet of each sender at each link. `level_of` returns the signalled level."""
    proposed, latest = Counter(), defaultdict(dict)
    for now in range(ticks):
        for sender in senders:
            sent, acked = now - sender.trip, None
            if sender.sends(sent):
                ended = {link: interval_of(link, sent + delay) - 2 for link, delay in sender.hops.items()}
                refused = any(proposed[each] > CAPACITY * INTERVAL for each in ended.items())
                begins = {link: number * INTERVAL - 3 * link for link, number in ended.items()}
                acked = level_of(sender, now - sender.back), refused, begins
            if now >= sender.start:
                sender.run(now, wait, acked)
        for sender in senders:
            for link, delay in sender.hops.items():
                if now - delay in sender.sent:
                    latest[link][sender] = sender.sent[now - delay]
                    for tick in range(now - sender.gap + 1, now + 1):
                        proposed[link, interval_of(link, tick)] += latest[link][sender][1]
        yield now, latest


def overload(seed, wait, links=1):
    """Returns the largest excess of the arrival rate over the bound of lemma 5, for arbitrary levels. Flows start at
    different times.
    """
    rng = Random(seed)
    senders = []
    for _ in range(rng.randint(2, 8)):
        path = sorted(rng.sample(range(links), rng.randint(1, links)))
        delays = [rng.randint(0, 15) for _ in range(len(path) + 1)]
        senders.append(Sender(rng.randint(0, 300), delays, gap=rng.choice((1, 4, 10)), links=path))
    wanted = {sender: [rng.choice((5.0, 40.0, 60.0, 95.0)) for _ in range(8)] for sender in senders}
    worst = -math.inf
    for _, latest in arrivals(senders, 600, wait, lambda sender, tick: wanted[sender][tick // 77]):
        for link, packets in latest.items():
            approved = max(counted.get(link, -math.inf) for *_, counted in packets.values())
            new = sum(sender.start + sender.hops[link] > approved for sender in packets)
            worst = max(worst, sum(rate for rate, *_ in packets.values()) - CAPACITY - INITIAL * new)
    return worst


@pytest.mark.parametrize("links", [1, 2, 4])
def test_lemma_5_present_flows_reach_the_capacity_but_do_not_exceed_it(links):
    assert max(overload(seed, 3, links) for seed in range(40)) == 0


@pytest.mark.parametrize("links", [1, 2, 4])
def test_lemma_5_needs_three_intervals(links):
    assert max(overload(seed, 2, links) for seed in range(40)) > 1


def decided_too_early(announced):
    """Returns True if a packet carries a decision about an interval that began too early.

    Three of the longest of the last `announced` intervals have passed since the proposal.
    """
    rng = Random(announced)
    lengths = [rng.choice((1, 2, 5, 16)) for _ in range(2000)]
    begins = list(itertools.accumulate(lengths, initial=0))
    waits = (3 * max(lengths[n - announced + 1 : n + 1]) for n in range(3, len(lengths)))
    return any(begins[n + 1] - wait > begins[n - 2] for n, wait in enumerate(waits, 3))


def test_lemma_5_needs_the_longest_of_three_intervals_in_headers():
    assert [decided_too_early(announced) for announced in (1, 2, 3)] == [True, True, False]


#: Target of the link, 95 % of its capacity.
TARGET = 95.0


def settling_of_rates(seed):
    """Returns the time from final levels to final rates, and the bound of theorem 3, in ticks."""
    rng = Random(seed)
    delays = [(rng.randint(0, 15), rng.randint(0, 15)) for _ in range(rng.randint(2, 6))]
    gap = rng.choice((1, 4, 10))
    senders = [Sender(rng.randrange(INTERVAL), each, gap=gap) for each in delays]
    final, share, last = 250 + rng.randint(0, 40), TARGET / len(senders), 0
    wanted = [{sender: rng.choice((2.0, share / 2, 40.0, 95.0)) for sender in senders} for _ in range(8)]

    def level_of(sender, tick):
        return share if tick >= final else wanted[tick // 41][sender]

    bound = 4 * max(map(sum, delays)) + 6.2 * INTERVAL + 5 * gap
    for now, _ in arrivals(senders, final + int(bound) + INTERVAL, 3.1, level_of):
        last = now if any(sender.rate != share for sender in senders) else last
    return last - final, bound


def test_theorem_3_rates_settle_within_four_round_trips_and_some_intervals():
    """Half of the bound would be too small."""
    found = [settling_of_rates(seed) for seed in range(60)]
    assert all(time < bound for time, bound in found)
    assert max(time / bound for time, bound in found) > 0.5


def test_theorem_3_needs_more_than_three_inter_packet_times():
    """The sender receives a smaller level directly before the final level.

    It raises its proposal only after the proposal for the smaller level is decided.
    """
    sender, final = Sender(0, (0, 1), gap=INTERVAL), 21 * INTERVAL + 1

    def level_of(_, tick):
        return TARGET if tick >= final else 40.0 if tick >= final - 1 else 2.0

    last = max(now for now, _ in arrivals([sender], 520, 3.1, level_of) if sender.rate != TARGET)
    assert 4 * sender.trip + 6.2 * INTERVAL + 3 * sender.gap < last - final


def excess(seed):
    """Returns the traffic above the capacity when flows begin on a full link, and the bound of theorem 4."""
    rng = Random(seed)
    old, new, spread = rng.choice((1, 2, 5, 20)), rng.choice((4, 6, 10, 30)), rng.choice((1, 50))
    delays = [(rng.randint(1, 15), rng.randint(1, 15)) for _ in range(old)] + [(0, rng.randint(1, 30))] * new
    senders = [Sender(-100, each, TARGET / old) for each in delays[:old]]
    senders += [Sender(rng.randrange(spread), each) for each in delays[old:]]
    for sender in senders[:old]:
        sender.since = sender.start
        sender.sent = dict.fromkeys(range(-sender.trip, 0), (sender.rate, sender.rate, sender.counted))
    counts, levels = {}, {-1: TARGET / old}

    def level_of(_, tick):
        closed = tick // INTERVAL - 2
        while max(levels) < closed:
            n = max(levels) + 1
            bounds = [TARGET * INTERVAL / counts.get(m, old * INTERVAL) for m in (n - 1, n)]
            levels[n] = smoothed(levels[n - 1], min(bounds))
        return levels[max(closed, -1)]

    above = 0.0
    for now, latest in arrivals(senders, 200, 3, level_of):
        counts[now // INTERVAL] = counts.get(now // INTERVAL, 0) + len(latest[0])
        above += max(sum(rate for rate, *_ in latest[0].values()) - CAPACITY, 0.0)
    lasts = spread + 7 * INTERVAL + max(map(sum, delays))
    return above, max(new * INITIAL - (CAPACITY - TARGET if spread == 1 else 0.0), 0.0) * lasts


def test_theorem_4_traffic_above_the_capacity_is_at_most_that_of_unannounced_flows():
    """A quarter of the bound would be too small."""
    found = [excess(seed) for seed in range(16)]
    assert all(above <= most + 1e-9 for above, most in found)
    assert any(most == 0 for _, most in found)
    assert max(above / most for above, most in found if most) > 0.25


def test_theorem_4_needs_a_target_below_95_7_percent():
    """After four updates of lemma 4, a level exceeds the equal share by at most the fraction `above`.

    Flows must then be within the capacity.
    """
    above = (1 - level.GAIN) ** 4 * level.NEAR / (1 - level.NEAR)
    assert 0.956 * (1 + above) < 1 < 0.957 * (1 + above)
