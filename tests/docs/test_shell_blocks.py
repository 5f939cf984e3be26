"""Shell blocks of documents: each pasted line is a complete command, also in blocks that tests cannot run."""

import re
import shlex

import pytest
from test_docs import PAGES
from tools import CHECKOUT

BLOCK = re.compile(r"^( *)```(?:bash|sh|shell|console)\b[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
#: First words of commands in the documents. The continuation of a wrapped line begins with another word.
COMMANDS = {
    *(
        "cargo",
        "cat",
        "cmp",
        "curl",
        "done",
        "fi",
        "for",
        "if",
        "ip",
        "kill",
        "levelflow",
        "levelflow-net",
        "make",
        "mkdir",
    ),
    *("modem-statistics", "rm", "sha256sum", "sleep", "sudo", "sysctl", "tail", "tc", "wait", "while"),
}
#: Folders of the checkout with programs.
PROGRAMS = (".venv/bin/", ".ci/", "tools/", "experiments/", "apps/")


def blocks(page):
    for indent, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        yield [line.removeprefix(indent) for line in text.splitlines()]


def commands(lines):
    """Yields complete commands. A line with a final backslash or an open quote continues in the next line. The text of
    `<< 'END'` is no command.
    """
    waiting = end = ""
    for line in lines:
        if end:
            end = "" if line == end else end
            continue
        here = re.search(r"<< '(\w+)'$", line)
        end = here[1] if here else ""
        text = waiting + line
        if text.endswith("\\"):
            waiting = text[:-1]
            continue
        try:
            words = shlex.split(re.sub(r"\$\([^()]*\)", "substituted", text), comments=True)
        except ValueError:
            waiting = f"{text}\n"
            continue
        waiting = ""
        yield words
    assert not waiting, f"goes on after its end: {waiting}"


def command_of(words):
    """Returns the first word that is not an assignment. Returns None for an empty line and for a line of
    assignments.
    """
    rest = [word for word in words if word != "$"]
    while rest and re.fullmatch(r"[A-Za-z_]\w*=.*", rest[0], re.DOTALL):
        rest = rest[1:]
    return rest[0] if rest else None


def wrong(lines):
    shown = any(line.startswith("$ ") for line in lines)  # other lines are output
    for words in commands([line for line in lines if not shown or line.startswith("$ ")]):
        first = command_of(words)
        if first and first not in COMMANDS and not first.startswith(PROGRAMS):
            yield shlex.join(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_lines_to_paste_are_whole_commands(page):
    if page.suffix == ".md":
        assert [line for lines in blocks(page) for line in wrong(lines)] == []


def test_a_line_that_was_wrapped_is_found():
    wrapped = ["sudo levelflow-net testbed x.toml --out", "results/cubic"]
    assert list(wrong(wrapped)) == ["results/cubic"]
    assert list(wrong(["sudo levelflow-net testbed x.toml --set", 'duration="16 s" --out results/x'])) != []
    assert list(wrong(["levelflow-net testbed x.toml --each-law", "jetmax,level"])) == ["jetmax,level"]
    assert list(wrong([wrapped[0] + " \\", wrapped[1]])) == []
