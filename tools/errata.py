"""Errata of the papers, from the claims. `python -m tools.reference` writes them to `docs/errata.md`."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from levelflow.library import PAPERS
from levelflow.reproduce.model import Check, Claim, Entry, Erratum, discover

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Citation of each paper, by folder.
TEXTS = {
    "andrew-maxnet": "Andrew et al., MaxNet: Theory and Implementation",
    "dukkipati-rcp": "Dukkipati and McKeown 2005, Processor Sharing Flows in the Internet",
    "kunniyur-2003": "Kunniyur and Srikant 2003, End-to-End Congestion Control Schemes",
    "zhang-2008": "Zhang 2008, Stable and Scalable Congestion Control",
}
INTRODUCTION = """
This page lists statements of the five papers that are false, inconsistent or incomplete as printed. Each entry has the
printed sentence, the reason why it does not hold, a correction if we know one, the part of the statement that still
holds, and the command that shows the error. A few commands need `--full`, with runs as long as those of the papers.
[Sources](../papers/SOURCES.md) has full references. Other statements that were not reproduced are open, or a problem of
this project. [Not reproduced](not-reproduced.md) lists them.

*Corrected*: a corrected statement holds, and the command also checks the correction. *Refuted*: the measured value is a
counterexample, and we know no correction.

The sentence after "Printed:" is from a text that a machine read from the paper. This text has errors. For example, it
has "fws" for "flows" in captions of Dukkipati and McKeown, and two different marks above Kunniyur and Srikant's
marking level. We write formulas in ASCII. Most errata do not depend on a single character. Those that do are in [a
chapter of their own](#check-the-printed-page)."""
GLYPHS = """
## Check the printed page
Each erratum of this chapter depends on one glyph, sign or digit of the printed statement. The mathematics holds for the
statement as quoted. If the paper prints another character, the quote is wrong and not the paper. Look at the printed
page before you cite one of these errata."""
Found = tuple[Entry, int, Check]


def lines() -> Iterator[str]:
    """Yields the lines of the page."""
    claims = discover(PAPERS)
    yield f"# Errata{INTRODUCTION}"
    for paper, group in groupby(claims, key=lambda claim: claim.paper):
        found = list(_checks(group))
        errata = [one for one in found if (erratum := one[2].erratum) and not erratum.glyph]
        lost = [(entry, i, check) for entry, i, check in found if check.undecidable]
        if errata or lost:
            yield f"\n## {TEXTS[paper]}"
        for erratum, same in groupby(errata, key=lambda one: one[2].erratum):
            yield from _erratum(erratum, list(same))
        if lost:
            yield "\n### What the text does not decide"
            for why, same in groupby(lost, key=lambda one: one[2].undecidable):
                yield from _item(f"{_names(list(same))}: {why}")
    yield GLYPHS
    unsure = [one for one in _checks(claims) if (erratum := one[2].erratum) and erratum.glyph]
    for erratum, same in groupby(unsure, key=lambda one: one[2].erratum):
        yield from _erratum(erratum, list(same))


def _checks(claims: Iterable[Claim]) -> Iterator[Found]:
    for claim in claims:
        for entry in claim.entries:
            for i, check in enumerate(entry.check):
                yield entry, i, check


def _erratum(erratum: Erratum, found: list[Found]) -> Iterator[str]:
    entry = found[0][0]
    yield f"\n### {entry.source}"
    yield from _wrapped(f"{entry.title}. *{erratum.verdict.capitalize()}.* Printed: “{erratum.quote}”")
    yield ""
    if erratum.glyph:
        yield from _item(f"**Check the printed page.** {erratum.glyph[:1].upper()}{erratum.glyph[1:]}")
    yield from _item(f"**Why.** {erratum.proof}")
    if erratum.correction:
        yield from _item(f"**Instead.** {erratum.correction}")
    if erratum.stands:
        yield from _item(f"**What stands.** {erratum.stands}")
    shown = f"; the correction: {', '.join(f'`{name}`' for name in erratum.shown_by)}" if erratum.shown_by else ""
    entries = dict.fromkeys(one.id for one, _, _ in found)
    yield from _item(f"**Shown by** `levelflow reproduce {' '.join(entries)}`: {_names(found)}{shown}.")


def _names(found: list[Found]) -> str:
    return ", ".join(f"`{entry.id}[{i}]`" for entry, i, _ in found)


def _item(text: str) -> list[str]:
    return _wrapped(f"- {text}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
