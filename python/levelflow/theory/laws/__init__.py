"""Theory of each law, a file per law: proven properties and the record `THEORY`. A law without a file has no record.

Files are found by name and loaded when their law is first used. `shared` holds code common to several laws.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.competition import Competition
from levelflow.theory.errors import TheoryError
from levelflow.theory.record import CAPABILITIES, Capability, NotSupported, Theory, unknown
from levelflow.theory.units import base
from levelflow.theory.validate import explained

#: Laws that have a record.
LAWS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg))


@cache
def theory_of(law: str) -> Theory:
    """Returns the record of a law. The record of an unknown law supports nothing."""
    if law not in LAWS:
        return unknown(law)
    return import_module(f"{__name__}.{law}").THEORY


def supporting(capability: Capability) -> dict[str, Any]:
    """Returns the laws that support a capability, with its value."""
    each = {law: getattr(theory_of(law), capability) for law in LAWS}
    return {law: found for law, found in each.items() if not isinstance(found, NotSupported)}


def weights(found: Competition) -> Floats:
    """Returns the weight of each flow entry in max-min fairness: the sum of the weights of its flows."""
    names = [theory_of(flow["law"]).weight for flow in found.entries]
    each = [base(flow["params"][name]) if name else 1.0 for flow, name in zip(found.entries, names, strict=True)]
    return np.multiply(found.counts, each)


@explained
def need(law: str, capability: Capability) -> Any:
    """Returns a capability of a law.

    Raises:
        TheoryError: if the law lacks the capability. The message has the reason, and the laws with this capability.
    """
    found = getattr(theory_of(law), capability)
    if isinstance(found, NotSupported):
        others = ", ".join(supporting(capability))
        raise TheoryError(f"{law} has no {CAPABILITIES[capability]}: {found.reason}; needs one of {others}")
    return found
