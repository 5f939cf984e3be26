"""Finished runs: one line of JSON each, appended when it ends, so that an interrupted comparison goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from levelflow import ScenarioError
from levelflow.convergence.trial import Outcome


@dataclass(frozen=True)
class Record:
    """One law on one network of a family."""

    law: str
    family: str
    seed: int
    mode: str
    links: int
    flows: int
    levels: int
    round_trip_s: float
    outcome: Outcome
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> tuple[str, str, int, tuple[tuple[str, Any], ...]]:
        """Which run this is."""
        return self.law, self.family, self.seed, self.changes

    @property
    def steps(self) -> float | None:
        """When the law settled, in steps."""
        settling_s = self.outcome.settling_s
        return None if settling_s is None else settling_s / self.outcome.step_s

    def line(self) -> str:
        """The record as a line of a file."""
        return json.dumps(asdict(self) | {"settles": self.outcome.settles}, allow_nan=False) + "\n"


def read(path: Path) -> list[Record]:
    """Reads the records of a file; none if there is no file. A last line that was cut off is left out, and removed.

    Raises:
        ScenarioError: if the file holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        records = [_record(line) for line in whole.splitlines()]
        if whole != text:
            path.write_text(whole, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"--json {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, TypeError, KeyError):
        raise ScenarioError(f"--json {path}: holds something other than runs of levelflow convergence") from None
    return records


def append(path: Path, record: Record) -> None:
    """Adds a line to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(record.line())


def _record(line: str) -> Record:
    data = json.loads(line)
    del data["settles"]
    changes = tuple((path, value) for path, value in data["changes"])
    outcome = Outcome(**data["outcome"] | {"warnings": tuple(data["outcome"]["warnings"])})
    return Record(**data | {"outcome": outcome, "changes": changes})
