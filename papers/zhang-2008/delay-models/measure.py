"""Verifies linear iterations with delays (eq 31, 34, 35), and the delays of a routed path."""

import numpy as np

from levelflow.measure import rates, series
from levelflow.theory.stability.equations import iterate

LINKS = ("R1->R2", "R2->R3", "R3->R4")
RTT, SAMPLE = 0.08, 0.001  # s
RISE = (0.5, 3.0)  # s, while the rate grows and no queue builds up
RANDOM, STEPS, LONGEST_DELAY = 1, 200, 6


def linear(a, lags, start):
    """x_i(n) = sum_j a_ij x_j(n - D_ij), eq 35."""
    return iterate(lambda _n, past: (a * past(lags)).sum(axis=1), start, STEPS, longest=int(lags.max())).states


def obeys_31(x, a, delays):
    """True if x_i(n) = sum_j a_ij x_j(n - D_i) for every n, eq 31."""
    past = delays.max()
    terms = [x[past - d : len(x) - d] @ row for d, row in zip(delays, a, strict=True)]
    return bool(np.allclose(x[past:], np.column_stack(terms), rtol=1e-9, atol=1e-15))


def seen_by_router(x, forward):
    """z_i(n) = x_i(n - forward_i): the rates that arrive at the router."""
    past = forward.max()
    return np.column_stack([x[past - f : len(x) - f, i] for i, f in enumerate(forward)])


def structures(draws=20):
    """True if eq 31 holds for round-trip delays, holds at the router for directional delays, and fails for other
    delays.
    """
    rng = np.random.default_rng(RANDOM)
    holds = []
    for flows in range(2, 2 + draws):
        a = rng.uniform(-1, 1, (flows, flows)) / flows
        forward, back = rng.integers(1, LONGEST_DELAY, (2, flows))
        delays, arbitrary = forward + back, rng.integers(1, 2 * LONGEST_DELAY, (flows, flows))
        start = rng.uniform(0, 1, flows)
        directional = linear(a, back[:, None] + forward[None, :], start)
        undelayed = linear(a, np.ones_like(arbitrary), start)
        holds.append(
            obeys_31(linear(a, np.broadcast_to(delays[:, None], a.shape), start), a, delays)
            and obeys_31(seen_by_router(directional, forward)[LONGEST_DELAY:], a, delays)
            and not obeys_31(linear(a, arbitrary, start), a, delays)
            and np.allclose(undelayed[10], np.linalg.matrix_power(a, 10) @ start, rtol=1e-9, atol=0)
        )
    return all(holds)


def directions(result, link):
    """Forward delay of the first packet to a router, and backward delay of the router's feedback to the sender, s."""
    t, sent = series.flow_series(result.flows, "x1", "sending_rate_bps")
    _, load = series.link_series(result.links, link, "arrival_bps")
    _, offer = series.link_series(result.links, link, "signal")
    _, rate = rates.rate_series(result.flows, "x1")
    rise = (t > RISE[0]) & (t <= RISE[1])
    wrong = [np.abs(rate[rise] - np.roll(offer, lag)[rise]).mean() for lag in range(round(RISE[0] / SAMPLE))]
    return t[np.argmax(load > 0)] - t[np.argmax(sent > 0)], np.argmin(wrong) * SAMPLE


def measure(figure):
    results = figure.runs([figure.scenario({f"link.{link}.capacity": "10 Mb/s"}) for link in LINKS])
    figure.delays = [directions(result, link) for result, link in zip(results, LINKS, strict=True)]
    same = [abs(forward + back - RTT) <= 2 * SAMPLE for forward, back in figure.delays]
    return {"delay-model-eq31-35": {"path_delay_identity": [*same, structures()]}}


def plot(figure, canvas):
    axes = canvas.subplots()
    forward, back = (1e3 * np.array(delays) for delays in zip(*figure.delays, strict=True))
    axes.barh(LINKS, forward, label="forward")
    axes.barh(LINKS, back, left=forward, label="backward")
    axes.set(xlabel="delay (ms)", title="one path, seen by its routers")
