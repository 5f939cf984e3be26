"""Verifies the equations of Adaptive Buffer Sizing (ABS) and Adaptive DropTail (ADT) in the engine.

Also runs ABS on a link that is never full. ABS has a buffer b_p for the target of the loss rate p, and a buffer b_u for
the target of the utilisation u.
"""

import numpy as np

from levelflow.laws import BufferAlgorithm
from levelflow.measure import series
from levelflow.reproduce.verdict import Against
from levelflow.theory.queues.buffers import adaptive_drop_tail, largest_gain
from levelflow.topology.bottleneck import LINK, single_bottleneck
from zhang_models.adaptive_buffer import Plant, Settings, measured, run, size, start, update

C, INTERVAL, GAIN = 10e6, 0.2, 3000.0
FULL = int(C * INTERVAL / 8)  # bytes in an interval
LARGEST = 10_000
PACKET = 1000  # bytes
END = 200.0  # s
WAYS = ("none", "signed", "absolute")


def step():
    """Change of b_p in an interval whose loss rate exceeds its target by 0.05."""
    algorithm = BufferAlgorithm("abs", C, {"utilisation": 0, "loss": 0.02})
    before = algorithm.packets
    return algorithm.close(INTERVAL, 93_000, 7_000, 93_000) - before


def at_rest(target=0.02):
    plant = Plant(loss=lambda b: 1 / (b + 1))
    return run(Settings(loss=target), plant, [1.0, 20.0, 500.0], 3000).losses[-1].tolist(), [target] * 3


