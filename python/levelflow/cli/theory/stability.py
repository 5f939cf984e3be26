"""`levelflow theory stability`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from levelflow.cli.choosing import Whole
from levelflow.cli.theory.shared import json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.stability.delay_independence import Independence, Margin
    from levelflow.theory.stability.delays import Stability
    from levelflow.theory.stability.matrices import Bound, Matrix
    from levelflow.theory.stability.matrix_classes import Membership

#: Real and imaginary parts are rounding errors up to this fraction of the absolute value.
ROUNDING = 1e-12
#: Limits of the computation of delay margins: steps by which delays are extended, and number of flows.
LONGER, FEW = 100, 12


@click.command(epilog='Example: levelflow theory stability "[[0.5, -0.8], [0.3, 0.4]]" --delays 1,4')
@click.argument(
    "given",
    metavar="MATRIX",
    help='A as a list of rows, "[[0.5, -0.8], [0.3, 0.4]]", or a .csv, .json or .txt file.',
)
@click.option(
    "--delays",
    metavar="STEPS",
    help='Delays to check in addition: one per flow, "1,4", or one per pair of flows, "[[1, 2], [3, 4]]" or a file.',
)
@click.option("--seed", type=Whole(0), default=1, help="Seed of the search for delays that make the system unstable.")
@out_option
@json_option
def stability(given: str, delays: str | None, seed: int, out: Path | None, as_json: bool) -> None:
    """Decide whether x_i(n) = sum_j a_ij x_j(n - D_i) is stable, for given delays and for all delays.

    A is the Jacobian of a control law in steps: a_ij is the effect of flow j's rate on flow i's rate one round trip
    later. Without delay, the spectral radius rho(A) decides. With delays, a norm below 1 proves stability. The best
    norm is the scaled norm ||A||_s, the least ||W A W^-1||_2 over positive diagonal W. The printed weights w are the
    diagonal of such a W, and prove the upper bound of ||A||_s.

    The picture shows the roots. For two flows, it also shows the stable pairs of delays, and the norms of W A W^-1.
    """
    from levelflow.cli.theory.reading import array, matrix
    from levelflow.cli.theory.shared import reply
    from levelflow.theory.stability import delays as steps
    from levelflow.theory.stability.delay_independence import delay_margin, independence
    from levelflow.theory.stability.matrix_classes import classify
    from levelflow.theory.stability.scaled_norm import scaled_norm

    a = matrix(given)
    lags = None
    if delays is not None:
        lags = steps.read_delays(array(delays, "delays"), len(a))
    bound, always, classes = scaled_norm(a), independence(a, seed), classify(a)
    found = None if lags is None else steps.stability(a, lags)
    margins: list[Margin] = []
    if found is not None and found.stable and lags is not None and lags.ndim == 1 and len(a) <= FEW:
        margins = [delay_margin(a, lags, flow, LONGER) for flow in [None, *range(len(a))]]
    shown = lags if lags is not None else always.delays

    def show() -> None:
        _show(a, bound, always, classes)
        if found is not None:
            click.echo(_verdict(f"With delays {delays}", found))
            _show_margins(margins)

    reply(
        as_json,
        _plain(a, bound, always, classes, found, margins),
        show,
        out,
        lambda: picture(a, [1] * len(a) if shown is None else shown.tolist()),
    )


def picture(a: Matrix, delays: list[Any]) -> Figure:
    """Draws the roots under delays; for two flows also the plane of delays and the norms of scaled matrices."""
    from levelflow.cli.theory.shared import panels, paper
    from levelflow.theory.pictures import norms

    count = 3 if len(a) == 2 else 1
    figure = paper(5 * count, 4.6)
    parts = panels(figure, 1, count)
    norms.spectrum(a, delays, parts[0])
    axes = figure.axes[0]
    axes.locator_params(nbins=5)
    axes.set_title(f"delays {', '.join(map(str, delays))}: {axes.get_title(loc='left')}", loc="left")
    if len(a) == 2:
        norms.plane(a, canvas=parts[1])
        norms.scalings(a, canvas=parts[2])
    return figure


def _show(a: Matrix, bound: Bound, always: Independence, classes: dict[str, Membership]) -> None:
    from levelflow.cli.show import show_table
    from levelflow.theory.stability.matrices import spectral_radius

    rho = spectral_radius(a)
    click.echo(f"Without delay: {'stable' if rho < 1 else 'unstable'}, rho(A) = {rho:.6g}.")
    click.echo(_for_all(always))
    click.echo("")
    rows = [[each.name, f"{each.value:.6g}", _yes(each.proves), each.of, each.source] for each in always.conditions]
    show_table(
        "Norms and radii; a value below 1 proves stability",
        ["what", "value", "proves", "for", "Zhang 2008"],
        rows,
        numbers=False,
    )
    rows = [[name, _yes(each.holds), f"{each.residual:.2g}", _weights(each.scaling)] for name, each in classes.items()]
    show_table("Classes", ["class", "holds", "residual", "scaling"], rows, numbers=False)
    reached = "" if bound.attained else "; weights with larger ratios bring the bounds closer"
    click.echo(f"||A||_s is between {bound.lower:.9g} and {bound.upper:.9g}: w = {_weights(bound.weights)}{reached}.")


def _for_all(always: Independence) -> str:
    from levelflow.theory.stability.delay_independence import ANY

    if always.stable:
        proven = [each for each in always.conditions if each.proves]
        proof = max(proven, key=lambda each: each.of == ANY)
        return f"Stable under {proof.of}: {proof.name} = {proof.value:.6g} < 1 (Zhang 2008, {proof.source})."
    if always.proof is not None and always.delays is not None:
        return _verdict(f"For all delays: no. With delays {','.join(map(str, always.delays.tolist()))}", always.proof)
    if always.stable is None:
        return (
            f"For all delays: not known. ||A||_s is not below 1, and the largest rho(U A) found is {always.worst:.6g}, "
            "not above 1."
        )
    return f"For all delays: no. Long delays turn phases so that rho(U A) = {always.worst:.6g} > 1."


def _verdict(which: str, found: Stability) -> str:
    word = "stable" if found.stable else "unstable"
    return f"{which}: {word}, largest root {abs(found.root):.6g} at z = {_complex(found.root)}."


def _show_margins(margins: list[Margin]) -> None:
    for which, margin in zip(["all delays", *(f"delay {k + 1}" for k in range(len(margins)))], margins, strict=False):
        most = f"at least {LONGER}" if margin.steps == LONGER else f"{margin.steps:g}"
        click.echo(f"Steps by which {which} may grow: {'any number' if margin.steps == float('inf') else most}.")


def _plain(
    a: Matrix,
    bound: Bound,
    always: Independence,
    classes: dict[str, Membership],
    found: Stability | None,
    margins: list[Margin],
) -> dict[str, object]:
    from levelflow.cli.theory.shared import finite
    from levelflow.theory.stability.matrices import spectral_radius

    return {
        "rho": spectral_radius(a),
        "all_delays": {
            "stable": always.stable,
            "conditions": [vars(each) for each in always.conditions],
            "worst_turn": always.worst,
            "breaking_delays": None if always.delays is None else always.delays.tolist(),
            "root": None if always.proof is None else _parts(always.proof.root),
        },
        "scaled_norm": {
            "upper": bound.upper,
            "lower": bound.lower,
            "weights": bound.weights.tolist(),
            "attained": bound.attained,
        },
        "classes": {
            name: {"holds": each.holds, "residual": each.residual, "scaling": [_parts(w) for w in each.scaling]}
            for name, each in classes.items()
        },
        "delays": None
        if found is None
        else {
            "stable": found.stable,
            "root": _parts(found.root),
            "modulus": abs(found.root),
            "residual": found.residual,
            "may_grow": [finite(margin.steps) for margin in margins],
        },
    }


def _parts(value: complex) -> list[float]:
    return [float(value.real), float(value.imag)]


def _complex(value: complex) -> str:
    """Returns a number as text, without parts that are rounding errors."""
    real, imaginary = (part if abs(part) > ROUNDING * abs(value) else 0.0 for part in (value.real, value.imag))
    return f"{real:.6g}" if not imaginary else f"{imaginary:.6g}j" if not real else f"{real:.6g}{imaginary:+.6g}j"


def _weights(weights: Any) -> str:
    shown = [_complex(complex(weight)) if weight.imag else f"{weight.real:.4g}" for weight in weights[:8]]
    return ", ".join(shown) + (", ..." if len(weights) > 8 else "")


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
