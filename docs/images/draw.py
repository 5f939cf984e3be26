"""Draws the first picture of the README, four laws on one network: `python docs/images/draw.py`.

The network is the scenario `joining`. Both flows run the law of the column. Prague's link has the queue `dualpi2`.
"""

import warnings
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from PIL import Image

from levelflow import Result, Scenario
from levelflow.style import COLOURS, DASHES, GREY, STYLE

PICTURE = Path(__file__).with_name("four-laws.png")
#: Title of a column, law of the flows and queue of the link.
COLUMNS = (
    ("CUBIC", "cubic", "drop_tail"),
    ("BBRv3", "bbr3", "drop_tail"),
    ("Prague over DualPI2", "prague", "dualpi2"),
    ("Level", "level", "drop_tail"),
)


def run(law: str, queue: str) -> Result:
    """Simulates the scenario with one law."""
    scenario = Scenario.load("joining").set("flow.*.law", law).set("link.1.queue", queue)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scenario.run()


def draw(result: Result, rates: Any, delays: Any) -> None:
    """Draws the rates of flows, and below them the queueing delays of the bottleneck."""
    for number, flow in enumerate(("x1", "x2")):
        rows = result.flows.filter((result.flows["flow"] == flow) & (result.flows["active"] > 0))
        style = {"color": COLOURS[number], "linestyle": DASHES[number], "linewidth": 1.3}
        rates.plot(rows["t"], rows["throughput_bps"] / 1e6, label=flow, **style)
    rates.step([0, 20, 40, 60], [10, 10, 5, 10], where="pre", color=GREY, linewidth=0.7, label="fair share")
    queue = result.links.filter(result.links["link"] == "R1->R2")
    delays.plot(queue["t"], queue["queueing_delay_max_s"] * 1e3, color="#333333", linewidth=1.1)


def main() -> None:
    """Runs the laws and writes the picture, in few colours so that the file is small."""
    plt.switch_backend("agg")
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, len(COLUMNS), figsize=(10.5, 4.2), sharex=True, sharey="row")
        for (title, law, queue), (rates, delays) in zip(COLUMNS, axes.T, strict=True):
            draw(run(law, queue), rates, delays)
            rates.set_title(title)
            delays.set_xlabel("time, s")
        axes[0, 0].set(ylabel="throughput, Mb/s", ylim=(0, 13))
        axes[1, 0].set(ylabel="queueing delay, ms", ylim=(0, None))
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure.set_layout_engine("constrained")
        figure.savefig(PICTURE)
    Image.open(PICTURE).convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
