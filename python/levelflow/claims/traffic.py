"""Transfers that come at random over one link: the setting of most figures of the RCP paper (001, section III)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from levelflow.claims.metrics.series import Window

#: Data packet, bytes.
PACKET = 1000
#: Share of a run, from its start, whose flows are left out.
WARM_UP = 0.2
#: Names of the link and of the flow entry that every such scenario has.
LINK, FLOWS = "A->B", "web"


@dataclass(frozen=True)
class OneLink:
    """Arrivals over one drop-tail link whose buffer holds one bandwidth-delay product."""

    #: bit/s.
    capacity: float
    #: Round-trip propagation delay, s, half of it in each direction of the link.
    rtpd: float
    #: Offered share of the capacity.
    load: float
    #: Mean flow size, packets.
    mean: float
    #: Tail index of Pareto sizes.
    shape: float = 1.2

    @property
    def arrivals(self) -> float:
        """Flows per second that offer the load."""
        return self.load * self.capacity / (8 * PACKET * self.mean)

    def scenario(
        self, duration: float, seed: int = 1, *, law: str = "rcp", sample: float = 0.1, **options: Any
    ) -> Scenario:
        """The scenario; by default Poisson arrivals of Pareto-sized flows.

        Args:
            duration: s.
            seed: of every random stream.
            law: of the flows and the routers.
            sample: recorder period, s.
            options: keys of the ``[[flow]]`` entry that differ, such as ``size`` and ``arrivals``.
        """
        keys = {
            "size": {"pareto": {"mean": f"{self.mean} packets", "shape": self.shape}},
            "arrivals": {"poisson": f"{self.arrivals} /s"},
            "packet": f"{PACKET} B",
        } | options
        scenario = Scenario("transfers over one link", f"{duration} s", seed=seed, sample=f"{sample} s")
        buffer = f"{round(self.capacity * self.rtpd / 8)} B"
        scenario.link("A", "B", f"{self.capacity} b/s", f"{self.rtpd / 2} s", buffer=buffer, duplex=True)
        scenario.flow(FLOWS, law, "A", "B", **keys)
        return scenario.law("rcp", initial_rtt=f"{self.rtpd} s") if law == "rcp" else scenario


def settled(duration: float) -> Window:
    """The part of a run whose flows count: all but the first fifth, s."""
    return (WARM_UP * duration, duration)
