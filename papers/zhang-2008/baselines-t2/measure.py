"""RCP and EMKC on T2: 99 paths of 220 ms and one of 2020 ms."""

from levelflow.claims.metrics import rates, series

FAST = [f"x{i}" for i in range(1, 100)]
ALL = [*FAST, "x100"]
JOIN, RCP_END, EMKC_END = 5.0, 150.0, 300.0  # s
SHARE = 0.1e6  # bit/s
EMKC_SHARES = {"200 kb/s": 0.5e6, "20 kb/s": 0.14e6}  # alpha: C/N + alpha/beta, bit/s


def scenario(figure, law, **params):
    scenario = figure.scenario(name=f"{law}.toml").law(law, **params)
    jitter = {"uniform": ["0 s", "1 s"]}
    for x in FAST:
        scenario.flow(x, law, "R1", "R2", rtt="220 ms", packet="200 B", start=jitter)
    return scenario


def fast_mean(result, window=series.ALL):
    t, total = rates.aggregate(result.flows, FAST, window)
    return t, total / len(FAST)


def stable(result, share):
    return series.is_stable(*fast_mean(result, (JOIN, RCP_END)), share)


def each(result):
    return [rates.steady_rate(result.flows, x, JOIN, EMKC_END) / 1e6 for x in ALL]


def measure(figure):
    alphas = [scenario(figure, "emkc", alpha=alpha) for alpha in EMKC_SHARES]
    mean, largest, *emkc = figure.runs([scenario(figure, "rcp"), scenario(figure, "rcp", rtt="max"), *alphas])
    wide = [
        (fast_mean(result, (JOIN, EMKC_END)), share) for result, share in zip(emkc, EMKC_SHARES.values(), strict=True)
    ]
    return {
        "t2-rcp-fig25c": [
            stable(mean, SHARE) and rates.stable(mean.flows, "x100", SHARE, (JOIN, RCP_END)),
            series.amplitude_pct(fast_mean(mean, series.steady(JOIN, RCP_END))[1]),
        ],
        "t2-dmax-variants": [
            None,
            stable(largest, SHARE) and rates.stable(largest.flows, "x100", SHARE, (JOIN, RCP_END)),
            rates.starved(largest.flows, "x100", SHARE, (JOIN, RCP_END)),
        ],
        "t2-emkc-fig25d": [*map(each, emkc), [series.is_stable(*means, share) for means, share in wide]],
    }


def plot(figure, canvas):
    titles = ("RCP", "RCP, D_max", "EMKC, alpha 0.2 Mb/s", "EMKC, alpha 0.02 Mb/s")
    for axes, result, title in zip(canvas.subplots(2, 2).flat, figure.results, titles, strict=True):
        t, rate = fast_mean(result)
        axes.plot(t, rate / 1e6, label="mean of x1..x99")
        t, rate = rates.rate_series(result.flows, "x100")
        axes.plot(t, rate / 1e6, label="x100", linewidth=0.6)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title, ylim=(0, None if "EMKC" in title else 0.3))
        axes.legend()
