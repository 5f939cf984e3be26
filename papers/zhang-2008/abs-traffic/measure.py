"""Measures Adaptive Buffer Sizing (ABS), as printed and in logarithms, under four kinds of traffic.

The traffic is a changing load, web users, datagrams, or a mix of TCP variants.
"""

import numpy as np

from levelflow.measure import series, utilisation
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Noted
from levelflow.topology.bottleneck import LINK, identical_flows, single_bottleneck
from zhang_models.linux import LINUX_2_6_16, OBJECT, SESSION

C, FAST = 10e6, 100e6
RTT = (30, 70)
CHANGES, END_48 = (48, 96, 144, 192), 240
END_50, END_51 = 400, 400
SPAN = 10  # s, the length of a window for the loss
FIXED_49, FIXED_51 = (10, 100), (1, 20)  # packets, fixed buffers for comparison


def buffer(algorithm, utilisation, loss):
    """Returns a buffer-sizing algorithm with these targets, or a fixed number of packets."""
    return (
        f"{algorithm} packets"
        if isinstance(algorithm, int)
        else {algorithm: {"utilisation": utilisation, "loss": loss}}
    )


def changing(algorithm):
    """Fig 48: sixty flows. A third leaves at 48 s and returns at 144 s. Another leaves at 96 s and returns at 192 s."""
    network = single_bottleneck(C / 1e6, buffer(algorithm, 0.9, 0.02), END_48, "200 ms")
    identical_flows(network, 20, (30, 150), name="stay")
    for name, leaves, back in (("first", 48, 144), ("second", 96, 192)):
        identical_flows(network, 20, (30, 150), name=name).set(f"flow.{name}.stop", f"{leaves} s")
        identical_flows(network, 20, (30, 150), name=f"{name} again").set(f"flow.{name} again.start", f"{back} s")
    return network


def web(algorithm, end):
    """Fig 49: twenty long flows and twenty users. A user has a thousand pages, and so stays until the end."""
    network = identical_flows(
        single_bottleneck(C / 1e6, buffer(algorithm, 0.95, 0.01), end, "200 ms"), 20, RTT, name="ftp"
    )
    return users(network, 20)


def users(network, count):
    arrivals = {"times": ["0 s"] * count}
    rtt = {"uniform": [f"{x} ms" for x in RTT]}
    return network.flow(
        "http", "newreno", "A", "B", packet="1500 B", rtt=rtt, size=OBJECT, arrivals=arrivals, session=SESSION
    )


def mixed(algorithm):
    """Fig 50: twenty long flows, twenty web users, and twenty constant streams."""
    network = identical_flows(
        single_bottleneck(C / 1e6, buffer(algorithm, 0.9, 0.02), END_50, "200 ms"), 20, RTT, name="ftp"
    )
    return users(network, 20).flow(
        "udp", {"cbr": {"rate": "100 kb/s"}}, "A", "B", count=20, rtt="50 ms", start={"uniform": ["0 s", "1 s"]}
    )


def variants(algorithm, end):
    """Fig 51: ten flows of each of five variants."""
    network = single_bottleneck(FAST / 1e6, buffer(algorithm, 0.9, 0.02), end, "200 ms")
    for name in ("Reno", "HSTCP", "STCP", "HTCP", "Westwood"):
        identical_flows(network, 10, (40, 60), LINUX_2_6_16[name], name)
    return network


def buffers(result, window=series.ALL):
    return series.link_series(result.links, LINK, "buffer_packets", window)


def phases():
    edges = (0, *CHANGES, END_48)
    return [(end - 20, end) for end in edges[1:]]


def fig48(result):
    last = phases()
    means = [buffers(result, window)[1].mean() for window in last]
    changes = np.diff(means)
    overshoots = []
    for start, before, after in zip(CHANGES, means, means[1:], strict=False):
        went = buffers(result, (start, start + 48))[1]
        beyond = went.max() - after if after > before else after - went.min()
        overshoots.append(max(float(beyond / after), 0.0))
    return {
        "loss_rate[first 2 s after 48 s]": utilisation.use(result.links, LINK, C, (48, 50)).loss,
        "loss_rate[last 20 s of each phase]": [utilisation.use(result.links, LINK, C, window).loss for window in last],
        "buffer_change[after 48 and 96 s]": changes[:2].tolist(),
        "buffer_change[after 144 and 192 s]": changes[2:].tolist(),
        "buffer_cv": Noted(
            [utilisation.variation(result.links, LINK, window) for window in last],
            f"buffers of {', '.join(f'{mean:.0f}' for mean in means)} packets",
        ),
        "buffer_overshoot": overshoots,
    }


