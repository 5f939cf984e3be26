"""TCP Vegas: like FAST, with a backlog between two thresholds instead of a fixed one."""

from __future__ import annotations

import numpy as np

from levelflow.theory.competition import Competition, of_flows, packet_sizes
from levelflow.theory.laws.fast import equilibrium
from levelflow.theory.networks.equilibrium import Equilibrium
from levelflow.theory.record import UTILITY, Theory


def _in_scenario(found: Competition) -> Equilibrium:
    """Returns the equilibrium with a backlog midway between the thresholds; other equilibria exist."""
    middle = np.add(of_flows(found, "alpha"), of_flows(found, "beta")) / 2
    return equilibrium(found.routes, found.available, backlogs=packet_sizes(found) * middle, counts=found.counts)


THEORY = Theory(
    fluid="delay_based:Vegas", reference=UTILITY, equilibrium=equilibrium, in_scenario=_in_scenario, signal="delay"
)
