"""Output of `levelflow run`: tables, a verdict, paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as Grid

from levelflow.cli.offered import offered
from levelflow.report.tables import Table, tables, verdict

if TYPE_CHECKING:
    from pathlib import Path

    from levelflow.results import Result

MOST_ROWS = 40
LONGEST_LINE = 10_000


def show_result(result: Result, pictures: list[Path]) -> None:
    """Prints tables of flows, links and transfers, a verdict and the paths of the pictures."""
    summary = result.summary
    for title, table in tables(summary):
        show_table(title, *_cut(table))
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(verdict(summary), soft_wrap=True)
    if said := offered(result.scenario):
        console.print(said, soft_wrap=True)
    if result.division:
        console.print(f"Ran on {result.division}.", soft_wrap=True)
    console.print()
    for path in [result.path, *pictures]:
        console.print(str(path), soft_wrap=True, style="cyan")


def show_table(title: str, head: list[str], rows: list[list[str]], numbers: bool = True) -> None:
    """Prints a table with right-aligned numbers. In a pipe, each row is one line, however long."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = LONGEST_LINE
    table = Grid(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False, padding=(0, 0, 0, 2))
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if numbers and number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table, "")


def _cut(table: Table) -> Table:
    head, rows = table
    if len(rows) > MOST_ROWS:
        rows = [*rows[:MOST_ROWS], [f"{len(rows) - MOST_ROWS} more: summary.json"]]
    return head, rows
