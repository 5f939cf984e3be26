"""Measures REM with a buffer above its target and with a buffer below it, for the senders of table I."""

from levelflow.measure import utilisation
from levelflow.reproduce.verdict import Noted
from levelflow.topology.bottleneck import LINK
from zhang_models.buffer_rows import REM_BUFFERS, REM_CAPACITY, REM_SECONDS, REM_VARIANTS, rem
from zhang_models.linux import marking

#: Alternative values of parameters that the text does not state, for Reno with a buffer of 10 packets.
OTHERWISE = {
    "with an answer to each packet": {"law": marking({"newreno": {}})},
    "with round trips of 80 to 120 ms": {"rtt": {"uniform": ["80 ms", "120 ms"]}},
    "with packets of 500 B": {"packet": "500 B"},
}


def table(figure):
    networks = [rem(buffer, name) for buffer in REM_BUFFERS for name in REM_VARIANTS]
    results = figure.runs([*networks, *(rem(REM_BUFFERS[1], "Reno", **words) for words in OTHERWISE.values())])
    second_half = (REM_SECONDS / 2, REM_SECONDS)
    used = (utilisation.use(result.links, LINK, REM_CAPACITY * 1e6, second_half) for result in results)
    return [{name: next(used) for name in names} for names in (REM_VARIANTS, REM_VARIANTS, OTHERWISE)]


def remark(reno, otherwise):
    """Describes Reno's utilisation and queue under the alternatives."""
    rows = {"as set up": reno, **otherwise}
    each = (f"{100 * used.utilisation:.0f} % and {used.queue:.1f} packets {name}" for name, used in rows.items())
    return f"Reno's use and queue: {', '.join(each)}"


def measure(figure):
    roomy, tight, otherwise = table(figure)
    reno = tight["Reno"]
    return {
        "abs-table1-b100": {
            **{f"mean_queue_pkts[{name}]": used.queue for name, used in roomy.items()},
            "loss_rate": [used.loss for used in roomy.values()],
            "utilisation": [used.utilisation for used in roomy.values()],
        },
        "abs-table1-b10": {
            **{f"mean_queue_pkts[{name}]": used.queue for name, used in tight.items()},
            **{f"loss_rate[{name}]": used.loss for name, used in tight.items()},
            **{f"utilisation[{name}]": used.utilisation for name, used in tight.items()},
            "utilisation[Reno]": Noted(reno.utilisation, remark(reno, otherwise)),
        },
    }


def plot(figure, canvas):
    for axes, rows, buffer in zip(canvas.subplots(1, 2), table(figure)[:2], REM_BUFFERS, strict=True):
        axes.bar(REM_VARIANTS, [used.queue for used in rows.values()])
        for x, used in enumerate(rows.values()):
            axes.text(x, used.queue, f"{100 * used.loss:.1f} %", ha="center", va="bottom", fontsize=8)
        axes.tick_params(axis="x", rotation=30)
        axes.set(ylabel="mean queue (packets)", title=f"b = {buffer} packets: queue and loss")
