from levelflow.claims.metrics import queues

LINK = "R1->R2"
FIXED = 1024e6  # bit/s, where round trips vary
DISCARD, OBSERVE = 20.0, 20.0  # s


def by_capacity(full):
    """Capacities, bit/s: 16 Mb/s to 16 Gb/s, or to 1 Gb/s in the quick tier."""
    return [16e6 * 2**k for k in range(11 if full else 7)]


def by_rtt(full):
    """Round trips, s: 10 to 2560 ms, or every other one in the quick tier."""
    return [0.01 * 2**k for k in range(0, 9, 1 if full else 2)]


def after(rtt):
    """When observation begins: start-up takes three round trips and six steps more, at least one each."""
    return max(DISCARD, 12 * rtt)


def length(full, begin):
    return max(60.0, begin + OBSERVE) if full else begin + OBSERVE


def of_capacity(figure, capacity):
    return figure.scenario({"link.1.capacity": f"{capacity:.0f} b/s", "duration": f"{length(figure.full, DISCARD)} s"})


def of_rtt(figure, rtt):
    text = f"{rtt} s"
    changes = {"link.1.capacity": f"{FIXED:.0f} b/s", "link.1.delay": "5 ms", "flow.forward.rtt": text}
    return figure.scenario(changes | {"flow.backward.rtt": text, "duration": f"{length(figure.full, after(rtt))} s"})


def utilisation(result, capacity, begin):
    return queues.utilisation(result.links, LINK, capacity, (begin, float("inf")))


def measured(results, full):
    """Capacity and result, and round trip and result, of every run."""
    capacities, rtts = by_capacity(full), by_rtt(full)
    split = len(capacities)
    return list(zip(capacities, results[:split], strict=True)), list(zip(rtts, results[split:], strict=True))


def measure(figure):
    scenarios = [of_capacity(figure, capacity) for capacity in by_capacity(figure.full)]
    scenarios += [of_rtt(figure, rtt) for rtt in by_rtt(figure.full)]
    over_c, over_rtt = measured(figure.runs(scenarios), figure.full)
    window = (DISCARD, float("inf"))
    at_c = [utilisation(result, capacity, DISCARD) for capacity, result in over_c]
    at_rtt = [utilisation(result, FIXED, after(rtt)) for rtt, result in over_rtt]
    peaks = [queues.overshoot_pct(result.links, LINK, capacity, window) for capacity, result in over_c]
    means = [mean for mean, _ in at_rtt]
    return {
        "jetmax-fig40a": [[mean for mean, _ in at_c], peaks, [variance for _, variance in at_c]],
        "jetmax-fig40b": [means, max(means) - min(means), [variance for _, variance in at_rtt]],
    }


def plot(figure, canvas):
    over_c, over_rtt = measured(figure.results, figure.full)
    left, right = canvas.subplots(1, 2, sharey=True)
    left.plot([c / 1e6 for c, _ in over_c], [utilisation(result, c, DISCARD)[0] for c, result in over_c], "o-")
    left.set(xscale="log", ylim=(0, 1.1), xlabel="capacity (Mb/s)", ylabel="utilisation", title="(a) 20 to 220 ms")
    right.plot(
        [1e3 * d for d, _ in over_rtt], [utilisation(result, FIXED, after(d))[0] for d, result in over_rtt], "o-"
    )
    right.set(xscale="log", xlabel="round trip (ms)", title="(b) 1024 Mb/s")
