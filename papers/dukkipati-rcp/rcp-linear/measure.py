"""RCP near its equilibrium: gain and phase of G(s) = e^-s (alpha s + beta) / s^2, time in units of d0 (001, IV)."""

import numpy as np

from levelflow.claims.metrics import grid

PADE = (np.array([1 / 12, -1 / 2, 1.0]), np.array([1 / 12, 1 / 2, 1.0]))  # e^-s by Pade 2/2: numerator, denominator
BETAS = grid(0.05, 0.5, 0.05)


def solve(f, low, high):
    """The zero of f between two arguments at which its signs differ."""
    below = f(low) < 0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if (f(middle) < 0) == below else (low, middle)
    return (low + high) / 2


def gain_crossing(alpha, beta):
    """Eq 12: where |G| = 1."""
    return np.sqrt((alpha**2 + np.sqrt(alpha**4 + 4 * beta**2)) / 2)


def phase_crossing(alpha, beta):
    """Eq 13: where the phase is -180 degrees, tan w = alpha w / beta; none unless alpha > beta (eq 14)."""
    if alpha <= beta:
        return None
    return solve(lambda w: np.sin(w) - alpha * w / beta * np.cos(w), 1e-9, np.pi / 2)


def stable(alpha, beta):
    """Bode's criterion with the exact delay."""
    crossing = phase_crossing(alpha, beta)
    return crossing is not None and gain_crossing(alpha, beta) < crossing


def stable_pade(alpha, beta):
    """All roots of the closed loop with the delay replaced by its Pade approximation in the left half plane."""
    loop = np.polymul([1, 0, 0], PADE[1])
    return bool(np.roots(np.polyadd(loop, np.polymul([alpha, beta], PADE[0]))).real.max() < 0)


def alpha_range(beta, is_stable=stable):
    """Ends of the stable range of alpha, or None; the range is one interval."""
    inside = [alpha for alpha in np.arange(0.02, 1.7, 0.02) if is_stable(alpha, beta)]
    if not inside:
        return None
    brackets = (1e-3, inside[0]), (inside[-1], 2.0)
    return [solve(lambda alpha: is_stable(alpha, beta) - 0.5, *bracket) for bracket in brackets]


def beta_limit(is_stable=stable):
    """The largest beta with a stable alpha."""
    return solve(lambda beta: 0.5 - (alpha_range(beta, is_stable) is None), 0.4, 0.7)


def model(rates, d0, capacity, flows, alpha, beta):
    """Eq 4-5: (q', R') for R now, R one RTT ago, R one interval ago and the queue."""
    _, delayed, interval_ago, queue = rates
    delay = d0 + queue / capacity
    load = flows * delayed
    return load - capacity, interval_ago * (alpha * (capacity - load) - beta * queue / delay) / (capacity * delay)


def slopes(d0, capacity, flows, alpha, beta):
    """Finite differences of eq 4 at equilibrium: rows R now, R(t-d0), R(t-T), q; columns q', R'."""
    rest = np.array([capacity / flows] * 3 + [0.0])
    pushes = np.array([*rest[:3], capacity * d0]) * 1e-6
    ends = [
        [model(rest + side * push, d0, capacity, flows, alpha, beta) for side in (1, -1)] for push in np.diag(pushes)
    ]
    up, down = np.swapaxes(ends, 0, 1)
    return (up - down) / (2 * pushes[:, None])


def jacobian_error(d0=0.2, capacity=1.5e8, flows=10, alpha=0.4, beta=0.3):
    """Largest distance of the finite differences from eq 8, relative; relative to alpha/d0 where eq 8 has a 0."""
    expected = np.array([[0, 0], [flows, -alpha / d0], [0, 0], [0, -beta / (flows * d0**2)]])
    scale = np.where(expected != 0, np.abs(expected), alpha / d0)
    return float((np.abs(slopes(d0, capacity, flows, alpha, beta) - expected) / scale).max())


