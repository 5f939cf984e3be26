"""`levelflow theory norms`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from levelflow.cli.theory.asking import AsJson, Out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelflow.theory.stability.delay_batches import Experiment

Count = Annotated[int, typer.Option(help="Matrices that are drawn.", min=1, max=100_000)]
Size = Annotated[int, typer.Option(help="Their rows.")]
Draws = Annotated[int, typer.Option(help="Delay vectors per matrix with rho(A) < 1.")]
Longest = Annotated[int, typer.Option(help="Delays are from 1 to this, steps.")]


def norms(
    count: Count = 3000,
    seed: Annotated[int, typer.Option(help="Of all random numbers.", min=0)] = 1,
    size: Size = 2,
    draws: Draws = 100,
    longest: Longest = 30,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """How well norms tell which random matrices random delays make unstable (Zhang 2008, figures 12 and 13).

    Every matrix that counts has rho(A) < 1, so all are stable without delay. A norm is safe if no unstable matrix
    has one below 1, and sharp if no stable one has one of 1 or more. Only ||A||_s is both, but for a few: 100 draws
    need not meet the delays that break a matrix.
    """
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.asking import reply
    from levelflow.theory.pictures.norms import NORMS
    from levelflow.theory.stability.delay_batches import experiment

    found = experiment(seed, count, size, draws=draws, longest=longest)
    kept, stable = len(found.stable), int(found.stable.sum())
    rows = {
        name: {
            "unstable_below_1": int((getattr(found, key)[~found.stable] < 1).sum()),
            "stable_from_1": int((getattr(found, key)[found.stable] >= 1).sum()),
        }
        for key, name in NORMS.items()
    }
    data = {"drawn": found.drawn, "kept": kept, "stable": stable, "unstable": kept - stable, "norms": rows}

    def show() -> None:
        typer.echo(
            f"{found.drawn} matrices drawn, {kept} with rho(A) < 1: {stable} stable under {draws} draws of delays, "
            f"{kept - stable} not.\n"
        )
        head = ["norm", "unstable with norm < 1", "stable with norm >= 1"]
        show_table("Norms", head, [[name, *map(str, row.values())] for name, row in rows.items()])

    reply(as_json, data, show, out, lambda: picture(found))


def picture(found: Experiment) -> Figure:
    """Draws each norm over the spectral radius."""
    from levelflow.cli.theory.asking import panels, paper
    from levelflow.theory.pictures.norms import NORMS, scatter

    figure = paper(9, 9)
    for part, of in zip(panels(figure, len(NORMS), 1), NORMS, strict=True):
        scatter(found, of, part)
    return figure
