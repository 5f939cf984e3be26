import numpy as np

from levelflow.measure import series
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws.ks import Users, best

UNIT = 0.02  # s
BITS = 256.0  # bits of a packet
SETTLED = (20.0, np.inf)  # s
LINKS = {"link1": 2e6, "link2": 1e6}  # bit/s
DELAYS = (2.0, 1.0, 1.0)  # time units, of users in (12) and (13)
USERS = {"user0": (0.5, ["link1", "link2"]), "user1": (0.0, ["link1"]), "user2": (1.0, ["link2"])}


def per_unit(bps):
    """Converts a rate to packets per time unit."""
    return bps * UNIT / BITS


def program(weights=1.0):
    """Returns the optimal rates of (6) to (8), packets per time unit."""
    routes = [[list(LINKS).index(link) for link in links] for _, links in USERS.values()]
    users = Users(weights=weights, exponents=[exponent for exponent, _ in USERS.values()])
    return best(routes, [per_unit(c) for c in LINKS.values()], users).rates


def felt_weights(result):
    """Returns the effective weights `(d/T)^(nu+1)` of users with the constant `d` and a round trip of `T`."""
    trips = [float(np.nanmean(column(result, user, "rtt_s")[1])) / UNIT for user in USERS]
    return [(d / trip) ** (nu + 1) for d, trip, (nu, _) in zip(DELAYS, trips, USERS.values(), strict=True)]


def column(result, user, name, window=SETTLED):
    return series.flow_series(result.flows, user, name, window)


def rates(result):
    return np.array([per_unit(series.mean(column(result, user, "sending_rate_bps")[1])) for user in USERS])


def errors(result, weights=1.0):
    return np.abs(rates(result) / program(weights) - 1)


def transient(result, user):
    """Returns the time at which the window first enters the range from its 5 % to its 95 % quantile."""
    low, high = np.quantile(column(result, user, "window_packets")[1], [0.05, 0.95])
    t, window = column(result, user, "window_packets", series.ALL)
    return float(t[(window >= low) & (window <= high)][0])


def total(rows, key, name, column):
    return float(series.select(rows, key, name, SETTLED)[column].sum())


def share_lost(result, link):
    """Returns the fraction of packets that the queue of a link drops."""
    arrivals = series.link_series(result.links, link, "arrival_bps", SETTLED)[1]
    return total(result.links, "link", link, "dropped") / (arrivals.sum() * UNIT / BITS)


def lost_over_proportional(result, user):
    sent = column(result, user, "sending_rate_bps")[1].sum() * UNIT / BITS
    expected = sent * sum(share_lost(result, link) for link in USERS[user][1])
    return total(result.flows, "flow", user, "lost") / expected


def measure(figure):
    tail = {f"link.{link}.queue": "drop_tail" for link in LINKS}
    aware = {"law.ks.kappa": 0.3, **{f"flow.{user}.law.ks.delay": 0.0 for user in USERS}}
    front, tail, aware = figure.runs([figure.scenario(), figure.scenario(tail), figure.scenario(aware)])
    return {
        "ks-exp1-sim": {
            **{f"rate_{user}": rate for user, rate in zip(USERS, rates(front), strict=True)},
            "rate_rel_error_to_nlp[each user]": list(errors(front)),
            "rate_rel_error_to_nlp[each user, d is the measured round trip]": list(errors(aware)),
            "rate_rel_error_to_nlp[each user, weights (d/T)^(nu+1) in the program]": list(
                errors(front, felt_weights(front))
            ),
        },
        "ks-exp1-fig2": {
            "mean_window_pkts": series.mean(column(front, "user0", "window_packets")[1]),
            "transient_s": max(transient(front, user) for user in USERS),
        },
        "ks-drop-front": {
            "rate_rel_error_to_nlp": Against(float(errors(front).mean()), float(errors(tail).mean())),
            "loss_share_over_rate_share": [lost_over_proportional(front, user) for user in USERS],
        },
    }


def plot(figure, canvas):
    for axes, (result, queue) in zip(
        canvas.subplots(2, 1, sharex=True),
        zip(figure.results[:2], ("drop-front", "drop-tail"), strict=True),
        strict=True,
    ):
        for user in USERS:
            t, window = column(result, user, "window_packets", (0.0, 100.0))
            axes.plot(t, window, lw=0.6, label=user)
        axes.set(ylabel="window (packets)", title=f"fig 2: {queue}")
        axes.legend(loc="upper right", ncols=3)
    axes.set(xlabel="time (s)")
    draw_expected(canvas.axes[0], figure, "ks-exp1-fig2[0]", (20, 100))
