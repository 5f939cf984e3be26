"""What is wrong with a question that has no answer."""

from __future__ import annotations


class TheoryError(ValueError):
    """Input for which a model is not defined; one line: what, where and what is allowed."""


class ParameterError(TheoryError):
    """A number out of the range in which a model is defined, too few or too many of them, or an unknown word."""


class ConvergenceError(TheoryError, ArithmeticError):
    """Prices that floating point cannot find, as where weights differ by hundreds of decades."""
