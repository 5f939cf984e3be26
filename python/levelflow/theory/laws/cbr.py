"""Constant bit rate: an unresponsive sender."""

from __future__ import annotations

from levelflow.theory.record import NotSupported, Theory

NOT_ASKED = NotSupported("its flows do not compete")
THEORY = Theory(fluid="rates:Cbr", reference=NOT_ASKED, equilibrium=NOT_ASKED, in_scenario=NOT_ASKED, judge=NOT_ASKED)
