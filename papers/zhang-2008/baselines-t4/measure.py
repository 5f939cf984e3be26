"""Measures RCP, EMKC and EMKC-AVQ on T4: four bottlenecks in a square, where ACKs share links with data."""

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Noted

FLOWS = ("x1", "x2", "x3", "x4")
ALONE, LAST = 30.0, 90.0  # s, when x2 and x4 join
RCP_END, EMKC_END = 200.0, 400.0
SHARE, EMKC_SHARE = 10e6, 10.4e6  # bit/s
LAWS = ("rcp", "emkc", "emkc-avq")


def steady(flows, end):
    """Two rates, Mb/s: of x1 alone, and of the flow that is furthest from the mean of all four flows."""
    together = [rates.steady_rate(flows, x, LAST, end) / 1e6 for x in FLOWS]
    mean = sum(together) / len(together)
    return [rates.steady_rate(flows, "x1", 0.0, ALONE) / 1e6, max(together, key=lambda rate: abs(rate - mean))]


def stable(flows, share, end):
    return [rates.stable(flows, x, share, (LAST, end)) for x in FLOWS]


def stationary_after(flows, within):
    """Seconds after the last join from which all rates of RCP stay near their final values."""
    ends = {x: rates.steady_rate(flows, x, LAST, RCP_END) for x in FLOWS}
    return rates.time_to_fairness(flows, ends, LAST, within=within)


def measure(figure):
    rcp, emkc, avq = (r.flows for r in figure.runs([figure.scenario(name=f"{law}.toml") for law in LAWS]))
    return {
        "t4-others-fig27cde": {
            "steady_rate_mbps[rcp:_x1_alone,_then_all_four]": steady(rcp, RCP_END),
            "steady_rate_mbps[emkc-avq:_all_four]": steady(avq, EMKC_END)[1],
            "steady_rate_mbps[emkc:_x1_alone,_all_four]": steady(emkc, EMKC_END),
            "time_to_99pct_of_stationary_rates_s[rcp][after_join]": Noted(
                stationary_after(rcp, 0.01),
                "within 5, 3, 2 and 0.5 %: "
                + ", ".join(f"{stationary_after(rcp, e):.1f} s" for e in (0.05, 0.03, 0.02, 0.005)),
            ),
            "stable[rcp,_emkc,_emkc-avq]": [
                *stable(rcp, SHARE, RCP_END),
                *stable(emkc, EMKC_SHARE, EMKC_END),
                *stable(avq, SHARE, EMKC_END),
            ],
        }
    }


def plot(figure, canvas):
    titles = ("fig 27(c): RCP", "fig 27(d): EMKC", "fig 27(e): EMKC-AVQ")
    draw_rates(canvas.subplots(1, 3), figure.results, titles, FLOWS)
    alone = series.steady(0, ALONE)
    draw_expected(canvas.axes[0], figure, "t4-others-fig27cde[0]", [alone, series.steady(LAST, RCP_END)])
    draw_expected(canvas.axes[0], figure, "t4-others-fig27cde[3]", shift=LAST, along="x")
    draw_expected(canvas.axes[1], figure, "t4-others-fig27cde[2]", [alone, series.steady(LAST, EMKC_END)])
    draw_expected(canvas.axes[2], figure, "t4-others-fig27cde[1]", series.steady(LAST, EMKC_END))
