"""The group `levelflow theory`: one file per command, which imports what it needs when it runs."""

from __future__ import annotations

import typer

from levelflow.cli.theory.bench import bench
from levelflow.cli.theory.bottlenecks import bottlenecks
from levelflow.cli.theory.check import check
from levelflow.cli.theory.maxmin import maxmin
from levelflow.cli.theory.num import num

app = typer.Typer(
    help="Say without simulating where flows come to rest, and whether they stay there.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command, example in (
    (check, "levelflow theory check t1-rcp --set law.rcp.alpha=1.2"),
    (maxmin, 'levelflow theory maxmin parking-lot --at "60 s"'),
    (num, "levelflow theory num parking-lot --exponent 0"),
    (bottlenecks, "levelflow theory bottlenecks parking-lot --out bottlenecks.png"),
    (bench, "levelflow theory bench"),
):
    app.command(epilog=f"Example: {example}")(command)
