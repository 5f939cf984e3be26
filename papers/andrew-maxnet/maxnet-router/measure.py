"""The router's price and what packets carry, one interval or packet at a time."""

import re
from itertools import count, permutations

import numpy as np

from levelflow.laws import Router, Sender
from levelflow.library import laws
from levelflow.measure import series
from levelflow.reproduce import Against

X_MAX, X_MIN, T = 1e15, 32.0, 0.4  # bit/s, bit/s, s
MU, DT, T0 = 0.9, 0.001, 0.13  # s
GIGABIT = 1e9  # bit/s
LSB = 2.0**-19  # s
LINKS = (400e6, 10e6, 622e6)  # bit/s
RATES = X_MIN * 10 ** np.arange(0, 13.5, 0.1)  # bit/s, to 0.8 Pb/s
#: What MaxNet and XCP have in front of their fields, bytes: kind and length; protocol, length, version and format.
PREAMBLE = {"maxnet": 2, "xcp": 4}


def measure(figure):
    link = series.link_series(figure.run().links, "A->B", "arrival_bps", (16.0, 20.0))[1]
    idle = Router("maxnet", GIGABIT).arrive(1500, fresh())
    return {
        "maxnet-eq2-max-price": {
            "echoed_price": Against(price(through(LINKS)), max(Router("maxnet", c).signal for c in LINKS)),
            "order_of_links_matters": len({demand(through(order)) for order in permutations(LINKS)}) > 1,
        },
        "maxnet-eq3-price": {
            "price_rate[y = C, mu = 0.9]": price_step(1.0) / DT,
            "price_rate[y = 0.54 C, mu = 0.94]": price_step(0.54, mu=0.94) / DT,
            "equilibrium_load": Against(series.mean(link), MU * 100e6),
        },
        "maxnet-pmin": {
            "p_min_s[1 Gb/s]": Router("maxnet", GIGABIT).signal,
            "p_min_s[622 Mb/s]": Router("maxnet", 622e6).signal,
            "p_min_s[400 Mb/s]": Router("maxnet", 400e6).signal,
            "rate_at_floor_over_c": demand(idle) / GIGABIT,
        },
        "maxnet-router-pseudocode": {
            "price_step_s[no arrivals, Q = 0, mu = 0.9]": price_step(0.0),
            "price_step_s[saturated link with queue Q]": Against(
                price_step(1.0, queue=10**6), DT * (1 - MU + 8e6 / (T0 * GIGABIT))
            ),
            "per_packet_operations": operations("maxnet"),
        },
        "maxnet-price-encoding": encoding(),
        "maxnet-option-format": option(),
        "maxnet-overheads": {
            "router_ops_per_packet[MaxNet]": operations("maxnet"),
            "router_ops_per_packet[XCP]": operations("xcp"),
            "header_bytes": [law(name)["header_bytes"] - preamble for name, preamble in PREAMBLE.items()],
        },
    }


def law(name):
    return next(law for law in laws() if law["name"] == name)


def operations(name):
    """Operations per packet at a router."""
    return sum(int(number) for number in re.findall(r"\d+", law(name)["cost"]))


def fresh():
    """The header of a data packet as sent."""
    return Sender("maxnet").send(0.0, 0, 1500)


def coded(code):
    """A header with this price field."""
    return fresh()[:5] + code.to_bytes(3, "big")


def through(capacities):
    """A header after idle links of these capacities."""
    header = fresh()
    for capacity in capacities:
        header = Router("maxnet", capacity).arrive(1500, header)
    return header


def demand(header):
    """The rate of a flow whose first ACK echoes the price in a header, bit/s."""
    sender = Sender("maxnet", packet_bytes=1)
    sender.feedback(1.0, 0, 0.1, header, "data")
    return sender.proposal_bps


def price(header):
    """The price that a sender sees, s."""
    return T * np.log(X_MAX / demand(header))


def price_step(load, queue=0, mu=MU):
    """Change of the price of a 1 Gb/s link in 1 ms with this load (over C) and queue (bytes)."""
    router = Router("maxnet", GIGABIT, {"mu": mu})
    router.close(1.0, 10**8)  # lifts the price off its floor
    before = router.signal
    router.arrive(round(load * GIGABIT * DT / 8))
    router.close(DT, queue)
    return router.signal - before


def encoding():
    slowest = int.from_bytes(through([X_MIN])[5:], "big")
    steps = {code: demand(coded(code)) / demand(coded(code + 1)) - 1 for code in range(1, slowest, 9973)}
    errors = [abs(demand(through([rate])) / rate - 1) for rate in RATES]
    return {
        "integer_bits": int(slowest * LSB).bit_length(),
        "fraction_bits": next(bits for bits in count() if np.expm1(2.0**-bits / T) <= 1e-5),
        "price_at_32bps_s": slowest * LSB,
        "relative_rate_step[18 fraction bits]": float(np.expm1(2.0**-18 / T)),
        "relative_rate_step[19 fraction bits]": float(np.median(list(steps.values()))),
        "relative_rate_step[all rates from 32 b/s to 1 Pb/s]": max(steps.values()),
        "round_trip_rel_error": max(errors),
    }


def option():
    before = fresh()[:2] + b"\x12\x34\x56" + fresh()[5:]
    after = Router("maxnet", GIGABIT).arrive(1500, before)
    return {
        "option_bytes": len(after),
        "payload_bytes": len(after) - 2,
        "echo_changed_by_router": after[2:5] != before[2:5],
        "price_changed_by_router": after[5:] != before[5:],
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    axes.loglog(RATES, [abs(demand(through([rate])) / rate - 1) for rate in RATES], ".")
    axes.axhline(1e-5, linestyle="--", color="k")
    axes.set(xlabel="rate (b/s)", ylabel="relative error of the coded rate", title="24-bit prices")
