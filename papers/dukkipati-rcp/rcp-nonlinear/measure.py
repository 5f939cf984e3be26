"""RCP's fluid model with a queue that is never negative (Dukkipati 2005, eq 4-7): phase portraits and stable region."""

from itertools import chain

import numpy as np

from dukkipati_models.onset import onsets
from levelflow.measure import grid
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws import rcp
from levelflow.theory.pictures.phase import phase_portrait
from levelflow.theory.pictures.regions import Tried, rcp_region
from levelflow.theory.stability.loops import Loop

LINK = rcp.Link()
PORTRAITS = {"rcp-fig41": (0.6, 0.2), "rcp-fig42": (0.6, 0.8), "rcp-fig43": (1.4, 0.8)}
MOVING = [start != rcp.EQUILIBRIUM for start in rcp.STARTS]  # a start at the equilibrium tests nothing
ROUND_TRIPS = 1000  # 200 s
#: Duration in round trips: first run; second run, if the first did not settle; second run in the quick tier.
SLOW, SLOWER, QUICK_SLOWER = 2000, 20_000, 6000
ALPHAS = grid(0.1, 2.0, 0.1)
BETAS = grid(0.1, 2.0, 0.1)
QUICK_BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.6, 2.0)
NAMED = (0.1, 0.4, 0.6, 0.8, 1.0, 1.6, 2.0)
SHORT, LONG = 0.01, (0.5, 1.0, 2.0)  # round trips, s
#: Other links that Dukkipati 2005 tried, by the parameter that differs.
OTHERS = {
    "RTT": [rcp.Link(d0=d0) for d0 in LONG],
    "C": [rcp.Link(capacity=c) for c in (5.6e3, 2.5e9, 10e9, 1000e9)],
    "N": [rcp.Link(flows=n) for n in (100, 1000, 5000)],
}


def portraits():
    """Fluid runs of the phase portraits: rate and queue by time, pair of gains, and start."""
    alpha, beta = (np.array(gains)[:, None] for gains in zip(*PORTRAITS.values(), strict=True))
    gamma, queue = np.array(rcp.STARTS).T
    start = gamma * LINK.capacity, queue * LINK.capacity * LINK.d0
    return rcp.fluid((alpha, beta), start, LINK, duration=ROUND_TRIPS)


def farthest(rates, queues):
    """Final state with the largest distance from the equilibrium."""
    ends = np.column_stack([rates[-1], queues[-1]])[MOVING]
    return ends[np.argmax(np.abs(ends - rcp.EQUILIBRIUM).max(axis=1))].tolist()


def oscillation(rate, part):
    """Largest |R N / C - 1| in one tenth of a run: the last tenth for `part` 1, the one before it for `part` 2."""
    tenth = rate.size // 10
    return float(np.abs(rate[-part * tenth :][:tenth] / rcp.EQUILIBRIUM[0] - 1).max())


def last_stable(row):
    return ALPHAS[int(np.flatnonzero(row)[-1])]


def settles_on(links, alphas, betas):
    """Returns True, per link and pair of gains, if the model settles from every start."""
    columns = [np.array([getattr(link, name) for link in links])[:, None] for name in vars(LINK)]
    return rcp.settles_from_anywhere(alphas, betas, rcp.Link(*columns))


def beside_other_links(alphas, betas, *, at_once):
    """Compares the stability of gains on other links with their stability on ``LINK``. Returns the parameters that
    change the result, and True if the short round trip does not change it.
    """
    links = [LINK, rcp.Link(d0=SHORT), *chain(*OTHERS.values())]
    # The whole plane on all links at once would exceed the memory.
    batches = [links] if at_once else [[link] for link in links]
    stable, short, *others = np.concatenate([settles_on(batch, alphas, betas) for batch in batches])
    names = [name for name, of_name in OTHERS.items() for _ in of_name]
    changed = {name for name, settled in zip(names, others, strict=True) if (settled != stable).any()}
    return changed, bool((short == stable).all())


def settles(alphas, betas, duration=SLOW):
    """Returns True, per pair of gains, if the model with an unlimited queue settles from every start."""
    return rcp.settles_from_anywhere(alphas, betas, duration=duration, buffer=np.inf)


