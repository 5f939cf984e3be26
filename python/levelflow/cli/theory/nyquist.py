"""`levelflow theory nyquist`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

import click

from levelflow.cli.theory.shared import HAVE, json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.record import Loops
    from levelflow.theory.stability.loops import Loop

#: Largest number of roots to print.
MOST_ROOTS = 6


@click.command(epilog='Example: levelflow theory nyquist rcp --alpha 0.4 --beta 0.3 --rtt "100 ms" --out nyquist.png')
@click.argument("law", required=False, help=f"{HAVE} loop. Without a law, give --num and --den.")
@click.option("--alpha", type=float, help="Gain alpha of the law.")
@click.option("--beta", type=float, help="rcp, xcp: gain on the queue.")
@click.option("--eta", type=float, help="maxnet: relative speed at which a flow converges to its demand curve.")
@click.option("--scale", type=float, help="maxnet: T, the price increase that divides the demand by e, s.")
@click.option("--mu", type=float, help="maxnet: target utilisation.")
@click.option("--averaged", is_flag=True, help="maxnet: receivers average prices over a round trip, as in section VI.")
@click.option(
    "--rtt",
    metavar="TIME",
    default="100 ms",
    help='Round-trip time; for maxnet also of several flows, "30 ms, 180 ms".',
)
@click.option("--num", metavar="NUMBERS", help="Numerator: coefficients, highest power first.")
@click.option("--den", metavar="NUMBERS", help="Denominator: coefficients, highest power first.")
@click.option("--delay", default=0.0, help="With --num and --den: delay of the loop, s.")
@out_option
@json_option
def nyquist(
    law: str | None,
    alpha: float | None,
    beta: float | None,
    eta: float | None,
    scale: float | None,
    mu: float | None,
    averaged: bool,
    rtt: str,
    num: str | None,
    den: str | None,
    delay: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show stability, margins and roots of a loop with a pure delay. The loop is that of a law, or your own fraction.

    The loop L(s) = num/den e^(-s delay) is closed by negative feedback. Roots of 1 + L right of the axis are counted by
    Nyquist's criterion: encirclements of -1 plus unstable poles of L. The delay is exact, so a root list that begins
    right of the axis disproves stability. Gains that are not given are those of the law's paper.
    """
    from levelflow.cli.theory.shared import reply

    given = {"alpha": alpha, "beta": beta, "eta": eta, "scale": scale, "mu": mu}
    if num is None and den is None:
        name, loop = _loop(law, {key: value for key, value in given.items() if value is not None}, rtt, averaged)
    else:
        name, loop = _fraction(law, num, den, delay)
    facts = _facts(loop)
    reply(as_json, {"loop": name, **facts}, lambda: _show(name, facts), out, lambda: _picture(loop))


def _loop(law: str | None, given: dict[str, float], rtt: str, averaged: bool) -> tuple[str, Loop]:
    """Returns the description and the loop of a law."""
    from levelflow.cli.theory.reading import times
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.laws import need, supporting

    if law is None:
        raise TheoryError(f"no loop is named; needs one of {', '.join(supporting('nyquist'))}, or --num and --den")
    known: Loops = need(law, "nyquist")
    if strange := [*sorted(set(given) - set(known.gains)), *(["average"] if averaged and not known.averages else [])]:
        raise TheoryError(f"{law} has no {strange[0]}; it has {', '.join(known.gains)}")
    use = known.gains | given
    delays = times(rtt)
    if len(delays) > known.delays:
        raise TheoryError(f"{len(delays)} round-trip times are not allowed for {law}; needs one")
    described = f"{law} with " + ", ".join(f"{key} {value:g}" for key, value in use.items()) + f", rtt {rtt}"
    if averaged:
        return f"{described}, prices averaged", known.loop(use, delays, averaged=True)
    return described, known.loop(use, delays)


def _fraction(law: str | None, num: str | None, den: str | None, delay: float) -> tuple[str, Loop]:
    from levelflow.cli.theory.reading import numbers
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.stability.loops import Loop

    if law is not None or num is None or den is None:
        raise TheoryError("--num and --den are given together and without a law; needs both, or only a law")
    loop = Loop.rational(numbers("num", num), numbers("den", den), delay=delay)
    return f"({num}) / ({den}), delay {delay:g} s", loop


class Root(TypedDict):
    """Root of the characteristic equation, 1/s, and its residual."""

    re: float
    im: float
    residual: float


class LoopFacts(TypedDict):
    """Stability and margins of a loop; None for an unlimited margin."""

    stable: bool
    encirclements: int | None
    unstable_poles: int
    gain_margin: float | None
    gain_margin_down: float | None
    phase_margin_degrees: float | None
    delay_margin_s: float | None
    gain_crossings_rad_s: list[float]
    phase_crossings: list[dict[str, float]]
    roots: list[Root]


def _facts(loop: Loop) -> LoopFacts:
    from levelflow.cli.theory.shared import finite
    from levelflow.theory.stability.quasi import AxisError

    margins = loop.margins
    try:
        around: int | None = loop.encirclements
    except AxisError:
        around = None
    above: list[Root] = [
        {"re": root.value.real, "im": root.value.imag, "residual": root.residual}
        for root in loop.roots
        if root.value.imag >= 0
    ]
    return {
        "stable": loop.stable,
        "encirclements": around,
        "unstable_poles": loop.unstable_poles,
        "gain_margin": finite(margins.gain),
        "gain_margin_down": margins.gain_down,
        "phase_margin_degrees": finite(math.degrees(margins.phase)),
        "delay_margin_s": finite(margins.delay),
        "gain_crossings_rad_s": [each.frequency for each in margins.gain_crossings],
        "phase_crossings": [
            {"rad_s": each.frequency, "value": float(each.value.real)} for each in margins.phase_crossings
        ],
        "roots": above[:MOST_ROOTS],
    }


def _show(name: str, data: LoopFacts) -> None:
    from levelflow.cli.show import show_table

    click.echo(f"Loop: {name}.")
    times = data["encirclements"]
    around = (
        "passes through -1" if times is None else f"goes {times} times around -1" if times else "does not go around -1"
    )
    word = "Stable" if data["stable"] else "On the boundary" if times is None else "Unstable"
    click.echo(f"{word}: its Nyquist curve {around}, and the open loop has {data['unstable_poles']} unstable poles.\n")
    margins = (
        ("gain", data["gain_margin"], "times"),
        ("phase", data["phase_margin_degrees"], "degrees"),
        ("delay", data["delay_margin_s"], "s more"),
    )
    rows = [[name, "any" if value is None else f"{value:.6g}", unit] for name, value, unit in margins]
    if data["gain_margin_down"]:
        rows.insert(1, ["gain, downwards", f"{data['gain_margin_down']:.6g}", "times"])
    show_table("Changes that bring a root to the axis", ["margin", "value", ""], rows, numbers=False)
    rows = [[f"{root['re']:.6g}", f"{root['im']:.6g}", f"{root['residual']:.1e}"] for root in data["roots"]]
    show_table("Rightmost roots of 1 + L, and their mirror images", ["real, 1/s", "imaginary", "residual"], rows)


def _picture(loop: Loop) -> Figure:
    from levelflow.cli.theory.shared import panels, paper
    from levelflow.theory.pictures import nyquist as pictures

    figure = paper(11, 5)
    left, right = panels(figure, 1, 2)
    pictures.nyquist(loop, left)
    pictures.bode(loop, right)
    return figure