def fig49(result, end, webs):
    half = (end / 2, end)
    went = buffers(result, half)[1]
    return {
        "buffer_min_pkts": Noted(float(went.min()), webs),
        "buffer_max_pkts": float(went.max()),
        "buffer_range_over_mean": float(np.ptp(went) / went.mean()),
        **bound(utilisation.use(result.links, LINK, C, half)),
        "loss_rate": utilisation.use(result.links, LINK, C, half).loss,
    }


def bound(used):
    """Utilisation for two checks: of the printed value, and of the corrected value."""
    return dict.fromkeys(("utilisation[second half]", "utilisation[second half, the loss binds]"), used.utilisation)


def fig50(result):
    half = (END_50 / 2, END_50)
    used = utilisation.use(result.links, LINK, C, half)
    udp = series.mean(series.flow_series(result.flows, "udp", "throughput_bps", half)[1]) / C
    times = np.arange(SPAN, END_50 + 1, SPAN)
    loss = np.array([utilisation.use(result.links, LINK, C, (t - SPAN, t)).loss for t in times])
    settled = series.holds_from(times, np.abs(loss / 0.02 - 1) <= 0.2, 0.0)
    binds = "loss" if abs(used.loss / 0.02 - 1) < abs(1 - used.utilisation - 0.1) / 0.1 else "utilisation"
    strays = [
        f"{t - SPAN} to {t} s, {100 * p:.1f} %" for t, p in zip(times, loss, strict=True) if abs(p / 0.02 - 1) > 0.2
    ]
    stray = f"those that stray: {'; '.join(strays) or 'none'}"
    return {
        "loss_rate": used.loss,
        "active_constraint": binds,
        "udp_share_of_capacity": udp,
        "settling_time_s": Noted(float(settled), stray),
    }


def fixed(packets, result, capacity, end):
    """Describes the utilisation and the loss of the same traffic with a fixed buffer."""
    used = utilisation.use(result.links, LINK, capacity, (end / 2, end))
    return f"with a buffer of {packets} it uses {100 * used.utilisation:.0f} % and loses {100 * used.loss:.1f} %"


def ends(figure):
    return (1000, END_51) if figure.full else (400, 100)


def measure(figure):
    end_49, end_51 = ends(figure)
    went = figure.runs(
        [
            network
            for algorithm in ("abs", "abs_log")
            for network in (changing(algorithm), web(algorithm, end_49), mixed(algorithm), variants(algorithm, end_51))
        ]
        + [web(packets, end_49) for packets in FIXED_49]
        + [variants(packets, end_51) for packets in FIXED_51]
    )
    webs = "; ".join(fixed(n, result, C, end_49) for n, result in zip(FIXED_49, went[8:10], strict=True))
    mixes = "; ".join(fixed(n, result, FAST, end_51) for n, result in zip(FIXED_51, went[10:], strict=True))
    used = utilisation.use(went[3].links, LINK, FAST, (end_51 / 2, end_51))
    return {
        "abs-fig48": fig48(went[0]),
        "abs-fig49": fig49(went[1], end_49, webs),
        "abs-fig50": fig50(went[2]),
        "abs-fig51": {
            **bound(used),
            "utilisation[second half]": Noted(used.utilisation, f"its buffer is {used.buffer:.0f} packets; {mixes}"),
            "loss_rate[second half]": used.loss,
            "loss_rate[second half, near p*]": used.loss,
        },
    }


def plot(figure, canvas):
    canvas.set_size_inches(10, 8)
    titles = ("fig 48: flows leave and return", "fig 49: web users", "fig 50: and datagrams", "fig 51: five variants")
    for i, (axes, title) in enumerate(zip(canvas.subplots(2, 2).flat, titles, strict=True)):
        for result, label in ((figure.results[i], "abs, as printed"), (figure.results[i + 4], "abs_log")):
            axes.plot(*buffers(result), linewidth=1, label=label)
        axes.set(xlabel="time (s)", ylabel="buffer (packets)", title=title)
    canvas.axes[0].legend()
    end, _ = ends(figure)
    for check in ("abs-fig49[0]", "abs-fig49[1]"):
        draw_expected(canvas.axes[1], figure, check, (end / 2, end))
