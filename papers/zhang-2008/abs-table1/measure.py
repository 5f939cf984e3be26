"""REM with a buffer above and one below its target, for the senders of table I."""

from levelflow.claims.metrics import sizing
from levelflow.claims.sized import LINK, LINUX_2_6_16, marking, one_link
from levelflow.claims.verdict import Noted

C, FLOWS, PACKET = 10e6, 20, "1000 B"
ORDER = ("Reno", "BIC", "CUBIC", "HSTCP", "STCP", "HTCP", "Westwood")
RTT = {"uniform": ["30 ms", "50 ms"]}
END = 200.0  # s
BUFFERS = (100, 10)
#: What the text does not give, otherwise: for Reno with 10 packets of buffer.
OTHERWISE = {
    "with delayed answers": {"law": marking({"newreno": {"delayed_ack": True}})},
    "with round trips of 80 to 120 ms": {"rtt": {"uniform": ["80 ms", "120 ms"]}},
    "with packets of 500 B": {"packet": "500 B"},
}


def scenario(name, buffer, law=None, packet=PACKET, rtt=RTT):
    network = one_link(C / 1e6, f"{buffer} packets", END, "20 ms").set(
        "link.1.queue", {"rem": {"target": "50 packets"}}
    )
    return network.flow("x", law or marking(LINUX_2_6_16[name]), "A", "B", count=FLOWS, packet=packet, rtt=rtt)


def table(figure):
    networks = [scenario(name, buffer) for buffer in BUFFERS for name in ORDER]
    results = figure.runs([*networks, *(scenario("Reno", 10, **words) for words in OTHERWISE.values())])
    used = [sizing.use(result.links, LINK, C, (END / 2, END)) for result in results]
    return (
        used[: len(ORDER)],
        used[len(ORDER) : len(networks)],
        dict(zip(OTHERWISE, used[len(networks) :], strict=True)),
    )


def told(reno, otherwise):
    """What Reno uses and how long its queue is where we choose otherwise, in words."""
    rows = {"as set up": reno, **otherwise}
    each = (f"{100 * used.utilisation:.0f} % and {used.queue:.1f} packets {name}" for name, used in rows.items())
    return f"Reno's use and queue: {', '.join(each)}"


def measure(figure):
    roomy, tight, otherwise = table(figure)
    values = [value for used in tight for value in (used.queue, used.loss, used.utilisation)]
    values[2] = Noted(values[2], told(tight[0], otherwise))
    return {
        "abs-table1-b100": [
            *(used.queue for used in roomy),
            [used.loss for used in roomy],
            [used.utilisation for used in roomy],
        ],
        "abs-table1-b10": values,
    }


def plot(figure, canvas):
    for axes, rows, buffer in zip(canvas.subplots(1, 2), table(figure)[:2], BUFFERS, strict=True):
        axes.bar(ORDER, [used.queue for used in rows])
        for x, used in enumerate(rows):
            axes.text(x, used.queue, f"{100 * used.loss:.1f} %", ha="center", va="bottom", fontsize=8)
        axes.tick_params(axis="x", rotation=30)
        axes.set(ylabel="mean queue (packets)", title=f"b = {buffer} packets: queue and loss")
