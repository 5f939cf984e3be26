"""TCP Prague: its rate at a share of marks is known, that in a network is not."""

from __future__ import annotations

from levelflow.theory.record import NotSupported, Theory

THEORY = Theory(
    fluid=NotSupported("its marks depend on a queue beside it, as in dualpi2, which fluid queues do not have"),
)
