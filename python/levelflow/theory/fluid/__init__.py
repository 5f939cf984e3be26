"""Networks with fluid models of laws: rates, queues, losses and marks are smooth functions of time.

`simulate` accepts flows of any laws over links with queues and disciplines. `theory.fluid.ks` has separate networks for
the users of Kunniyur and Srikant, in their own units.
"""

from levelflow.theory.fluid.conversion import from_scenario
from levelflow.theory.fluid.run import FluidRun, simulate
from levelflow.theory.fluid.topology import Flow, FluidError, Link, Network

__all__ = ["Flow", "FluidError", "FluidRun", "Link", "Network", "from_scenario", "simulate"]
