"""Cache of measured figures, so that an interrupted session can be resumed."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from levelflow import files
from levelflow.reproduce.images import Picture
from levelflow.reproduce.outcome import Outcome
from levelflow.reproduce.runner import FigureOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from levelflow.reproduce.model import Claim, Entry

#: Attributes of an outcome that are measured, and not copied from its claim.
MADE = ("index", "verdict", "measured", "target", "note", "seeds", "tier", "reading")
#: Attributes that contain another measurement of the same check.
OTHERS = ("other", "beside")


@dataclass(frozen=True)
class Figures:
    """Cache of the figures that one build measured, with one file per figure.

    Attributes:
        folder: Folder of the files.
        build: Build of Levelflow and scenario changes.
        full: True if both tiers are measured.
    """

    folder: Path
    build: str
    full: bool

    def load(self, claim: Claim) -> FigureOutcome | None:
        """Returns the cached figure; None if it is not cached, or the build, tier or input files have changed.

        A damaged file counts as none.
        """
        try:
            record = json.loads(self._file(claim).read_text(encoding="utf-8"))
            if record.pop("key") != self._key(claim):
                return None
            entries = {entry.id: entry for entry in claim.entries}
            outcomes = tuple(_outcome(entries[made["id"]], made) for made in record.pop("outcomes"))
            images = tuple(Picture(base64.b64decode(png), alt) for png, alt in record.pop("images"))
            return FigureOutcome(claim, outcomes, images, tuple(record.pop("scenarios")), **record)
        except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def save(self, figure: FigureOutcome) -> None:
        """Stores a figure, and replaces its older version."""
        record = {
            "key": self._key(figure.claim),
            "outcomes": [_made(outcome) for outcome in figure.outcomes],
            "images": [(base64.b64encode(image.png).decode(), image.alt) for image in figure.images],
            **{name: getattr(figure, name) for name in ("scenarios", "seconds", "tier", "has_tiers")},
        }
        files.replace(self._file(figure.claim), json.dumps(record))

    def forget(self) -> None:
        """Removes all stored figures."""
        for path in self.folder.glob("*--*.json"):
            path.unlink()

    def _file(self, claim: Claim) -> Path:
        return self.folder / f"{claim.paper}--{claim.folder.name}.json"

    def _key(self, claim: Claim) -> str:
        """Returns the hash of all inputs: build, `--full` or not, files of the figure, and models of the paper."""
        digest = hashlib.sha256(f"{self.build} {self.full}".encode())
        for path in sorted([*claim.folder.iterdir(), *claim.folder.parent.glob("*_models/*.py")]):
            if path.is_file():
                digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def _made(outcome: Outcome) -> dict[str, object]:
    made: dict[str, object] = {"id": outcome.entry.id} | {name: getattr(outcome, name) for name in MADE}
    others = {name: getattr(outcome, name) for name in OTHERS}
    made |= {name: _made(other) for name, other in others.items() if other}
    return made | {"readings": [_made(one) for one in outcome.readings]}


def _outcome(entry: Entry, made: Mapping[str, Any]) -> Outcome:
    outcome = Outcome(entry, **{name: made[name] for name in MADE})
    other, beside = (_outcome(entry, made[name]) if name in made else None for name in OTHERS)
    readings = tuple(_outcome(entry, one) for one in made["readings"])
    return replace(outcome, other=other, beside=beside, readings=readings)
