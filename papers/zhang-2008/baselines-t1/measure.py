"""Measures RCP and EMKC on T1: a flow with a round trip of 220 ms, and a second flow with 2020 ms."""

from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Noted

C, LINK = 10e6, "R1->R2"
FLOWS = ("x1", "x2")
JOIN, SLOW_RTT = 5.0, 2.02  # s
RCP_END, EMKC_END = 150.0, 500.0
EMKC_SHARE = 5.4e6  # C/2 + alpha/beta, bit/s


def steady(flows, end):
    return [rates.steady_rate(flows, x, JOIN, end) / 1e6 for x in FLOWS]


def fair_after(result, within):
    return rates.time_to_fairness(result.flows, dict.fromkeys(FLOWS, C / 2), JOIN, within=within)


def measure(figure):
    rcp, emkc = figure.runs([figure.scenario(name="rcp.toml"), figure.scenario(name="emkc.toml")])
    last = series.steady(JOIN, EMKC_END)
    return {
        "t1-rcp-fig24c": {
            "steady_rate_mbps[x1,x2]": steady(rcp.flows, RCP_END),
            "time_to_99pct_of_stationary_rates_s": Noted(
                fair_after(rcp, 0.01),
                "within 5, 3, 2 and 0.5 %: "
                + ", ".join(f"{fair_after(rcp, e):.1f} s" for e in (0.05, 0.03, 0.02, 0.005)),
            ),
            "rate_of_x2_in_its_first_RTT": rates.mean_rate(rcp.flows, "x2", (JOIN, JOIN + SLOW_RTT)) / 1e6,
            "queue_grows[5-7s]": queues.queue_grows(rcp.links, LINK, (JOIN, JOIN + 2.0)),
        },
        "t1-emkc-fig24d": {
            "steady_rate_mbps[x1,x2]": steady(emkc.flows, EMKC_END),
            "overshoot_pct[steady]": queues.mean_overshoot_pct(emkc.links, LINK, C, last),
            "loss_rate_steady": queues.loss_rate_mean(emkc.links, LINK, C, last),
            "time_to_98pct_fairness_s": rates.time_to_fairness(
                emkc.flows, dict.fromkeys(FLOWS, EMKC_SHARE), JOIN, within=0.02
            ),
            "monotonic[x1,x2]": [rates.monotonic(emkc.flows, x, (JOIN, EMKC_END)) for x in FLOWS],
        },
    }


def plot(figure, canvas):
    draw_rates(canvas.subplots(1, 2), figure.results, ("fig 24(c): RCP", "fig 24(d): EMKC"), FLOWS)
    draw_expected(canvas.axes[0], figure, "t1-rcp-fig24c[0]", series.steady(JOIN, RCP_END))
    draw_expected(canvas.axes[0], figure, "t1-rcp-fig24c[1]", shift=JOIN, along="x")
    draw_expected(canvas.axes[1], figure, "t1-emkc-fig24d[0]", series.steady(JOIN, EMKC_END))
    draw_expected(canvas.axes[1], figure, "t1-emkc-fig24d[3]", shift=JOIN, along="x")
