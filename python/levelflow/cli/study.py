"""The command `levelflow study`."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from levelflow.cli import drawing

app = typer.Typer()
#: Rows of a table that are printed.
MOST_ROWS = 60
FAILED = 1


@app.command()
def study(
    file: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A file, STUDY.toml, or one of those that come along: levelflow list studies.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Directory of the study [default: results/NAME].")] = None,
    scheduler: Annotated[
        str, typer.Option(help="Where runs are made: processes, threads, or a Dask scheduler, as tcp://HOST:8786.")
    ] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Runs side by side; one per processor.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of another study.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither take nor keep runs in the cache.")] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Write no pictures.")] = False,
) -> None:
    """Run a scenario with many values and seeds; print means with intervals. The same again goes on."""
    from levelflow import library
    from levelflow.study.pools import pool

    try:
        with closing(pool(scheduler, workers)) as side:  # its processes start while the rest is loaded
            from levelflow.study.study import Study
            from levelflow.workers import Bar

            asked = Study.load(library.study(file))
            if not no_plots:
                threading.Thread(target=_load_pictures).start()  # while runs are under way
            with Bar("runs") as bar:
                found = asked.run(out, scheduler=side, replace=replace, cache=not no_cache, progress=bar)
    except KeyboardInterrupt:
        from levelflow.status import INTERRUPTED

        typer.echo("levelflow: interrupted; finished runs are kept, the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    from levelflow.cli.show import show_table
    from levelflow.study.table import differences, table

    if found.seeds_change_nothing:
        typer.echo("levelflow: warning: all seeds come out the same; one replication is enough", err=True)
    head, rows = table(found)
    show_table(f"{asked.plan.name}: means and 95 % intervals", head, rows[:MOST_ROWS])
    if compared := differences(found):
        show_table(*compared)
    typer.echo(str(found.path))
    if not no_plots and found.rows.height:
        from levelflow.study import pictures

        for picture in pictures.write(found):
            typer.echo(f"  {picture}")
    for failure in found.failures:
        typer.echo(f"levelflow: point {failure['point']}, seed {failure['seed']}: {failure['why']}", err=True)
    if found.failures:
        typer.echo(f"levelflow: {len(found.failures)} runs failed; the same command tries them again", err=True)
        raise typer.Exit(FAILED)


def _load_pictures() -> None:
    drawing.load()
    from levelflow.study import pictures  # noqa: F401 - for later
