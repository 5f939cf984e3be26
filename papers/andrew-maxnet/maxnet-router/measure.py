"""Price of the router after single intervals, and headers of single packets."""

import operator
from collections import Counter
from itertools import permutations
from typing import ClassVar

import numpy as np

from levelflow.laws import Router, Sender
from levelflow.library import laws
from levelflow.measure import series
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected

X_MAX, X_MIN, T = 1e15, 32.0, 0.4  # bit/s, bit/s, s
MU, DT, T0 = 0.9, 0.001, 0.13  # s
GIGABIT = 1e9  # bit/s
FRACTION_BITS = 19
LSB = 2.0**-FRACTION_BITS  # s
LINKS = (400e6, 10e6, 622e6)  # bit/s
RATES = X_MIN * 10 ** np.arange(0, 13.5, 0.1)  # bit/s, to 0.8 Pb/s


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
            "p_min_s[1 Gb/s]": idle_price(GIGABIT),
            "p_min_s[622 Mb/s]": idle_price(622e6),
            "p_min_s[400 Mb/s]": idle_price(400e6),
            "rate_at_floor_over_c": demand(idle) / GIGABIT,
        },
        "maxnet-router-pseudocode": {
            "price_step_s[no arrivals, Q = 0, mu = 0.9]": price_step(0.0),
            "price_step_s[saturated link with queue Q]": Against(
                price_step(1.0, queue=10**6), DT * (1 - MU + 8e6 / (T0 * GIGABIT))
            ),
            "per_packet_operations": operations(maxnet_packet, MAXNET),
            "virtual_load_over_c": Against(printed_load(10**6), 1 + 8e6 / (T0 * GIGABIT)),
        },
        "maxnet-price-encoding": encoding(),
        "maxnet-option-format": option(),
        "maxnet-overheads": {
            "router_ops_per_packet[MaxNet]": operations(maxnet_packet, MAXNET),
            "router_ops_per_packet[XCP, the router of 2002]": operations(xcp_packet, XCP),
            "header_bytes": [signal_bytes(name) for name in ("maxnet", "xcp")],
        },
    }


class Counted:
    """Number that counts the operations on itself."""

    done: ClassVar[Counter] = Counter()

    def __init__(self, value):
        self.value = value

    def _did(self, name, function, other):
        Counted.done[name] += 1
        return function(self.value, other.value)

    def __add__(self, other):
        return Counted(self._did("addition", operator.add, other))

    def __sub__(self, other):
        return Counted(self._did("addition", operator.sub, other))

    def __mul__(self, other):
        return Counted(self._did("multiplication", operator.mul, other))

    def __gt__(self, other):
        return self._did("comparison", operator.gt, other)


#: Router with a larger price than the packet.
MAXNET = {"y_dt": 0.0, "p": 6.0, "size": 1500.0, "price": 5.5}
#: Router that grants less than the packet requests, and still has capacity to grant.
XCP = {
    "input_traffic": 0.0,
    "sum_gap": 0.0,
    "sum_rtt_by_gap": 0.0,
    "positive": 40.0,
    "negative": 0.02,
    "left_to_give": 1e5,
    "left_to_take": 1e4,
    "none": 0.0,
    "size": 1500.0,
    "rtt": 0.1,
    "gap": 0.01,
    "feedback": 1e9,
}


def maxnet_packet(at):
    """Figure 3, step 2: processing of an arriving packet."""
    at["y_dt"] = at["y_dt"] + at["size"]
    if at["p"] > at["price"]:  # noqa: PLR1730
        at["price"] = at["p"]


def xcp_packet(at):
    """Processes a packet like XCP's router of 2002, at arrival and departure. The header has `gap = H_rtt s/H_cwnd`."""
    at["input_traffic"] = at["input_traffic"] + at["size"]
    at["sum_gap"] = at["sum_gap"] + at["gap"]
    at["sum_rtt_by_gap"] = at["sum_rtt_by_gap"] + at["rtt"] * at["gap"]
    give, take = at["positive"] * at["gap"], at["negative"] * at["size"]
    feedback = give - take
    if at["feedback"] > feedback:
        at["feedback"] = feedback
        at["left_to_give"], at["left_to_take"] = at["left_to_give"] - give, at["left_to_take"] - take
    for left, rate in (("left_to_give", "positive"), ("left_to_take", "negative")):
        if not at[left] > at["none"]:
            at[rate] = at["none"]


