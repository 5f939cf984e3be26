"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import importlib.resources
from collections import Counter
from dataclasses import replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, get_args

from levelflow.report import files
from levelflow.reproduce.model import CORRECTION
from levelflow.reproduce.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from levelflow.reproduce.model import Check
    from levelflow.reproduce.runner import FigureOutcome, Outcome

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SIGNS = {"==": "=", "~=": "≈", "<=": "≤", ">=": "≥", "<": "<", ">": ">", "->": "→", "between": "between"}
#: Where what a check expects comes from, by its basis.
SAYS = {
    "text": "printed",
    "derived": "from its equations",
    "inferred": "our reading",
    "correction": "our correction",
}
STYLE, SCRIPT = "report.css", "report.js"
#: Scenarios of a figure that are shown in full.
LISTED = 3


def page(figures: Sequence[FigureOutcome], build: str) -> str:
    """The report of the measured figures as one HTML text; ``build`` says which Levelflow measured them."""
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
    """Writes the report; an older one is replaced in one step.

    Raises:
        OSError: when the file cannot be written.
    """
    files.replace(path, page(figures, build))


def _tier(tiers: set[str]) -> str:
    if tiers - {"full", "quick"}:
        return "on a real network (--testbed)"
    return "printed durations (--full)" if "full" in tiers else "quick tier"


def counted(figures: Sequence[FigureOutcome]) -> dict[str, dict[str, Counter[Verdict]]]:
    """Counts verdicts by paper, by basis and by what they stand on: by the head of a table, and row.

    Checks of corrections say what papers do not, so they have a row of their own among the bases, and count nowhere
    else.
    """
    tables: dict[str, dict[str, Counter[Verdict]]] = {"paper": {}, "expected": {}, "measured on": {}}
    for figure in figures:
        for outcome in figure.outcomes:
            rows = {"paper": figure.claim.paper, "measured on": outcome.ground}
            if outcome.check.basis == CORRECTION:
                rows = {}
            for table, row in {"expected": SAYS[outcome.check.basis], **rows}.items():
                tables[table].setdefault(row, Counter())[outcome.verdict] += 1
    tables["paper"]["all"] = sum(tables["paper"].values(), Counter())
    return tables


def occurring(tables: Mapping[str, Mapping[str, Counter[Verdict]]]) -> list[Verdict]:
    """The verdicts that tables have a column for: those that occur."""
    return [verdict for verdict in VERDICTS if tables["paper"]["all"][verdict] or verdict == "reproduced"]


def _summary(figures: Sequence[FigureOutcome]) -> str:
    tables = counted(figures)
    verdicts = occurring(tables)
    parts = []
    for head, counts in tables.items():
        heads = "".join(f"<th class=n>{verdict}" for verdict in verdicts)
        rows = "".join(
            f"<tr><td>{escape(label)}<td class=n>{count.total()}"
            + "".join(f"<td class=n>{count[verdict]}" for verdict in verdicts)
            for label, count in counts.items()
        )
        parts.append(f"<tbody><tr><th>{head}<th class=n>checks{heads}{rows}")
    return f"<div class=scroll><table class=summary>{''.join(parts)}</table></div>"


def _contents(figures: Sequence[FigureOutcome]) -> str:
    """Links to all figures, by paper, with what did not come out in each."""
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
    """Boxes by which a script shows and hides checks; without one, all are shown."""
    count = Counter(outcome.verdict for figure in figures for outcome in figure.outcomes)
    boxes = "".join(
        f"<label><input type=checkbox checked value='{_class(verdict)}'> {_badge(verdict)} {n}</label> "
        for verdict, n in sorted(count.items(), key=_order)
    )
    search = "<label>Search <input type=search placeholder='metric, figure, equation'></label>"
    return f"<form id=filter hidden><fieldset><legend>Show</legend>{boxes}{search}</fieldset></form>"


def _figure(figure: FigureOutcome) -> str:
    images = "".join(
        f"<img alt='our plot of {escape(figure.claim.name)}' "
        f"src='data:image/png;base64,{base64.b64encode(image).decode()}'>"
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
    """The first scenarios that were run, folded away, and how many more there are."""
    if not texts:
        return ""
    listed = "".join(f"<pre>{escape(text)}</pre>" for text in texts[:LISTED])
    more = f"<p>and {len(texts) - LISTED} more, which differ from these in seed or parameters</p>"
    label = "1 scenario" if len(texts) == 1 else f"{len(texts)} scenarios"
    return f"<details><summary>{label}</summary>{listed}{more if len(texts) > LISTED else ''}</details>"


def _entry(outcomes: Sequence[Outcome]) -> str:
    entry = outcomes[0].entry
    deviations = "".join(f"<li>{escape(text)}" for text in entry.deviations)
    rows = "".join(_row(outcome) for outcome in outcomes)
    return (
        f"<article><h4>{escape(entry.title)}</h4>"
        f"<p class=meta><code>{escape(entry.id)}</code> · {escape(entry.source)} · {escape(entry.kind)}</p>"
        f"<p>{escape(entry.setup)}</p>"
        "<div class=scroll><table><thead><tr><th>metric<th>expected<th>measured<th>verdict<th>remark"
        f"<tbody>{rows}</table></div>"
        + (f"<p>Readings chosen:</p><ul>{deviations}</ul>" if deviations else "")
        + "</article>"
    )


def _row(outcome: Outcome) -> str:
    check = outcome.check
    name = escape(f"{outcome.entry.id}-{outcome.index}")
    at = f" <span class=meta>{escape(check.at)}</span>" if check.at else ""
    target = "" if outcome.target is None else f" <span class=meta>against {_shown(outcome.target)}</span>"
    remark = "<br>".join(escape(text) for text in (outcome.note, check.note, *_said(check)) if text)
    measured = "" if outcome.measured is None else _shown(outcome.measured)
    if twin := outcome.beside:
        measured += f"<br><span class=meta>simulator: {_shown(twin.measured)}, {twin.verdict}</span>"
    return (
        f"<tr id='{name}' data-verdict='{_class(outcome.verdict)}'><td><a href='#{name}'>{outcome.index}</a> "
        f"<code>{escape(check.metric)}</code>{at}<td>{escape(expected(check))}"
        f"<td>{measured}{target}<td>{_badge(outcome.verdict)}<td class=remark>{remark}"
    )


def _said(check: Check) -> Iterator[str]:
    if (erratum := check.erratum) is not None:
        yield f"Printed: “{erratum.quote}”"
        yield erratum.proof
    if (revised := check.revised) is not None:
        was = expected(replace(check, **revised.was))
        yield f"Read at first as {was}: {revised.reason} The text: “{revised.quote}”"
    if check.after_looking:
        yield f"Chosen after looking: {check.after_looking}"


def expected(check: Check) -> str:
    """What a check expects, such as "≈ 4 ± 50 %"."""
    if check.op in ("true", "false"):
        return check.op
    tolerance = f" ± {100 * check.tol_rel:g} %" if check.tol_rel else ""
    tolerance += f" ± {check.tol_abs:g}" if check.tol_abs else ""
    return f"{SIGNS[check.op]} {shown(check.value)}{tolerance}"


def _shown(value: Any) -> str:
    return escape(shown(value))


def shown(value: Any) -> str:
    """A value, or several, to six digits; nothing for what was not measured."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(shown(item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _badge(verdict: str) -> str:
    return f"<span class='badge {_class(verdict)}'>{verdict}</span>"


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _anchor(figure: FigureOutcome) -> str:
    return escape(figure.claim.name.replace("/", "-"))
