"""Tables II and III, which the text lacks: buffer rules against the number of flows, and against capacity."""

from levelflow.claims.sized import LINK, crowd, one_link
from levelflow.claims.verdict import Against
from levelflow.sizing import Targets, best_fixed, candidates, compare
from levelflow.theory.buffers import bscl, harmonic_rtt, pipe, stanford

TARGETS = Targets(0.98, 0.02)
FLOWS = tuple(2**i for i in range(1, 11))
CAPACITIES = tuple(2**i for i in range(11))  # Mb/s
TEN, SIXTEEN = 10, 16
BDP, STANFORD, BSCL, PRINTED, OURS, FIXED = (
    "C R",
    "Stanford, 2 C R/sqrt(N)",
    "BSCL",
    "ABS as printed",
    "abs_log",
    "best fixed",
)
SIZERS = (PRINTED, OURS)
CROWD, SLOW = 256, 4000  # from so many flows on, seconds of abs_log


def network(count, capacity, end):
    return crowd(one_link(capacity, "1 BDP", end), count, (30, 30 + 2 * count))


def row(figure, count, capacity, end, end_of_sizers):
    """Lines of one row by their names."""
    rules = candidates(TARGETS)
    printed, ours = ({name: rules.pop(name)} for name in SIZERS)
    slowest = SLOW if count >= CROWD else end_of_sizers
    lines = [
        one
        for buffers, last in ((rules, end), (printed, end_of_sizers), (ours, slowest))
        for one in compare(network(count, capacity, last), LINK, TARGETS, buffers, figure.runs)
    ]
    best = best_fixed(network(count, capacity, end), LINK, TARGETS, figure.runs)
    return {one.name: one for one in (*lines, best)}


def lasts(figure, capacity):
    """Seconds of runs with fixed buffers, and of those with sizers."""
    if figure.full:
        return (200, 400) if capacity <= 256 else (100, 200)
    return {128: (60, 150), 256: (40, 120), 512: (25, 80), 1024: (20, 60)}.get(capacity, (150, 400))


def tables(figure):
    if not hasattr(figure, "tables"):
        second = {n: row(figure, n, TEN, 400 if figure.full or n >= CROWD else 200, 1000) for n in FLOWS}
        third = {c: row(figure, SIXTEEN, c, *lasts(figure, c)) for c in CAPACITIES}
        figure.tables = second, third
    return figure.tables


def of(table, names, keys, what):
    return [getattr(table[key][name].used, what) for name in names for key in keys]


def rules(count, capacity):
    room = float(pipe(capacity * 1e6, harmonic_rtt(0.03, 0.03 + 0.002 * count)))
    return [room, float(stanford(room, count, 2.0)), float(bscl(room, count, TARGETS.loss))]


def second(table):
    small, large = (2, 4, 8), (128, 256, 512, 1024)
    return [
        of(table, (BDP, STANFORD), small, "utilisation"),
        table[1024][STANFORD].used.loss,
        of(table, (BDP, STANFORD), large, "utilisation"),
        of(table, (BDP, STANFORD, BSCL), large, "loss"),
        of(table, (BSCL,), small, "utilisation"),
        of(table, (PRINTED,), (2, 4, 8, 16, 32), "utilisation"),
        of(table, (PRINTED,), (64, *large), "loss"),
        table[1024][PRINTED].used.buffer,
        table[1024][PRINTED].used.wait,
        rules(1024, TEN),
        rules(16, TEN),
    ]


def third(table):
    slow, fast = (1, 2, 4), (256, 512, 1024)
    ratio = [table[c][name].used.buffer / table[c][PRINTED].used.buffer for name in (BDP, STANFORD) for c in fast]
    return [
        of(table, (BDP, STANFORD), slow, "loss"),
        of(table, (BDP, STANFORD), fast, "loss"),
        of(table, (BDP, STANFORD), fast, "utilisation"),
        ratio,
        Against(of(table, (BSCL,), slow, "loss"), of(table, (BDP,), slow, "loss")),
        of(table, (PRINTED,), CAPACITIES, "loss"),
        of(table, (PRINTED,), CAPACITIES, "utilisation"),
        rules(SIXTEEN, 256),
    ]


def measure(figure):
    flows, capacities = tables(figure)
    return {"abs-table2": second(flows), "abs-table3": third(capacities)}


def plot(figure, canvas):
    canvas.set_size_inches(10, 8)
    grid = canvas.subplots(3, 2, sharex="col")
    for column, (table, label) in enumerate(zip(tables(figure), ("flows", "capacity (Mb/s)"), strict=True)):
        for name in (BDP, STANFORD, BSCL, PRINTED, OURS, FIXED):
            lines = [row[name] for row in table.values()]
            style = {"marker": "o", "markersize": 3, "capsize": 2, "label": name}
            style |= {"color": "black", "linestyle": "--"} if name == FIXED else {}
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
