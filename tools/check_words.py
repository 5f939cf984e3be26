"""Retired words: the field has a better one (docs/concepts/glossary.md). `make check` runs this over tracked text.

Also keeps lines of prose in Markdown within 120 columns; tables, code, links and pictures may be longer.
"""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
SUFFIXES = {".md", ".rs", ".py", ".toml", ".c", ".h", ".lua"}
#: What may not be written, and what to write.
RETIRED = {
    r"(?<![\"-])\bsizers?\b(?!\")": "buffer-sizing algorithm",  # "sizers" and --sizer are old names that still work
    r"\b(?:is|are|was|were|be|been|being) told\b": "signalled, given, notified, or the name of the input",
    r"\b(?:comes?|came|coming) to rest\b|\brest points?\b|\bat rest\b": "equilibrium",
    r"\boff max-min\b": "distance from max-min",
    r"\b(?:somebody|whoever|anybody)\b": "who it is: the user, another process, the receiver",
    r"\bcables?\b": "link, veth pair",
    r"\bbooks balance\b": "packets are conserved",
}
#: Of packets: elsewhere an answer is what it is.
RETIRED_OF_PACKETS = {r"\b(?:on_)?answer(?:s|ed|ing)?\b": "ACK"}
OF_PACKETS = ("crates/laws/", "crates/transport/", "crates/wire/", "crates/sim/", "crates/load/", "crates/path/")
#: Where old names are taken, with a note, or history is told.
EXEMPT = {"CHANGELOG.md", "tools/check_words.py", "tests/test_check_words.py"}
LONGEST_LINE = 120


def tracked():
    """Paths of texts that git knows, below the checkout."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if Path(name).suffix in SUFFIXES and name not in EXEMPT]


def prose(text):
    """Lines of Markdown that are neither code nor table nor picture, with their numbers."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith(("    ", "`", "![", "<table")) and not line.lstrip().startswith("|"):
            yield number, line


def complaints(name, text):
    """One line per retired word and per line that is too long."""
    words = RETIRED | (RETIRED_OF_PACKETS if name.startswith(OF_PACKETS) else {})
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, better in words.items():
            if found := re.search(pattern, line, re.IGNORECASE):
                yield f"{name}:{number}: {found[0]!r} is retired; write {better}"
    if name.endswith(".md"):
        for number, line in prose(text):
            if len(line) > LONGEST_LINE:
                yield f"{name}:{number}: {len(line)} columns; at most {LONGEST_LINE}"


def main():
    """Prints what is wrong; exit status 1 if anything is."""
    texts = ((name, (CHECKOUT / name).read_text(encoding="utf-8")) for name in tracked())
    found = [complaint for name, text in texts for complaint in complaints(name, text)]
    print(*found, sep="\n", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
