"""TFRC: Reno's equation sets the rate of TFRC, so the equilibrium is that of Reno."""

from __future__ import annotations

from levelflow.theory.laws.reno import equilibrium, in_scenario
from levelflow.theory.record import UTILITY, Theory

THEORY = Theory(fluid="rates:Tfrc", reference=UTILITY, equilibrium=equilibrium, in_scenario=in_scenario)
