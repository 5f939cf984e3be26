"""Functions that several commands about the equilibrium of a scenario share."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NotRequired, TypedDict

import click

from levelflow.cli.choosing import PATH, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure, SubFigure

    from levelflow.theory.arrays import Floats
    from levelflow.theory.competition import Competition

#: Description of a law in options; the laws themselves are loaded only when a command runs.
HAVE = "A law; `levelflow theory laws` lists those that have a"

at_option = click.option(
    "--at", metavar="TIME", help='Only the flows active at this time, as in "45 s" [default: all listed flows].'
)
out_option = click.option("--out", type=PATH, metavar="FILE.png", help="Draw a picture into this file.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


class FlowRate(TypedDict):
    """Equilibrium rate of each flow of one `[[flow]]` entry."""

    name: str
    flows: float
    rate_bps: float
    price: NotRequired[float]
    bottlenecks: NotRequired[list[str]]


class LinkRate(TypedDict):
    """Available rate and load of a link with flows."""

    link: int
    name: str
    available_bps: float
    load_bps: float
    price: NotRequired[float]


def competition_of(name: str, changes: Sequence[str], at: str | None) -> Competition:
    """Returns the competition in a scenario.

    Raises:
        ScenarioError: if the scenario is not allowed.
        CompetitionError: if no flow competes, or `at` is not a time.
    """
    from levelflow.theory.competition import competition, listed
    from levelflow.theory.units import time

    scenario = choose(name, changes).resolve()
    return competition(scenario, listed(scenario, None if at is None else time(at)))


def reply(
    as_json: bool,
    data: Mapping[str, object],
    show: Callable[[], None],
    out: Path | None = None,
    draw: Callable[[], Figure] | None = None,
) -> None:
    """Writes the requested picture. Prints the data, as JSON or by `show`, and the path of the picture."""
    if out is not None and draw is not None:
        save(draw(), out)
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    show()
    if out is not None:
        click.echo(out)


def finite(value: float) -> float | None:
    """Returns a number, or None if it is infinite or NaN, which JSON cannot represent."""
    return value if math.isfinite(value) else None


def paper(width: float, height: float) -> Figure:
    """Returns an empty figure in the style of Levelflow; size in inches."""
    from levelflow.picture import drawn_on

    with drawn_on(None, width, height) as figure:
        empty: Figure = figure
    return empty


def panels(figure: Figure, rows: int, columns: int) -> list[SubFigure]:
    """Divides a figure into a grid of subfigures, and returns them row by row."""
    return list(figure.subfigures(rows, columns, squeeze=False).flat)


def save(figure: Figure, target: Path) -> None:
    """Writes a picture.

    Raises:
        TheoryError: if it cannot be written, or its format is not supported.
    """
    from levelflow.picture import write
    from levelflow.theory.errors import TheoryError

    try:
        write(figure, target)
    except OSError as error:
        raise TheoryError(f"{target}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        allowed = ", ".join(sorted(figure.canvas.get_supported_filetypes()))
        raise TheoryError(f"{target}: no picture has the ending {target.suffix!r}; allowed: {allowed}") from None


def flow_rows(found: Competition, totals: Floats) -> list[FlowRate]:
    """Returns for each flow entry its name, its number of flows, and the rate of one flow in bit/s."""
    each = zip(found.entries, found.counts.tolist(), totals.tolist(), strict=True)
    return [{"name": flow["name"], "flows": count, "rate_bps": total / count} for flow, count, total in each]


def link_rows(found: Competition, totals: Floats) -> list[LinkRate]:
    """Returns for each link with flows its number and name, and its available rate and load in bit/s."""
    import numpy as np

    load = np.zeros(len(found.links))
    for route, total in zip(found.routes, totals, strict=True):
        np.add.at(load, route, total)
    return [
        {
            "link": link,
            "name": found.links[link]["name"],
            "available_bps": float(found.available[link]),
            "load_bps": float(load[link]),
        }
        for link in sorted({link for route in found.routes for link in route})
    ]


def show_rates(flows: list[FlowRate], links: list[LinkRate], last: str, values: list[str]) -> None:
    """Prints a table of flow entries and a table of links.

    The table of flows has an additional column with the title `last` and the cells `values`.
    """
    from levelflow.cli.show import show_table
    from levelflow.report.tables import percent, rate

    cells = [
        [row["name"], f"{row['flows']:g}", rate(row["rate_bps"]), value]
        for row, value in zip(flows, values, strict=True)
    ]
    show_table("Flows", ["flow", "flows", "rate of one", last], cells)
    cells = []
    for row in links:
        offer, load = row["available_bps"], row["load_bps"]
        price = [f"{row['price']:.4g}"] if "price" in row else []
        cells.append([row["name"], rate(offer), rate(load), percent(load / offer if offer else 0.0), *price])
    show_table("Links", ["link", "offers", "load", "utilisation", "price"][: len(cells[0])], cells)
