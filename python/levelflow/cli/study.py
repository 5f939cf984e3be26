"""The command `levelflow study`."""

from __future__ import annotations

import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import click

from levelflow.cli import drawing
from levelflow.cli.choosing import PATH, format_option, law_file_option, width_option, workers_option

if TYPE_CHECKING:
    from pathlib import Path

#: Limit on the number of printed table rows.
MAX_TABLE_ROWS = 60
FAILED = 1


@click.command()
@click.argument("file", metavar="STUDY", help="STUDY.toml file, or a name that `levelflow list studies` prints.")
@click.option("--out", type=PATH, help="Results directory [default: results/NAME].")
@click.option(
    "--scheduler",
    default="processes",
    help="Executor of runs: processes, threads, or a Dask scheduler as in tcp://HOST:8786.",
)
@workers_option
@law_file_option
@click.option("--replace", is_flag=True, help="Overwrite another study in the directory.")
@click.option("--no-cache", is_flag=True, help="Do not read or write the cache of runs.")
@click.option("--no-plots", is_flag=True, help="Write no pictures.")
@format_option
@width_option
def study(
    file: str,
    out: Path | None,
    scheduler: str,
    workers: int | None,
    law_files: tuple[Path, ...],
    replace: bool,
    no_cache: bool,
    no_plots: bool,
    kinds: list[str],
    width: str,
) -> None:
    """Run a scenario with several values and seeds, and print means with 95 % intervals.

    The same command resumes an interrupted study.
    """
    from levelflow import library
    from levelflow.study.pools import pool

    try:
        with closing(pool(scheduler, workers)) as executor:  # first, so that its processes start during the imports
            from levelflow.study.study import Study
            from levelflow.workers import Bar

            requested = Study.load(library.study(file), law_files)
            if not no_plots:
                threading.Thread(target=_load_pictures).start()  # in parallel with runs
            with Bar("runs") as bar:
                found = requested.run(out, scheduler=executor, replace=replace, cache=not no_cache, progress=bar)
    except KeyboardInterrupt:
        from levelflow.ending import interrupted

        click.echo("levelflow: interrupted; finished runs are stored, and the same command resumes the study", err=True)
        sys.exit(interrupted())
    from levelflow.cli.show import show_table
    from levelflow.study.table import differences, table

    for line in found.warnings:
        click.echo(f"levelflow: warning: {line}", err=True)
    head, rows = table(found)
    show_table(f"{requested.plan.name}: means and 95 % intervals", head, rows[:MAX_TABLE_ROWS])
    if compared := differences(found):
        show_table(*compared)
    click.echo(str(found.path))
    if not no_plots and found.rows.height:
        from levelflow.study import pictures

        for picture in pictures.write(found, kinds, width):
            click.echo(f"  {picture}")
    for failure in found.failures:
        click.echo(f"levelflow: point {failure['point']}, seed {failure['seed']}: {failure['why']}", err=True)
    if found.failures:
        click.echo(f"levelflow: {len(found.failures)} runs failed; the same command retries them", err=True)
        sys.exit(FAILED)


def _load_pictures() -> None:
    drawing.load()
    from levelflow.study import pictures  # noqa: F401 - import in advance
