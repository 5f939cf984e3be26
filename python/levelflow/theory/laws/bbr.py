"""BBR: a fluid model."""

from __future__ import annotations

from levelflow.theory.record import Theory

THEORY = Theory(fluid="bbr:Bbr")
