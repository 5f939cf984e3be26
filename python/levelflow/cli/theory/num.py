"""`levelflow theory num`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from levelflow.cli.choosing import Changes, ScenarioName
from levelflow.cli.theory.asking import AsJson, At

if TYPE_CHECKING:
    from levelflow.theory.scenarios import Competition
    from levelflow.theory.utility import Optimum

Exponent = Annotated[
    float | None,
    typer.Option(
        metavar="NU",
        help="What every flow wants: 0 is log x, above 0 is -1/x^NU, with rates in Mb/s [default: what its law wants].",
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option(
        metavar="BETA", help="With --exponent: links charge BETA per lost Mbit [default: they are hard limits]."
    ),
]


def num(
    scenario: ScenarioName,
    changes: Changes = None,
    at: At = None,
    exponent: Exponent = None,
    penalty: Penalty = None,
    as_json: AsJson = False,
) -> None:
    """Rates of the largest total utility (network utility maximisation), and the price of each link."""
    from levelflow.cli.theory.asking import ask, flow_rows, link_rows, show_flows, show_json, show_links

    found = ask(scenario, changes, at)
    best = _optimum(found, exponent, penalty)
    flows, links = flow_rows(found, best.rates), link_rows(found, best.rates)
    for row, route in zip(flows, found.routes, strict=True):
        row["price"] = float(best.prices[route].sum())
    for row in links:
        row["price"] = float(best.prices[row["link"]])
    if as_json:
        show_json({"flows": flows, "links": links, "residuals": vars(best.residuals)})
        return
    show_flows(flows, "pays", [f"{row['price']:.4g}" for row in flows])
    show_links(links)


def _optimum(found: Competition, exponent: float | None, penalty: float | None) -> Optimum:
    """Solves the problem, in bit/s."""
    from dataclasses import replace

    from levelflow.theory.references import optimal
    from levelflow.theory.utility import UtilityError, optimum

    if exponent is not None:
        mega = 1e6
        best = optimum(
            found.routes,
            found.available / mega,
            weights=found.counts ** (1 + exponent),
            exponents=exponent,
            penalty=penalty,
        )
        return replace(best, rates=best.rates * mega)
    best_of_law = optimal(found)
    if best_of_law is None:
        laws = ", ".join(sorted({flow["law"] for flow in found.entries}))
        raise UtilityError(f"no common utility is known of {laws}; --exponent 0 asks for proportional fairness")
    return best_of_law
