"""The EMKC fluid model (eq 61-62, price 1 - C/X) iterated, against its closed forms."""

import numpy as np

from levelflow.claims import Against

RANDOM = 1  # seed of the delays, starts and sequences
STEPS = 4000
LONGEST_DELAY = 8
TINY = 1e-12  # load of a link that nobody uses: its price is hugely negative


def mkc(start, network, lags, gains, steps=STEPS):
    """Iterates x_i(n) = x_i(n-D_i) + alpha - beta eta_i x_i(n-D_i); rates by step and flow, the start held before.

    ``network`` is (routes, capacities), ``lags`` (forward, delays), ``gains`` (alpha, beta, offset). Link j prices
    p_j(n) = 1 - C_j / sum_u x_u(n - forward_uj) + offset; flow i hears it D_i - forward_ij steps later and takes the
    largest of its route.
    """
    (routes, capacities), (forward, delays), (alpha, beta, offset) = network, lags, gains
    flows, links = routes.shape
    past = int(delays.max())
    x = np.empty((past + steps, flows))
    p = np.empty((past + steps, links))
    x[:past], p[:past] = start, 1 - capacities / np.maximum(routes.T @ start, TINY) + offset
    who, where = np.arange(flows), np.arange(links)
    for n in range(past, past + steps):
        heard = p[n - (delays[:, None] - forward), where[None, :]]
        eta = np.where(routes, heard, -np.inf).max(axis=1)
        reference = x[n - delays, who]
        x[n] = reference + alpha - beta * eta * reference
        arriving = np.where(routes, x[n - forward, who[:, None]], 0).sum(axis=0)
        p[n] = 1 - capacities / np.maximum(arriving, TINY) + offset
    return x[past - 1 :]


def one_link(start, capacity, gains, lags=None, steps=STEPS):
    """``mkc`` on one link, undelayed unless lags are given; ``gains`` are alpha, beta and perhaps an offset."""
    start = np.asarray(start, dtype=float)
    if lags is None:
        lags = np.zeros((start.size, 1), dtype=int), np.ones(start.size, dtype=int)
    routes = np.ones((start.size, 1), dtype=bool)
    return mkc(start, (routes, np.array([capacity])), lags, (*gains, 0.0)[:3], steps)


def random_lags(rng, flows):
    delays = rng.integers(1, LONGEST_DELAY + 1, flows)
    return np.array([[rng.integers(0, delay)] for delay in delays]), delays


def law():
    """Eq 61-62: reduces to eq 65 without delays; a less congested link on the path changes nothing."""
    rng = np.random.default_rng(RANDOM)
    start, capacity, alpha, beta = rng.uniform(1, 5, 3), 10.0, 0.2, 0.5
    x = start
    expected = [x]
    for _ in range(200):
        x = x + alpha - beta * (1 - capacity / x.sum()) * x
        expected.append(x)
    undelayed = np.allclose(one_link(start, capacity, (alpha, beta), steps=200), expected, rtol=1e-12)

    both = np.array([[True, True], [True, False]])
    only = np.array([[True, False], [True, False]])
    lags = np.array([[1, 3], [2, 0]]), np.array([5, 4])
    runs = [
        mkc(np.array([1.0, 8.0]), (routes, np.array([10.0, 30.0])), lags, (alpha, beta, 0.0), 500)
        for routes in (both, only)
    ]
    return [undelayed, np.array_equal(*runs)]


def local():
    """Theorem 9: the fixed point, and on which side of beta = 2 a small deviation dies out."""
    rng = np.random.default_rng(RANDOM)
    capacity, flows, alpha = 10.0, 4, 2.0

    def ends(beta, deviation, lags):
        fixed = capacity / flows + alpha / beta
        start = fixed * (1 + deviation * rng.uniform(-1, 1, flows))
        with np.errstate(all="ignore"):
            return one_link(start, capacity, (alpha, beta), lags) / fixed

    def stable(beta):
        """Whether a small deviation dies out under every one of some delays, equal ones among them."""
        equal = np.ones((flows, 1), dtype=int), np.full(flows, 3)
        several = [equal, *(random_lags(rng, flows) for _ in range(2))]
        return all(np.abs(ends(beta, 1e-4, lags)[-LONGEST_DELAY:] - 1).max() < 1e-5 for lags in several)

    beta = 0.5
    fixed = capacity / flows + alpha / beta
    rates = fixed * ends(beta, 0.5, random_lags(rng, flows))[-1]
    return [
        Against(rates, [fixed] * flows),
        Against(rates.sum(), capacity + flows * alpha / beta),
        [stable(beta) for beta in (0.05, 0.5, 1.0, 1.5, 1.95)],
        stable(2.05),
    ]


