"""Runs the simulations of tables II and III: buffer rules by number of flows (II) and by capacity (III).

The text of the paper that we read lacks the values of these tables.
"""

from levelflow.buffers.candidates import BDP, BEST, BSCL, OURS, PRINTED, STANFORD, with_buffer
from levelflow.measure import series, utilisation
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Against, Noted, Seeds
from levelflow.topology.bottleneck import LINK
from zhang_models import buffer_rows
from zhang_models.buffer_rows import CAPACITY, FLOWS, TARGETS

NAMES = (BDP, STANFORD, BSCL, PRINTED, OURS)
INTERVAL = 0.2  # s, of ABS as printed
SLOWEST = {(256, CAPACITY), (512, CAPACITY), (FLOWS, 512), (FLOWS, 1024)}  # flows and Mb/s of rows under --full only


def rows(figure, table):
    """Returns the rows of a table that the tier of a figure includes."""
    return [row for row in table if figure.full or (row.flows, row.capacity) not in SLOWEST]


def tables(figure):
    """Tables II and III.

    Results by row, then by buffer rule or algorithm. A row's key is its flow count or capacity.
    """
    if not hasattr(figure, "tables"):
        seeds = figure.seeds(5 if figure.full else 1)
        names = (*NAMES, BEST) if figure.full else NAMES
        figure.tables = tuple(
            {value(row): buffer_rows.measure(row, figure.runs, seeds, names) for row in rows(figure, table)}
            for table, value in (
                (buffer_rows.second(), lambda row: row.flows),
                (buffer_rows.third(), lambda row: row.capacity),
            )
        )
    return figure.tables


def of(table, names, keys, what):
    """Returns the utilisation, loss or buffer of each simulated row: a list per seed, or a plain list for one seed."""
    lines = [table[key][name] for name in names for key in keys if key in table]
    runs = [[getattr(used, what) for used in run] for run in zip(*(item.each for item in lines), strict=True)]
    return Seeds(runs) if len(runs) > 1 else runs[0]


def means(table, name, keys, what):
    return [getattr(table[key][name].used, what) for key in keys if key in table]


def remark(table, name, keys, what="buffer", unit="packets", scale=1.0):
    """Returns a text with the mean results of one buffer rule or algorithm in the table rows `keys`."""
    values = (f"{scale * value:.3g}" for value in means(table, name, keys, what))
    return f"{name}: {', '.join(values)} {unit}"


def mean_of_ratios(figure, row):
    """Unweighted mean of the loss rates of intervals, one per seed. ABS as printed regulates this mean."""
    _, algorithms = buffer_rows.ways()
    network = buffer_rows.network(row, row.algorithms)
    scenarios = [
        with_buffer(network, LINK, algorithms[PRINTED], seed) for seed in figure.seeds(5 if figure.full else 1)
    ]
    results = figure.runs([scenario.set("sample", "200 ms") for scenario in scenarios])
    return [mean_of_intervals(result.links, row) for result in results]


def mean_of_intervals(links, row):
    rows = series.select(links, "link", LINK, (row.algorithms / 2, row.algorithms))
    arrived = rows["arrival_bps"].to_numpy() * INTERVAL / 8
    return float((rows["dropped_bytes"].to_numpy()[arrived > 0] / arrived[arrived > 0]).mean())


def rising(figure, row):
    """Describes the loss of Stanford's rule over windows of a longer run."""
    rules, _ = buffer_rows.ways()
    links = figure.runs([with_buffer(buffer_rows.network(row, row.rules), LINK, rules[STANFORD], 1)])[0].links
    windows = ((200, 400), (400, 600), (600, 1000), (1000, row.rules))
    losses = (utilisation.use(links, LINK, row.capacity * 1e6, window).loss for window in windows)
    parts = (f"{100 * loss:.1f} % from {a:g} to {b:g} s" for loss, (a, b) in zip(losses, windows, strict=True))
    return f"with seed 1: {', '.join(parts)}"


