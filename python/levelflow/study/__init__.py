"""Studies: replicated runs of a design over scenarios, in parallel or on a Dask cluster, stored and evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelflow.study.study import Study, StudyResult

__all__ = ["Study", "StudyResult"]


def __getattr__(name: str) -> Any:
    """Imports the public names on first use, so that the command line starts fast."""
    if name not in __all__:
        raise AttributeError(f"module 'levelflow.study' has no attribute {name!r}")
    from levelflow.study import study

    return getattr(study, name)
