"""Loss and utilisation of eight TCP variants over seven buffers."""

import itertools

from levelflow.measure import queues, utilisation
from levelflow.reproduce.drawing import draw_expected
from zhang_models.linux import LINUX_2_6_16

C, LINK = 100e6, "R1->R2"
BUFFERS = (1, 4, 16, 64, 256, 1024, 2500)  # packets
FLOWS = 10
FLAT = ("CUBIC", "STCP")
FROM_64 = slice(3, 6)  # from 64 to 1024 packets
QUICK, FULL = 60.0, 200.0  # s


def crowd(law, buffer, duration):
    """Ten flows, each behind an access link of 1 Gb/s that holds 2500 packets."""

    def edit(scenario):
        scenario.set("duration", f"{duration:g} s").set("link.1.buffer", f"{buffer} packets")
        for i in range(1, FLOWS + 1):
            scenario.link(f"S{i}", "R1", "1 Gb/s", "1 ms", buffer="2500 packets", duplex=True)
            rtt = {"uniform": ["30 ms", "50 ms"]}
            scenario.flow(f"x{i}", law, f"S{i}", "R2", packet="1500 B", rtt=rtt)

    return edit


def measure(figure):
    duration = FULL if figure.full else QUICK
    scenarios = [figure.scenario(crowd(law, b, duration)) for law in LINUX_2_6_16.values() for b in BUFFERS]
    results = figure.runs(scenarios)
    used = [utilisation.use(result.links, LINK, C, (duration / 2, duration)) for result in results]
    rows = {name: used[i * len(BUFFERS) : (i + 1) * len(BUFFERS)] for i, name in enumerate(LINUX_2_6_16)}
    access = [f"S{i}->R1" for i in range(1, FLOWS + 1)]
    losses = {name: [point.loss for point in row] for name, row in rows.items()}
    return {
        "abs-fig45-loss": {
            "loss_rate_monotone": ["decreasing in b" if falls(p) else "other" for p in losses.values()],
            "loss_rate_flat": [
                before / after for x in FLAT for before, after in itertools.pairwise(losses[x][FROM_64])
            ],
            "access_drops": sum(queues.drop_count(result.links, access) for result in results),
        },
        "abs-fig45-util": {
            "utilisation_monotone": [
                "increasing in b" if rises([point.utilisation for point in row]) else "other" for row in rows.values()
            ],
            "utilisation": [row[BUFFERS.index(1024)].utilisation for row in rows.values()],
        },
    }


def falls(losses, slack=0.05):
    return all(after <= before * (1 + slack) for before, after in itertools.pairwise(losses))


def rises(used, slack=0.005):
    return all(after >= before - slack for before, after in itertools.pairwise(used))


def plot(figure, canvas):
    duration = FULL if figure.full else QUICK
    used = [utilisation.use(result.links, LINK, C, (duration / 2, duration)) for result in figure.results]
    left, right = canvas.subplots(1, 2)
    for i, name in enumerate(LINUX_2_6_16):
        row = used[i * len(BUFFERS) : (i + 1) * len(BUFFERS)]
        left.plot(BUFFERS, [100 * point.loss for point in row], marker="o", markersize=3, label=name)
        right.plot(BUFFERS, [100 * point.utilisation for point in row], marker="o", markersize=3)
    left.set(xscale="log", xlabel="buffer (packets)", ylabel="loss (%)", title="fig 45(a)")
    right.set(xscale="log", xlabel="buffer (packets)", ylabel="utilisation (%)", title="fig 45(b)")
    draw_expected(right, figure, "abs-fig45-util[1]", (1024, 1024), scale=100)
