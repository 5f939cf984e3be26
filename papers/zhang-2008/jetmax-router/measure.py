import json
import re
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from levelflow import Scenario, _core
from levelflow.laws import Router, Sender
from levelflow.reproduce.verdict import Noted, Seeds

C = 1e9  # bit/s
DELTA = 0.1  # s
WIRE = ">HHBBBBIffff"  # ports, flags, R_T, R_C, R_S, number, p+, g+, s+, delta
LARGEST = float(np.finfo(np.float32).max)
XCP_WIRE = ">BBBBffff"  # protocol, length, version and format, unused, gap, round-trip time, reverse feedback, change
TCP_HEADER = 20  # bytes
HOPS = 100
TURNS = 3  # turns, of which the fastest counts


def default(name):
    """Default of a numeric parameter of JetMax."""
    law = next(law for law in json.loads(_core.laws()) if law["name"] == "jetmax")
    return next(float(param["default"]) for param in law["params"] if param["name"] == name)


def packet(bottleneck=0, size=0.0, gap=0.0, hop=0):
    """A header as a sender writes it: true bottleneck, virtual size in bytes, gap in s."""
    return struct.pack(WIRE, 0, 0, 0, bottleneck, hop, 0, 0, -LARGEST, LARGEST, size, gap)


def fields(header):
    return dict(
        zip(
            ("flags", "R_T", "R_C", "R_S", "number", "p", "g", "s", "delta"),
            struct.unpack(WIRE, header)[2:],
            strict=True,
        )
    )


def interval(packets, elapsed=DELTA, capacity=C):
    """Load and fair share, in bit/s, that a router reports after an interval with these packets."""
    router = Router("jetmax", capacity)
    for header in packets:
        router.arrive(1000, header)
    router.close(elapsed)
    share = fields(router.arrive(1000, packet()))["g"]
    return capacity / (1 - router.signal), share


def flows_counted(packets, elapsed):
    return C / interval(packets, elapsed)[1]


def constant_rate(rates, elapsed, per_interval, rng):
    """Packets of flows with constant rates and random phases. In DELTA, each flow sends per_interval packets or one
    more.
    """
    for rate in rates:
        gap = DELTA / (per_interval + rng.random())
        for _ in range(int((elapsed + gap * rng.random()) / gap)):
            yield packet(bottleneck=1, size=rate * gap / 8, gap=gap)


def n_estimation():
    rng = np.random.default_rng(1)
    rates = C / 100 * rng.uniform(0.5, 1.5, 50)  # bit/s
    errors = {}
    for elapsed in (DELTA, 10 * DELTA, 100 * DELTA):
        found = [flows_counted(constant_rate(rates, elapsed, 10, rng), elapsed) for _ in range(5)]
        errors[elapsed] = max(abs(n - 50) for n in found)
    one, two = (flows_counted([packet(1, 1000.0, 0.01)] * count, DELTA) for count in (1, 2))
    longer = flows_counted([packet(1, 1000.0, 0.01)], 2 * DELTA)
    mixed = [
        packet(1, size, 8 * size / 10e6)
        for size in (40.0, 576.0, 1500.0)
        for _ in range(round(DELTA * 10e6 / 8 / size))
    ]
    return {
        "abs_error_N_over_50_CBR_flows_with_10_packets_per_interval_each": errors[DELTA],
        "error_tends_to_0_as_Delta_grows": sorted(errors.values(), reverse=True) == list(errors.values()),
        "additions_per_packet": round((two - one) * DELTA / 0.01, 4),
        "divisions_per_interval": round(float(np.log2(one / longer)), 4),
        "mixed_packet_sizes_supported": abs(flows_counted(mixed, DELTA) - 3) <= 0.02,
    }


def sums_changed(bottleneck):
    """Number of sums that a packet increases, among its hop count, the sum of the load and the sum of the gaps."""
    other = packet(1, 5000.0, 0.01)
    base, bigger, wider = (
        interval([other, packet(bottleneck, *numbers)]) for numbers in ((1000.0, 0.01), (2000.0, 0.01), (1000.0, 0.02))
    )
    counted = fields(Router("jetmax", C).arrive(1000, packet(bottleneck)))["R_C"] == 1
    return int(counted) + int(bigger[0] != base[0]) + int(wider[1] != base[1])


