"""Look-up of the fluid model of a law. The theory record of the law contains the name of the model."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from levelflow.theory.fluid.law import Law
from levelflow.theory.fluid.topology import FluidError
from levelflow.theory.laws import supporting, theory_of
from levelflow.theory.record import NotSupported


@cache
def model(law: str) -> type[Law]:
    """Returns the fluid model of a law.

    Raises:
        FluidError: if the law has no fluid model. The message lists the laws with a model.
    """
    named = theory_of(law).fluid
    if isinstance(named, NotSupported):
        known = ", ".join(supporting("fluid"))
        raise FluidError(f"there is no fluid model of law {law}: {named.reason}; there are: {known}")
    module, _, name = named.partition(":")
    return cast("type[Law]", getattr(import_module(f"levelflow.theory.fluid.{module}"), name))
