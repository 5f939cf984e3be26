"""REM with a buffer above and one below its target, for the senders of table I."""

from levelflow.claims.metrics import sizing
from levelflow.claims.sized import LINK, LINUX_2_6_16, marking, one_link

C, FLOWS, PACKET = 10e6, 20, "1000 B"
ORDER = ("Reno", "BIC", "CUBIC", "HSTCP", "STCP", "HTCP", "Westwood")
END = 200.0  # s
BUFFERS = (100, 10)


def scenario(name, buffer):
    network = one_link(C / 1e6, f"{buffer} packets", END, "20 ms").set(
        "link.1.queue", {"rem": {"target": "50 packets"}}
    )
    rtt = {"uniform": ["30 ms", "50 ms"]}
    return network.flow("x", marking(LINUX_2_6_16[name]), "A", "B", count=FLOWS, packet=PACKET, rtt=rtt)


def table(figure):
    results = figure.runs([scenario(name, buffer) for buffer in BUFFERS for name in ORDER])
    used = [sizing.use(result.links, LINK, C, (END / 2, END)) for result in results]
    return used[: len(ORDER)], used[len(ORDER) :]


def measure(figure):
    roomy, tight = table(figure)
    return {
        "abs-table1-b100": [
            *(used.queue for used in roomy),
            [used.loss for used in roomy],
            [used.utilisation for used in roomy],
        ],
        "abs-table1-b10": [value for used in tight for value in (used.queue, used.loss, used.utilisation)],
    }


def plot(figure, canvas):
    for axes, rows, buffer in zip(canvas.subplots(1, 2), table(figure), BUFFERS, strict=True):
        axes.bar(ORDER, [used.queue for used in rows])
        for x, used in enumerate(rows):
            axes.text(x, used.queue, f"{100 * used.loss:.1f} %", ha="center", va="bottom", fontsize=8)
        axes.tick_params(axis="x", rotation=30)
        axes.set(ylabel="mean queue (packets)", title=f"b = {buffer} packets: queue and loss")
