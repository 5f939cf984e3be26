"""Report of the measured claims as one self-contained HTML page."""

from __future__ import annotations

import base64
import importlib.resources
from collections import Counter
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, get_args

from levelflow import files
from levelflow.reproduce import strip
from levelflow.reproduce.model import PRINTED
from levelflow.reproduce.verdict import Verdict
from levelflow.reproduce.wording import PLAIN, expected, measured, shown, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from levelflow.reproduce.model import Check
    from levelflow.reproduce.outcome import Outcome
    from levelflow.reproduce.runner import FigureOutcome
    from levelflow.reproduce.wording import Unit

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: Origin of an expected value as text, by basis of the check.
SAYS = {
    PRINTED: "printed",
    "derived": "our arithmetic",
    "inferred": "our reading",
    "correction": "our correction",
}
#: Titles of the tables of printed statements.
PRINTED_IN, PRINTED_ON = "printed in", "printed, measured on"
STYLE, SCRIPT = "report.css", "report.js"
HEADS = "".join(f"<th scope=col>{head}" for head in ("metric", "expected", "measured", "verdict"))
KEY = (
    "In the strips, the shaded range meets the check, and the tall line is the expected value. Each dot is a measured "
    "number, one per seed if there are several seeds. A bar connects the lowest and the highest dot, and the short "
    "line is their median. A hollow dot does not meet the check. An arrow is an infinite number. Strips of several "
    "rows have a row, and a scale, per expected number. In plots, expected values are purple: a line at the number, "
    "solid if the paper prints it and dashed if we derive it, over the time or the sizes of the check, with the band "
    "of its tolerance."
)
#: Largest number of scenarios of a figure that are shown in full.
LISTED = 3


def page(figures: Sequence[FigureOutcome], build: str) -> str:
    """Returns the report of the measured figures as HTML; ``build`` is the measuring build of Levelflow."""
    figures = sorted(figures, key=lambda figure: figure.claim.name)
    style, script = (_file(name) for name in (STYLE, SCRIPT))
    tier = _tier({figure.tier for figure in figures})
    body = [
        "<header><h1>Claims of the papers, measured again</h1>",
        f"<p class=meta>Levelflow {escape(build)} · {tier} · figures: {len(figures)} · "
        f"checks: {sum(len(f.outcomes) for f in figures)}</p>",
        "</header>",
        _summary(figures),
        _contents(figures),
        _filters(figures),
        f"<p class=meta>{KEY}</p>",
    ]
    for paper, group in groupby(figures, key=lambda figure: figure.claim.paper):
        body.append(f"<h2 id='{escape(paper)}'>{escape(paper)}</h2>")
        body.extend(_figure(figure) for figure in group)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>Levelflow: claims</title><style>{style}</style><main>{''.join(body)}</main>"
        f"<script>{script}</script></html>\n"
    )


def _file(name: str) -> str:
    return importlib.resources.files("levelflow.reproduce").joinpath(name).read_text(encoding="utf-8")


def write(path: Path, figures: Sequence[FigureOutcome], build: str) -> None:
    """Writes the report atomically.

    Raises:
        OSError: If the file is not writable.
    """
    files.replace(path, page(figures, build))


def _tier(tiers: set[str]) -> str:
    simulated = tiers & {"full", "quick"}
    quick = "quick tier: fewer seeds, points and random cases than stated"
    words = ["printed durations (--full)" if "full" in tiers else quick] if simulated else []
    return ", ".join([*words, *(["on a real network (--testbed)"] if tiers - simulated else [])])


def counted(figures: Sequence[FigureOutcome]) -> dict[str, dict[str, Counter[Verdict]]]:
    """Counts verdicts by basis; verdicts of printed statements also by paper, and by ground.

    The first key is a table title, and the second a row title. Only printed statements are statements of a paper. The
    other checks are our arithmetic, our reading of the text, and our corrections.
    """
    tables: dict[str, dict[str, Counter[Verdict]]] = {"expected": {}, PRINTED_IN: {}, PRINTED_ON: {}}
    for figure in figures:
        for outcome in figure.outcomes:
            rows = {"expected": SAYS[outcome.check.basis]}
            if outcome.check.basis == PRINTED:
                rows |= {PRINTED_IN: figure.claim.paper, PRINTED_ON: outcome.ground}
            for table, row in rows.items():
                tables[table].setdefault(row, Counter())[outcome.verdict] += 1
    tables["expected"] = {says: tables["expected"][says] for says in SAYS.values() if says in tables["expected"]}
    return tables


