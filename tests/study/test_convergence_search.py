"""Search for failing networks, as a generator without runs, and its driver with limits on runs and time."""

import itertools

import numpy as np

from levelflow.convergence.driver import Driver
from levelflow.convergence.search import CHANGES_PER_ITERATION, MAX_STALE_ITERATIONS, Search, start
from levelflow.convergence.shrink import size, smaller
from levelflow.convergence.trial import Outcome

SETTLED = Outcome("max-min fair", step_s=0.1, settling_s=1.0, distance=0.0, drops=0)
RATES = Outcome("max-min fair", step_s=0.1, distance=0.5)
SWINGS = Outcome("max-min fair", step_s=0.1, distance=0.01)


def settling(*times_s):
    return [Outcome("max-min fair", step_s=0.1, settling_s=time_s, distance=0.0, drops=0) for time_s in times_s]


def network(seed=1):
    return start(np.random.default_rng(seed))


def climb(*batches):
    """Returns the networks that a hill climb requests with these outcomes, and the network that it returns."""
    steps = Search("rcp").hill_climb(np.random.default_rng(1))
    requests = []
    try:
        for outcomes in (None, *batches):
            requests.append(steps.send(outcomes))
    except StopIteration as end:
        return requests, end.value
    raise AssertionError("the climb continues")


def test_a_climb_moves_to_the_slowest_network_and_stops_without_progress():
    requests, last = climb(
        settling(1.0), settling(0.5, 1.5, 2.0, 1.7), *[settling(1.0, 1.9, 1.0, 1.0)] * MAX_STALE_ITERATIONS
    )
    assert [len(networks) for networks in requests] == [1, *[CHANGES_PER_ITERATION] * (1 + MAX_STALE_ITERATIONS)]
    assert last == requests[1][2]


def test_an_equally_slow_network_is_no_progress_but_a_move():
    requests, last = climb(settling(1.0), *[settling(0.5, 1.0, 1.0, 0.5)] * MAX_STALE_ITERATIONS)
    assert len(requests) == 1 + MAX_STALE_ITERATIONS
    assert last == requests[-1][1]


def test_progress_restarts_the_count_of_iterations_without_progress():
    same = [settling(0.0, 0.0, 0.0, 0.0)] * (MAX_STALE_ITERATIONS - 1)
    requests, _ = climb(settling(1.0), *same, settling(2.0, 0.0, 0.0, 0.0), *same, same[0])
    assert len(requests) == 1 + 2 * MAX_STALE_ITERATIONS


def test_a_climb_ends_at_a_failing_network():
    requests, last = climb(settling(1.0), [*settling(1.0, 9.0, 1.0), RATES])
    assert last == requests[1][3]


def test_a_network_is_shrunk_only_while_it_fails_in_the_same_way():
    found = Search("rcp")
    given = network()
    driver = Driver(lambda one: RATES if one == given else SWINGS, runs=1000)
    driver.execute(found.shrink(given))
    candidates = {one for one in smaller(given) if size(one) < size(given)}
    assert driver.known.keys() == {given} | candidates
    assert found.failures == 1
    assert found.smallest["rates"] == (given, RATES)
    assert size(found.smallest["swings"][0]) == min(map(size, candidates))


def test_a_network_is_shrunk_to_the_least_if_every_network_fails():
    found = Search("rcp")
    Driver(lambda _one: RATES, runs=1000).execute(found.shrink(network()))
    least, _ = found.smallest["rates"]
    assert (len(least.flows), len(least.links), len(least.flows[0].hops)) == (1, 1, 1)
    assert all(size(other) >= size(least) for other in smaller(least))


def test_a_network_that_settles_is_not_shrunk():
    found = Search("rcp")
    driver = Driver(lambda _one: SETTLED, runs=1000)
    driver.execute(found.shrink(network()))
    assert (len(driver.known), found.failures, found.smallest) == (1, 0, {})


def requests(*batches, received):
    for batch in batches:
        received.append((yield batch))


def test_a_network_runs_once_and_outcomes_have_the_order_of_the_request():
    networks = [network(seed) for seed in range(5)]
    outcomes = dict(zip(networks, settling(*range(5)), strict=True))
    ran, received, progress = [], [], []
    driver = Driver(lambda one: (ran.append(one), outcomes[one])[1], 10, workers=2)
    driver.progress = lambda done, of: progress.append((done, of))
    batches = [*networks[:3], networks[0]], networks[::-1], networks
    driver.execute(requests(*batches, received=received))
    assert received == [[outcomes[one] for one in batch] for batch in batches]
    assert sorted(map(networks.index, ran)) == list(range(5))
    assert progress == [(3, 10), (5, 10), (5, 10)]


def test_a_search_ends_before_the_request_that_exceeds_the_limit_on_runs():
    received = []
    batches = [[network(seed) for seed in range(3)], [network(3)], [network(4)]]
    driver = Driver(lambda _one: SETTLED, runs=4)
    driver.execute(requests(*batches, received=received))
    assert [len(outcomes) for outcomes in received] == [3, 1]
    assert len(driver.known) == 4


def test_a_search_ends_at_the_time_limit(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    driver = Driver(lambda _one: SETTLED, runs=100, until_s=2)
    networks = [[network(seed)] for seed in range(9)]
    monkeypatch.setattr("levelflow.convergence.driver.in_parallel", lambda _workers, work, jobs: [work(*jobs, None)])
    driver.execute(requests(*networks, received=[]))
    assert len(driver.known) == 3
