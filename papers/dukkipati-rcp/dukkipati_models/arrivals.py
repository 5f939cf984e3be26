"""Transfers that arrive at random times on one link, as in most figures of Dukkipati 2005, section III."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from levelflow.measure import completions
from levelflow.reproduce import Noted
from levelflow.scenario import Scenario
from levelflow.theory.queues.sharing import active_processor_sharing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from levelflow.measure.completions import OverFlows, SizeClass
    from levelflow.measure.series import Window
    from levelflow.reproduce.figure import Figure
    from levelflow.reproduce.verdict import Measured
    from levelflow.results import Result

#: Size of data packets, bytes.
PACKET = 1000
#: Laws that the paper compares, by their names in the paper.
LAWS = {"RCP": "rcp", "TCP": "reno", "XCP": "xcp"}
#: Parameters of Reno in ns-2: no SACK, clock ticks of 10 ms, timeouts of at least 200 ms.
NS2_RENO = {"sack": False, "min_timeout": "10 ms", "timeout_floor": "200 ms"}
#: Initial fraction of the arrival period. Flows that start in this fraction are not counted.
WARM_UP = 0.2
#: Time without arrivals at the end of a run, as a fraction of the arrival period. Large flows complete in this time.
DRAIN = 0.5
#: Names of the link and of the flow entry in every scenario with one link.
LINK, FLOWS = "A->B", "web"


def bandwidth_delay_product(capacity: float, rtpd: float) -> str:
    """Returns a buffer of one bandwidth-delay product, in packets as in ns-2. `capacity` is in bit/s, `rtpd` in s."""
    return f"{round(capacity * rtpd / 8 / PACKET)} packets"


def as_in_ns2(scenario: Scenario, law: str) -> Scenario:
    """Returns the scenario with the TCP parameters of the paper's ns-2."""
    return scenario.law(law, **NS2_RENO) if law == LAWS["TCP"] else scenario


@dataclass(frozen=True)
class OneLink:
    """Arrivals over one drop-tail link whose buffer holds one bandwidth-delay product."""

    #: Capacity, bit/s.
    capacity: float
    #: Round-trip propagation delay, s. Each direction of the link has half of it.
    rtpd: float
    #: Offered load, relative to the capacity.
    load: float
    #: Mean flow size, packets.
    mean: float
    #: Tail index of Pareto sizes.
    shape: float = 1.2

    @property
    def arrivals(self) -> float:
        """Number of flows per second at this load."""
        return self.load * self.capacity / (8 * PACKET * self.mean)

    @property
    def active(self) -> float:
        """Mean number of active flows under processor sharing."""
        active = active_processor_sharing(self.arrivals, self.rtpd, self.mean * PACKET, self.capacity, self.load)
        return float(active)

    def scenario(
        self,
        duration: float,
        seed: int = 1,
        *,
        law: str = "rcp",
        sample: float = 0.1,
        drain: float = 0.0,
        **options: Any,
    ) -> Scenario:
        """Returns the scenario; by default Poisson arrivals of Pareto-sized flows.

        Args:
            duration: arrival period, s.
            seed: seed of every random stream.
            law: law of flows and routers.
            sample: recorder period, s.
            drain: time without arrivals after the arrival period, s.
            options: keys of the ``[[flow]]`` entry that differ from the default, such as ``size`` and ``arrivals``.
        """
        keys: dict[str, Any] = {
            "size": {"pareto": {"mean": f"{self.mean * PACKET} B", "shape": self.shape}},
            "arrivals": {"poisson": f"{self.arrivals} /s"},
            "packet": f"{PACKET} B",
        } | options
        if drain:
            keys["limit"] = round(self.arrivals * duration)
        scenario = Scenario("transfers over one link", f"{duration + drain:g} s", seed=seed, sample=f"{sample} s")
        buffer = bandwidth_delay_product(self.capacity, self.rtpd)
        scenario.link("A", "B", f"{self.capacity} b/s", f"{self.rtpd / 2} s", buffer=buffer, duplex=True)
        scenario.flow(FLOWS, law, "A", "B", **keys)
        if law == "rcp":
            scenario.law(law, initial_rtt=f"{self.rtpd} s")
        return as_in_ns2(scenario, law)


