"""Data of a run: tables, summary and manifest."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import polars as pl

if TYPE_CHECKING:
    from levelflow.records import ScenarioRecord
    from levelflow.summary import Manifest, Summary

if sys.platform != "win32":
    # On import, Polars 2.1 installs a handler after which Ctrl-C no longer ends system calls (its issue 21739). The
    # main thread would ignore Ctrl-C until the run for which the thread waits has finished.
    signal.siginterrupt(signal.SIGINT, True)


class Tables(TypedDict):
    """Tables of a run, see `levelflow.Result`."""

    flows: pl.DataFrame
    links: pl.DataFrame
    transfers: pl.DataFrame
    members: pl.DataFrame


@dataclass(frozen=True, repr=False)
class RunData:
    """Tables, summary and manifest of a run; see `levelflow.Result`, which adds files and pictures."""

    flows: pl.DataFrame
    links: pl.DataFrame
    transfers: pl.DataFrame
    summary: Summary
    manifest: Manifest
    path: Path | None = None
    members: pl.DataFrame = field(default_factory=pl.DataFrame)
    division: str = field(default="", compare=False)

    @property
    def scenario(self) -> ScenarioRecord:
        """Resolved scenario: links and flows with numbers in base units."""
        return self.manifest["scenario"]
