"""The commands of `levelflow theory`: one file per command, which imports what it needs when it runs."""

from __future__ import annotations

import typer

from levelflow.cli.theory.bench import bench
from levelflow.cli.theory.bottlenecks import bottlenecks
from levelflow.cli.theory.check import check
from levelflow.cli.theory.fluid import fluid
from levelflow.cli.theory.laws import laws
from levelflow.cli.theory.maxmin import maxmin
from levelflow.cli.theory.norms import norms
from levelflow.cli.theory.num import num
from levelflow.cli.theory.nyquist import nyquist
from levelflow.cli.theory.phase import phase
from levelflow.cli.theory.region import region
from levelflow.cli.theory.stability import stability

app = typer.Typer(rich_markup_mode=None)
for command, example in (
    (check, "levelflow theory check t1-rcp --set law.rcp.alpha=1.2"),
    (maxmin, 'levelflow theory maxmin parking-lot --at "60 s"'),
    (num, "levelflow theory num parking-lot --exponent 0"),
    (bottlenecks, "levelflow theory bottlenecks parking-lot --out bottlenecks.png"),
    (fluid, 'levelflow theory fluid two-flows --until "5 s" --out fluid.png'),
    (stability, 'levelflow theory stability "[[0.5, -0.8], [0.3, 0.4]]" --delays 1,4'),
    (region, "levelflow theory region rcp --out region.png"),
    (nyquist, 'levelflow theory nyquist rcp --alpha 0.4 --beta 0.3 --rtt "100 ms" --out nyquist.png'),
    (phase, "levelflow theory phase rcp --alpha 0.1 --beta 1 --out phase.png"),
    (laws, "levelflow theory laws jetmax"),
    (norms, "levelflow theory norms --count 1000 --out norms.png"),
    (bench, "levelflow theory bench"),
):
    app.command(epilog=f"Example: {example}")(command)
