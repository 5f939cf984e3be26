from levelflow.measure import queues, rates, series

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
    (result,) = figure.results
    for name in ("A", "B"):
        t, rate = rates.rate_series(result.flows, name)
        left.plot(t, rate / 1e6, label=f"a flow of group {name}")
    left.set(xlabel="time (s)", ylabel="Mb/s", ylim=(0, None), title="Figure 3")
    left.legend()
    t, rate = series.link_series(result.links, "C", "signal")
    right.plot(t, C / rate)
    right.set(xlabel="time (s)", ylabel="C/R at Link C", ylim=(0, None))
