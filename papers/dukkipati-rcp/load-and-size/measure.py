from levelflow.claims.metrics import completions
from levelflow.claims.traffic import OneLink, Setting
from levelflow.claims.verdict import Seeds

C, RTPD = 2.4e9, 0.1  # bit/s, s
SMALL = (0, 500_000)  # bytes
SETTINGS = {
    "rcp-fig17": Setting(OneLink(C, RTPD, 0.2, 300), 120, 40, seeds=3),
    "rcp-fig18": Setting(
        OneLink(C, RTPD, 0.94, 283.35), 120, 12, {"size": {"pareto": {"mean": "283350 B", "shape": 1.2}}}, seeds=3
    ),
    "rcp-fig45": Setting(OneLink(C, RTPD, 0.4, 500), 120, 12, seeds=3),
    "rcp-fig46": Setting(OneLink(C, RTPD, 0.8, 500), 120, 12, seeds=3),
}
PER_SIZE = ("rcp-fig45", "rcp-fig46")


def sizes(figure, setting):
    """The size class tested: a tenth of the printed duration says nothing about the long flows."""
    return completions.ANY_SIZE if setting.duration(figure) == setting.printed else SMALL


def measured(figure, name):
    setting, plan = SETTINGS[name], SETTINGS[name].plan
    window = setting.window(figure)
    ratio = completions.worst_ratio_to_ps if name in PER_SIZE else completions.afct_ratio_to_ps
    ratios, active = [], []
    for result in setting.runs(figure):
        ratios.append(ratio(result.completions, plan.capacity, plan.load, sizes(figure, setting), window))
        active.append(completions.active_mean(result.flows, window=window))
    return Seeds(ratios), Seeds(active)


def measure(figure):
    values = {name: measured(figure, name) for name in SETTINGS}
    return {
        "rcp-fig17": [None, *values["rcp-fig17"], None],
        "rcp-fig18": [None, *values["rcp-fig18"], None],
        "rcp-fig45": [*values["rcp-fig45"], None],
        "rcp-fig46": [*values["rcp-fig46"], None],
    }


def plot(figure, canvas):
    for axes, (name, setting) in zip(canvas.subplots(2, 2, sharex=True).flat, SETTINGS.items(), strict=True):
        plan = setting.plan
        for result in setting.runs(figure):
            rows = completions.by_size(result.completions, plan.capacity, plan.load, window=setting.window(figure))
            axes.loglog(rows["bytes"] / 1000, rows["fct_s"], color="C0")
        axes.loglog(rows["bytes"] / 1000, rows["ps_s"], "k--")
        axes.set(ylabel="AFCT (s)", title=f"{name}: load {plan.load:g}, mean {plan.mean:g} packets")
    axes.set(xlabel="flow size (packets); dashed: processor sharing")