def occurring(tables: Mapping[str, Mapping[str, Counter[Verdict]]]) -> list[Verdict]:
    """Returns the verdicts with a column in the tables: those that occur, and always "reproduced"."""
    total = sum(tables["expected"].values(), Counter())
    return [verdict for verdict in VERDICTS if total[verdict] or verdict == "reproduced"]


def _summary(figures: Sequence[FigureOutcome]) -> str:
    tables = counted(figures)
    verdicts = occurring(tables)
    parts = []
    for head, counts in tables.items():
        heads = "".join(f"<th scope=col class=n>{verdict}" for verdict in verdicts)
        rows = "".join(
            f"<tr><th scope=row>{escape(label)}<td class=n>{count.total()}"
            + "".join(f"<td class=n>{count[verdict]}" for verdict in verdicts)
            for label, count in counts.items()
        )
        parts.append(f"<tbody><tr><th scope=col>{head}<th scope=col class=n>checks{heads}{rows}")
    return f"<div class=scroll><table class=summary aria-label='Verdicts'>{''.join(parts)}</table></div>"


def _contents(figures: Sequence[FigureOutcome]) -> str:
    """Returns links to all figures, by paper, with the number of each verdict other than "reproduced"."""
    parts = []
    for paper, group in groupby(figures, key=lambda figure: figure.claim.paper):
        items = "".join(f"<li>{_link(figure)}" for figure in group)
        parts.append(f"<details open><summary>{escape(paper)}</summary><ul class=contents>{items}</ul></details>")
    return f"<nav aria-label=Figures><h2>Figures</h2>{''.join(parts)}</nav>"


def _link(figure: FigureOutcome) -> str:
    count = Counter(outcome.verdict for outcome in figure.outcomes if outcome.verdict != "reproduced")
    badges = " ".join(f"{n} {_badge(verdict)}" for verdict, n in sorted(count.items(), key=_order))
    return f"<a href='#{_anchor(figure)}'>{escape(figure.claim.folder.name)}</a> {badges}"


def _order(item: tuple[Verdict, int]) -> int:
    return VERDICTS.index(item[0])


def _filters(figures: Sequence[FigureOutcome]) -> str:
    """Returns checkboxes with which the script shows and hides checks. Without a script, all checks are shown."""
    count = Counter(outcome.verdict for figure in figures for outcome in figure.outcomes)
    boxes = "".join(
        f"<label><input type=checkbox checked value='{_class(verdict)}'> {_badge(verdict)} {n}</label> "
        for verdict, n in sorted(count.items(), key=_order)
    )
    search = "<label>Search <input type=search placeholder='metric, figure, equation'></label>"
    return f"<form id=filter hidden><fieldset><legend>Show</legend>{boxes}{search}</fieldset></form>"


def _figure(figure: FigureOutcome) -> str:
    images = "".join(
        f"<img alt='our plot of {escape(figure.claim.name)}. {escape(image.alt)}' "
        f"src='data:image/png;base64,{base64.b64encode(image.png).decode()}'>"
        for image in figure.images
    )
    entries = "".join(
        _entry(list(outcomes)) for _, outcomes in groupby(figure.outcomes, key=lambda outcome: outcome.entry.id)
    )
    return (
        f"<section id='{_anchor(figure)}'><h3>{escape(figure.claim.name)}"
        f"<span class=meta> {figure.seconds:.1f} s, {escape(figure.tier)}</span></h3>"
        f"<p class=meta><code>levelflow reproduce {escape(figure.claim.folder.name)}</code></p>{entries}"
        f"<div class=plots>{images}</div>{_scenarios(figure.scenarios)}</section>"
    )


