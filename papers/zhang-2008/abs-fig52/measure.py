"""Measures two links in series that each size their own buffer."""

from levelflow import Scenario
from levelflow.measure import series, utilisation
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Noted
from zhang_models.linux import OBJECT, SESSION

LINKS = {"A->B": 50e6, "B->C": 20e6}
TARGETS = {"A->B": (0.95, 0.01), "B->C": (0.75, 0.05)}
#: Fixed buffer of each link, packets. The link then reaches its target utilisation while the algorithm sizes the buffer
#: of the other link.
SMALL = {"A->B": 30, "B->C": 5}
SETS = {"one": ("A", "B", 1), "two": ("B", "C", 1), "both": ("A", "C", 2)}


def network(algorithm, end, fixed=None):
    """Returns the parking lot. Links in `fixed` have a fixed buffer instead of the algorithm."""
    scenario = Scenario("two-buffers", f"{end} s", sample="200 ms")
    for name, capacity in LINKS.items():
        u, p = TARGETS[name]
        buffer = (fixed or {}).get(name, {algorithm: {"utilisation": u, "loss": p}})
        start, to = name.split("->")
        back = {"buffer": "unlimited", "capacity": "10 Gb/s"}
        scenario.link(start, to, f"{capacity / 1e6:g} Mb/s", "5 ms", buffer=buffer, duplex=True, reverse=back)
    for name, (start, to, links) in SETS.items():
        rtt = {"uniform": [f"{30 * links} ms", f"{70 * links} ms"]}
        scenario.flow(f"ftp {name}", "newreno", start, to, count=20, packet="1500 B", rtt=rtt)
        users = {"arrivals": {"times": ["0 s"] * 10}, "session": SESSION, "size": OBJECT}
        scenario.flow(f"http {name}", "newreno", start, to, packet="1500 B", rtt=rtt, **users)
        begins = {"uniform": ["0 s", "1 s"]}
        scenario.flow(
            f"udp {name}", {"cbr": {"rate": "100 kb/s"}}, start, to, count=10, rtt=f"{50 * links} ms", start=begins
        )
    return scenario


def end(figure):
    return 400 if figure.full else 200


def uses(result, last):
    return {name: utilisation.use(result.links, name, c, (last / 2, last)) for name, c in LINKS.items()}


def measure(figure):
    last = end(figure)
    both, _ = figure.runs([network("abs", last), network("abs_log", last)])
    used = uses(both, last)
    alone = figure.runs(
        [network("abs", last, {other: f"{max(round(used[other].buffer), 1)} packets"}) for other in reversed(LINKS)]
    )
    moved = [
        abs(uses(result, last)[name].buffer / used[name].buffer - 1) for name, result in zip(LINKS, alone, strict=True)
    ]
    small = figure.runs([network("abs", last, {name: f"{packets} packets"}) for name, packets in SMALL.items()])
    first, second = (
        Noted(used[name].utilisation, remark(used[name], uses(result, last)[name]))
        for name, result in zip(LINKS, small, strict=True)
    )
    return {
        "abs-fig52": {
            "utilisation[link 1, second half]": first,
            "utilisation[link 2, second half]": second,
            "interaction": moved,
            "loss_rate": [used[name].loss for name in LINKS],
            "utilisation[links 1 and 2, the loss binds]": [used[name].utilisation for name in LINKS],
        }
    }


def remark(sized, small):
    """Describes the buffer of the algorithm compared with a small fixed one."""
    return (
        f"{sized.buffer:.0f} packets lose {100 * sized.loss:.1f} %; with {small.buffer:.0f}, and the other link sized, "
        f"it uses {100 * small.utilisation:.1f} % and loses {100 * small.loss:.1f} %"
    )


def plot(figure, canvas):
    last = end(figure)
    grid = canvas.subplots(2, 2, sharex=True)
    for column, name in enumerate(LINKS):
        for result, label in zip(figure.results, ("abs, as printed", "abs_log"), strict=False):
            grid[0, column].plot(*series.link_series(result.links, name, "buffer_packets"), label=label, linewidth=1)
            t, bps = series.link_series(result.links, name, "throughput_bps")
            smooth = series.window_means(t, bps / LINKS[name], 2.0)
            grid[1, column].plot([last * (i + 0.5) / len(smooth) for i in range(len(smooth))], smooth, linewidth=1)
        grid[0, column].set(title=name, ylabel="buffer (packets)", yscale="log")
        grid[1, column].set(xlabel="time (s)", ylabel="utilisation")
    grid[0, 0].legend()
    for column in (0, 1):
        draw_expected(grid[1, column], figure, f"abs-fig52[{column}]", (last / 2, last))
