"""Records of finished runs in a file with one line of JSON per run, from which a comparison is resumed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from levelflow import ScenarioError
from levelflow.convergence.trial import Outcome

#: Scenario changes, as pairs of path and value.
Changes = tuple[tuple[str, object], ...]
#: Identity of a run: law, family, seed and scenario changes.
Key = tuple[str, str, int, Changes]


@dataclass(frozen=True)
class Record:
    """Result of one law on one network of a family."""

    law: str
    family: str
    seed: int
    mode: str
    links: int
    flows: int
    levels: int
    round_trip_s: float
    outcome: Outcome
    changes: Changes = ()

    @property
    def key(self) -> Key:
        """Key of the run."""
        return self.law, self.family, self.seed, self.changes

    @property
    def steps(self) -> float | None:
        """Settling time in steps; None if the rates did not settle."""
        settling_s = self.outcome.settling_s
        return None if settling_s is None else settling_s / self.outcome.step_s

    def line(self) -> str:
        """Returns the record as a line of JSON."""
        return json.dumps(asdict(self) | {"settles": self.outcome.settles}, allow_nan=False) + "\n"


def read(path: Path) -> list[Record]:
    """Returns the records in a file. The file may be missing. Removes an incomplete last line from the file.

    Raises:
        ScenarioError: If the file is unreadable or contains other lines.
    """
    try:
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        records = [_record(line) for line in whole.decode("utf-8").splitlines()]
        if whole != text:
            os.truncate(path, len(whole))
    except OSError as error:
        raise ScenarioError(f"--json {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ScenarioError(f"--json {path}: contains lines that are not runs of levelflow convergence") from None
    return records


def append(path: Path, record: Record) -> None:
    """Appends a record to a file, durably."""
    with path.open("a", encoding="utf-8") as file:
        file.write(record.line())
        file.flush()
        os.fsync(file.fileno())


def _record(line: str) -> Record:
    data = json.loads(line)
    del data["settles"]
    changes = tuple((path, value) for path, value in data["changes"])
    outcome = Outcome(**data["outcome"] | {"warnings": tuple(data["outcome"]["warnings"])})
    return Record(**data | {"outcome": outcome, "changes": changes})