def operations(packet, state):
    """Counts additions, multiplications and comparisons of the printed pseudocode for one packet."""
    Counted.done.clear()
    packet({name: Counted(value) for name, value in state.items()})
    return Counted.done.total()


def printed_load(queue):
    """Returns `y_dt + Q/T0` of figure 3, the relative load, for a full link with this queue in bytes."""
    at = {"y_dt": 0.0, "p": 6.0, "size": GIGABIT * DT, "price": 5.5}
    maxnet_packet(at)
    return (at["y_dt"] + 8 * queue / T0) / (GIGABIT * DT)


def signal_bytes(name):
    """Returns the number of header bytes in fields that may have more than one value."""
    header = next(law for law in laws() if law["name"] == name)["header"]
    return sum(field["bytes"] for field in header if "only" not in field)


def fresh():
    """Returns the header of a data packet as sent."""
    return Sender("maxnet").send(0.0, 0, 1500)


def coded(code):
    """Returns a header with the given price field."""
    return fresh()[:5] + code.to_bytes(3, "big")


def through(capacities):
    """Returns a header after idle links of the given capacities."""
    header = fresh()
    for capacity in capacities:
        header = Router("maxnet", capacity).arrive(1500, header)
    return header


def demand(header):
    """Returns the rate in bit/s of a flow whose first ACK echoes the price in a header."""
    sender = Sender("maxnet", packet_bytes=1)
    sender.feedback(1.0, 0, 0.1, header, "data")
    return sender.proposal_bps


def price(header):
    """Returns the price that a sender receives, s."""
    return T * np.log(X_MAX / demand(header))


def idle_price(capacity):
    """Returns the price of a link after a second without arrivals."""
    router = Router("maxnet", capacity)
    router.close(1.0)
    return router.signal


def price_step(load, queue=0, mu=MU):
    """Returns the change of the price of a 1 Gb/s link in 1 ms, for a load (relative to C) and a queue (bytes)."""
    router = Router("maxnet", GIGABIT, {"mu": mu})
    router.close(1.0, 10**8)  # raises the price above its floor
    before = router.signal
    router.arrive(round(load * GIGABIT * DT / 8))
    router.close(DT, queue)
    return router.signal - before


def encoding():
    slowest = int.from_bytes(through([X_MIN])[5:], "big")
    steps = {code: demand(coded(code)) / demand(coded(code + 1)) - 1 for code in range(1, slowest, 9973)}
    errors = [abs(demand(through([rate])) / rate - 1) for rate in RATES]

    def step(bits):
        """Returns the median relative difference between adjacent rates, for prices with `bits` fraction bits."""
        codes = 2 ** (FRACTION_BITS - bits)
        return float(np.median([demand(coded(code)) / demand(coded(code + codes)) - 1 for code in steps]))

    return {
        "integer_bits": int(slowest * LSB).bit_length(),
        "fraction_bits": next(bits for bits in range(FRACTION_BITS) if step(bits) <= 1e-5),
        "price_at_32bps_s": slowest * LSB,
        "relative_rate_step[18 fraction bits]": step(18),
        "relative_rate_step[19 fraction bits]": step(19),
        "relative_rate_step[all rates from 32 b/s to 1 Pb/s]": max(steps.values()),
        "round_trip_rel_error": max(errors),
    }


def option():
    before = fresh()[:2] + b"\x12\x34\x56" + fresh()[5:]
    after = Router("maxnet", GIGABIT).arrive(1500, before)
    return {
        "option_bytes": len(after),
        "payload_bytes": len(after) - 2,
        "option_length": after[1],
        "echo_changed_by_router": after[2:5] != before[2:5],
        "price_changed_by_router": after[5:] != before[5:],
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    axes.loglog(RATES, [abs(demand(through([rate])) / rate - 1) for rate in RATES], ".")
    axes.set(xlabel="rate (b/s)", ylabel="relative error of the coded rate", title="24-bit prices")
    draw_expected(axes, figure, "maxnet-price-encoding[5]")