def combined(steps=1000):
    """Returns "max" if the engine always uses the larger buffer of two controllers, over intervals of random load."""
    rng = np.random.default_rng(1)
    both, use, loss = (
        BufferAlgorithm("abs", C, {"utilisation": u, "loss": p}) for u, p in ((0.95, 0.02), (0.95, 0), (0, 0.02))
    )
    for sent, dropped in zip(rng.integers(0, FULL, steps), rng.integers(0, FULL // 20, steps), strict=True):
        b, b_u, b_p = (algorithm.close(INTERVAL, int(sent), int(dropped), int(sent)) for algorithm in (both, use, loss))
        if b != max(b_u, b_p):
            return "other"
    return "max"


def half_full(damping, gaps):
    """A half-used link, with packets at equal or at random intervals."""
    words = {"damping": damping, "loss": 0, "largest": f"{LARGEST} packets"}
    network = single_bottleneck(C / 1e6, {"abs": words}, END, "200 ms")
    if gaps == "equal":
        return network.flow("x", {"cbr": {"rate": "5 Mb/s"}}, "A", "B")
    return network.flow(
        "x", {"cbr": {"rate": "5 Mb/s"}}, "A", "B", size="1 packet", arrivals={"poisson": "625 /s"}, reliable=False
    )


def buffers(result):
    return series.link_series(result.links, LINK, "buffer_packets")


def steps(admitted, dropped):
    """Changes of b_u by eq 163, and of b_p by eq 162, in one interval of the engine's algorithm."""
    wide = {"initial": "1000 packets"}
    use = BufferAlgorithm("abs", C, {"utilisation": 0.5, "loss": 0, "damping": "none", **wide})
    loss = BufferAlgorithm("abs", C, {"utilisation": 0, "loss": 0.5, **wide})
    return [algorithm.close(INTERVAL, admitted, dropped, admitted) - 1000 for algorithm in (use, loss)]


def loss_seen(admitted, dropped):
    """Loss that the algorithm computed from its counters, inferred from the change of b_p."""
    return steps(admitted, dropped)[1] / (GAIN * INTERVAL) + 0.5


def overloaded():
    """A link with a load of twice its capacity. Its buffer follows only u, by eq 163."""
    words = {"utilisation": 0.99, "loss": 0, "damping": "none", "initial": "5000 packets"}
    return single_bottleneck(C / 1e6, {"abs": words}, 100, "200 ms").flow("x", {"cbr": {"rate": "20 Mb/s"}}, "A", "B")


def use_seen(result):
    """Mean utilisation that the algorithm computed from its counters, inferred from the change of b_u."""
    t, b = buffers(result)
    return float(0.99 + (5000 - b[-1]) / (GAIN * t[-1]))


class Counted(float):
    """A number that counts the operations on itself and other such numbers."""

    done = 0

    def _op(self, name, other):
        Counted.done += 1
        return Counted(getattr(float, name)(self, float(other)))


for name in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"):
    setattr(Counted, name, lambda self, other, name=name: self._op(name, other))


def watched():
    """A link whose algorithm drops packets. The sampling period is so short that no period contains two drops."""
    words = {"damping": "none", "initial": "30 packets"}
    return single_bottleneck(C / 1e6, {"abs": words}, 4, "100 us").flow("x", {"cbr": {"rate": "11.3 Mb/s"}}, "A", "B")


def additions(result):
    """Additions per admitted and per dropped packet, counted in a transcription of the engine's algorithm.

    The transcription processes each packet, and must set the same buffers as the engine. It reads the growth of the
    queue at the end of an interval.
    """
    rows = series.select(result.links, "link", LINK)
    columns = (rows[name].to_list() for name in ("t", "arrival_bps", "dropped", "backlog_bytes", "buffer_packets"))
    setup = Settings(0.98, 0.02, damping="none")
    state, end, queued = start(setup, 30.0), INTERVAL, 0
    s1, s2, done = Counted(0), Counted(0), {False: [], True: []}
    for t, came, dropped, queue, packets in zip(*columns, strict=True):
        if came > 0:
            before = Counted.done
            s1, s2 = (s1, s2 + PACKET) if dropped else (s1 + PACKET, s2)
            done[dropped > 0].append(Counted.done - before)
        if t > end - 1e-9:
            loss, _ = measured(s1, s2, C, INTERVAL)
            _, used = measured(s1 - (queue - queued), s2, C, INTERVAL)
            state = update(setup, state, used, loss)
            if packets != int(size(setup, state)):
                return "other than the engine's"
            s1, s2, queued, end = Counted(0), Counted(0), queue, end + INTERVAL
    return [float(np.mean(done[lost])) for lost in (False, True)]


def operations():
    """Number of operations and comparisons per interval, for eq. 162, 164, 165, 170, 171 and the two measurements.

    Operations are counted in a transcription, whose result must equal the result of the engine's algorithm.
    """
    n = [Counted(x) for x in (228_000, 12_000, 0.9, GAIN, GAIN, 100, 100, 0.98, 0.02, INTERVAL, C / 8, 1.0)]
    s1, s2, before, gain_u, gain_p, b_u, b_p, u_target, p_target, time, capacity, step = n
    Counted.done = 0
    p, u = s2 / (s1 + s2), s1 / (capacity * time)
    error_u, error_p = u - u_target, p - p_target
    gain_u, gain_p = gain_u - step * time * error_u, gain_p + step * time * error_p
    b_u, b_p = b_u - gain_u * time * (u - before) * error_u, b_p + gain_p * time * error_p
    bounds = 2 + 4  # bounds of gains above their floor, and of buffers within their range
    done = Counted.done + bounds + 1  # and one comparison for the larger of the two buffers
    both, use = (BufferAlgorithm("abs", C, {"training": "fraction", "utilisation": 0.98, "loss": p}) for p in (0.02, 0))
    for algorithm, wanted in ((both, max(b_u, b_p)), (use, b_u)):
        algorithm.close(INTERVAL, 245_000, 5_000, 225_000)  # sets u to 0.9, with p on target
        if abs(algorithm.close(INTERVAL, 228_000, 12_000, 228_000) - wanted) > 1e-9:
            return "other than the engine's"
    return done


def comes_to_rest(part):
    """True if ADT converges on a plant.

    Its gain is `part` times the largest stable gain at the plant's steepest point.
    """
    plant = Plant(lambda b: 1 - 0.5 * np.exp(-b / 40))
    steepest = 0.5 / 40
    target = 1 - 0.5 * np.exp(-1 / 40)  # where b is 1, at the steepest end of the curve
    b, gain = np.array([3.0]), part * largest_gain(steepest)
    went = []
    for _ in range(3000):
        b = np.maximum(adaptive_drop_tail(b, plant.utilisation(b), target, gain), 0.0)
        went.append(float(b[0]))
    return bool(np.ptp(went[-100:]) < 1e-3)


def same_as_undamped(steps=500):
    """Compares ADT with eq. 163, for K = I_u T. Returns the result as text."""
    rng = np.random.default_rng(2)
    adt = BufferAlgorithm("adt", C, {"utilisation": 0.9, "gain": GAIN * INTERVAL})
    abs_u = BufferAlgorithm("abs", C, {"utilisation": 0.9, "loss": 0, "damping": "none"})
    sent = [int(x) for x in rng.integers(0, FULL, steps)]
    alike = all(abs(adt.close(INTERVAL, x, 0, x) - abs_u.close(INTERVAL, x, 0, x)) < 1e-6 for x in sent)
    return "eq (163) with K = I_u T" if alike else "other"


def measure(figure):
    networks = [half_full(way, gaps) for gaps in ("equal", "random") for way in WAYS]
    results = figure.runs([*networks, overloaded(), watched()])
    went = {way: buffers(result)[1] for way, result in zip(WAYS, results, strict=False)}
    return {
        "abs-eq162-165": {"step_pkts": step(), "loss_at_rest": Against(*at_rest()), "combined": combined()},
        "abs-damping-nonbottleneck": {
            "buffer_final_pkts": Against(float(went["none"][-1]), LARGEST),
            "buffer_drift_pkts": float(np.ptp(went["signed"])),
        },
        "abs-counters": {
            "loss_rate_measured": loss_seen(9_000, 1_000),
            "utilisation_measured": use_seen(results[-2]),
            "loss_rate_as_printed": 9_000 / (9_000 + 1_000),
            "utilisation_as_printed": series.mean(series.link_series(results[-2].links, LINK, "arrival_bps")[1]) / C,
            "per_packet_operations": additions(results[-1]),
        },
        "abs-overhead": {"per_packet_operations": additions(results[-1]), "per_interval_operations": operations()},
        "rule-adt": {
            "stable[K < 2/k2 on a monotone plant]": comes_to_rest(0.95),
            "stable[K > 2/k2 near the steepest point]": comes_to_rest(1.05),
            "same_form_as": same_as_undamped(),
        },
    }


def plot(figure, canvas):
    results = figure.results
    for axes, rows, gaps in zip(
        canvas.subplots(1, 2, sharey=True), (results[:3], results[3:6]), ("equal", "random"), strict=True
    ):
        for way, result in zip(WAYS, rows, strict=True):
            axes.plot(*buffers(result), label=f"damping: {way}")
        axes.set(xlabel="time (s)", yscale="log", title=f"half full, packets at {gaps} times")
    canvas.axes[0].set_ylabel("buffer (packets)")
    canvas.axes[0].legend()
