"""`levelflow theory region`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelflow.cli.theory.asking import AsJson, Out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelflow.theory.pictures.regions import Tried
    from levelflow.theory.regions import Region

LAWS = ("kelly", "rcp", "xcp", "maxnet", "emkc_avq")
#: Points along a side that may be tried.
FINEST = 40

Law = Annotated[str, typer.Argument(help=f"One of {', '.join(LAWS)}.", show_default=False)]
Rtt = Annotated[str | None, typer.Option(metavar="TIME", help="maxnet: round-trip time of the flows [default: 1 s].")]
Steps = Annotated[
    str | None, typer.Option(metavar="STEPS", help='kelly, emkc_avq: delays, as in "1,3,10".', show_default=False)
]
Fluid = Annotated[
    int, typer.Option(metavar="POINTS", help="rcp: run the fluid model with so many alphas and betas, up to 40.", min=0)
]


def region(
    law: Law, rtt: Rtt = None, delays: Steps = None, fluid: Fluid = 0, out: Out = None, as_json: AsJson = False
) -> None:
    """For which two gains a law is stable on one link, all delays equal: a table, and a picture of the boundary.

    Delays are pure delays: no approximation of them is in the boundary. Gains count for all capacities and numbers of
    flows. JetMax and EMKC have no such region: any gain between 0 and 2 is stable under any delays.

    With `--fluid`, RCP's fluid model runs from five starts per pair of gains, with the queue's floor at 0, which the
    linear boundary knows nothing of.
    """
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.asking import finite, save, show_json

    found = _region(law, rtt, delays)
    tried = _tried(law, fluid)
    if out is not None:
        save(_picture(law, found, tried), out)
    if as_json:
        rows = [dict(zip(found.head, map(finite, row), strict=True)) for row in found.rows]
        settles = None if tried is None else {"alpha": tried.x, "beta": tried.y, "settles": _listed(tried)}
        show_json({"law": law, "rows": rows, "note": found.note, "fluid": settles})
        return
    cells = [["none" if math.isnan(value) else f"{value:.4g}" for value in row] for row in found.rows]
    show_table(f"Stable region of {law}", list(found.head), cells)
    typer.echo(found.note)
    if tried is not None:
        cells = [
            [f"{beta:g}", *("o" if good else "." for good in row)] for beta, row in zip(*_upwards(tried), strict=True)
        ]
        show_table("\nFluid model: o settles", ["beta", *(f"{alpha:g}" for alpha in tried.x)], cells)
    if out is not None:
        typer.echo(out)


def _region(law: str, rtt: str | None, delays: str | None) -> Region:
    from levelflow.cli.theory.reading import numbers
    from levelflow.theory import regions
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.stability.delays import read_delays
    from levelflow.theory.units import time

    if law not in LAWS:
        free = f"{law} has no region: gains from 0 to 2 are stable under all delays"
        about = free if law in {"jetmax", "emkc"} else f"no region is known of {law}"
        raise TheoryError(f"{about}; needs one of {', '.join(LAWS)}")
    if law != "maxnet" and rtt is not None:
        raise TheoryError(f"--rtt is not for {law}; needs maxnet")
    if law in {"kelly", "emkc_avq"} and delays is not None:
        given = numbers("delays", delays)
        steps = read_delays(given, len(given)).tolist()
        return regions.kelly(steps) if law == "kelly" else regions.avq(steps)
    if delays is not None:
        raise TheoryError(f"--delays is not for {law}; needs kelly or emkc_avq")
    simple = {"kelly": regions.kelly, "rcp": regions.rcp_region, "xcp": regions.xcp_region, "emkc_avq": regions.avq}
    return regions.maxnet(delay=time(rtt or "1 s")) if law == "maxnet" else simple[law]()


def _tried(law: str, points: int) -> Tried | None:
    """Asks the fluid model of RCP on a grid."""
    import numpy as np

    from levelflow.theory.errors import TheoryError
    from levelflow.theory.laws.rcp import settles_from_anywhere
    from levelflow.theory.pictures.regions import Tried

    if not points:
        return None
    if law != "rcp" or points > FINEST:
        raise TheoryError(f"--fluid {points} is not allowed for {law}; needs rcp, and at most {FINEST} points")
    gains = (2.0 * np.arange(1, points + 1) / points).round(6)
    return Tried(gains.tolist(), gains.tolist(), settles_from_anywhere(gains[None], gains[:, None]))


def _picture(law: str, found: Region, tried: Tried | None) -> Figure:
    from levelflow.cli.theory.asking import paper
    from levelflow.theory.pictures.norms import gains
    from levelflow.theory.pictures.regions import region as draw

    figure = paper(6, 4.5)
    if law == "kelly":
        gains(max(10, *(int(row[0]) for row in found.rows)), figure)
        return figure
    draw(found.curves, found.labels, tried, figure)
    axes = figure.axes[0]
    axes.set_title(f"{law}: {found.note.split('. ')[0].rstrip('.').lower()}", loc="left")
    if law == "emkc_avq":
        axes.set_yscale("log")
    return figure


def _listed(tried: Tried) -> list[list[bool]]:
    import numpy as np

    return [[bool(good) for good in row] for row in np.asarray(tried.stable)]


def _upwards(tried: Tried) -> tuple[list[float], list[Any]]:
    return list(tried.y)[::-1], _listed(tried)[::-1]
