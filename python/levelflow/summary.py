"""Types of the summary and the manifest of a run. Units are part of the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from levelflow.records import FlowCounters, LinkCounters, ScenarioRecord

if TYPE_CHECKING:
    from levelflow.keywords import Table
    from levelflow.measure.transfers import TransferSummary


class FlowSummary(FlowCounters):
    """Summary of a flow entry; rates are means per flow in the steady window, None if no flow was active."""

    law: str
    active: float
    """Mean number of active flows in the steady window."""
    throughput_bps: float | None
    goodput_bps: float | None
    sending_rate_bps: float | None
    law_rate_bps: float | None
    share_bps: float | None
    """Reference rate; None if the flows do not compete."""
    distance: float | None
    """Largest relative deviation from the reference rate; None if the entry is not compared."""
    has_members: bool
    """True if each flow is compared, rather than their mean."""
    loss: float
    """Fraction of the packets that were dropped or lost."""
    transfers: TransferSummary | None


class LinkSummary(LinkCounters):
    """Summary of a link over the whole run."""

    loss_max: float | None
    """Largest loss in a sample; None without samples."""


class Summary(TypedDict):
    """Summary of a run."""

    window_s: list[float]
    """Start and end of the steady window."""
    last_event: str
    last_event_s: float
    settling_s: float | None
    """Time from the last event until each listed flow is steady; None if one is not."""
    settled: bool
    jain: float | None
    jain_of_shares: float | None
    reference: str
    """Name of the reference rates."""
    distance_max: float | None
    flows: list[FlowSummary]
    links: list[LinkSummary]
    transfers: TransferSummary | None
    random: bool
    """True if the results depend on the seed."""
    warnings: list[str]


class Testbed(TypedDict):
    """Environment of a run of `levelflow-net testbed`."""

    kernel: str
    form: str
    ipv6: bool
    scale: float
    processors: int


class Manifest(TypedDict):
    """Description of a run."""

    format: str
    version: str
    build: str
    raw: Table
    """Scenario as written, with the contents of files."""
    scenario: ScenarioRecord
    scenario_hash: NotRequired[str]
    """SHA-256 of the scenario; absent for a real network."""
    seed: int
    status: str
    """"partial" or "complete"."""
    simulated_s: float
    parts: NotRequired[int]
    """Number of parts of each table; absent once the run has ended."""
    network: NotRequired[Testbed]
    """Environment of a real network; absent for the simulator."""
