"""`levelflow theory num`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from levelflow.cli.choosing import scenario_argument, set_option
from levelflow.cli.theory.shared import at_option, json_option

if TYPE_CHECKING:
    from levelflow.theory.arrays import Floats
    from levelflow.theory.competition import Competition


@click.command(epilog="Example: levelflow theory num parking-lot --exponent 0")
@scenario_argument
@set_option
@at_option
@click.option(
    "--exponent",
    type=float,
    metavar="NU",
    help="Utility of every flow: 0 is log x, above 0 is -1/x^NU, with rates in Mb/s [default: that of its law].",
)
@click.option(
    "--penalty",
    type=float,
    metavar="BETA",
    help="With --exponent: links charge BETA per lost Mbit [default: they are hard limits].",
)
@json_option
def num(
    scenario: str,
    changes: tuple[str, ...],
    at: str | None,
    exponent: float | None,
    penalty: float | None,
    as_json: bool,
) -> None:
    """Print the rates that maximise total utility (network utility maximisation), and the price of each link."""
    from levelflow.cli.theory.shared import competition_of, flow_rows, link_rows, reply, show_rates

    found = competition_of(scenario, changes, at)
    totals, prices, residual = _best(found, exponent, penalty)
    flows, links = flow_rows(found, totals), link_rows(found, totals)
    for row, route in zip(flows, found.routes, strict=True):
        row["price"] = float(prices[route].sum())
    for link in links:
        link["price"] = float(prices[link["link"]])
    data = {"flows": flows, "links": links, "residual": residual}
    reply(as_json, data, lambda: show_rates(flows, links, "pays", [f"{row['price']:.4g}" for row in flows]))


def _best(found: Competition, exponent: float | None, penalty: float | None) -> tuple[Floats, Floats, float]:
    """Returns the total rate of each entry, bit/s, the price of each link, and the residual."""
    from levelflow.theory.networks.utility import UtilityError, optimum
    from levelflow.theory.record import UTILITY
    from levelflow.theory.references import equilibrium_of, model

    if exponent is not None:
        mega = 1e6
        weights = found.counts ** (1 + exponent)
        best = optimum(found.routes, found.available / mega, weights=weights, exponents=exponent, penalty=penalty)
        return best.rates * mega, best.prices, best.residuals.worst
    laws = sorted({flow["law"] for flow in found.entries})
    known = equilibrium_of(found) if all(model(law) == UTILITY for law in laws) else None
    if known is None:
        raise UtilityError(
            f"no common utility is known of {', '.join(laws)}; --exponent 0 selects proportional fairness"
        )
    return known.rates * found.counts, known.signals, known.residual