@dataclass(frozen=True)
class Setting:
    """Run of the paper, with its durations as printed and in the quick tier. The quick tier may omit the run."""

    plan: OneLink
    #: Printed duration, and duration in the quick tier, s. The latter is None if the quick tier omits the run.
    printed: float
    quick: float | None
    #: Keys of the flow entry that differ from ``OneLink.scenario``.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Number of seeds.
    seeds: int = 1
    #: Time without arrivals after the arrival period, as a fraction of the arrival period.
    drain: float = DRAIN

    def runs_in(self, figure: Figure) -> bool:
        """True if the tier of a figure includes this run."""
        return figure.full or self.quick is not None

    def duration(self, figure: Figure) -> float:
        """Arrival period in the tier of a figure, s.

        Raises:
            ValueError: if the tier omits this run.
        """
        duration = self.printed if figure.full else self.quick
        if duration is None:
            raise ValueError("the quick tier omits this run; check runs_in first")
        return duration

    def drawn(self, figure: Figure) -> range:
        """Returns the seeds in the tier of a figure. The quick tier has one seed."""
        return figure.seeds(self.seeds, quick=1)

    def window(self, figure: Figure) -> Window:
        """Returns the time window of counted flows: the arrival period without its first fifth."""
        return settled(self.duration(figure))

    def scenarios(self, figure: Figure, law: str = "rcp") -> list[Scenario]:
        """Returns one scenario per seed. All laws have the same arrivals."""
        duration = self.duration(figure)
        keys = {"law": law, "drain": self.drain * duration, **self.options}
        return [self.plan.scenario(duration, seed, **keys) for seed in self.drawn(figure)]

    def runs(self, figure: Figure, law: str = "rcp") -> list[Result]:
        """Returns one result per seed."""
        return figure.runs(self.scenarios(figure, law))

    def beside(self, figure: Figure) -> dict[str, list[Result]]:
        """Returns, for each law that the paper compares, one result per seed."""
        scenarios = [scenario for law in LAWS.values() for scenario in self.scenarios(figure, law)]
        results = iter(figure.runs(scenarios))
        return {name: [next(results) for _ in self.drawn(figure)] for name in LAWS}


#: Points that the quick tier omits: no check needs them, and each takes seconds of CPU time. They are mean sizes
#: (packets) of figure 10, loads of figure 16, and capacities (bit/s) of figure 20. The points of figure 20 have one
#: seed in --full.
LEFT_OUT = {"fig10": (300, 3000), "fig16": (0.2, 0.4, 0.6, 0.7), "fig20": (4.8e9, 9.6e9)}


def _quick(figure: str, point: float, duration: float) -> float | None:
    """Returns the duration of a point in the quick tier, s; None if the tier omits it."""
    return None if point in LEFT_OUT[figure] else duration


_SHORT = OneLink(2.4e9, 0.1, 0.8, 30)
_BURSTY = OneLink(2.4e9, 0.5, 0.9, 30)

