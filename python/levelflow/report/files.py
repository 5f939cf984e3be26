"""Files that are written in one step."""

from __future__ import annotations

from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Writes a text file in one step, so that a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = part(path)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def part(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f".{path.name}.part")
