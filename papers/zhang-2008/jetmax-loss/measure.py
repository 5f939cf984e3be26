from levelflow.measure import queues, rates, series
from levelflow.reproduce.verdict import Seeds

C = 10e6  # bit/s
LINK = "R1->R2"
JOIN, END = 30.0, 70.0  # of lossy answers
LATER, LAST = 50.0, 150.0  # of lossy data
MEAN_OVER = 20.0  # s


def measure(figure):
    seeds = figure.seeds(5)
    free = figure.runs([figure.scenario(seed=seed, name="return.toml") for seed in seeds])
    lossy = {"link.R1->R2.reverse": {"loss": 0.9}}
    answers = figure.runs([figure.scenario(lossy, seed=seed, name="return.toml") for seed in seeds])
    data = figure.runs([figure.scenario(seed=seed, name="forward.toml") for seed in seeds])
    return {"jetmax-return-loss-90": lossy_answers(free, answers), "jetmax-fig39a": lossy_data(data)}


def difference(free, lossy, flow):
    """Largest distance of the rates of a flow, at equal instants, in percent of the capacity."""
    return 100 * series.distance(rates.rate_series(free, flow), rates.rate_series(lossy, flow)) / C


def lossy_answers(free, lossy):
    pairs = list(zip(free, lossy, strict=True))
    return [
        Seeds([max(difference(a.flows, b.flows, x) for x in ("x1", "x2")) for a, b in pairs]),
        Seeds([[rates.steady_rate(run.flows, x, JOIN, END) / 1e6 for x in ("x1", "x2")] for run in lossy]),
        Seeds([queues.overshoot_pct(run.links, LINK, C) for run in lossy]),
    ]


def lossy_data(runs):
    settled = (LATER + 30.0, LAST)

    def means(run):
        return [rates.mean_rate(run.flows, x, (LAST - MEAN_OVER, LAST)) / 1e6 for x in ("x1", "x2")]

    return [
        Seeds([rates.mean_rate(run.flows, "x2", (LATER - MEAN_OVER, LATER)) / 1e6 for run in runs]),
        Seeds([means(run) for run in runs]),
        Seeds([1 + queues.mean_overshoot_pct(run.links, LINK, C, settled) / 100 for run in runs]),
        Seeds([queues.drop_count(run.links, [LINK]) for run in runs]),
    ]


def plot(figure, canvas):
    seeds = len(figure.results) // 3
    shown = {"no loss": 0, "answers lost, 90 %": seeds, "data lost, 10 % and 20 %": 2 * seeds}
    for axes, (title, run) in zip(canvas.subplots(1, 3, sharey=True), shown.items(), strict=True):
        for flow in ("x2", "x1"):
            t, rate = rates.rate_series(figure.results[run].flows, flow)
            axes.plot(t, rate / 1e6, label=flow)
        axes.set(xlabel="time (s)", title=title)
        axes.legend(fontsize="small")
    canvas.axes[0].set(ylabel="rate (Mb/s)")