def transfer(x, d0=0.2, capacity=1.5e8, flows=10, alpha=0.4, beta=0.3):
    """G at w d0 = x, put together from the slopes of the model in real units."""
    s = 1j * x / d0
    delayed, queue = slopes(d0, capacity, flows, alpha, beta)[[1, 3]]
    return -np.exp(-1j * x) * (delayed[1] + queue[1] * delayed[0] / s) / s


def unchanged(**other):
    """Whether G is the same, as a function of w d0, for other values of the arguments."""
    x = np.geomspace(0.01, 10, 200)
    return bool(np.allclose(transfer(x, **other), transfer(x), rtol=1e-6, atol=0))


def magnitude_error(alpha=0.4, beta=0.3):
    x = np.geomspace(0.01, 100, 400)
    g = np.exp(-1j * x) * (alpha * 1j * x + beta) / (1j * x) ** 2
    return float(np.abs(np.abs(g) / (np.sqrt(beta**2 + (x * alpha) ** 2) / x**2) - 1).max())


def phase(w, alpha, beta):
    """Phase of G(jw) in radians, without wrapping."""
    return -w + np.arctan(alpha * w / beta) - np.pi


def measure(figure):
    x = np.geomspace(1e-3, 10, 4000)
    half = np.linspace(1e-3, np.pi / 2, 200_001)
    pade, exact = alpha_range(0.3, stable_pade), alpha_range(0.3)
    open_loop = np.roots(np.polyadd(np.polymul([1, 0, 0], PADE[1]), 0.3 * PADE[0]))
    peak = solve(lambda x: 1 - 2 / (1 + (2 * x) ** 2), 1e-6, 1.5)  # derivative of the phase, alpha / beta = 2
    pairs = [zip(alpha_range(beta, stable_pade), alpha_range(beta), strict=True) for beta in BETAS]
    independent = {"N": {"flows": 1000}, "C": {"capacity": 1e10}, "d0": {"d0": 1.0}}
    return {
        "rcp-eq8-linearisation": [jacobian_error()],
        "rcp-fig32": [not (unchanged(flows=1000) and unchanged(capacity=1e10)), magnitude_error()],
        "rcp-fig33": [
            float((half**2 * np.cos(half)).max()),
            alpha_range(1e-4)[1],
            alpha_range(0.3),
            alpha_range(0.1),
            alpha_range(0.5),
            [name for name, other in independent.items() if unchanged(**other)],
        ],
        "rcp-fig34": [
            int((open_loop.real > 0).sum()),
            pade,
            [-1 / alpha for alpha in pade],
            exact,
            not unchanged(d0=1.0),
        ],
        "rcp-fig35": [
            [alpha_range(0.6, test) is not None for test in (stable, stable_pade)],
            [beta_limit(test) for test in (stable, stable_pade)],
        ],
        "rcp-fig36": [max(abs(p / e - 1) for pair in pairs for p, e in pair)],
        "rcp-fig47": [
            phase_crossing(0.2, 0.4) is not None,
            bool(np.all(np.diff(phase(x, 0.2, 0.4)) < 0)),
            stable_pade(0.2, 0.4) or stable(0.2, 0.4),
        ],
        "rcp-fig48": [phase_crossing(0.4, 0.2), float(gain_crossing(0.4, 0.2)), stable(0.4, 0.2), peak],
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    x = np.linspace(1e-3, np.pi / 2, 400)
    axes.plot(x * np.sin(x), x**2 * np.cos(x), label="exact delay: alpha = x sin x, beta = x² cos x")
    ends = np.array([alpha_range(beta, stable_pade) for beta in BETAS])
    axes.plot(ends, np.column_stack([BETAS, BETAS]), "o", color="black", markersize=3)
    axes.plot([], [], "o", color="black", markersize=3, label="Pade 2/2")
    axes.set(xlabel="alpha", ylabel="beta", title="RCP: linearly stable below the curve (figs 33, 36)")
    axes.legend()
