"""The JetMax recurrence (eq 133-134) iterated on one link and on many, against its closed forms."""

import math
import struct

import numpy as np

from levelflow.claims import Against
from levelflow.laws import Router

TAU, EPS = 0.6, 0.01
WIRE = ">HHBBBBIffff"  # ports, flags, R_T, R_C, R_S, number, p+, g+, s+, delta
LARGEST = float(np.finfo(np.float32).max)
CAPACITIES = (1e6, 1e7, 1e9, 1e12, 1e18, 1e100)  # bit/s
RANDOM = 1


def one_link(start, available, tau=TAU, steps=400):
    """Undelayed rates by step and flow: x(n) = (1-tau) x(n-1) + tau g, g = (gamma C - u) / N = ``available`` / N."""
    x = [np.asarray(start, dtype=float)]
    fair = available / x[0].size
    for _ in range(steps):
        x.append((1 - tau) * x[-1] + tau * fair)
    return np.array(x)


def steps_until(ok):
    return int(np.argmax(ok)) if ok.any() else math.inf


def resting():
    """Lemma 19: (gamma C - u) / N each, gamma C together."""
    capacity, gamma, unresponsive = 1e7, 0.95, 2e6
    x = one_link([0.0, 1e6, 5e6], gamma * capacity - unresponsive)[-1]
    return [
        Against(x, [(gamma * capacity - unresponsive) / 3] * 3),
        Against(x.sum() + unresponsive, gamma * capacity),
    ]


def assignment(rng, flows=30, links=8):
    """A network with a consistent assignment: each flow is bottlenecked at the first link of its route in one order."""
    routes = np.zeros((flows, links), dtype=bool)
    for route in routes:
        route[rng.choice(links, rng.integers(1, 5), replace=False)] = True
    rank = rng.permutation(links)
    return routes, np.argmin(np.where(routes, rank, links), axis=1)


def network(rng, tau, steps):
    """Deviation from rest, by step, of a network whose flows keep a consistent assignment, under random delays."""
    routes, bottleneck = assignment(rng)
    flows = len(bottleneck)
    delays = rng.integers(1, 9, flows)
    backward = np.array([rng.integers(1, delay + 1) for delay in delays])
    forward = delays - backward
    members = np.equal.outer(bottleneck, np.arange(routes.shape[1]))
    others = routes & ~members
    counts = np.maximum(members.sum(axis=0), 1)
    past, who = int(delays.max()) * 2, np.arange(flows)
    x = np.zeros((past + steps, flows))
    x[:past] = rng.uniform(-1, 1, flows)
    for n in range(past, past + steps):
        heard = n - backward
        unresponsive = np.array(
            [x[heard[r] - forward[others[:, b]], who[others[:, b]]].sum() for r, b in enumerate(bottleneck)]
        )
        x[n] = (1 - tau) * x[n - delays, who] - tau * unresponsive / counts[bottleneck]
    return np.abs(x[past - 1 :]).max(axis=1)


def stability():
    """Theorem 15: eigenvalues 1 - tau, so stable under any delay iff 0 < tau < 2, monotone iff tau <= 1."""
    rng = np.random.default_rng(RANDOM)
    jacobian = np.array([one_link(unit, 0.0, steps=1)[1] for unit in np.eye(3)]).T  # the map is linear for C = 0
    with np.errstate(all="ignore"):
        stable = {
            tau: [bool(d[-1] < 1e-3 * d[0]) for d in (network(rng, tau, steps) for _ in range(3))]
            for tau, steps in ((0.1, 4000), (0.6, 1500), (1.0, 1500), (1.5, 1500), (1.95, 6000), (2.05, 1500))
        }
    monotone = {
        tau: bool(np.all(np.diff(one_link([0.0, 9e6], 1e7, tau)[:40, 0]) >= -1e-6)) for tau in (0.1, 0.6, 1.0, 1.5, 1.9)
    }
    return [
        Against(jacobian.ravel(), ((1 - TAU) * np.eye(3)).ravel()),
        [all(stable[tau]) for tau in (0.1, 0.6, 1.0, 1.5, 1.95)],
        all(stable[2.05]),
        all(monotone[tau] == (tau <= 1) for tau in monotone),
    ]


def efficiency():
    """Theorem 17, eq 142: ceil(log eps / log |1 - tau|) steps from an empty link, whatever its capacity."""
    steps = [steps_until(one_link([0.0] * 4, c, steps=50).sum(axis=1) >= (1 - EPS) * c) for c in CAPACITIES]
    return [steps[0], len(set(steps)) == 1]


def fairness():
    """Theorem 17, eq 143-144: joiners rise from 0, the incumbent falls from the whole link."""

    def steps(flows):
        fair = 1e7 / flows
        off = np.abs(one_link([1e7] + [0.0] * (flows - 1), 1e7, steps=50) / fair - 1)
        joiner, shrunk = off[:, -1] <= EPS, (off <= EPS * off[0]).all(axis=1)
        return steps_until(joiner), steps_until(off[:, 0] <= EPS), steps_until(shrunk)

    joiners, incumbents, shrunk = zip(*(steps(flows) for flows in (2, 16, 1024)), strict=True)
    return [list(joiners), incumbents[0], incumbents[-1], list(shrunk)]


def announced(capacity, gamma, rates, survival, unresponsive):
    """The fair share, bit/s, that our router announces when of ten packets of each flow only some arrive."""
    router, elapsed = Router("jetmax", capacity, {"gamma": gamma}), 0.1
    for rate, share in zip(rates, survival, strict=True):
        for _ in range(round(10 * share)):
            router.arrive(1000, packet(1, rate * elapsed / 80, elapsed / 10))
    router.arrive(1000, packet(2, unresponsive * elapsed / 8, elapsed))
    router.close(elapsed)
    return struct.unpack(WIRE, router.arrive(1000, packet(1, 0.0, 0.0)))[-3]


def packet(bottleneck, size, gap):
    """A header as a sender writes it: hop of its bottleneck, virtual size in bytes, gap in s."""
    return struct.pack(WIRE, 0, 0, 0, bottleneck, 0, 0, 0, -LARGEST, LARGEST, size, gap)


def loss():
    """Eq 151-152: with N counted by what arrives, senders rest at a rate inflated by the mean survival."""
    capacity, gamma, unresponsive, survival = 1e10, 0.95, 1e9, np.array([0.9, 0.8, 0.7])
    target = gamma * capacity - unresponsive
    x = np.array([0.0, 1e9, 5e9])
    for _ in range(40):
        x = (1 - TAU) * x + TAU * announced(capacity, gamma, x, survival, unresponsive)
    return [Against(x, [target / (survival.mean() * 3)] * 3), Against((x * survival).sum(), target)]


def measure(figure):
    return {
        "jetmax-lemma19": resting(),
        "jetmax-thm15": stability(),
        "jetmax-thm17-efficiency": efficiency(),
        "jetmax-thm17-fairness": fairness(),
        "jetmax-eq151": loss(),
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for flows in (2, 16, 1024):
        off = np.abs(one_link([1e7] + [0.0] * (flows - 1), 1e7, steps=16) * flows / 1e7 - 1)
        axes.semilogy(off[:, 0], marker="o", markersize=3, label=f"incumbent, N = {flows}")
    axes.semilogy(off[:, -1], color="black", label="joiner, any N")
    axes.axhline(EPS, color="grey", linewidth=1)
    axes.set(xlabel="control step", ylabel="relative distance from the fair rate", title="JetMax: eq 144")
    axes.legend()
