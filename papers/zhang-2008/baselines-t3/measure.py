"""EMKC and RCP with D_max on T3, where receivers hold their ACKs back at random."""

from levelflow.claims.metrics import rates
from levelflow.claims.verdict import Seeds

FLOWS = ("x1", "x2")
C, SHARE = 10e6, 5e6  # bit/s
SETTLED, HALF, END = 20.0, 150.0, 300.0  # s


def steady(result):
    """Whether no flow swings by more than 10 % once settled, delay spikes included."""
    return all(rates.osc_amplitude_pct(result.flows, x, (HALF, END)) <= 10.0 for x in FLOWS)


def excursion(result, window):
    """Largest distance of a flow from its fair share, as a share of C."""
    return max(abs(rates.rate_series(result.flows, x, window)[1] - SHARE).max() for x in FLOWS) / C


def swings(result):
    return all(excursion(result, window) > 0.2 for window in ((SETTLED, HALF), (HALF, END)))


def measure(figure):
    seeds = figure.seeds(5)
    emkc = figure.runs([figure.scenario(seed=seed, name="emkc.toml") for seed in seeds])
    rcp = figure.runs([figure.scenario(seed=seed, name="rcp.toml") for seed in seeds])
    return {"t3-fig26": [Seeds([steady(r) for r in emkc]), None, Seeds([not swings(r) for r in rcp]), None]}


def plot(figure, canvas):
    panels = zip(canvas.subplots(1, 2), (figure.results[0], figure.results[5]), ("EMKC", "RCP with D_max"), strict=True)
    for axes, result, title in panels:
        for x in FLOWS:
            t, rate = rates.rate_series(result.flows, x)
            axes.plot(t, rate / 1e6, label=x, linewidth=0.8)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title, ylim=(0, 15))
        axes.legend()
