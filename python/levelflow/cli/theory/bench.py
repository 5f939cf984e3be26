"""`levelflow theory bench`."""

from __future__ import annotations

import click


@click.command(epilog="Example: levelflow theory bench")
def bench() -> None:
    """Measure how long large questions take: the fastest of three runs, and what it may take at most."""
    from rich.console import Console

    from levelflow.cli.show import show_table
    from levelflow.theory.timing import RUNS, rows

    with Console(stderr=True).status("measuring"):
        found = list(rows())
    cells = [
        [row.what, row.size, f"{row.seconds:.2f}", f"{row.cpu:.2f}", "" if row.limit is None else f"{row.limit:g}"]
        for row in found
    ]
    head = ["question", "size", "seconds", "CPU seconds", "at most"]
    show_table(f"Theory: the fastest of {RUNS} runs", head, cells)
