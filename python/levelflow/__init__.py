"""A network lab for congestion control: simulate, prove, measure and deploy.

>>> from levelflow import Scenario
>>> scenario = (
...     Scenario(name="one flow", duration="10 s")
...     .link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
...     .flow("x1", "jetmax", "R1", "R2")
... )
>>> result = scenario.run()  # doctest: +SKIP
>>> result.flows.tail()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelflow._core import ScenarioError
    from levelflow.results import Result
    from levelflow.running import Interrupted
    from levelflow.scenario import Scenario
    from levelflow.study.study import Study, StudyResult

__all__ = ["Interrupted", "Result", "Scenario", "ScenarioError", "Study", "StudyResult"]

_HOMES = {
    "Interrupted": "levelflow.running",
    "Result": "levelflow.results",
    "Scenario": "levelflow.scenario",
    "ScenarioError": "levelflow._core",
    "Study": "levelflow.study.study",
    "StudyResult": "levelflow.study.study",
}


def __getattr__(name: str) -> Any:
    """Imports the public names on first use, so that the command line starts fast."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("levelflow")
    if name not in _HOMES:
        raise AttributeError(f"module 'levelflow' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Returns the public names, including those that are not imported yet."""
    return sorted([*__all__, "__version__"])