#: Runs of figures 7 to 16. If a figure has several points, each run is named after its point.
SETTINGS: dict[str, Setting] = {
    "fig1": Setting(OneLink(2.4e9, 0.1, 0.9, 30, shape=1.4), 40, 40, seeds=5),
    "fig7": Setting(OneLink(2.4e9, 0.1, 0.9, 25), 100, 30, seeds=3),
    "fig8": Setting(OneLink(150e6, 1.6, 0.9, 25), 600, 200, seeds=3),
    **{
        f"fig10 mean {mean}": Setting(OneLink(2.4e9, 0.1, 0.8, mean), printed, _quick("fig10", mean, quick))
        for means, printed, quick in (((30,), 100, 30), ((100, 300, 1000, 3000), 100, 20), ((10_000, 30_000), 300, 20))
        for mean in means
    },
    "fig12": Setting(_SHORT, 60, 12, {"size": {"uniform": ["20 kB", "40 kB"]}}, seeds=5, drain=0),
    "fig13": Setting(_SHORT, 60, 12, {"size": {"exponential": "30 kB"}}, seeds=5, drain=0),
    "fig14": Setting(replace(_SHORT, shape=1.8), 60, 12, seeds=5, drain=0),
    "fig15": Setting(
        _BURSTY,
        60,
        10,
        {"arrivals": {"interval": {"pareto": {"mean": f"{1e9 / _BURSTY.arrivals:.3f} ns", "shape": 1.2}}}},
        seeds=5,
        drain=0,
    ),
    **{
        f"fig16 load {load}": Setting(
            OneLink(150e6, 0.1, load, 25), 300, _quick("fig16", load, 100 if load > 0.3 else 300), seeds=3
        )
        for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    },
}

#: Capacities of figure 20, bit/s, and delays of figure 21, s.
CAPACITIES = (0.1e9, 0.3e9, 0.6e9, 1.2e9, 2.4e9, 4.8e9, 9.6e9)
RTPDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


def _over_capacity(capacity: float) -> Setting:
    printed = round(300 * (capacity / 0.1e9) ** -0.593)  # 300 s at 0.1 Gb/s, 20 s at 9.6 Gb/s
    plan = OneLink(capacity, 0.1, 0.9, 25)
    quick = _quick("fig20", capacity, max(6, 9e9 / capacity))
    return Setting(plan, printed, quick, seeds=1 if quick is None else 5)


_HIGH = {"size": {"pareto": {"mean": "283350 B", "shape": 1.2}}}
#: Runs of the later figures over one link.
LATER: dict[str, Setting] = {
    "fig17": Setting(OneLink(2.4e9, 0.1, 0.2, 300), 120, 60, seeds=3),
    "fig18": Setting(OneLink(2.4e9, 0.1, 0.94, 283.35), 120, 30, _HIGH, seeds=3),
    **{f"fig20 {capacity / 1e9:g} Gb/s": _over_capacity(capacity) for capacity in CAPACITIES},
    **{
        f"fig21 {rtpd:g} s": Setting(OneLink(150e6, rtpd, 0.9, 25), max(200, 300 * rtpd), max(100, 100 * rtpd), seeds=3)
        for rtpd in RTPDS
    },
    "fig45": Setting(OneLink(2.4e9, 0.1, 0.4, 500), 120, 30, seeds=3),
    "fig46": Setting(OneLink(2.4e9, 0.1, 0.8, 500), 120, 12, seeds=3),
}


def points(figure: Figure, name: str, along: str) -> dict[float, Setting]:
    """Returns the settings in the tier of a figure. The key is the attribute ``along`` of the plan."""
    settings = [setting for key, setting in SETTINGS.items() if key.startswith(name) and setting.runs_in(figure)]
    return {getattr(setting.plan, along): setting for setting in settings}


def settled(duration: float) -> Window:
    """Returns the time window of counted flows, s. They arrive after the first fifth of the duration."""
    return (WARM_UP * duration, duration)


def over_sharing(runs: Sequence[Result], plan: OneLink, sizes: SizeClass, window: Window) -> list[OverFlows]:
    """Returns, per run, the mean completion time of a size class, divided by the mean under processor sharing of the
    same arrivals.
    """
    return [completions.afct_ratio_to_sharing(run.completions, plan.capacity, sizes, window) for run in runs]


def beside_sharing(value: Measured, ratios: Sequence[OverFlows], sizes: str = "the same sizes") -> Noted:
    """Returns a ratio to the paper's formula. A note lists the ratios to processor sharing of the same arrivals."""
    listed = ", ".join(f"{ratio:.2f} ({ratio.flows} flows)" for ratio in ratios)
    return Noted(value, f"{sizes} over processor sharing of the same arrivals: {listed}")
