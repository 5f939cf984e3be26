from levelflow.measure import queues, rates
from levelflow.reproduce.drawing import draw_rates

C = 10e6  # bit/s
JOIN = 30.0
PHASES = [f"{10 * k} ms" for k in range(10)]  # arrivals of x2 within an interval of the router, which lasts 100 ms
LINK = "R1->R2"


def measure(figure):
    unproposed = figure.run()
    naive = figure.runs([figure.scenario({"law.jetmax.ignore": False, "flow.x2.start": phase}) for phase in PHASES])
    worst = max((run.links for run in naive), key=lambda links: queues.overshoot_pct(links, LINK, C, (0.0, JOIN)))
    alone = (0.0, JOIN)
    return {
        "jetmax-fig33b-naive": {
            "overshoot_pct_max_over_10_router_phases": queues.overshoot_pct(worst, LINK, C, alone),
            "overload_duration_s[when_sender_acts_once_per_RTT]": queues.overload_duration(
                worst, LINK, 1.02 * C, alone
            ),
        },
        "jetmax-fig34b-no-proposal": {
            "monotonic[x2][0-30s]": rates.monotonic(unproposed.flows, "x2", alone),
            "overshoot_pct[0-30s]": queues.overshoot_pct(unproposed.links, LINK, C, alone),
            "overload_loss_max[after_30s]": queues.overload_loss_max(unproposed.links, LINK, C, (JOIN, 70.0)),
        },
    }


def plot(figure, canvas):
    unproposed, *naive = figure.results
    upper, lower = canvas.subplots(2, 1, sharex=True)
    for run in naive:
        t, rate = rates.rate_series(run.flows, "x2")
        upper.plot(t, rate / 1e6, linewidth=1)
    upper.set(ylabel="x2 (Mb/s)", title="Neither ignored feedback nor proposals, ten phases of the router")
    draw_rates(lower, [unproposed], ["Ignored feedback, no proposals"], ("x2", "x1"))
