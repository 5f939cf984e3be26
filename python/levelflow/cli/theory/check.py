"""`levelflow theory check`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import choose, scenario_argument, set_option
from levelflow.cli.theory.shared import at_option, json_option

if TYPE_CHECKING:
    from levelflow.theory.check import Prediction


@click.command(epilog="Example: levelflow theory check t1-rcp --set law.rcp.alpha=1.2")
@scenario_argument
@set_option
@at_option
@json_option
def check(scenario: str, changes: tuple[str, ...], at: str | None, as_json: bool) -> None:
    """Predict rates, queues, stability and convergence time of a scenario, and changes that would make it unstable.

    With a margin of 2, the gains of the law may be twice as large; with 0.5, they must be halved.
    """
    from levelflow.cli.theory.shared import reply
    from levelflow.theory.check import as_plain
    from levelflow.theory.check import check as predict
    from levelflow.theory.units import time

    found = predict(choose(scenario, changes).resolve(), None if at is None else time(at))
    reply(as_json, as_plain(found), lambda: _show(found))


def _show(found: Prediction) -> None:
    from levelflow.cli.show import show_table
    from levelflow.report.tables import percent, rate

    links = found.competition.links
    rows = [
        [flow["name"], flow["law"], f"{count:g}", rate(each), links[link]["name"]]
        for flow, count, each, link in zip(
            found.competition.entries, found.competition.counts, found.rates, found.bottlenecks, strict=True
        )
    ]
    show_table("Flows in equilibrium", ["flow", "law", "flows", "rate of one", "bottleneck"], rows)
    rows = [
        [link["name"], rate(load), percent(load / link["service_bps"]), _queue(wait)]
        for link, load, wait in zip(links, found.loads, found.queues, strict=True)
        if load > 0
    ]
    show_table("Links in equilibrium", ["link", "load", "utilisation", "queue"], rows)
    rows = [
        [
            links[own.link]["name"],
            own.law,
            _word(own.verdict.stable),
            _margin(own.verdict.margin),
            _time(own.verdict.time),
        ]
        for own in found.judgements
    ]
    show_table("Bottlenecks", ["link", "law", "verdict", "margin", "settles in"], rows)
    for what, field in (("Why", "why"), ("Would make it unstable", "breaks")):
        for text, places in _by_text(found, field).items():
            where = f" ({', '.join(places)})" if len(found.judgements) > 1 else ""
            click.echo(f"{what}{where}: {text}.")
    soon = (
        "" if found.time is None else f"; within 2 % of the equilibrium {_time(found.time)} after the last flow started"
    )
    click.echo(f"All in all: {_word(found.stable)}{soon}.")


def _by_text(found: Prediction, field: str) -> dict[str, list[str]]:
    """Returns the links to which each verdict text applies. With several laws, links are named with their law."""
    laws = {own.law for own in found.judgements}
    places: dict[str, list[str]] = {}
    for own in found.judgements:
        link = found.competition.links[own.link]["name"]
        if text := getattr(own.verdict, field):
            places.setdefault(text, []).append(link if len(laws) == 1 else f"{own.law} at {link}")
    return places


def _word(stable: bool | None) -> str:
    return {True: "stable", False: "unstable", None: "unknown"}[stable]


def _margin(margin: float | None) -> str:
    return "-" if margin is None else f"{margin:.2f}" if math.isfinite(margin) else "any"


def _time(time: float | None) -> str:
    return "-" if time is None else f"{time:.2f} s"


def _queue(wait: float | None) -> str:
    return "-" if wait is None else f"{1e3 * wait:.3g} ms" if math.isfinite(wait) else "full"