def resident():
    """Memory of this process, bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def growth(flows):
    """Growth of this process's memory while a router processes one packet of each flow, bytes."""
    router = Router("jetmax", C)

    def see(numbers):
        for flow in numbers:
            ports = flow >> 16, flow & 0xFFFF
            router.arrive(1000, struct.pack(WIRE, *ports, 0, 1, 0, 0, 0, -LARGEST, LARGEST, 1000.0, 1e-5))

    see(range(1000))
    before = resident()
    see(range(flows))
    return resident() - before


def state_per_flow(flows=1_000_000):
    """Whole bytes per flow, measured in a separate process, since other figures' memory could hide the growth."""
    done = subprocess.run([sys.executable, __file__, str(flows)], capture_output=True, text=True, check=True)
    return round(int(done.stdout) / flows)


def xcp_packet(gap=0.01, rtt=0.1, change=1e9):
    """A header as an XCP sender with a window of ten packets writes it."""
    return struct.pack(XCP_WIRE, 0, 20, 0x33, 0, gap, rtt, 0.0, change)


def xcp_router(load=0.99):
    """A router with positive and negative feedback in the current interval. In the last interval it was nearly full."""
    router = Router("xcp", C)
    for _ in range(10):
        router.arrive(round(load * C * DELTA / 80), xcp_packet())
    router.close(DELTA)
    return router


def variables(router):
    return re.findall(r"(\w+): ([^ ,{]+)", repr(router))


def changed(before, after):
    return {i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other}


def xcp_operations():
    """Multiplications and additions of an XCP router per packet.

    A sum that grows or a pool that shrinks counts as an addition. So does each term of the granted feedback except the
    first.
    """
    router = xcp_router()
    router.arrive(1000, xcp_packet())
    before = variables(router)
    header = router.arrive(1000, xcp_packet())
    arrived = variables(router)
    router.depart(header)
    additions = len(changed(before, arrived)) + len(changed(arrived, variables(router)))

    def sums(**fields):
        router = xcp_router()
        router.arrive(1000, xcp_packet(**fields))
        return variables(router)

    def grant(size, **fields):
        router = xcp_router()
        return struct.unpack(XCP_WIRE, router.depart(xcp_packet(**fields), size))[-1]

    plain, wider, later = sums(), sums(gap=0.02), sums(rtt=0.2)
    products = len(changed(plain, wider) & changed(plain, later))
    terms = int(grant(1000) != grant(1000, gap=0.02)) + int(grant(1000) != grant(2000))
    return [products + terms, additions + terms - 1]


def seconds(law, routers):
    """CPU time of a flow over a chain of links, s. The first `routers` links run the law."""
    scenario = Scenario("chain", "3 s", sample="3 s")
    for hop in range(HOPS):
        capacity = "100 Mb/s" if hop == 0 else "1 Gb/s"
        plain = {} if hop < routers else {"law": "none"}
        scenario.link(f"N{hop}", f"N{hop + 1}", capacity, "1 us", duplex=True, **plain)
    scenario.flow("x", law, "N0", f"N{HOPS}", rtt="10 ms")
    begin = time.thread_time()
    scenario.run()
    return time.thread_time() - begin


def cost_ratios(runs):
    """Ratio, per run, of the times per packet of a JetMax router and an XCP router. The two measurements alternate."""
    chains = [(law, routers) for law in ("jetmax", "xcp") for routers in (HOPS, 1)]
    times = np.array([[[seconds(*chain) for chain in chains] for _ in range(TURNS)] for _ in range(runs)]).min(axis=1)
    return Seeds([float((many - one) / (other - single)) for many, one, other, single in times])


def router_cost(runs):
    return {
        "additions_responsive": sums_changed(1),
        "additions_unresponsive": sums_changed(2),
        "xcp_operations[mul_add]": xcp_operations(),
        "per_flow_state_bytes": state_per_flow(),
        "ns_per_packet_ratio[jetmax_over_xcp]": cost_ratios(runs),
    }


def membership():
    rng = np.random.default_rng(2)
    packets = [
        packet(int(rng.integers(0, 4)), float(rng.uniform(40, 1500)), 0.001, int(rng.integers(0, 3)))
        for _ in range(1000)
    ]
    arrived = 8 * sum(fields(header)["s"] for header in packets) / DELTA
    load, _ = interval(packets)
    band = default("eps_p")
    printed = np.mean([names_its_tightest(rng, 1e-6, 1e-6) for _ in range(500)])
    others = {zero: np.mean([names_its_tightest(rng, band, zero) for _ in range(500)]) for zero in (0.01, 0.0)}
    return {
        "w_plus_u_equals_arrivals": abs(load / arrived - 1) < 1e-5,
        "suggested_router_is_argmax_p_then_argmin_g": Noted(
            all(names_its_tightest(rng, band, band) for _ in range(500)),
            f"eps_p = {band:g}, as in all figures; of paths that the law with this band meets, "
            + " and ".join(f"{share:.0%} follow the rule with {zero:g}" for zero, share in others.items())
            + f"; with a band of 1e-6 in law and rule, {printed:.0%}",
        ),
    }