def second(figure, table):
    small, large = (2, 4, 8), (128, 256, 512, 1024)
    crowded = [row for row in rows(figure, buffer_rows.second()) if row.flows > 32]
    ratios = [list(seed) for seed in zip(*(mean_of_ratios(figure, row) for row in crowded), strict=True)]
    return {
        "utilisation[BDP and Stanford, small N]": of(table, (BDP, STANFORD), small, "utilisation"),
        "loss_rate[Stanford, N = 1024]": Noted(of(table, (STANFORD,), (1024,), "loss"), rising(figure, crowded[-1])),
        "utilisation[BDP and Stanford, N >= 128]": Noted(
            of(table, (BDP, STANFORD), large, "utilisation"), remark(table, STANFORD, large)
        ),
        "loss_rate[BDP, Stanford, BSCL, large N]": of(table, (BDP, STANFORD, BSCL), large, "loss"),
        "utilisation[BSCL, small N]": Noted(of(table, (BSCL,), small, "utilisation"), remark(table, BSCL, small)),
        "utilisation[ABS, N <= 32]": Noted(
            of(table, (PRINTED,), (2, 4, 8, 16, 32), "utilisation"),
            f"{remark(table, PRINTED, (2, 4, 8, 16, 32))}; {remark(table, OURS, (2, 4, 8, 16, 32))}",
        ),
        "loss_rate[ABS, N > 32, mean of p(n)]": Noted(
            Seeds(ratios) if len(ratios) > 1 else ratios[0],
            remark(table, PRINTED, (64, *large), "loss", "% of bytes", 100),
        ),
        "loss_rate[ABS, N = 8, 16, 32]": of(table, (PRINTED,), (8, 16, 32), "loss"),
        "utilisation[ABS, N = 8, 16, 32]": of(table, (PRINTED,), (8, 16, 32), "utilisation"),
        "buffer_mean_pkts": of(table, (PRINTED,), (1024,), "buffer"),
        "queueing_delay_s[8613 packets of 1500 B at 16 Mb/s, as printed]": 8613 * 12_000 / 16e6,
        "queueing_delay_s[ABS, N = 1024]": of(table, (PRINTED,), (1024,), "wait"),
    }


def third(table):
    slow, fast, every = (1, 2, 4), (256, 512, 1024), tuple(table)
    ratio = [
        table[c][name].used.buffer / table[c][PRINTED].used.buffer
        for name in (BDP, STANFORD)
        for c in fast
        if c in table
    ]
    return {
        "loss_rate[BDP and Stanford, C <= 4 Mb/s]": of(table, (BDP, STANFORD), slow, "loss"),
        "loss_rate[BDP and Stanford, C >= 256 Mb/s]": of(table, (BDP, STANFORD), fast, "loss"),
        "utilisation[BDP and Stanford, C >= 256 Mb/s]": of(table, (BDP, STANFORD), fast, "utilisation"),
        "buffer_ratio": ratio,
        "loss_rate[BSCL, C <= 4 Mb/s]": Against(means(table, BSCL, slow, "loss"), means(table, BDP, slow, "loss")),
        "loss_rate[ABS, every C]": of(table, (PRINTED,), every, "loss"),
        "utilisation[ABS, every C]": Noted(
            of(table, (PRINTED,), every, "utilisation"), remark(table, OURS, every, "utilisation", "% used", 100)
        ),
    }


def measure(figure):
    flows, capacities = tables(figure)
    return {"abs-table2": second(figure, flows), "abs-table3": third(capacities)}


def plot(figure, canvas):
    canvas.set_size_inches(10, 8)
    grid = canvas.subplots(3, 2, sharex="col")
    for column, (table, label) in enumerate(zip(tables(figure), ("flows", "capacity (Mb/s)"), strict=True)):
        for name in next(iter(table.values())):
            lines = [row[name] for row in table.values()]
            style = {"marker": "o", "markersize": 3, "capsize": 2, "label": name}
            style |= {"color": "black", "linestyle": "--"} if name == BEST else {}
            for axes, what, scale in zip(
                grid[:, column], ("buffer", "utilisation", "loss"), (1, 100, 100), strict=True
            ):
                values = [scale * getattr(item.used, what) for item in lines]
                axes.errorbar(list(table), values, [scale * getattr(item.half, what) for item in lines], **style)
        grid[0, column].set(
            xscale="log", yscale="log", title=("table II", "table III")[column], ylabel="buffer (packets)"
        )
        grid[1, column].set(ylim=(50, 101), ylabel="utilisation (%)")
        grid[2, column].set(ylabel="loss (%)", xlabel=label)
        for axes, target in ((grid[1, column], TARGETS.utilisation), (grid[2, column], TARGETS.loss)):
            axes.axhline(100 * target, color="grey", linewidth=1)
    grid[0, 0].legend(fontsize=7)
    draw_expected(grid[0, 0], figure, "abs-table2[7]", (1024, 1024))
    draw_expected(grid[2, 0], figure, "abs-table2[1]", (1024, 1024), scale=100)
    draw_expected(grid[1, 0], figure, "abs-table2[2]", (128, 1024), scale=100)
    draw_expected(grid[1, 1], figure, "abs-table3[6]", scale=100)
    draw_expected(grid[2, 1], figure, "abs-table3[0]", (1, 4), scale=100)
    draw_expected(grid[2, 1], figure, "abs-table3[1]", (256, 1024), scale=100)
    draw_expected(grid[2, 1], figure, "abs-table3[5]", scale=100)
