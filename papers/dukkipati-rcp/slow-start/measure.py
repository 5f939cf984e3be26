"""TCP's slow-start curve, compared with processor sharing and with TCP flows of figures 7 and 8."""

import numpy as np

from dukkipati_models.arrivals import LAWS, PACKET, SETTINGS
from levelflow.measure import completions
from levelflow.theory.queues.sharing import fct_processor_sharing, fct_slow_start

FIGURES = ("fig7", "fig8")
SIZES = (10 * PACKET, 2000 * PACKET)


def curve(plan, packets):
    return fct_slow_start(plan.rtpd, packets, packets * PACKET, plan.capacity)


def finished(figure, name):
    """Sizes (packets) and completion times of the TCP flows in the first seed of a figure."""
    setting = SETTINGS[name]
    (run,) = figure.runs(setting.scenarios(figure, LAWS["TCP"])[:1])
    rows = completions.select(run.completions, SIZES, setting.window(figure))
    return rows["bytes"].to_numpy() / PACKET, rows["fct_s"].to_numpy()


def measure(figure):
    figure.flows = {name: finished(figure, name) for name in FIGURES}
    return {
        "tcp-slow-start-curve": {
            "tcp_fct_median_over_slow_start": [
                float(np.median(time / curve(SETTINGS[name].plan, size))) for name, (size, time) in figure.flows.items()
            ],
        }
    }


def plot(figure, canvas):
    for axes, (name, (size, time)) in zip(canvas.subplots(1, 2), figure.flows.items(), strict=True):
        plan = SETTINGS[name].plan
        few = slice(None, None, max(1, size.size // 5000))
        axes.loglog(size[few], time[few], ".", markersize=2, alpha=0.4, label="TCP, one flow each")
        packets = np.geomspace(size.min(), size.max(), 200)
        axes.loglog(packets, curve(plan, packets), color="black", label="slow start")
        sharing = fct_processor_sharing(plan.rtpd, packets * PACKET, plan.capacity, plan.load)
        axes.loglog(packets, sharing, "--", label="processor sharing")
        axes.set(
            xlabel="flow size (packets)", title=f"figure {name[3:]}: {plan.capacity / 1e9:g} Gb/s, {plan.rtpd:g} s"
        )
    canvas.axes[0].set_ylabel("completion time (s)")