def globally():
    """Theorems 10-11 and lemmas 14-15: constant delay, any start."""
    rng = np.random.default_rng(RANDOM)
    capacity, flows, alpha, beta, delay = 10.0, 5, 0.5, 0.5, 4
    fixed = capacity + flows * alpha / beta
    lags = np.zeros((flows, 1), dtype=int), np.full(flows, delay)

    def run(beta, steps=STEPS):
        start = rng.uniform(0.01, capacity, flows)
        with np.errstate(all="ignore"):
            return one_link(start, capacity, (alpha, beta), lags, steps)

    x = run(beta)
    total = x.sum(axis=1)[::delay][:60]
    closed = (1 - beta) ** np.arange(total.size) * (total[0] - fixed) + fixed
    limits = np.array([run(beta)[-1] for _ in range(5)]).ravel()

    a, v = rng.uniform(-0.95, 0.95, 3000), rng.uniform(-1, 1, 3000) / np.arange(1, 3001)
    sequence = 100.0
    for factor, input_ in zip(a, v, strict=True):
        sequence = factor * sequence + input_
    return [
        np.abs(total / closed - 1).max(),
        Against(1 - capacity / x[-1].sum(), flows * alpha / (capacity * beta + flows * alpha)),
        Against(limits, [capacity / flows + alpha / beta] * limits.size),
        abs(sequence) < 0.01,
        bool(np.abs(run(2.1, 1000)[-1].sum() / (capacity + flows * alpha / 2.1) - 1) < 1),
    ]


def efficiency():
    """Lemma 16: the aggregate's deviation is multiplied by 1 - beta per delay."""
    capacity, alpha, betas = 8.0, 1.0, (0.5, 0.9, 1.0, 1.5)  # whole numbers: beta = 1 hits its fixed point exactly
    deviations = {}
    for beta in betas:
        total = one_link([1.0, 3.0], capacity, (alpha, beta), steps=12).sum(axis=1)
        deviations[beta] = total - (capacity + 2 * alpha / beta)
    fixed = capacity + 2 * alpha / 0.9
    total = one_link([0.005 * fixed] * 2, capacity, (alpha, 0.9), steps=9).sum(axis=1)
    return [
        Against([d[1] / d[0] for d in deviations.values()], [1 - beta for beta in betas]),
        [bool(np.all(np.diff(deviations[beta]) >= -1e-12)) for beta in (0.5, 0.9, 1.0)],
        bool(np.all(deviations[1.5][1:] * deviations[1.5][:-1] < 0)),
        int(np.argmax(total >= 0.99 * fixed)),
    ]


def loss():
    """Section V.3.3: the price at rest, and the offset that removes the loss."""

    def price(capacity, flows, alpha, beta, offset=0.0):
        x = one_link([capacity / flows] * flows, capacity, (alpha, beta, offset), steps=400)
        return 1 - capacity / x[-1].sum()

    scaled = [price(500.0 * k, 4 * k, 10.0, 0.9) for k in (1, 4, 16, 64)]
    offset = price(500.0, 4, 10.0, 0.9, offset=4 * 10.0 / (0.9 * 500.0))
    return [scaled[0], np.ptp(scaled) < 1e-9, offset]


def measure(figure):
    return {
        "mkc-eq61-62": law(),
        "emkc-thm9": local(),
        "emkc-global-lemmas": globally(),
        "emkc-lemma16-efficiency": efficiency(),
        "emkc-loss-scaling": loss(),
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for beta in (0.5, 0.9, 1.0, 1.5):
        total = one_link([1.0, 3.0], 8.0, (1.0, beta), steps=15).sum(axis=1)
        axes.plot(total / (8.0 + 2 / beta), marker="o", markersize=3, label=f"beta = {beta}")
    axes.set(xlabel="control step", ylabel="aggregate rate / X*", title="EMKC: convergence to efficiency")
    axes.legend()
