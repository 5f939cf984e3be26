"""`levelflow theory region`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import Whole
from levelflow.cli.theory.shared import HAVE, json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.pictures.regions import Tried
    from levelflow.theory.record import Plane
    from levelflow.theory.region import Region

#: Largest number of grid points per gain with `--fluid`.
FINEST = 40


@click.command(epilog="Example: levelflow theory region rcp --out region.png")
@click.argument("law", help=f"{HAVE} region.")
@click.option("--rtt", metavar="TIME", help="maxnet: round-trip time of the flows [default: 1 s].")
@click.option("--delays", metavar="STEPS", help='kelly, emkc_avq: delays, as in "1,3,10".')
@click.option(
    "--fluid",
    type=Whole(0),
    metavar="POINTS",
    default=0,
    help="rcp: run the fluid model with this number of alphas and of betas, up to 40.",
)
@out_option
@json_option
def region(law: str, rtt: str | None, delays: str | None, fluid: int, out: Path | None, as_json: bool) -> None:
    """Print and draw the stable pairs of two gains of a law on one link with equal delays.

    Delays are pure delays, without approximation. Gains hold for all capacities and numbers of flows. JetMax and EMKC
    have no such region, since their stability does not depend on delays: `theory check` prints their stable gains.

    With `--fluid`, RCP's fluid model runs from five initial states per pair of gains. Its queue cannot fall below 0;
    the linear boundary ignores this limit.
    """
    from levelflow.cli.theory.shared import finite, reply

    found = _region(law, rtt, delays)
    tried = _tried(law, fluid)
    rows = [dict(zip(found.head, map(finite, row), strict=True)) for row in found.rows]
    settles = None if tried is None else {"alpha": tried.x, "beta": tried.y, "settles": _listed(tried)}
    data = {"law": law, "rows": rows, "note": found.note, "fluid": settles}
    reply(as_json, data, lambda: _show(law, found, tried), out, lambda: _picture(law, found, tried))


def _show(law: str, found: Region, tried: Tried | None) -> None:
    from levelflow.cli.show import show_table

    cells = [["none" if math.isnan(value) else f"{value:.4g}" for value in row] for row in found.rows]
    show_table(f"Stable region of {law}", list(found.head), cells)
    click.echo(found.note)
    if tried is not None:
        rows = zip(reversed(tried.y), reversed(_listed(tried)), strict=True)
        cells = [[f"{beta:g}", *("o" if good else "." for good in row)] for beta, row in rows]
        show_table("\nFluid model: o settles", ["beta", *(f"{alpha:g}" for alpha in tried.x)], cells)


def _region(law: str, rtt: str | None, delays: str | None) -> Region:
    from levelflow.cli.theory.reading import numbers
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.laws import need, supporting
    from levelflow.theory.stability.delays import read_delays
    from levelflow.theory.units import time

    plane: Plane = need(law, "region")
    options: dict[str, float | list[float]] = {}
    for name, option, given in (("delay", "--rtt", rtt), ("delays", "--delays", delays)):
        if given is None:
            continue
        if name not in plane.options:
            others = [other for other, found in supporting("region").items() if name in found.options]
            raise TheoryError(f"{option} is not for {law}; needs {' or '.join(others)}")
        if name == "delay":
            options[name] = time(given)
        else:
            steps = numbers("delays", given)
            options[name] = read_delays(steps, len(steps)).tolist()
    return plane.region(**options)


def _tried(law: str, points: int) -> Tried | None:
    """Runs the fluid model of a law on a grid."""
    import numpy as np

    from levelflow.theory.errors import TheoryError
    from levelflow.theory.laws import need, supporting
    from levelflow.theory.pictures.regions import Tried

    if not points:
        return None
    settles = need(law, "region").settles
    if settles is None or points > FINEST:
        others = [other for other, found in supporting("region").items() if found.settles]
        raise TheoryError(
            f"--fluid {points} is not allowed for {law}; needs {' or '.join(others)}, and at most {FINEST} points"
        )
    gains = (2.0 * np.arange(1, points + 1) / points).round(6)
    return Tried(gains.tolist(), gains.tolist(), settles(gains[None], gains[:, None]))


def _picture(law: str, found: Region, tried: Tried | None) -> Figure:
    from levelflow.cli.theory.shared import paper
    from levelflow.style import COLOURS
    from levelflow.theory.pictures.regions import region as draw

    figure = paper(6, 4.5)
    draw(found.curves, found.labels, tried, figure)
    axes = figure.axes[0]
    axes.set_title(f"{law}: {found.note.split('. ')[0].rstrip('.').lower()}", loc="left")
    if found.logarithmic:
        axes.set_yscale("log")
    if "below the curve" in found.note.lower():
        bottom = axes.get_ylim()[0] if found.logarithmic else 0.0
        for (x, y), colour in zip(found.curves.values(), COLOURS, strict=False):
            axes.fill_between(x, y, bottom, color=colour, alpha=0.09, linewidth=0)
    return figure


def _listed(tried: Tried) -> list[list[bool]]:
    import numpy as np

    return [[bool(good) for good in row] for row in np.asarray(tried.stable)]
