"""REM with a buffer above and one below its target, for the senders of table I."""

from levelflow.measure import utilisation
from levelflow.measure.bottleneck import LINK
from levelflow.reproduce.verdict import Noted
from zhang_models.buffer_rows import REM_BUFFERS, REM_CAPACITY, REM_SECONDS, REM_VARIANTS, rem
from zhang_models.linux import marking

#: What the text does not give, otherwise: for Reno with 10 packets of buffer.
OTHERWISE = {
    "with delayed answers": {"law": marking({"newreno": {"delayed_ack": True}})},
    "with round trips of 80 to 120 ms": {"rtt": {"uniform": ["80 ms", "120 ms"]}},
    "with packets of 500 B": {"packet": "500 B"},
}


def table(figure):
    networks = [rem(buffer, name) for buffer in REM_BUFFERS for name in REM_VARIANTS]
    results = figure.runs([*networks, *(rem(REM_BUFFERS[1], "Reno", **words) for words in OTHERWISE.values())])
    second_half = (REM_SECONDS / 2, REM_SECONDS)
    used = [utilisation.use(result.links, LINK, REM_CAPACITY * 1e6, second_half) for result in results]
    count = len(REM_VARIANTS)
    return used[:count], used[count : 2 * count], dict(zip(OTHERWISE, used[2 * count :], strict=True))


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
    for axes, rows, buffer in zip(canvas.subplots(1, 2), table(figure)[:2], REM_BUFFERS, strict=True):
        axes.bar(REM_VARIANTS, [used.queue for used in rows])
        for x, used in enumerate(rows):
            axes.text(x, used.queue, f"{100 * used.loss:.1f} %", ha="center", va="bottom", fontsize=8)
        axes.tick_params(axis="x", rotation=30)
        axes.set(ylabel="mean queue (packets)", title=f"b = {buffer} packets: queue and loss")
