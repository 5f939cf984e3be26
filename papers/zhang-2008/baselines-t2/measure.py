"""Measures RCP, XCP and EMKC on T2: 99 flows with a round trip of 220 ms, and one flow with 2020 ms."""

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Seeds

FAST = [f"x{i}" for i in range(1, 100)]
ALL = [*FAST, "x100"]
JOIN, RCP_END, EMKC_END = 5.0, 150.0, 300.0  # s
SHARE = 0.1e6  # bit/s
EMKC_SHARES = {0.2: 0.5e6, 0.02: 0.14e6}  # by alpha in Mb/s: C/N + alpha/beta, bit/s
PACKETS = {0.2: "200 B", 0.02: "56 B"}  # by alpha in Mb/s, for equally many packets per interval


def scenario(figure, law, packet="200 B", **params):
    scenario = figure.scenario({"flow.x100.packet": packet}, name=f"{law}.toml").law(law, **params)
    jitter = {"uniform": ["0 s", "1 s"]}
    for x in FAST:
        scenario.flow(x, law, "R1", "R2", rtt="220 ms", packet=packet, start=jitter)
    return scenario


def fast_mean(result, window=series.ALL):
    t, total = rates.aggregate(result.flows, FAST, window)
    return t, total / len(FAST)


def stable(result, share):
    return series.is_stable(*fast_mean(result, (JOIN, RCP_END)), share)


def sent(result, flow, window):
    """Mean sending rate in each 100 ms, bit/s.

    Instantaneous samples would be synchronous with the routers' intervals.
    """
    return series.flow_series(result.flows, flow, "sending_rate_bps", window)


def each(result):
    return [series.mean(sent(result, x, series.steady(JOIN, EMKC_END))[1]) / 1e6 for x in ALL]


def variants(figure):
    """Scenarios by name. Each seed draws new starts within the first second."""
    return {
        "RCP": scenario(figure, "rcp"),
        "RCP, D_max": scenario(figure, "rcp", rtt="max"),
        "XCP, D_max": scenario(figure, "xcp", packet="1000 B", rtt="max"),
        **{
            f"EMKC, alpha {1e3 * a:g} kb/s": scenario(figure, "emkc", PACKETS[a], alpha=f"{1e3 * a:g} kb/s")
            for a in EMKC_SHARES
        },
    }


def run(figure):
    """Results of all seeds by variant."""
    names = list(variants(figure))
    results = iter(
        figure.runs([variants(figure)[name].set("seed", seed) for name in names for seed in figure.seeds(5, quick=1)])
    )
    return {name: [next(results) for _ in figure.seeds(5, quick=1)] for name in names}


def xcp_stable(result):
    """True if the sum of all rates swings by at most 20 %."""
    return series.amplitude_pct(rates.aggregate(result.flows, ALL, series.steady(JOIN, RCP_END))[1]) <= 20.0


def emkc_stable(results):
    """True, for each alpha, if the mean rate of x1..x99 settles."""

    def settles(result, share):
        curves = [sent(result, x, (JOIN, EMKC_END)) for x in FAST]
        return series.is_stable(curves[0][0], sum(rate for _, rate in curves) / len(FAST), share)

    return [settles(result, share) for result, share in zip(results, EMKC_SHARES.values(), strict=True)]


def measure(figure):
    figure.by_variant = run(figure)
    mean, largest, xcp, *emkc = figure.by_variant.values()
    window = (JOIN, RCP_END)
    return {
        "t2-rcp-fig25c": {
            "stable": Seeds([stable(r, SHARE) and rates.stable(r.flows, "x100", SHARE, window) for r in mean]),
            "osc_amplitude_pct[x1..x99_mean]": Seeds(
                [series.amplitude_pct(fast_mean(r, series.steady(JOIN, RCP_END))[1]) for r in mean]
            ),
        },
        "t2-dmax-variants": {
            "stable[xcp-dmax]": Seeds([xcp_stable(r) for r in xcp]),
            "stable[rcp-dmax]": Seeds(
                [stable(r, SHARE) and rates.stable(r.flows, "x100", SHARE, window) for r in largest]
            ),
            "starved[x100]": Seeds(
                [
                    [rates.starved(r.flows, "x100", SHARE, window) for r in pair]
                    for pair in zip(largest, xcp, strict=True)
                ]
            ),
        },
        "t2-emkc-fig25d": {
            **{
                f"steady_rate_mbps[each,_alpha={alpha}]": Seeds([each(result) for result in results])
                for alpha, results in zip(EMKC_SHARES, emkc, strict=True)
            },
            "stable": Seeds([emkc_stable(results) for results in zip(*emkc, strict=True)]),
        },
    }


def plot(figure, canvas):
    panels = canvas.subplots(2, 3).flat
    panels[-1].set_axis_off()
    for axes, (title, results) in zip(panels, figure.by_variant.items(), strict=False):
        t, rate = rates.rate_series(results[0].flows, "x100")
        axes.plot(t, rate / 1e6, label="x100", linewidth=0.6, color="C1")
        t, rate = fast_mean(results[0])
        axes.plot(t, rate / 1e6, label="mean of x1..x99", color="C0")
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title, ylim=(0, None if "EMKC" in title else 0.3))
    for axes, check in zip(canvas.axes[3:5], ("t2-emkc-fig25d[0]", "t2-emkc-fig25d[1]"), strict=True):
        draw_expected(axes, figure, check, series.steady(JOIN, EMKC_END))
