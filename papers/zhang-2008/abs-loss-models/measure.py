"""Compares losses of queues: exact solutions of models, their simulations, and packet runs."""

import itertools

import numpy as np

from levelflow.measure import queues, series
from levelflow.reproduce import Against
from levelflow.reproduce.verdict import Noted
from levelflow.theory.queues.marking import mm1b_loss
from zhang_models import buffer_pictures as buffers
from zhang_models.loss import (
    Arrivals,
    interrupted_bernoulli,
    interrupted_bernoulli_loss,
    loss_from_unlimited,
    queue,
    tcp_loss,
)
from zhang_models.markov import evolve
from zhang_models.windows import Windows, exact, matrix, simulate

LINK = "A->B"
SIZE = 1 / (1 - np.exp(-1e-3))  # mean packet size, bytes: exponential sizes of mean 1000, rounded up
SERVED = 10e6 / 8 / SIZE  # packets/s
QUEUES = ((0.8, 5), (0.95, 10), (1.0, 10), (1.2, 3))  # pairs of load and places
PER_FLOW = 1e6  # bit/s
PIPE = PER_FLOW * 0.06 / 8000  # bandwidth-delay product per flow, packets
SETTLED = (30, 100)  # s
TEXT = (0, 16, 128, 512, 1024)
LITERAL = (0, 16, 128, 1024)
#: Trains of three packets, mostly one slot apart, sometimes after a long pause. Two states have no arrivals.
TRAINS = Arrivals(np.array([[0.9, 0.0, 0.1], [0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]), np.array([0, 0, 3]))


def falls(values):
    return bool((np.diff(values) < 0).all())


def mm1b(figure):
    """Compares the closed form, where it is defined, with the sum and with packet runs."""
    u, b = np.meshgrid(np.delete(np.linspace(0.5, 1.5, 101), 50), np.arange(51))
    ratio = (1 - u) * u**b / (1 - u ** (b + 1))
    total = np.array([1 / (x ** -np.arange(n + 1.0)).sum() for x, n in zip(u.ravel(), b.ravel(), strict=True)])
    places = np.arange(51)
    runs = figure.runs([poisson(figure, load, room) for load, room in QUEUES])
    seen = np.array([queues.loss_rate(run.summary, LINK) for run in runs])
    model = mm1b_loss(*np.array(QUEUES).T)
    return {
        "identity_rel_error": float(np.abs(ratio.ravel() / total - 1).max()),
        "p": Against(mm1b_loss(1.0, places), 1 / (places + 1)),
        "monotone_decreasing": [falls(mm1b_loss(load, places)) for load in (0.5, 0.8, 1.0, 1.2, 1.5)],
        "mc_rel_error": list(np.abs(seen / model - 1)),
    }


def poisson(figure, load, places):
    changes = {"flow.packets.arrivals.poisson": f"{load * SERVED} /s", f"link.{LINK}.buffer": f"{places} packets"}
    return figure.scenario(changes, name="poisson.toml")


def forgets(capacity, steps=2000):
    """Theorem 18: largest distance between the final distributions of chains with different initial states."""
    apart = []
    for buffer in (0, 4, 16):
        moves = matrix(Windows(2, capacity, buffer, largest=12))
        laws = np.zeros((3, moves.shape[0]))
        laws[0, 0] = laws[1, -1 - buffer] = laws[2, -1] = 1
        ends = [evolve(moves, law, steps) for law in laws]
        apart.append(max(np.abs(one - other).sum() / 2 for one, other in itertools.combinations(ends, 2)))
    return apart


def half(windows):
    """Half the window, rounded up, as in the footnote to eq 154."""
    return -(-windows // 2)


def chains(buffers, copies, **changes):
    return [simulate(Windows(10, 300, buffer, fall=half, **changes), copies=copies).loss for buffer in buffers]


def small(buffers, **changes):
    """Loss of two windows of at most 12 packets, solved exactly."""
    return [exact(Windows(2, 8, buffer, largest=12, fall=half, **changes)).loss for buffer in buffers]


def theorem_19(copies):
    grid = range(0, 33, 4)
    unaware = small(grid, reading="exogenous", chance=0.05), chains(TEXT, copies, reading="exogenous", chance=0.003)
    printed = small(grid)
    return {
        "monotone_decreasing[(i) exogenous arrivals]": [falls(losses) for losses in unaware],
        "loss_probability[(ii) AIMD, N = 10, C = 300: b = 0, 16, 128, 512, 1024]": chains(
            TEXT, copies, reading="self-clocked"
        ),
        "loss_probability[literal (154)-(155), same case: b = 0, 16, 128, 1024]": chains(LITERAL, copies),
        "monotone_decreasing[(154)-(155) as printed, solved exactly, b = 0, 4, ..., 32]": Noted(
            falls(printed),
            f"{100 * printed[0]:.2f} % at b = 0, {100 * printed[1]:.2f} % at 4, {100 * printed[-1]:.2f} % at 32",
        ),
    }


def with_silence(packets, draws):
    """Random chains with these numbers of packets per state. Most transitions lead to the first two states."""
    rng = np.random.default_rng(1)
    for _ in range(draws):
        moves = rng.random((len(packets), len(packets))) ** 3
        moves[:, :2] += 1.0
        yield Arrivals(moves / moves.sum(axis=1, keepdims=True), packets)


def error_of_158(arrivals):
    """Largest error of eq 158 over chains and buffers."""
    return max(
        abs(loss_from_unlimited(some, buffer) / queue(some, buffer).loss - 1)
        for some in arrivals
        if some.mean < 1
        for buffer in (1, 2, 4, 8, 16)
    )


def equation_158(draws):
    sources = [interrupted_bernoulli(4, 0.02, off) for off in (0.2, 0.1)]
    one, two = ([*sources, *with_silence(packets, draws)] for packets in ((0, 1, 1, 2, 4), (0, 0, 1, 2, 4)))
    formula, loss = loss_from_unlimited(TRAINS, 1), queue(TRAINS, 1).loss
    alike, unlike = error_of_158(one), error_of_158(two)
    return {
        "rel_error[exogenous D-BMAP arrivals, one service per slot, against direct solution]": Noted(
            max(alike, unlike, error_of_158([TRAINS])),
            f"the counterexample with b = 1: {formula:.4f} by eq 158, {loss:.4f} exactly; "
            f"random chains with two silent states: off by up to {100 * unlike:.1f} %",
        ),
        "rel_error[all silent states go on alike]": alike,
    }


def reno(figure):
    """Compares losses of Reno with eq 159, for numbers of flows (rows) and buffers."""
    flows, parts = np.array([10, 30, 100]), np.array([1 / 3, 1, 2])
    grid = [(n, round(n * PIPE * part)) for n in flows for part in parts]
    runs = figure.runs([tcp(figure, n, buffer) for n, buffer in grid])
    seen = [lost(run, n) for run, (n, _) in zip(runs, grid, strict=True)]
    model = [float(tcp_loss(n, n * PIPE, buffer)) for n, buffer in grid]
    return {
        "loss_rate": Against(seen, model),
        "monotone_decreasing": [falls(side) for values in (seen, model) for side in np.reshape(values, (3, 3))],
    }


def tcp(figure, flows, buffer):
    changes = {
        f"link.{LINK}.capacity": f"{flows * PER_FLOW} b/s",
        f"link.{LINK}.buffer": f"{buffer} packets",
        "flow.x.count": int(flows),
    }
    return figure.scenario(changes, name="tcp.toml")


def lost(run, flows):
    t, arriving = series.link_series(run.links, LINK, "arrival_bps", SETTLED)
    packets = arriving.sum() * (t[1] - t[0]) / 8000
    return queues.drop_count(run.links, [LINK], SETTLED) / packets


def as_printed(places):
    """Eq 153 as printed, divided by the mean number of cells in the queue."""
    sources = interrupted_bernoulli(4, 0.02, 0.08)
    held = queue(sources, places - 1)
    # Packets that arrive in a slot find the queue that remained at the end of the previous slot.
    return held.loss * sources.mean / float(np.arange(places) @ held.law.sum(axis=1))


def measure(figure):
    places = (4, 8, 16, 32)
    cells = [interrupted_bernoulli_loss(4, 0.02, 0.08, b) for b in range(1, 33)]
    return {
        "abs-mm1b": mm1b(figure),
        "abs-ibp": {
            "loss_probability": [cells[b - 1] for b in places],
            "monotone_decreasing": falls(cells),
            "loss_probability_as_printed": Against([as_printed(b) for b in places], [cells[b - 1] for b in places]),
        },
        "abs-thm18": {
            "total_variation_two_starts[small chains N = 2, W_max = 12, C = 8]": forgets(8),
            "total_variation_two_starts[N = 2, W_max = 12, C = 24]": forgets(24),
            "total_variation_two_starts[N = 2, W_max = 12, C = 20, 25]": [x for c in (20, 25) for x in forgets(c)],
        },
        "abs-thm19": theorem_19(figure.draws(200, quick=50)),
        "abs-eq158": equation_158(figure.draws(20, quick=12)),
        "abs-eq159-160": reno(figure),
    }


def plot(figure, canvas):
    buffers.loss_against_buffer(canvas=canvas)