def _scenarios(texts: Sequence[str]) -> str:
    """Returns the first scenarios in a collapsed block, with the number of omitted scenarios."""
    if not texts:
        return ""
    listed = "".join(f"<pre>{escape(text)}</pre>" for text in texts[:LISTED])
    more = f"<p>and {len(texts) - LISTED} more, which differ from these in seed or parameters</p>"
    label = "1 scenario" if len(texts) == 1 else f"{len(texts)} scenarios"
    return f"<details><summary>{label}</summary>{listed}{more if len(texts) > LISTED else ''}</details>"


def _entry(outcomes: Sequence[Outcome]) -> str:
    entry = outcomes[0].entry
    deviations = "".join(f"<li>{escape(text)}" for text in entry.deviations)
    readings = "".join(f"<li>{escape(reading.name)}: {escape(reading.text)}" for reading in entry.reading)
    rows = "".join(_row(outcome) for outcome in outcomes)
    return (
        f"<article><h4>{escape(entry.title)}</h4>"
        f"<p class=meta><code>{escape(entry.id)}</code> · {escape(entry.source)} · {escape(entry.kind)}</p>"
        f"<p>{escape(entry.setup)}</p>"
        f"<div class=scroll><table aria-label='Checks of {escape(entry.id)}'>"
        f"<thead><tr>{HEADS}{rows}</table></div>"
        + (f"<p>Readings chosen:</p><ul>{deviations}</ul>" if deviations else "")
        + (f"<p>Readings measured:</p><ul>{readings}</ul>" if readings else "")
        + "</article>"
    )


def _row(outcome: Outcome) -> str:
    check, unit = outcome.check, unit_of(outcome)
    name = escape(f"{outcome.entry.id}-{outcome.index}")
    at = f" <span class=meta>{escape(check.at)}</span>" if check.at else ""
    target = "" if outcome.target is None else f" <span class=meta>against {escape(shown(outcome.target, unit))}</span>"
    remark = "<br>".join(escape(text) for text in (outcome.note, check.note, *_said(check, unit)) if text)
    wanted = escape(expected(check, unit)).replace(" %", "&nbsp;%")
    metric = escape(check.metric).replace("_", "_<wbr>").replace("[", "<wbr>[")
    return (
        f"<tbody id='{name}' data-verdict='{_class(outcome.verdict)}'><tr><td><a href='#{name}'>{outcome.index}</a> "
        f"<code>{metric}</code>{at}<td data-head=expected>{wanted}"
        f"<td data-head=measured>{_measured(outcome, unit)}{target}{strip.svg(outcome)}{_beside(outcome, unit)}"
        f"<td>{_badge(outcome.verdict)}" + (f"<tr><td colspan=4 class=remark>{remark}" if remark else "")
    )


def _measured(outcome: Outcome, unit: Unit) -> str:
    text, seeds = map(escape, measured(outcome, unit))
    return f"{text} <span class=meta>{seeds}</span>" if seeds else text


def _beside(outcome: Outcome, unit: Unit) -> str:
    """Returns other measurements: of the simulator if a network was measured, of the other tier, of each reading."""
    others = [("simulator", outcome.beside)]
    if outcome.other:
        others.append((f"{outcome.other.tier} tier", outcome.other))
    others += [(one.reading, one) for one in outcome.readings]
    return "".join(
        f"<p class=meta>{escape(label)}: {_measured(other, unit)}, {other.verdict}</p>"
        for label, other in others
        if other
    )


def _said(check: Check, unit: Unit) -> Iterator[str]:
    if (erratum := check.erratum) is not None:
        yield f"Printed: “{erratum.quote}”"
        yield erratum.proof
        if erratum.glyph:
            yield f"Check the printed page: {erratum.glyph}"
    if (revised := check.revised) is not None:
        was = expected(replace(check, **revised.was), PLAIN if "metric" in revised.was else unit)
        yield f"Read at first as {was}: {revised.reason} The text: “{revised.quote}”"
    if check.after_looking:
        yield f"Chosen after looking: {check.after_looking}"


def _badge(verdict: str) -> str:
    return f"<span class='badge {_class(verdict)}'>{verdict}</span>"


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _anchor(figure: FigureOutcome) -> str:
    return escape(figure.claim.name.replace("/", "-"))
