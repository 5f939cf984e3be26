"""`levelflow theory norms`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import Whole
from levelflow.cli.theory.shared import json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.stability.delay_batches import Experiment


@click.command(epilog="Example: levelflow theory norms --count 1000 --out norms.png")
@click.option("--count", type=Whole(1, 100_000), default=3000, help="Number of matrices to draw.")
@click.option("--seed", type=Whole(0), default=1, help="Seed of all random numbers.")
@click.option("--size", default=2, help="Number of rows of each matrix.")
@click.option("--draws", default=100, help="Delay vectors per matrix with rho(A) < 1.")
@click.option("--longest", default=30, help="Largest delay, steps; the smallest is 1.")
@out_option
@json_option
def norms(count: int, seed: int, size: int, draws: int, longest: int, out: Path | None, as_json: bool) -> None:
    """Measure how well norms predict which random matrices become unstable under delays (Zhang 2008, fig 12 and 13).

    Every counted matrix has a spectral radius rho(A) < 1, so all are stable without delay. A norm is safe if no
    unstable matrix has a norm below 1. It is sharp if no stable matrix has a norm of 1 or more. Only ||A||_s is both,
    with few exceptions: 100 draws may miss the delays that make a matrix unstable.
    """
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.shared import reply
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
        click.echo(
            f"{found.drawn} matrices drawn, {kept} with rho(A) < 1: {stable} stable under {draws} draws of delays, "
            f"{kept - stable} not.\n"
        )
        head = ["norm", "unstable with norm < 1", "stable with norm >= 1"]
        show_table("Norms", head, [[name, *map(str, row.values())] for name, row in rows.items()])

    reply(as_json, data, show, out, lambda: picture(found))


def picture(found: Experiment) -> Figure:
    """Draws each norm over the spectral radius."""
    from levelflow.cli.theory.shared import panels, paper
    from levelflow.theory.pictures.norms import NORMS, scatter

    figure = paper(9, 9)
    for part, of in zip(panels(figure, len(NORMS), 1), NORMS, strict=True):
        scatter(found, of, part)
    return figure
