"""TCP Prague: its rate at a given marking rate. No formula of its equilibrium in a network is known."""

from __future__ import annotations

from levelflow.theory.record import NotSupported, Theory

THEORY = Theory(
    fluid=NotSupported("its marks depend on a coupled second queue, as in dualpi2, which fluid queues do not have"),
)