def linear_unchanged(links):
    """True if, on each link, the linear model of eq 8 is stable 1 % inside the predicted range, and unstable 1 %
    outside.
    """
    low, high = rcp.alpha_range(0.3)
    return all(
        linear(link, edge * factor) == (low < edge * factor < high)
        for link in links
        for edge in (low, high)
        for factor in (0.99, 1.01)
    )


def linear(link, alpha, beta=0.3):
    slopes = rcp.slopes(alpha, beta, link)
    gains = [-slopes.rate_by_rate, -slopes.rate_by_queue * slopes.queue_by_rate]
    return Loop.rational(gains, [1, 0, 0], delay=link.d0).stable


def measure(figure):
    betas = BETAS if figure.full else QUICK_BETAS
    region = dict(zip(betas, settles([ALPHAS], np.array(betas)[:, None]), strict=True))
    figure.region = region
    if figure.full:
        probes = [(alpha, beta) for beta in betas for alpha in ALPHAS]
    else:
        ends = {beta: last_stable(region[beta]) for beta in NAMED}
        probes = [(alpha, beta) for beta, end in ends.items() for alpha in (end, round(end + 0.1, 1))]
    changed, short_same = beside_other_links(*np.array(probes).T, at_once=not figure.full)

    run = portraits()
    rates, queues = run.states[:, 0] / LINK.capacity, run.states[:, 1] / (LINK.capacity * LINK.d0)
    figure.portraits = rates, queues
    settled = [bool(settles[MOVING].all()) for settles in rcp.settles(run, LINK)]
    cycle = rates[:, 2, rcp.STARTS.index((0.01, 2.0))]

    inside = [
        (alpha, beta)
        for beta in betas
        if (ends := rcp.alpha_range(beta))
        for alpha in ALPHAS[1:]
        if ends[0] < alpha < ends[1]
    ]
    slow = [(alpha, beta) for alpha, beta in inside if not region[beta][ALPHAS.index(alpha)]]
    followed = SLOWER if figure.full else QUICK_SLOWER
    simulated = figure.simulated = onsets(figure)
    here = [name for name, links in OTHERS.items() if name not in changed and linear_unchanged(links)]
    return {
        "rcp-fig4": {
            "region_contains": not slow or bool(settles(*np.array(slow).T, duration=followed).all()),
            "stable": bool(region[1.0][0]),
            "stable_independent_of": here,
        },
        "rcp-fig41": {"converges": settled[0], "final_state": farthest(rates[:, 0], queues[:, 0])},
        "rcp-fig42": {"converges": settled[1], "final_state": farthest(rates[:, 1], queues[:, 1])},
        "rcp-fig43": {
            "converges": settled[2],
            "oscillation_amplitude": oscillation(cycle, 1),
            "limit_cycle": oscillation(cycle, 1) <= 1.01 * oscillation(cycle, 2),
        },
        "rcp-fig44": {
            "alpha_last_stable": [last_stable(region[beta]) for beta in NAMED],
            "region_same[over C, N; over d0 >= 0.5]": not changed,
            "region_same[over d0 = 0.01 s, which the text lists]": short_same,
            "matches_simulated_region": round(
                max(abs(last_stable(region[beta]) - (first - 0.1)) for beta, first in simulated.items()), 6
            ),
        },
        "rcp-caps-on-gains": {
            "alpha_max": rcp.alpha_range(1e-4)[1],
            "beta_max_linear": rcp.beta_limit(),
            "stable": bool(region[2.0][ALPHAS.index(0.5)]),
        },
    }


def plot(figure, canvas):
    left, middle, right = canvas.subfigures(1, 3, width_ratios=(1.3, 1, 1))
    rcp_region(Tried(ALPHAS, list(figure.region), list(figure.region.values())), figure.simulated, canvas=left)
    rates, queues = figure.portraits
    for part, case in ((middle, 1), (right, 2)):
        phase_portrait(rates[:, case], queues[:, case], rcp.EQUILIBRIUM, ("R / C", "q / (C d0)"), canvas=part)
        part.axes[0].set_title("alpha {}, beta {}".format(*list(PORTRAITS.values())[case]))
    draw_expected(left.axes[0], figure, "rcp-fig44[0]", [(beta, beta) for beta in NAMED], along="x")
