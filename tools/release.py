"""Prepares a checkout for a release: `python tools/release.py ADDRESS [DATE]` and `python tools/release.py --notes`.

The first form writes the address of the repository, such as https://example.org/OWNER/NAME, into the metadata of
packages, and makes the links of README absolute. Package registries show README without the files next to it. The
second form prints the section of CHANGELOG.md for the current version. This program needs only Python.
"""

import datetime
import re
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
#: Crates on crates.io. A publisher may create five new crates at once, then one every ten minutes.
CRATES = ("units", "laws", "wire", "transport")
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def version() -> str:
    """Returns the version of the workspace."""
    found: str = tomllib.loads((CHECKOUT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def absolute(text: str, address: str) -> str:
    """Returns Markdown with absolute links to the files of the tag."""

    def replaced(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(".png") else "blob"
        return f"]({address}/{kind}/v{version()}/{found[1]})"

    return LINK.sub(replaced, text)


def urls(address: str) -> str:
    """Returns the table of addresses for a `pyproject.toml`."""
    pages = {"Source": "", "Issues": "/issues", "Changelog": f"/blob/v{version()}/CHANGELOG.md"}
    lines = [f'{name} = "{address}{path}"' for name, path in pages.items()]
    return "\n".join(["[project.urls]", *lines, "", ""])


def edit(name: str, old: str, new: str) -> None:
    """Replaces the first occurrence of `old` in a file.

    Raises:
        SystemExit: If the file does not contain `old`.
    """
    path = CHECKOUT / name
    text = path.read_text(encoding="utf-8")
    if old not in text:
        sys.exit(f"release: {name} does not contain {old!r}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def prepare(address: str, date: str) -> None:
    """Writes the address of the repository and the date into the files of the checkout."""
    edit("README.md", f"The release {version()} is not published yet. Once it is, this installs", "This installs")
    edit("README.md", "Until then, build from source. This needs", "A build from source needs")
    readme = CHECKOUT / "README.md"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), address), encoding="utf-8")
    edit("pyproject.toml", "[project.optional-dependencies]", f"{urls(address)}[project.optional-dependencies]")
    edit("apps/net/pyproject.toml", "[tool.maturin]", f"{urls(address)}[tool.maturin]")
    for crate in CRATES:
        edit(f"crates/{crate}/Cargo.toml", "license.workspace", f'repository = "{address}"\nlicense.workspace')
    edit("packaging/openwrt/Makefile", "@LEVELFLOW@", address)
    text = (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
    text = re.sub(r"^date-released: .*$", f'date-released: "{date}"\nrepository-code: "{address}"', text, flags=re.M)
    (CHECKOUT / "CITATION.cff").write_text(text, encoding="utf-8")


def notes() -> str:
    """Returns the section of the changelog for the current version."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(f"[{version()}]")]
    if not found:
        sys.exit(f"release: CHANGELOG.md has no section [{version()}]")
    return found[0].partition("\n")[2].strip() + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--notes"]:
        sys.stdout.write(notes())
    elif sys.argv[1:] and re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", sys.argv[1]):
        prepare(sys.argv[1], sys.argv[2] if sys.argv[2:] else datetime.datetime.now(datetime.UTC).date().isoformat())
    else:
        sys.exit("release: the address is missing or invalid; allowed: https://HOST/OWNER/NAME, or --notes")
