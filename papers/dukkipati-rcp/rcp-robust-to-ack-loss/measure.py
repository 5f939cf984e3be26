"""Twenty long flows whose ACKs are lost at random."""

import numpy as np

from dukkipati_models.arrivals import LINK
from levelflow.measure import rates, series
from levelflow.scenario import Scenario

C, RTPD, FLOWS = 150e6, 0.1, 20
FAIR = C / FLOWS
NAMES = [f"x{i}" for i in range(1, FLOWS + 1)]
LOSSES = (0.0, 0.001, 0.01, 0.1)


def measure(figure):
    duration = 100 if figure.full else 40
    runs = figure.runs([scenario(duration, loss) for loss in LOSSES])
    return {
        "rcp-robust-to-ack-loss": {
            "stable": [rates.stable(run.flows, name, FAIR) for run in runs for name in NAMES],
            "rate_error_to_fair": [error(run, (duration / 2, duration)) for run in runs],
        }
    }


def scenario(duration, loss):
    s = Scenario("lost ACKs", f"{duration} s")
    buffer = f"{C * RTPD / 8:.0f} B"
    s.link("A", "B", f"{C} b/s", f"{RTPD / 2} s", buffer=buffer, duplex=True, reverse={"loss": loss})
    for name in NAMES:
        s.flow(name, "rcp", "A", "B")
    return s


def error(run, window):
    """Relative deviation from the fair rate, averaged over flows and samples."""
    return float(np.mean([np.abs(rates.rate_series(run.flows, name, window)[1] / FAIR - 1) for name in NAMES]))


def plot(figure, canvas):
    axes = canvas.subplots()
    for loss, run in zip(LOSSES, figure.results, strict=True):
        t, rate = series.link_series(run.links, LINK, "signal")
        axes.plot(t, rate / FAIR, label=f"{100 * loss:g} % of the ACKs lost")
    axes.set(xlabel="time (s)", ylabel="R / (C/N)", ylim=(0, 2))
