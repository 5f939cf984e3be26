"""Verifies EMKC's header and router, and the queue term of RCP, without a network."""

import re
import struct

from levelflow.laws import Router, Sender

C, DELTA, SIZE = 10e6, 0.1, 200  # bit/s, s, bytes
FIELDS = ">IIffI"  # fig 18: id, seq, p, Delta, usr


def loaded(capacity, load, router_id):
    """A router after one interval with this load in bit/s."""
    router = Router("emkc", capacity, id=router_id)
    router.arrive(round(load * DELTA / 8), None)
    router.close(DELTA)
    return router


def header_round_trips():
    router = loaded(C, 1.25 * C, 9)
    sent = Sender("emkc").send(0.0, 7, SIZE)
    unset, stamped = struct.unpack(FIELDS, sent), struct.unpack(FIELDS, router.arrive(SIZE, sent))
    untouched = Router("emkc", C).arrive(SIZE, sent)  # without a price: decoding and encoding only
    prices = abs(stamped[2] - 0.2) < 1e-6 and abs(stamped[3] - DELTA) < 1e-6
    return (
        untouched == sent and unset[0] == 0 and unset[4] == 7 and prices and stamped[:2] == (9, 1) and stamped[4] == 7
    )


def feedback_ages(intervals=5, packets=10):
    """Smallest and largest age of the feedback that packets carry, in intervals.

    Packets are spread over each interval.
    """
    router, ages = loaded(C, C, 1), []
    for n in range(1, intervals):
        for k in range(packets):
            header = router.arrive(SIZE, Sender("emkc").send(0.0, k, SIZE))
            ages.append(n + k / packets - struct.unpack(FIELDS, header)[1])
        router.close(DELTA)
    return [min(ages), max(ages)]


def additions_per_packet():
    """Increase of an interval's byte counter by one packet after 1, 2 and 100 packets, divided by the packet size."""

    def counted(packets):
        router = Router("emkc", C)
        for number in range(packets):
            router.arrive(SIZE, Sender("emkc").send(0.0, number, SIZE))
        router.close(DELTA)
        return C / (1 - router.signal) * DELTA / 8 / SIZE

    return [round(counted(n + 1) - counted(n), 4) for n in (1, 2, 100)]


def variables_of_traffic():
    """Number of variables in which two routers differ after equally many intervals with different traffic."""

    def variables(load):
        router = loaded(C, load, 1)
        router.arrive(round(load * DELTA / 8), None)
        return re.findall(r"(\w+): ([^ ,]+)", repr(router))

    pairs = zip(variables(0.5 * C), variables(1.25 * C), strict=True)
    return sum(one != other for one, other in pairs)


def rcp_rate(queue_bytes):
    router = Router("rcp", C, {"alpha": 0.4, "beta": 1.0, "initial": 0.5})
    router.arrive(round(C * 0.01 / 8), None)
    router.close(0.01, queue_bytes=queue_bytes)
    return router.signal


def as_printed(queue, rate=0.5 * C, load=C, interval=0.01, rtt=0.1, alpha=0.4, beta=1.0):
    """The rate after one interval by eq 126 with its signs as printed. The queue is in bits."""
    return rate * (1 - interval / (rtt * C) * (alpha * (load - C) - beta * queue / rtt))


def measure(figure):
    return {
        "mkc-fig18-header": {
            "header_bytes": len(Sender("emkc").send(0.0, 0, SIZE)),
            "round_trip_encode_decode": header_round_trips(),
        },
        "mkc-router": {
            "feedback_age_in_intervals": feedback_ages(),
            "per_packet_additions": additions_per_packet(),
            "state_variables_per_queue": variables_of_traffic(),
        },
        "rcp-eq126": {
            "queue_reduces_rate": rcp_rate(10_000) < rcp_rate(0) and abs(rcp_rate(0) / (0.5 * C) - 1) < 1e-9,
            "queue_reduces_rate_as_printed": as_printed(80_000) < as_printed(0),
        },
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    queues = range(0, 100_001, 10_000)
    axes.plot([q / 1e3 for q in queues], [rcp_rate(q) / 1e6 for q in queues], marker="o")
    axes.set(xlabel="queue (kB)", ylabel="rate after 10 ms (Mb/s)", title="RCP: a queue lowers the rate, from 5 Mb/s")
