"""Errors for input outside the domain of a model."""

from __future__ import annotations


class TheoryError(ValueError):
    """Input for which a model is not defined. The message is one line with name, value and allowed range."""


class ParameterError(TheoryError):
    """A number outside the domain of a model, a wrong number of values, or an unknown word."""


class ConvergenceError(TheoryError, ArithmeticError):
    """Prices outside the range of floating point, for example if weights differ by hundreds of orders of magnitude."""
