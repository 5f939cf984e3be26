import numpy as np

from levelflow.measure import queues, series
from levelflow.reproduce import Against, Seeds, over_seeds
from levelflow.reproduce.drawing import draw_expected

LINKS = {"link1": 2e6, "link2": 1e6}  # bit/s
CLASSES = {1: ("n0", "n2"), 2: ("n0", "n1"), 3: ("n1", "n2")}
UTILITIES = ("log", "power")
BITS = 256.0  # bits of a packet
USERS = 50  # per class and utility
START, HALF, END = 20.0, 100.0, 200.0  # s


def add_users(scenario):
    for number, (source, target) in CLASSES.items():
        for utility in UTILITIES:
            scenario.flow(
                f"{utility}{number}",
                {"ks": {"utility": utility}},
                source,
                target,
                packet="32 B",
                ack="16 B",
                count=USERS,
                start={"uniform": ["0 s", "1 s"]},
            )


def level(result, link, window=series.ALL):
    """Returns times, and marking levels relative to the capacity."""
    t, bps = series.link_series(result.links, link, "signal", window)
    return t, bps / LINKS[link]


def second_half(result, link):
    return level(result, link, (HALF, END))[1]


def settled_at(result, link):
    """Returns the time from which the marking level differs from its final mean by at most 2 % of the capacity."""
    t, values = level(result, link)
    far = t[np.abs(values - second_half(result, link).mean()) > 0.02]
    return float(far[-1]) if far.size else 0.0


def load(result, link):
    arrival = series.link_series(result.links, link, "arrival_bps", (HALF, END))[1]
    return series.mean(arrival) / LINKS[link]


def column(result, name, quantity, window=(HALF, END)):
    return series.flow_series(result.flows, name, quantity, window)


def rate(result, name):
    """Returns the rate per user, packets per second."""
    return series.mean(column(result, name, "sending_rate_bps")[1]) / USERS / BITS


def window(result, name, span):
    """Returns the window per user, packets: rate times round trip."""
    t, bps = column(result, name, "law_rate_bps", span)
    return t, bps * column(result, name, "rtt_s", span)[1] / USERS / BITS


def ranks(result):
    rates = {(u, n): rate(result, f"{u}{n}") for u in UTILITIES for n in CLASSES}
    slower = [rates[u, 1] < rates[u, n] for u in UTILITIES for n in (2, 3)]
    return slower + [rates["log", n] > rates["power", n] for n in CLASSES]


def is_stable(result, name):
    means = series.window_means(*window(result, name, (HALF, END)), 10.0)
    return bool(np.all(np.abs(means / means.mean() - 1) <= 0.2))


def levels(result):
    return {
        "settling_time_s": max(settled_at(result, link) for link in LINKS),
        "c_tilde_std_over_c": [float(second_half(result, link).std()) for link in LINKS],
        "c_tilde_over_c": [float(second_half(result, link).mean()) for link in LINKS],
        "load_over_capacity": [load(result, link) for link in LINKS],
    }


def drops(results):
    return Seeds([queues.drop_count(result.links, list(LINKS), (START, END)) for result in results])


def below_capacity(scenario):
    """Adds the users, and sets a target of 0.98 C instead of C."""
    add_users(scenario)
    for link in LINKS:
        for key in ("gamma", "level"):
            scenario.set(f"link.{link}.queue.virtual_queue.{key}", 0.98)


def measure(figure):
    seeds = figure.seeds(3, quick=1)
    results = figure.runs([figure.scenario(add_users, seed=seed) for seed in seeds])
    below = figure.runs([figure.scenario(below_capacity, seed=seed) for seed in seeds])
    found = [rise for result in results for rise in ranks(result)]
    stable = [all(is_stable(result, f"{u}{n}") for u in UTILITIES for n in CLASSES) for result in results]
    return {
        "ks-exp3-fig4-5": over_seeds(map(levels, results)),
        "ks-exp3-no-loss": {
            "drops_total[after the first 20 s]": drops(results),
            "drops_total[after the first 20 s, gamma = 0.98]": drops(below),
        },
        "ks-exp3-fig6": {"mean_window_rank": Against(found, [True] * len(found)), "stable": Seeds(stable)},
    }


def plot(figure, canvas):
    result = figure.results[0]
    above, below = canvas.subplots(2, 1, sharex=True)
    for link in LINKS:
        above.plot(*level(result, link), lw=0.8, label=link)
    above.set(ylabel="C~/C", title="figs 4, 5: marking levels")
    for number in CLASSES:
        for utility in UTILITIES:
            below.plot(*window(result, f"{utility}{number}", series.ALL), lw=0.6, label=f"class {number}, {utility}")
    below.set(xlabel="time (s)", ylabel="mean window (packets)", title="fig 6")
    above.legend()
    below.legend(ncols=3)
    draw_expected(above, figure, "ks-exp3-fig4-5[0]", along="x")
    draw_expected(above, figure, "ks-exp3-fig4-5[2]", (HALF, END))
