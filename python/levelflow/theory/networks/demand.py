"""Demand of flows at a price: the rate at which a flow's marginal utility equals the price that it pays.

Rates, prices and marginal utilities are given as logarithms. The caller chooses the units, so that values are near 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from levelflow.theory.arrays import Floats

#: Range in which logarithms of rates are searched. Demand at the lower bound counts as 0.
LOWEST, HIGHEST = -28.0, 28.0
#: Number of bisections that determines all digits.
HALVINGS = 60
#: Newton's method on sums of powers ends after this number of steps, or below this relative change of the rate.
MOST_STEPS, EXACT = 60, 1e-15
#: Half width of the difference quotient that estimates a slope.
ASIDE = 1e-5


class Wanted(NamedTuple):
    """Demand of flows at given prices.

    Attributes:
        rates: logarithms of the demanded rates.
        steepness: `-x U''/U'`, the relative increase of the price per relative decrease of the rate; infinite if the
            rate is constant.
    """

    rates: Floats
    steepness: Floats


class Demand(Protocol):
    """Decreasing marginal utilities, one per flow."""

    def marginal(self, rates: Floats) -> Floats:
        """Returns the logarithm of `U'` at the given logarithms of rates."""

    def at(self, prices: Floats) -> Wanted:
        """Returns the demand at the given logarithms of prices."""

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns the relative difference between marginal utility and price, or between rate and demand."""


@dataclass(frozen=True)
class Powers:
    """Sums of powers, `U'(x) = sum_k e^height_k x^-order_k`.

    Attributes:
        height: terms by flows; minus infinity where a term is missing.
        order: terms by flows, above 0.
    """

    height: Floats
    order: Floats

    def marginal(self, rates: Floats) -> Floats:
        """Returns the logarithm of `U'` at the given logarithms of rates."""
        from scipy.special import logsumexp

        terms = self.height - self.order * rates
        return logsumexp(terms, axis=0) if len(terms) > 1 else terms[0]

    def at(self, prices: Floats) -> Wanted:
        """Returns the demand at the given logarithms of prices.

        Each term alone gives a smaller demand than the sum. Newton's method starts at the largest demand of a term. It
        climbs to the root without passing it: the logarithm of a sum of powers is convex in the logarithm of the rate.
        """
        rates = ((self.height - prices) / self.order).max(axis=0)
        for _ in range(MOST_STEPS if len(self.height) > 1 else 0):
            step = (self.marginal(rates) - prices) / self._steepness(rates)
            rates = rates + np.maximum(step, 0.0)
            if (step <= EXACT * np.maximum(np.abs(rates), 1.0)).all():
                break
        return Wanted(rates, self._steepness(rates))

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns the relative difference between marginal utility and price."""
        return np.abs(np.expm1(self.marginal(rates) - prices))

    def _steepness(self, rates: Floats) -> Floats:
        terms = self.height - self.order * rates
        share = np.exp(terms - terms.max(axis=0))
        return (share * self.order).sum(axis=0) / share.sum(axis=0)


@dataclass(frozen=True)
class Falling:
    """Any decreasing marginal utilities, inverted by bisection.

    Attributes:
        function: maps the rates of all flows to their marginal utilities, in the function's own units.
        rate: logarithm of this module's unit of rate, in the function's unit.
        price: logarithm of this module's unit of price, in the function's unit.
    """

    function: Callable[[Floats], Floats]
    rate: float
    price: float

    def marginal(self, rates: Floats) -> Floats:
        """Returns the logarithm of `U'` at the given logarithms of rates; minus infinity where `U'` is not above 0."""
        return np.log(np.maximum(self._value(rates), 0.0))

    def at(self, prices: Floats) -> Wanted:
        """Returns the demand at the given logarithms of prices, from `LOWEST` to `HIGHEST`."""
        low, high = np.full_like(prices, LOWEST), np.full_like(prices, HIGHEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = self.marginal(middle) >= prices
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return Wanted(low, np.where(_first(low) | (HIGHEST - low < 2 * ASIDE), np.inf, self._steepness(low, prices)))

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns the relative difference between marginal utility and price, or between rate and demand.

        At a rate that counts as 0, a marginal utility below the price is no error: the flow demands nothing.
        """
        over = np.expm1(self.marginal(rates) - prices)
        over = np.where(_first(rates), np.maximum(over, 0.0), np.abs(over))
        return over / np.maximum(self._steepness(rates, prices), 1.0)

    def _value(self, rates: Floats) -> Floats:
        return np.asarray(self.function(np.exp(rates + self.rate)), dtype=np.float64) / np.exp(self.price)

    def _steepness(self, rates: Floats, prices: Floats) -> Floats:
        """Returns `-x U''` divided by the price; unlike `-x U''/U'`, it is defined where `U'` is 0."""
        fall = (self._value(rates - ASIDE) - self._value(rates + ASIDE)) / (2 * ASIDE)
        return np.maximum(fall, ASIDE * np.exp(prices)) / np.exp(prices)


def _first(rates: Floats) -> NDArray[np.bool_]:
    """Returns True for rates that count as 0."""
    return rates - LOWEST < 2 * ASIDE
