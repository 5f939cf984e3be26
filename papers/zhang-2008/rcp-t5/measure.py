"""Measures RCP when many flows join at once, with a buffer of one bandwidth-delay product."""

import numpy as np

from levelflow.measure import queues, series
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Noted, Seeds

LINK = "R1->R2"
BURST = (30.0, 35.0)  # s
BATCHES = [(10.0 * k, 10.0 * k + 10.0) for k in range(1, 10)]  # without the first batch, which finds an empty link


def losses(links):
    """Largest loss rate in each batch of arrivals."""
    return [queues.loss_rate_max(links, LINK, batch) for batch in BATCHES]


def loss_period(links):
    """Mean time between the first losses of consecutive batches, s."""
    t, loss = series.link_series(links, LINK, "peak_loss")
    onsets = [t[(t > start) & (t <= end) & (loss > 0.3)].min() for start, end in BATCHES]
    return float(np.mean(np.diff(onsets)))


def measure(figure):
    burst = figure.run().links
    churn = [r.links for r in figure.runs([figure.scenario(seed=s, name="churn.toml") for s in figure.seeds(5)])]
    return {
        "rcp-fig29a": {
            "loss_rate_max": queues.loss_rate_max(burst, LINK, BURST),
            "drop_bytes[burst]": Noted(
                queues.drop_bytes(burst, [LINK], BURST),
                f"{queues.drop_bytes(burst, [LINK]) / 1e6:.0f} MB in the whole run of 60 s",
            ),
        },
        "rcp-fig29b": {
            "loss_rate_max[median_batch]": Noted(
                Seeds([float(np.median(losses(links))) for links in churn]),
                "largest of nine batches: " + ", ".join(f"{max(losses(links)):.2f}" for links in churn),
            ),
            "loss_period_s": Seeds([loss_period(links) for links in churn]),
        },
    }


def plot(figure, canvas):
    for axes, result, title in zip(
        canvas.subplots(1, 2), figure.results, ("fig 29(a)", "fig 29(b), first seed"), strict=False
    ):
        t, loss = series.link_series(result.links, LINK, "peak_loss")
        axes.plot(t, 100 * loss)
        axes.set(xlabel="time (s)", ylabel="loss over 10 ms (%)", title=title)
    draw_expected(canvas.axes[0], figure, "rcp-fig29a[0]", scale=100)
    draw_expected(canvas.axes[1], figure, "rcp-fig29b[0]", scale=100)
