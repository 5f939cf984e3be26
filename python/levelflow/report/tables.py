"""A summary as rows of text, for the terminal and for pages."""

from __future__ import annotations

import html
from typing import Any

Table = tuple[list[str], list[list[str]]]

LINK_HEAD = ["link", "utilisation", "queueing delay p50", "p99", "max", "longest queue", "drops", "lost on the link"]


def flow_table(summary: dict[str, Any]) -> Table:
    """Returns head and rows: one row per flow entry; rates are those of one flow in the steady window.

    The rates that they are compared with stand under the name of the reference.
    """
    rows = []
    for flow in summary["flows"]:
        rtt = flow["rtt_s"] or {}
        rows.append(
            [
                flow["name"],
                flow["law"],
                f"{flow['active']:.4g}",
                rate(flow["rate_bps"]),
                rate(flow["share_bps"]),
                percent(flow["distance"]),
                time(rtt.get("p50")),
                time(rtt.get("p99")),
                percent(flow["loss"]),
            ]
        )
    return ["flow", "law", "active", "rate", summary["reference"], "distance", "RTT p50", "p99", "loss"], rows


def link_table(summary: dict[str, Any]) -> Table:
    """Returns head and rows: one row per link; utilisation and queueing delay are those of the whole run."""
    rows = []
    for link in summary["links"]:
        delays = [time(link["queue_ms"][key] / 1e3) for key in ("p50", "p99", "max")]
        rows.append(
            [
                link["name"],
                percent(link["utilisation"]),
                *delays,
                size(link["queue_bytes"]["max"]),
                f"{link['dropped_packets']:,}",
                f"{link['lost_packets']:,}",
            ]
        )
    return LINK_HEAD, rows


def verdict(summary: dict[str, Any]) -> str:
    """Returns a sentence about fairness and one per entry of which flows completed."""
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
    for flow in summary["flows"]:
        if flow["fct_s"]:
            mean, late = time(flow["fct_s"]["mean"]), time(flow["fct_s"]["p99"])
            slow, slower = flow["slowdown"]["p50"], flow["slowdown"]["p99"]
            sentences.append(
                f"{flow['name']}: {flow['finished']:,} done in {mean} on average, 99 % within {late}; "
                f"{slow:.3g} times the least time at the median, 99 % within {slower:.3g}"
            )
    return "".join(f"{sentence}. " for sentence in sentences).rstrip()


def fairness_of(summary: dict[str, Any]) -> str:
    """Returns which index of fairness `jain_of_shares` is."""
    groups = [flow for flow in summary["flows"] if flow["distance"] is not None and flow["active"] > 1]
    by_mean = any(not flow.get("has_members") for flow in groups)
    return f"Jain's index of rate / fair share{' (groups count as their mean)' if by_mean else ''}"


def settling(summary: dict[str, Any]) -> str:
    """Returns how long a run took to settle, as a cell of a table."""
    took = time(summary["settling_s"])
    if summary["settled"] or summary["jain_of_shares"] is None:
        return took
    return "never" if summary["settling_s"] is None else f"no; steady after {took}"


def html_table(head: list[str], rows: list[list[str]], caption: str = "") -> str:
    """Returns a table as HTML, which takes the colours of where it stands.

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
    """Prints a rate.

    >>> rate(9_990_000.0), rate(None)
    ('9.99 Mb/s', '-')
    """
    return _scaled(bps, "b/s", ("", "k", "M", "G", "T"), 1000)


def size(count: float | None) -> str:
    """Prints a number of bytes.

    >>> size(1500)
    '1.5 kB'
    """
    return _scaled(count, "B", ("", "k", "M", "G", "T"), 1000)


def time(seconds: float | None) -> str:
    """Prints a time.

    >>> time(2.0204), time(0.0005), time(0)
    ('2.02 s', '500 us', '0 s')
    """
    if seconds is None or seconds >= 1 or seconds == 0:
        return _scaled(seconds, "s", ("",), 1000)
    return _scaled(seconds * 1e9, "s", ("n", "u", "m"), 1000)


def percent(share: float | None) -> str:
    """Prints a share of 1.

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