def names_its_tightest(rng, band, zero):
    """True if packets on a random path select the router with the largest price. If the largest price counts as zero,
    they must select the router with the smallest share among the routers whose prices count as zero.

    The law treats prices up to `band` as zero. The rule treats prices up to `zero` as zero.
    """
    hops, most = [], rng.choice([0.5, 2 * band, 1.2 * band])
    for _ in range(rng.integers(2, 8)):
        price = rng.uniform(-most, most)
        router = Router("jetmax", C, {"eps_p": band})
        for _ in range(int(rng.integers(1, 20))):
            router.arrive(1000, packet(1, 0.0, DELTA))
        router.arrive(1000, packet(2, C / (1 - price) * DELTA / 8, DELTA))
        router.close(DELTA)
        hops.append((router, router.signal, fields(router.arrive(1000, packet()))["g"]))
    header = packet()
    for router, _, _ in hops:
        header = router.arrive(1000, header)
    prices = np.array([price for _, price, _ in hops])
    shares = np.array([share for _, _, share in hops])
    zeros = np.abs(prices) <= zero
    tie = zeros.any() and prices.max() <= zero
    best = np.flatnonzero(zeros)[np.argmin(shares[zeros])] if tie else np.argmax(prices)
    return fields(header)["R_S"] == best + 1


def header():
    wire = Sender("jetmax").send(0.0, 0, 1000)
    hop = packet()
    for _ in range(300):
        hop = Router("jetmax", C).arrive(1000, hop)
    return {
        "header_bytes": len(wire),
        "xcp_header_bytes": Noted(
            len(Sender("xcp").send(0.0, 0, 1000)) + TCP_HEADER,
            f"XCP of the draft of 2007; a router reads or writes {xcp_bytes_used()} bytes of its header",
        ),
        "feedback_fields_32bit": sum(refuses_nan(wire, at) for at in range(0, len(wire), 4)),
        "max_hops": fields(hop)["R_C"],
    }


def xcp_bytes_used():
    """Bytes of the numbers in XCP's header that a router reads or writes."""

    def passed(at=None):
        wire = bytearray(xcp_packet())
        if at is not None:
            wire[at : at + 4] = struct.pack(">f", 0.05)
        router = xcp_router()
        header = router.depart(router.arrive(1000, bytes(wire)))
        return variables(router), header, bytes(wire)

    plain = passed()
    return 4 * sum(uses(plain, passed(at), at) for at in range(4, 20, 4))


def uses(plain, other, at):
    """True if a change of the header's word at an offset changes the router's state or the words that it writes."""
    rest = [slice(0, at), slice(at + 4, None)]
    wrote = other[1][at : at + 4] != other[2][at : at + 4]
    return wrote or plain[0] != other[0] or any(plain[1][part] != other[1][part] for part in rest)


def refuses_nan(wire, at):
    """True if a router reads the four bytes at an offset as a float and rejects NaN."""
    try:
        Router("jetmax", C).arrive(1000, wire[:at] + struct.pack(">f", float("nan")) + wire[at + 4 :])
    except ValueError:
        return True
    return False


def measure(figure):
    return {
        "jetmax-n-estimation": n_estimation(),
        "jetmax-router-cost": router_cost(figure.draws(5, quick=3)),
        "jetmax-membership": membership(),
        "jetmax-fig35b-header": header(),
    }


def plot(figure, canvas):
    rng = np.random.default_rng(3)
    rates = np.full(50, C / 50)
    axes = canvas.subplots()
    elapsed = DELTA * np.geomspace(0.5, 50, 12)
    for per_interval in (2, 10):
        errors = [abs(flows_counted(constant_rate(rates, at, per_interval, rng), at) - 50) for at in elapsed]
        axes.loglog(elapsed, errors, marker="o", label=f"{per_interval} packets of a flow in 100 ms")
    axes.set(xlabel="control interval (s)", ylabel="error of N", title="Counting 50 flows by their gaps")


if __name__ == "__main__":
    print(growth(int(sys.argv[1])))
