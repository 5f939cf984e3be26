"""Tables of a summary as text, for terminals and pages."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.measure.transfers import SizeSummary, Spread, TransferCounts
    from levelflow.records import ClassCounters, LinkCounters, Quantiles
    from levelflow.summary import Summary

Table = tuple[list[str], list[list[str]]]

#: Largest number of flow entries with a row each in the table of transfers. Above it, only the total is shown.
MOST_ENTRIES = 12
LINK_HEAD = [
    "link",
    "utilisation",
    "queueing delay p50",
    "p99",
    "max",
    "mean backlog",
    "max backlog",
    "drops",
    "lost on the link",
]
Quantile = Literal["p50", "p99", "max"]
Statistic = Literal["mean", "p50", "p95", "p99", "p999"]
#: Cells about the queueing delay of a link.
DELAYS: tuple[Quantile, ...] = ("p50", "p99", "max")
COUNTS: tuple[Literal["started", "finished", "aborted", "unfinished"], ...] = (
    "started",
    "finished",
    "aborted",
    "unfinished",
)
TRANSFER_COLUMNS = [
    *COUNTS,
    "bytes missing",
    "completion mean",
    "p50",
    "p95",
    "p99",
    "p99.9",
    "slowdown p50",
    "p99",
]
SIZE_COLUMNS = [
    "started",
    "finished",
    "bytes missing",
    "completion p50",
    "p99",
    "slowdown p50",
    "p95",
    "p99",
    "p99.9",
]
ALL = "all transfers"


def tables(summary: Summary) -> list[tuple[str, Table]]:
    """Returns the tables of a run with their titles: flows, links, and transfers if there are any."""
    start, end = summary["window_s"]
    found = {
        f"Flows: throughput of one flow, {start:.4g} to {end:.4g} s": flow_table(summary),
        f"Links: 0 to {end:.4g} s": link_table(summary),
        "Transfers: completion times of those that finished": transfer_table(summary),
        "Transfers by size": size_table(summary),
    }
    return [(title, table) for title, table in found.items() if table]


def flow_table(summary: Summary) -> Table:
    """Returns header and rows: one row per flow entry; throughput is the mean per flow in the steady window.

    The column of reference rates has the name of the reference as its title.
    """
    rows = []
    for flow in summary["flows"]:
        rows.append(
            [
                flow["name"],
                flow["law"],
                f"{flow['active']:.4g}",
                rate(flow["throughput_bps"]),
                rate(flow["share_bps"]),
                percent(flow["distance"]),
                *quantiles(flow["rtt_s"], ("p50", "p99")),
                percent(flow["loss"]),
            ]
        )
    return ["flow", "law", "active", "throughput", summary["reference"], "distance", "RTT p50", "p99", "loss"], rows


def link_table(summary: Summary) -> Table:
    """Returns header and rows over the whole run: one row per link, and one per class of service of a link."""
    rows = []
    for link in summary["links"]:
        backlog = link["backlog_bytes"]
        rows.append(
            [
                link["name"],
                percent(link["utilisation"]),
                *delays(link),
                size(backlog["mean"]),
                size(backlog["max"]),
                f"{link['dropped_packets']:,}",
                f"{link['lost_packets']:,}",
            ]
        )
        rows += [[f"  {one['name']}", "", *delays(one), "", "", "", ""] for one in link.get("classes", [])]
    return LINK_HEAD, rows


def delays(link: LinkCounters | ClassCounters, which: tuple[Quantile, ...] = DELAYS) -> list[str]:
    """Returns quantiles of the queueing delay of a link or of a class of service, as cells."""
    return quantiles(link["queueing_delay_s"], which)


def quantiles(found: Quantiles | None, which: tuple[Quantile, ...]) -> list[str]:
    """Returns quantiles of times, as cells."""
    return [time(found and found[key]) for key in which]


def transfer_table(summary: Summary) -> Table | None:
    """Returns header and rows: counts and completion times by flow entry, then in total; None without transfers.

    Completion times are those of finished transfers; `bytes missing` is the fraction of bytes in unfinished transfers.
    """
    if not summary["transfers"]:
        return None
    own = [(flow["name"], flow["transfers"]) for flow in summary["flows"] if flow["transfers"]]
    rows = [[name, *transfer_cells(one)] for name, one in own] if 1 < len(own) <= MOST_ENTRIES else []
    name = own[0][0] if len(own) == 1 else ALL
    return ["transfers", *TRANSFER_COLUMNS], [*rows, [name, *transfer_cells(summary["transfers"])]]


def size_table(summary: Summary) -> Table | None:
    """Returns header and rows: counts, completion times and slowdowns by decade of size; None with fewer than two."""
    found = summary["transfers"]
    if not found or len(found["sizes"]) < 2:
        return None
    return ["size", *SIZE_COLUMNS], [[size_range(one["low"], one["high"]), *size_cells(one)] for one in found["sizes"]]


def size_range(low: int, high: int) -> str:
    """Returns the range of a decade of sizes.

    >>> size_range(10_000, 100_000)
    '10 kB to 100 kB'
    """
    return f"{size(low)} to {size(high)}"


def transfer_cells(found: TransferCounts) -> list[str]:
    """Returns the cells of `TRANSFER_COLUMNS` for a set of transfers."""
    cells = [*(f"{found[key]:,}" for key in COUNTS), percent(found["missing_share"])]
    return [*cells, *_statistics(found["fct_s"], time), *_statistics(found["slowdown"], _times, ("p50", "p99"))]


def size_cells(found: SizeSummary) -> list[str]:
    """Returns the cells of `SIZE_COLUMNS` for the transfers of one decade of sizes."""
    cells = [f"{found['started']:,}", f"{found['finished']:,}", percent(found["missing_share"])]
    cells += _statistics(found["fct_s"], time, ("p50", "p99"))
    return cells + _statistics(found["slowdown"], _times, ("p50", "p95", "p99", "p999"))


def _statistics(
    found: Spread | None,
    shown: Callable[[float | None], str],
    which: tuple[Statistic, ...] = ("mean", "p50", "p95", "p99", "p999"),
) -> list[str]:
    return [shown(found and found[key]) for key in which]


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3g}"


def verdict(summary: Summary) -> str:
    """Returns a sentence about fairness and settling, and one about transfers excluded from completion times."""
    sentences = []
    if (fairness := summary["jain_of_shares"]) is not None:
        away = f"{percent(summary['distance_max'])} from {summary['reference']} at worst"
        steady = f"{time(summary['settling_s'])} after the last {summary['last_event']}"
        if summary["settling_s"] is None:
            away += ", not settled"
        elif summary["settled"]:
            away += f", settled {steady}"
        else:
            away = f"steady {steady}, but {away}"
        sentences.append(f"{fairness_of(summary)} {fairness:.4f}, {away}")
    if left_out := missing(summary["transfers"]):
        sentences.append(f"Completion times exclude {left_out}")
    return "".join(f"{sentence}. " for sentence in sentences).rstrip()


def missing(transfers: TransferCounts | None) -> str:
    """Returns a text on the transfers and bytes that completion times exclude; empty if there are none.

    >>> none = {"fct_s": None, "slowdown": None}
    >>> missing({"started": 563, "finished": 397, "aborted": 0, "unfinished": 166, "missing_share": 0.7, **none})
    '166 of 563 transfers (166 unfinished) with 70 % of the bytes'
    """
    if not transfers or transfers["finished"] == transfers["started"]:
        return ""
    counts = {"aborted": transfers["aborted"], "unfinished": transfers["unfinished"]}
    ways = [f"{count:,} {key}" for key, count in counts.items() if count]
    count = f"{transfers['started'] - transfers['finished']:,} of {transfers['started']:,} transfers"
    return f"{count} ({', '.join(ways)}) with {percent(transfers['missing_share'])} of the bytes"


def fairness_of(summary: Summary) -> str:
    """Returns the name of the fairness index `jain_of_shares`."""
    groups = [flow for flow in summary["flows"] if flow["distance"] is not None and flow["active"] > 1]
    by_mean = any(not flow["has_members"] for flow in groups)
    return f"Jain's index of throughput / fair share{' (groups count as their mean)' if by_mean else ''}"


def settling(summary: Summary) -> str:
    """Returns the settling time of a run as a table cell."""
    took = time(summary["settling_s"])
    if summary["settled"] or summary["jain_of_shares"] is None:
        return took
    return "never" if summary["settling_s"] is None else f"no; steady after {took}"


def html_table(head: list[str], rows: list[list[str]], caption: str = "") -> str:
    """Returns a table as HTML. The table inherits the colours of the page.

    >>> html_table(["flow"], [["<x>"]])
    '<div class="wide"><table><thead><tr><th scope="col">flow</th></tr></thead><tbody><tr><th scope="row">&lt;x&gt;</th></tr></tbody></table></div>'
    """  # noqa: E501 - what it prints is one line
    title = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    lines = [
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        + "</tr>"
        for name, *row in rows
    ]
    said = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{said}<thead><tr>{title}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def rate(bps: float | None) -> str:
    """Formats a rate.

    >>> rate(9_990_000.0), rate(None)
    ('9.99 Mb/s', '-')
    """
    return _scaled(bps, "b/s", ("", "k", "M", "G", "T"), 1000)


def size(count: float | None) -> str:
    """Formats a number of bytes.

    >>> size(1500)
    '1.5 kB'
    """
    return _scaled(count, "B", ("", "k", "M", "G", "T"), 1000)


def time(seconds: float | None) -> str:
    """Formats a time.

    >>> time(2.0204), time(0.0005), time(0)
    ('2.02 s', '500 us', '0 s')
    """
    if seconds is None or seconds >= 1 or seconds == 0:
        return _scaled(seconds, "s", ("",), 1000)
    return _scaled(seconds * 1e9, "s", ("n", "u", "m"), 1000)


def percent(share: float | None) -> str:
    """Formats a fraction as a percentage.

    >>> percent(0.0312), percent(0.0), percent(1e-7)
    ('3.12 %', '0 %', '<0.01 %')
    """
    if share is None:
        return "-"
    return "<0.01 %" if 0 < share < 5e-5 else f"{100 * share:.3g} %"


def _scaled(value: float | None, unit: str, prefixes: tuple[str, ...], step: float) -> str:
    if value is None:
        return "-"
    for prefix in prefixes[:-1]:
        if abs(value) < step * (1 - 5e-4):
            return f"{value:.3g} {prefix}{unit}"
        value /= step
    return f"{value:.3g} {prefixes[-1]}{unit}"
