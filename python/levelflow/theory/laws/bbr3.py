"""BBR version 3: no theory, and the reason."""

from __future__ import annotations

from levelflow.theory.record import NotSupported, Theory

THEORY = Theory(fluid=NotSupported("its states follow single losses and round trips, which a fluid model lacks"))
