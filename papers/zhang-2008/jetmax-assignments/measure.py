"""Who is bottlenecked where: dependency graphs, and the Jacobian of JetMax under an assignment."""

import numpy as np

TAU = 0.6
FLOWS, LINKS = 50, 10
RANDOM = 1


def dependencies(routes, bottleneck):
    """D[r, s]: flow s is unresponsive at the bottleneck of r, an edge s -> r."""
    return routes[:, bottleneck].T & (bottleneck[None, :] != bottleneck[:, None])


def removal_order(edges):
    """The flows in an order in which each has no edge from those after it; None if the graph has a cycle."""
    left, order = np.arange(len(edges)), []
    while left.size:
        free = ~edges[np.ix_(left, left)].any(axis=1)
        if not free.any():
            return None
        order.extend(left[free])
        left = left[~free]
    return np.array(order)


def acyclic(edges):
    return removal_order(edges) is not None


def spectral_radius(routes, bottleneck):
    """Of A = (1 - tau) I - tau U; in the order of removal a nilpotent U is triangular, so that no root is blurred."""
    counts = np.bincount(bottleneck, minlength=routes.shape[1])
    edges = dependencies(routes, bottleneck)
    matrix = (1 - TAU) * np.eye(len(edges)) - TAU * edges / counts[bottleneck][:, None]
    order = removal_order(edges)
    if order is not None:
        matrix = matrix[np.ix_(order, order)]
    triangular = np.array_equal(matrix, np.tril(matrix))
    return np.abs(matrix.diagonal() if triangular else np.linalg.eigvals(matrix)).max()


def network(rng, flows, links, shortest=2, longest=5):
    routes = np.zeros((flows, links), dtype=bool)
    for route in routes:
        route[rng.choice(links, rng.integers(shortest, longest + 1), replace=False)] = True
    return routes


def assignments(count):
    """Spectral radii of consistent assignments (one strict order of links for all) and of random inconsistent ones."""
    rng = np.random.default_rng(RANDOM)
    consistent, inconsistent = [], []
    for _ in range(count):
        routes = network(rng, FLOWS, LINKS)
        ordered = np.argmin(np.where(routes, rng.permutation(LINKS), LINKS), axis=1)
        anyhow = np.array([rng.choice(np.flatnonzero(route)) for route in routes])
        for bottleneck in (ordered, anyhow):
            group = consistent if acyclic(dependencies(routes, bottleneck)) else inconsistent
            group.append(spectral_radius(routes, bottleneck))
    return consistent, inconsistent


def example():
    """Fig 30: x1 crosses links 1 and 2, x2 link 2, x3 links 2 and 3, x4 link 3; bottlenecks 1, 2, 2, 3."""
    routes = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    edges = dependencies(routes, np.array([0, 1, 1, 2]))
    return [acyclic(edges), sorted(f"x{s + 1}->x{r + 1}" for r, s in np.argwhere(edges))]


def measure(figure):
    consistent, inconsistent = assignments(2000)
    return {
        "dependency-graph-fig30": example(),
        "jetmax-fig32": [
            [min(consistent), max(consistent)],
            float(np.mean(np.array(inconsistent) > 1)),
            max(inconsistent),
        ],
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    consistent, inconsistent = assignments(300)
    axes.plot(np.linspace(0, 1, len(inconsistent)), sorted(inconsistent), label="inconsistent assignments")
    axes.plot(np.linspace(0, 1, len(consistent)), sorted(consistent), label="consistent assignments")
    axes.axhline(1, color="grey", linewidth=1)
    axes.set(xlabel="share of the assignments", ylabel="spectral radius", title="JetMax, tau = 0.6 (fig 32)")
    axes.legend()
