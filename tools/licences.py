"""Writes the licences of the crates in the wheel into one file of the wheel: `python tools/licences.py [TARGET]`.

This program needs only Python and cargo. `cargo fetch` provides the sources.
"""

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
FILE = CHECKOUT / "python" / "levelflow" / "third-party.txt"
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "UNLICENSE*")


def crates(target: str | None = None) -> list[dict[str, str]]:
    """Returns name, version, licence and folder of each third-party crate in the wheel.

    Args:
        target: target triple of a platform; by default, this platform.
    """
    platform = ["--target", target] if target else []
    tree = ["cargo", "tree", "-p", "levelflow-py", "-e", "normal,no-proc-macro", "--prefix", "none", *platform]
    listed = subprocess.run(tree, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    linked = {tuple(line.split()[:2]) for line in listed.splitlines() if line}
    described = subprocess.run(
        ["cargo", "metadata", "--format-version", "1"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return [
        {
            "name": package["name"],
            "version": package["version"],
            "license": package["license"] or "see its text",
            "folder": str(Path(package["manifest_path"]).parent),
        }
        for package in sorted(json.loads(described.stdout)["packages"], key=lambda one: one["name"])
        if package["source"] and (package["name"], f"v{package['version']}") in linked
    ]


def text(target: str | None = None) -> str:
    """Returns the licence texts. A text of several crates appears once, below the names of these crates."""
    owners: dict[str, list[str]] = {}
    lines = ["The compiled module of Levelflow holds these crates.", ""]
    for crate in crates(target):
        title = f"{crate['name']} {crate['version']}"
        lines.append(f"{title}: {crate['license']}")
        for path in sorted({path for kind in TEXTS for path in Path(crate["folder"]).glob(kind) if path.is_file()}):
            owners.setdefault(path.read_text(encoding="utf-8").strip(), []).append(title)
    for said, titles in owners.items():
        lines += ["", "-" * 80, ", ".join(dict.fromkeys(titles)), "", said]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(*sys.argv[1:2]), encoding="utf-8")
