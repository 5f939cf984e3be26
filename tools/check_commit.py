"""Checks the form of a commit message (CONTRIBUTING.md, "Commits").

Git runs this program after `git config core.hooksPath .githooks`.
"""

import re
import sys
from pathlib import Path

MAX_SUBJECT = 72
MAX_BODY = 80
#: Imperatives whose endings resemble a third person or a past tense.
ORDERS = {"bring", "embed", "exceed", "feed", "focus", "need", "ping", "proceed", "seed", "shed", "speed", "string"}
#: Beginnings of subjects written by git.
OF_GIT = ("Merge branch ", "Merge remote-tracking ", "Merge tag ", 'Revert "', "fixup! ", "squash! ", "amend! ")


def complaints(message):
    """Yields one line per broken rule. Comment lines and the diff of `git commit -v` are ignored."""
    message = re.split(r"^# -+ >8 -+$", message, maxsplit=1, flags=re.MULTILINE)[0].lstrip("\n")
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if not subject:
        yield "the subject is empty"
    elif not subject.startswith(OF_GIT):
        yield from _of_subject(subject)
        yield from _of_body(lines[1:])


def _of_subject(subject):
    first = subject.split()[0]
    if len(subject) > MAX_SUBJECT:
        yield f"the subject has {len(subject)} characters; at most {MAX_SUBJECT}"
    if ";" in subject:
        yield "the subject has a semicolon; make two commits, or name what they share"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if not first[0].isupper():
        yield f"the subject begins with {first!r}; begin with a capital"
    if first.endswith(":") or (re.search(r"(?:(?<!s)s|ed|ing)$", first) and first.lower() not in ORDERS):
        yield f"the subject begins with {first!r}; begin with an order, such as Add, Fix or Measure"


def _of_body(lines):
    if lines and lines[0]:
        yield "the second line is not empty"
    for number, line in enumerate(lines[1:], 3):
        if len(line) > MAX_BODY and " " in line.strip():
            yield f"line {number} has {len(line)} characters; at most {MAX_BODY}"


def main():
    """Prints the broken rules of the message in the given file; exits with 1 if there are any."""
    found = list(complaints(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(*(f"commit message: {line}" for line in found), sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
