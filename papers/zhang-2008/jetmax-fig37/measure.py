import numpy as np

from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected

C = 100e6  # bit/s
LINK = "R1->R2"
SIZES = (800, 900, 1000, 1100, 1200, 1300)  # B
MICE = [f"mice{size}" for size in SIZES]
PLATEAU = (35.0, 115.0)  # mice arrive and leave at equal rates
PRINTED = (30.0, 120.0)


def population(result, window):
    """Times and numbers of active mice."""
    columns = [series.flow_series(result.flows, name, "active", window) for name in MICE]
    return columns[0][0], sum(active for _, active in columns)


def short_rate(result, window):
    """Times at which mice are active, and the mean sending rate in bit/s of the mice at these times."""
    t, total = rates.aggregate(result.flows, MICE, window)
    _, active = population(result, window)
    return t[active > 0], total[active > 0] / active[active > 0]


def fair_rate(result, window):
    """Max-min fair rate of a flow, bit/s. In the window, mice share the link with two long flows."""
    return C / (2 + population(result, window)[1])


def short_flows(result):
    active = population(result, PLATEAU)[1]
    return {"mean_active_short[35,115_s]": float(active.mean()), "std_active_short": float(active.std())}


def long_flows(result):
    flows = result.flows
    t, long1 = rates.rate_series(flows, "long1", PLATEAU)
    smoothed = series.window_means(t, long1, 1.0)
    fair = series.window_means(t, fair_rate(result, PLATEAU), 1.0)
    band = [rates.rate_series(flows, name, PLATEAU)[1] / 1e6 for name in ("long1", "long2")]
    mean = np.mean([rates.mean_rate(flows, name, PRINTED) for name in ("long1", "long2")])
    exact = fair_rate(result, PRINTED)
    return {
        "steady_rate_mbps[long1_alone]": rates.steady_rate(flows, "long1", 0.0, 5.0) / 1e6,
        "steady_rate_mbps[long1,long2][5-15s]": [
            rates.steady_rate(flows, name, 5.0, 15.0) / 1e6 for name in ("long1", "long2")
        ],
        "mean_rate_mbps[long,_30-120_s]": float(mean) / 1e6,
        "mean_rate_over_exact_fair_rate[long,_30-120_s]": float(mean / exact.mean()),
        "time_share_of_exact_fair_rate_in_1.7_2.0_mbps[30-120s]": float(((exact >= 1.7e6) & (exact <= 2.0e6)).mean()),
        "corr_long_rate_vs_fair_rate": series.correlation(smoothed, fair),
        "time_share_in_band_1.5_2.4_mbps[35-115s]": float(
            np.mean([((rate >= 1.5) & (rate <= 2.4)).mean() for rate in band])
        ),
    }


def short_rates(result):
    late = series.window_means(*short_rate(result, (120.0, 140.0)), 1.0)
    return {
        "mean_rate_mbps[short,_30-115_s]": series.mean(short_rate(result, (30.0, 115.0))[1]) / 1e6,
        "rate_rises[after_120s]": bool(late[-1] > late[0]),
    }


def queue(result):
    links = result.links
    return {
        "queue_pkts_cdf[2]": queues.queue_cdf(links, LINK, 2),
        "queue_pkts_cdf[10]": queues.queue_cdf(links, LINK, 10),
        "drop_count": queues.drop_count(links),
    }


def measure(figure):
    results = figure.runs([figure.scenario(seed=seed) for seed in figure.seeds(5)])
    return {
        "jetmax-fig37a-population": over_seeds(map(short_flows, results)),
        "jetmax-fig37b-long": over_seeds(map(long_flows, results)),
        "jetmax-fig37c-short": over_seeds(map(short_rates, results)),
        "jetmax-fig37d-queue": over_seeds(map(queue, results)),
    }


def plot(figure, canvas):
    result = figure.results[0]
    everything = (0.0, 160.0)
    mice, long, short, queue = canvas.subplots(2, 2).flat
    mice.plot(*population(result, everything), lw=0.8)
    mice.set(xlabel="time (s)", ylabel="short flows", title="(a) active short flows")
    for name in ("long1", "long2"):
        t, rate = rates.rate_series(result.flows, name, everything)
        long.plot(t, rate / 1e6, lw=0.8, label=name)
    long.plot(t, fair_rate(result, everything) / 1e6, lw=0.8, ls=":", color="black", label="C / (2 + mice)")
    long.set(xlabel="time (s)", ylabel="rate (Mb/s)", yscale="log", ylim=(0.5, 200), title="(b) long flows")
    t, rate = short_rate(result, everything)
    short.plot(t, rate / 1e6, lw=0.8)
    short.set(xlabel="time (s)", ylabel="rate (Mb/s)", yscale="log", title="(c) mean rate of short flows")
    _, packets = series.link_series(result.links, LINK, "backlog_packets")
    queue.hist(packets, bins=np.arange(-0.5, 21.5), density=True)
    queue.set(xlabel="packets queued", ylabel="share of the time", title="(d) queue")
    draw_expected(mice, figure, "jetmax-fig37a-population[0]", PLATEAU)
    draw_expected(long, figure, "jetmax-fig37b-long[0]", series.steady(0, 5))
    draw_expected(long, figure, "jetmax-fig37b-long[1]", series.steady(5, 15))
    draw_expected(long, figure, "jetmax-fig37b-long[2]", PRINTED)
    draw_expected(short, figure, "jetmax-fig37c-short[0]", (30, 115))
