import numpy as np

from levelflow.measure import series
from levelflow.reproduce import Against

C, LEVEL = 10e6, 0.9  # bit/s, and C~ divided by C
BITS = 8000.0  # bits of a packet
ABOVE, BELOW = (0.92, 0.95, 1.0), (0.5, 0.85)  # loads divided by C
FILLED = (10.0, np.inf)  # s, after the queue has filled


def marked(result):
    rows = series.select(result.links, "link", "node", FILLED)
    return float(rows["marked"].sum() / (rows["arrival_bps"].sum() * 0.1 / BITS))


def measure(figure):
    def scenario(load):
        return figure.scenario({"law.ks.time_unit": f"{BITS / (load * C):.12f} s"})

    found = [marked(result) for result in figure.runs([scenario(load) for load in ABOVE + BELOW])]
    above, below = found[: len(ABOVE)], found[len(ABOVE) :]
    return {
        "ks-virtual-queue": {
            "mark_fraction[smooth load x > C~]": Against(above, [(x - LEVEL) / x for x in ABOVE]),
            "mark_fraction[x < C~ steady]": below,
        }
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    loads = np.linspace(0.4, 1.0, 100)
    axes.plot(loads, np.maximum(loads - LEVEL, 0) / loads, "k--", label="(x - C~)+/x")
    axes.plot(ABOVE + BELOW, [marked(result) for result in figure.results], "o", label="measured")
    axes.set(xlabel="load x/C", ylabel="marked", title="C~ = 0.9 C")
