"""TCP NewReno: a fluid model."""

from __future__ import annotations

from levelflow.theory.record import Theory

THEORY = Theory(fluid="windows:NewReno")
