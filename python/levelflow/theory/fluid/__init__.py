"""Networks in which laws run as fluids: rates, queues, losses and marks as smooth functions of time.

`simulate` takes flows of any laws over links with queues and disciplines. `theory.fluid.ks` has networks of the users
of Kunniyur and Srikant by themselves, in their own units.
"""

from levelflow.theory.fluid.conversion import from_scenario
from levelflow.theory.fluid.run import FluidRun, simulate
from levelflow.theory.fluid.topology import Flow, FluidError, Link, Network

__all__ = ["Flow", "FluidError", "FluidRun", "Link", "Network", "from_scenario", "simulate"]
