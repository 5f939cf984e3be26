"""TFRC: the equilibrium of Reno, whose equation sets its rate."""

from __future__ import annotations

from levelflow.theory.laws.reno import equilibrium, in_scenario
from levelflow.theory.record import UTILITY, Theory

THEORY = Theory(fluid="rates:Tfrc", reference=UTILITY, equilibrium=equilibrium, in_scenario=in_scenario)
