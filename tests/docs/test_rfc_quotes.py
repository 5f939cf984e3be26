"""Requirements of RFCs that Rust code quotes: `//= RFC 9438, section 4.2`, then the words in `//#` lines."""

import re

import pytest
from tools import CHECKOUT

RFCS = CHECKOUT / "tests" / "rfc"
CRATES = CHECKOUT / "crates"
PLACE = re.compile(r"//= RFC (\d+), section ([\d.]+)$")
#: Sources of laws whose text is not quoted yet.
UNQUOTED = {"3649"}


def plain(text):
    return " ".join(text.split())


def sections(text):
    """Returns the text of each section, joined from its paragraphs, by section number."""
    _, *parts = re.split(r"^Section ([\d.]+)$", text, flags=re.MULTILINE)
    return {number: plain(body) for number, body in zip(parts[::2], parts[1::2], strict=True)}


EXCERPTS = {path.stem.removeprefix("rfc"): sections(path.read_text(encoding="utf-8")) for path in RFCS.glob("*.txt")}


def quotes(text):
    """Returns RFC, section and words of each quotation. Quoted words without an RFC section are an error."""
    found = []
    previous = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("//="):
            place = PLACE.match(line)
            assert place, line
            found.append([*place.groups(), ""])
        elif line.startswith("//#"):
            assert previous.startswith(("//=", "//#")), line
            found[-1][2] = plain(f"{found[-1][2]} {line.removeprefix('//#')}")
        previous = line
    return found


def problems(text):
    """Yields the errors in the quotations of a source file."""
    for rfc, section, words in quotes(text):
        if not words or words not in EXCERPTS.get(rfc, {}).get(section, ""):
            yield f"RFC {rfc}, section {section}, does not contain: {words}"


def sources():
    return {path: path.read_text(encoding="utf-8") for path in CRATES.rglob("*.rs")}


def test_quotations_are_verbatim_and_name_their_section():
    assert {path: found for path, text in sources().items() if (found := list(problems(text)))} == {}


def test_every_excerpt_is_quoted():
    said = [(rfc, section, words) for text in sources().values() for rfc, section, words in quotes(text)]
    used = {(rfc, section) for rfc, section, _ in said}
    assert {(rfc, section) for rfc, found in EXCERPTS.items() for section in found} == used


def test_laws_that_implement_an_rfc_quote_it():
    """Verifies that laws quote their RFC. If the record of a law names an RFC as its source, the folder of the law, of
    TCP or of Reno contains a quote.
    """
    laws = CRATES / "laws" / "src"
    shared = [*(laws / "tcp").glob("*.rs"), *(laws / "reno").glob("*.rs")]
    missing = set()
    for record in laws.glob("*/mod.rs"):
        named = re.search(r'(?:info\([^)]*|source: )"RFC (\d+)', record.read_text(encoding="utf-8"))
        if named:
            files = [*record.parent.glob("*.rs"), *shared]
            said = {rfc for path in files for rfc, _, _ in quotes(path.read_text(encoding="utf-8"))}
            missing |= {named[1]} - said
    assert missing == UNQUOTED


@pytest.mark.parametrize(
    "text",
    [
        "//= RFC 9438, section 4.7\n//# Therefore, _C_ SHOULD be set to 0.4.",
        "//= RFC 9438, section 5.1\n//# Therefore, _C_ MUST be set to 0.4.",
        "//= RFC 1, section 5.1\n//# Therefore, _C_ SHOULD be set to 0.4.",
        "//= RFC 9438, section 5.1\nlet c = 0.4;",
    ],
)
def test_a_wrong_quotation_is_found(text):
    assert len(list(problems(text))) == 1
