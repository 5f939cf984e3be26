"""Checks the form of our English in comments, docstrings, messages and pages, and suggests better wordings.

`make check` runs this program. Each rule is a pattern that no text may contain. Code is not checked, except for prose
in its strings. Prose in Markdown also stays within 120 columns.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
#: First words with which a doc comment must not begin.
HEAD = re.compile(
    r"(?:what|who|whose|whom|which|where|whether|how|so|of|by|in|as|from|for|with|without|if|when|to|while|until|under"
    r"|above|below|unless|although|since|because|once|nothing of)\b(?!-)",
    re.IGNORECASE,
)
HEAD_ADVICE = 'begin with a noun or a verb: "Largest queue, bytes." "Returns the pacing rate."'
#: Patterns that texts must not contain, and better words.
WORDS = {
    r"\bso (?:many|much|long|seldom)\b": "the number (amount, time) of ..., or a name",
    r"\b(?:told|tells?)\b(?! (?:\w+ )?apart)": "signals, notifies, passes, reports, prints",
    r"\b(?:hears?|heard)\b": "receives (the signal, the ACK), observes",
    r"\b(?:believes?|knows)\b": "assumes, records, has",
    r"\b(?:asks?|asked)\b": "requests, calls, reads",
    r"(?<!RFC \d{4} )(?<!paper )(?<!section )(?<!authors )(?<!draft )\b(?:says?|said)\b": "defines, contains, prints",
    r"\b(?:comes?|came|coming) to\b": "is, reaches, converges to",
    r"\b(?:nobody|somebody|whoever|anybody|everybody)\b": "no flow, another process, the user, any sender",
    r"\b(?:under way|on (?:its|their) way)\b": "in flight, in progress",
    r"\b(?:takes?|taken|took) for lost\b|\bcounts? as lost\b": "declared lost",
    r"\b(?:turn(?:s|ed)? out to have|had been taken)\b": "spurious",
    r"\bbeside\b": "compared with, next to",
    r"\bstands? next to\b": "is compared with",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bgreet(?:s|ed|ing|ings)?\b": "handshake",
    r"\bcomes? along\b|\bships? with us\b": "is included",
    r"\b(?:comes?|came|coming) to rest\b|\brest points?\b|\bat rest\b": "equilibrium",
    r"\bin charge\b": "active, configured",
    r"\bstands? for\b": "is, means, represents, selects",
    r"\bwhat it costs\b": "overhead",
    r"\b(?:sent|sends?) again\b": "retransmitted",
    r"\boff max-min\b": "distance from max-min",
    r"\bsizers?\b": "buffer-sizing algorithm",
    r"\bcables?\b": "link, veth pair",
    r"\bbooks balance\b": "packets are conserved",
    r"\bnothing but\b": "only",
    r"\b(?:nothing|much|more|all|none|no more) of (?:it|them|what)\b": "the number or amount of a named thing",
    r"\bnot (?:longer|later|more|earlier) (?:\w+ )?than what\b": "at most, and the name of the quantity",
    r"\bbelow what\b|\bwhat (?:is|was|are|were) (?:wanted|allowed|missing|lost|left over|due|there)\b": "the noun",
    r"\b(?:before|after|of|at|in|to) which (?:nothing|no|none|all)\b": "two sentences",
    r"\b(?:is|are) so by\b": "exceeds by",
}
#: Patterns for texts about packets. Elsewhere, "answer" has its usual meaning.
WORDS_OF_PACKETS = {r"\b(?:on_)?answer(?:s|ed|ing)?\b": "ACK"}
OF_PACKETS = ("crates/laws/", "crates/transport/", "crates/wire/", "crates/sim/", "crates/load/", "crates/path/")
#: Files that contain the patterns themselves.
EXEMPT = {"CHANGELOG.md", "tools/check_words.py", "tests/tools/test_check_words.py"}
LONGEST_LINE = 120

C_LIKE = {".rs", ".c", ".h", ".js", ".mjs", ".cc", ".lua"}
SUFFIXES = C_LIKE | {".html", ".md", ".py", ".toml"}
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r"""(?<![\w'])b?r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*\""""
TOKENS = {
    ".rs": re.compile(rf"{COMMENT}|{STRING}|'(?:\\.|[^\\'])'", re.DOTALL),
    ".js": re.compile(rf"{COMMENT}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL),
    ".lua": re.compile(r"--[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL),
}
TOKENS |= {".c": TOKENS[".rs"], ".h": TOKENS[".rs"], ".cc": TOKENS[".rs"], ".mjs": TOKENS[".js"]}
OPENING, CLOSING = set("([{"), set(")]}")
#: Placeholder for a value in a string.
INSERTED = re.compile(r"\$?\{[^{}]*\}")
DOC = re.compile(r"^(?://[/!](?![/#])|/\*\*|#:)\s*(?:\*\s+)?")


def tracked(under=()):
    """Returns the paths of texts in git, in the whole checkout or below some of its folders."""
    names = subprocess.run(["git", "ls-files", "-z", *under], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return [name for name in names.stdout.split("\0") if Path(name).suffix in SUFFIXES and name not in EXEMPT]


def spans(name, text):
    """Yields (line number, text, True at the beginning of a doc comment) for all prose of a file."""
    suffix = Path(name).suffix
    if suffix == ".py":
        yield from _of_python(text)
    elif suffix in C_LIKE:
        yield from _of_c(text, TOKENS[suffix])
    elif suffix == ".md":
        yield from ((number, line, False) for number, line in prose(text))
    else:
        yield from ((number, line, False) for number, line in enumerate(text.splitlines(), 1))


def _of_c(text, tokens):
    last_doc = -1
    for match in tokens.finditer(text):
        token, number = match[0], text.count("\n", 0, match.start()) + 1
        if token.startswith(("//#", "//=")):
            continue  # a quotation from an RFC, which keeps its words
        doc = DOC.match(token)
        if token.startswith(("/", "--")) or " " in token:
            body = token[doc.end() :] if doc else token
            body = body if token[0] in "/-" else INSERTED.sub("{}", body)
            yield number, body, bool(doc) and last_doc != number - 1
        if doc:
            last_doc = number + token.count("\n")


def _of_python(text):
    begins, last_doc, depth = True, -1, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind, number = tokenize.tok_name[token.type], token.start[0]
        if kind == "COMMENT":
            doc = DOC.match(token.string)
            yield number, token.string[doc.end() :] if doc else token.string, bool(doc) and last_doc != number - 1
            last_doc = number if doc else last_doc
        elif kind in {"STRING", "FSTRING_MIDDLE"}:
            if " " in token.string:
                text = INSERTED.sub("{}", re.sub(r"^\w*['\"]+\s*", "", token.string))
                yield number, text, begins and '"""' in token.string
            begins = False
        elif kind in {"INDENT", "DEDENT", "NEWLINE", "NL"}:
            begins = depth == 0
        else:
            begins = False
            depth += (token.string in OPENING) - (token.string in CLOSING)


def prose(text):
    """Yields the lines of Markdown outside code, with their numbers."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", "``", re.sub(r"\]\([^)]*\)", "]()", line))


def complaints(name, text):
    """Yields one line per broken rule, and per line of Markdown that is too long."""
    words = WORDS | (WORDS_OF_PACKETS if name.startswith(OF_PACKETS) else {})
    for start, span, begins_doc in spans(name, text):
        if begins_doc and (found := HEAD.match(span)):
            yield f"{name}:{start}: a doc comment begins with {found[0]!r}; {HEAD_ADVICE}"
        for number, line in enumerate(span.splitlines(), start):
            for pattern, better in words.items():
                if found := re.search(pattern, line, re.IGNORECASE):
                    yield f"{name}:{number}: {found[0]!r}; write {better}"
    if name.endswith(".md"):
        for number, line in enumerate(text.splitlines(), 1):
            table = line.lstrip().startswith(("|", "`", "![", "<table"))
            if len(line) > LONGEST_LINE and not table and any(number == n for n, _ in prose(text)):
                yield f"{name}:{number}: {len(line)} columns; at most {LONGEST_LINE}"


def main():
    """Prints the broken rules below the given paths, or everywhere; exits with 1 if there are any.

    With `--count`, prints only the number of broken rules per folder.
    """
    paths = [argument for argument in sys.argv[1:] if argument != "--count"]
    texts = ((name, (CHECKOUT / name).read_text(encoding="utf-8")) for name in tracked(paths))
    found = [complaint for name, text in texts for complaint in complaints(name, text)]
    if "--count" in sys.argv:
        counts = Counter("/".join(complaint.split(":")[0].split("/")[:2]) for complaint in found)
        print(*(f"{count:5} {folder}" for folder, count in counts.most_common()), sep="\n")
    else:
        print(*found, sep="\n", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
