"""What flows want at a price: the rate at which the marginal utility is what they pay.

Rates, prices and marginal utilities are logarithms here, of numbers in units that the caller chose near 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from levelflow.theory.arrays import Floats

#: Rates are sought between these logarithms: what is wanted below the lower one counts as nothing.
LOWEST, HIGHEST = -28.0, 28.0
#: So many halvings of what is between leave the last digit.
HALVINGS = 60
#: Newton's method on sums of powers ends before that, at this part of the last step's digits.
MOST_STEPS, EXACT = 60, 1e-15
#: Half the width over which a slope is measured.
ASIDE = 1e-5


class Wanted(NamedTuple):
    """What flows want.

    Attributes:
        rates: logarithms.
        steepness: `-x U''/U'`: by how many small shares the price must grow for the rate to fall by one; infinite where
            the rate does not move.
    """

    rates: Floats
    steepness: Floats


class Demand(Protocol):
    """Marginal utilities that fall, one per flow."""

    def marginal(self, rates: Floats) -> Floats:
        """Returns the logarithm of `U'` at logarithms of rates."""

    def at(self, prices: Floats) -> Wanted:
        """Returns what is wanted at logarithms of prices."""

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns by which share the marginal utility differs from the price, or the rate from the wanted one."""


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
        """Returns the logarithm of `U'` at logarithms of rates."""
        from scipy.special import logsumexp

        terms = self.height - self.order * rates
        return logsumexp(terms, axis=0) if len(terms) > 1 else terms[0]

    def at(self, prices: Floats) -> Wanted:
        """Returns what is wanted at logarithms of prices.

        By each term alone less is wanted. From the most of that, Newton's method climbs to the root without passing it,
        since the logarithm of a sum of powers is convex in that of the rate.
        """
        rates = ((self.height - prices) / self.order).max(axis=0)
        for _ in range(MOST_STEPS if len(self.height) > 1 else 0):
            step = (self.marginal(rates) - prices) / self._steepness(rates)
            rates = rates + np.maximum(step, 0.0)
            if (step <= EXACT * np.maximum(np.abs(rates), 1.0)).all():
                break
        return Wanted(rates, self._steepness(rates))

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns by which share the marginal utility differs from the price."""
        return np.abs(np.expm1(self.marginal(rates) - prices))

    def _steepness(self, rates: Floats) -> Floats:
        terms = self.height - self.order * rates
        share = np.exp(terms - terms.max(axis=0))
        return (share * self.order).sum(axis=0) / share.sum(axis=0)


@dataclass(frozen=True)
class Falling:
    """Any marginal utilities that fall, by halving.

    Attributes:
        function: from the rates of all flows to the marginal utility of each, in units of their own.
        rate: logarithm of our unit of rate in theirs.
        price: logarithm of our unit of price in theirs.
    """

    function: Callable[[Floats], Floats]
    rate: float
    price: float

    def marginal(self, rates: Floats) -> Floats:
        """Returns the logarithm of `U'` at logarithms of rates; minus infinity where no more is wanted."""
        return np.log(np.maximum(self._value(rates), 0.0))

    def at(self, prices: Floats) -> Wanted:
        """Returns what is wanted at logarithms of prices, from `LOWEST` to `HIGHEST`."""
        low, high = np.full_like(prices, LOWEST), np.full_like(prices, HIGHEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = self.marginal(middle) >= prices
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return Wanted(low, np.where(_first(low) | (HIGHEST - low < 2 * ASIDE), np.inf, self._steepness(low, prices)))

    def misfit(self, rates: Floats, prices: Floats) -> Floats:
        """Returns by which share the marginal utility differs from the price, or the rate from the wanted one.

        Who wants next to nothing at a price may value the first bit less than that.
        """
        over = np.expm1(self.marginal(rates) - prices)
        over = np.where(_first(rates), np.maximum(over, 0.0), np.abs(over))
        return over / np.maximum(self._steepness(rates, prices), 1.0)

    def _value(self, rates: Floats) -> Floats:
        return np.asarray(self.function(np.exp(rates + self.rate)), dtype=np.float64) / np.exp(self.price)

    def _steepness(self, rates: Floats, prices: Floats) -> Floats:
        """Where no more is wanted `U'` ends at 0; `-x U''` does not."""
        fall = (self._value(rates - ASIDE) - self._value(rates + ASIDE)) / (2 * ASIDE)
        return np.maximum(fall, ASIDE * np.exp(prices)) / np.exp(prices)


def _first(rates: Floats) -> NDArray[np.bool_]:
    """Tells rates that count as nothing."""
    return rates - LOWEST < 2 * ASIDE
