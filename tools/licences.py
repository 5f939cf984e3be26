"""Writes the licences of the crates in a package into one file: `python tools/licences.py [PACKAGE [TARGET]]`.

This program needs only Python and cargo. `cargo fetch` provides the sources.
"""

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
#: Files with the licences, by package: the wheel of Python, and levelflow-net.
FILES = {"levelflow-py": "python/levelflow/third-party.txt", "levelflow-net": "apps/net/third-party.txt"}
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "UNLICENSE*")


def crates(package: str = "levelflow-py", target: str | None = None) -> list[dict[str, str]]:
    """Returns name, version, licence and folder of each third-party crate in a package.

    Args:
        package: name of our crate.
        target: target triple of a platform; by default, this platform.
    """
    platform = ["--target", target] if target else []
    tree = ["cargo", "tree", "-p", package, "-e", "normal,no-proc-macro", "--prefix", "none", *platform]
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


def text(package: str = "levelflow-py", target: str | None = None) -> str:
    """Returns the licence texts. A text of several crates appears once, below the names of these crates."""
    owners: dict[str, list[str]] = {}
    lines = [f"The compiled code of {package} contains these crates.", ""]
    for crate in crates(package, target):
        title = f"{crate['name']} {crate['version']}"
        lines.append(f"{title}: {crate['license']}")
        for path in sorted({path for kind in TEXTS for path in Path(crate["folder"]).glob(kind) if path.is_file()}):
            owners.setdefault(path.read_text(encoding="utf-8").strip(), []).append(title)
    for said, titles in owners.items():
        lines += ["", "-" * 80, ", ".join(dict.fromkeys(titles)), "", said]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    package = sys.argv[1] if sys.argv[1:] else "levelflow-py"
    (CHECKOUT / FILES[package]).write_text(text(package, *sys.argv[2:3]), encoding="utf-8")
