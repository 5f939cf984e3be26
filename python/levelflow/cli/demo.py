"""The command `demo`: one bottleneck, one slow path, three control laws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from levelflow.cli import drawing

if TYPE_CHECKING:
    from levelflow.results import Result

LAWS = ("jetmax", "emkc", "rcp")
HEAD = ["law", "x1", "x2", "distance from max-min", "settled", "drops", "queueing delay, max", "utilisation"]
NEXT = (
    "levelflow run two-flows --set flow.x2.rtt='1 s'     # change a scenario",
    "levelflow reproduce --paper zhang-2008              # verify the numbers of the dissertation",
    "levelflow list laws                                 # the laws and their parameters",
)


@click.command()
def demo() -> None:
    """Run one bottleneck with two flows (T1) under three laws, compare them, and draw pictures into `results`."""
    drawing.load()
    from levelflow.cli.show import show_table
    from levelflow.report import plots
    from levelflow.scenario import Scenario

    click.echo("T1: x1 (RTT 220 ms) and, from 5 s on, x2 (RTT 2020 ms) share 10 Mb/s; fair is 5 Mb/s each.\n")
    pictures: list[Path] = []
    rows = []
    for law in LAWS:
        result = Scenario.named(f"t1-{law}").run(out=Path("results") / f"demo-{law}", progress=True)
        pictures += plots.write(result)
        rows.append(_row(law, result))
    show_table("Three laws on one bottleneck", HEAD, rows)
    for title, lines in (("Pictures:", map(str, pictures)), ("\nNext:", NEXT)):
        click.echo("\n  ".join([title, *lines]))


def _row(law: str, result: Result) -> list[str]:
    from levelflow.report.tables import delays, percent, rate, settling

    x1, x2 = result.summary["flows"]
    link = result.summary["links"][0]
    return [
        law,
        rate(x1["throughput_bps"]),
        rate(x2["throughput_bps"]),
        percent(result.summary["distance_max"]),
        settling(result.summary),
        f"{link['dropped_packets']:,}",
        *delays(link, ("max",)),
        percent(link["utilisation"]),
    ]
