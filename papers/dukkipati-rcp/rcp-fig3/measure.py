from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates

C = 400e6  # bit/s, Link C
SHARED = (70.0, 100.0)


def measure(figure):
    result = figure.run()
    flows, links = result.flows, result.links
    return {
        "rcp-fig3": {
            "flow_rate_bps[Group A, t = 20-40 and 120-150 s]": [
                rates.mean_rate(flows, "A", window) for window in ((20.0, 40.0), (120.0, 150.0))
            ],
            "flow_rate_bps[Group A, t = 70-100 s]": rates.mean_rate(flows, "A", SHARED),
            "flow_rate_bps[Group B, t = 70-100 s]": rates.mean_rate(flows, "B", SHARED),
            "c_over_r": queues.c_over_r(links, "C", C, SHARED),
            "utilisation": queues.utilisation(links, "C", C, SHARED)[0],
        }
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    draw_rates(left, figure.results, ["Figure 3: a flow of each group"], ("A", "B"))
    t, rate = series.link_series(figure.results[0].links, "C", "signal")
    right.plot(t, C / rate)
    right.set(xlabel="time (s)", ylabel="C/R at Link C", ylim=(0, None))
    draw_expected(left, figure, "rcp-fig3[0]", [(20, 40), (120, 150)], scale=1e-06)
    draw_expected(left, figure, "rcp-fig3[1]", (70, 100), scale=1e-06)
    draw_expected(left, figure, "rcp-fig3[2]", (70, 100), scale=1e-06)
    draw_expected(right, figure, "rcp-fig3[3]", (70, 100))
