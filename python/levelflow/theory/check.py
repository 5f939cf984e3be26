"""Theoretical predictions for a scenario: equilibrium, stability, convergence time and queues."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.competition import Competition, CompetitionError, competition, in_force, listed
from levelflow.theory.laws import theory_of, weights
from levelflow.theory.networks.assignment import InconsistentError, assign
from levelflow.theory.networks.maxmin import rates_and_bottlenecks
from levelflow.theory.record import MAX_MIN, NotSupported
from levelflow.theory.references import equilibrium_of
from levelflow.theory.units import room
from levelflow.theory.verdict import Port, Verdict

if TYPE_CHECKING:
    from levelflow.records import LinkRecord, ScenarioRecord

#: Relative difference between load and service rate within which a link counts as full.
FULL = 1e-6


@dataclass(frozen=True)
class Judgement:
    """Stability verdict on the flows of one law that one link limits.

    Attributes:
        link: index of the link.
        law: law of the flows.
        entries: indices of the flows in `Competition.entries`.
        verdict: stability of the equilibrium of the flows.
    """

    link: int
    law: str
    entries: tuple[int, ...]
    verdict: Verdict


@dataclass(frozen=True, repr=False)
class Prediction:
    """Predicted equilibrium of a scenario, and its stability.

    Attributes:
        competition: competing flows, and the links that they share.
        rates: rate of a single flow, for each element of `Competition.entries`, bit/s.
        bottlenecks: link that limits each element of `Competition.entries`.
        loads: load of each link, bit/s.
        prices: price of each link, in the unit of its law; 0 if the law has no price.
        judgements: one judgement per link and law.
        time: time in s from the last start until all rates are within 2 % of the equilibrium. A link settles after the
            flows that disturb it have settled. None if a link does not settle or its time is unknown.
    """

    competition: Competition
    rates: Floats
    bottlenecks: Ints
    loads: Floats
    prices: Floats
    judgements: tuple[Judgement, ...]
    time: float | None

    @property
    def stable(self) -> bool | None:
        """True if all bottlenecks are stable, False if at least one is unstable, None otherwise."""
        each = [judgement.verdict.stable for judgement in self.judgements]
        return False if False in each else None if None in each else True

    @property
    def queues(self) -> list[float | None]:
        """Queueing delay at each link, s. Infinite if the queue stays full, None if the delay is unknown."""
        laws = [theory_of(flow["law"]) for flow in self.competition.entries]
        by_delay = all(law.signal == "delay" for law in laws)
        no_queue = all(law.reference == MAX_MIN for law in laws)
        waits: list[float | None] = []
        for link, load, price in zip(self.competition.links, self.loads, self.prices, strict=True):
            if "policer" in link["queue"] and load < link["capacity_bps"] * (1 - FULL):
                waits.append(0.0)  # a policer drops the excess, so no queue forms
            elif load > link["service_bps"] * (1 + FULL):
                waits.append(np.inf)
            elif by_delay:
                waits.append(float(price))
            else:
                waits.append(0.0 if no_queue or load < link["service_bps"] * (1 - FULL) else None)
        return waits

    @property
    def rates_by_flow(self) -> dict[str, float]:
        """Rate of one flow of each `[[flow]]` entry, bit/s, by its name.

        The rate is the mean over the entry's paths.
        """
        found = self.competition
        names = [flow["name"] for flow in found.entries]
        totals = dict.fromkeys(names, (0.0, 0.0))
        for name, rate, count in zip(names, self.rates, found.counts, strict=True):
            sent, flows = totals[name]
            totals[name] = (sent + float(rate * count), flows + float(count))
        return {name: sent / flows for name, (sent, flows) in totals.items()}

    def __str__(self) -> str:
        """Returns a line per flow entry, and a line on stability."""
        links = self.competition.links
        limits = {
            flow["name"]: links[link]["name"]
            for flow, link in zip(self.competition.entries, self.bottlenecks, strict=True)
        }
        lines = [f"{name}: {rate / 1e6:.4g} Mb/s at {limits[name]}" for name, rate in self.rates_by_flow.items()]
        word = {True: "stable", False: "unstable", None: "stability unknown"}[self.stable]
        soon = "" if self.time is None else f"; within 2 % of it {self.time:.3g} s after the last start"
        return "\n".join([*lines, f"equilibrium: {word}{soon}"])

    def __repr__(self) -> str:
        """Returns a description in one line."""
        flows = len(self.rates_by_flow)
        what = "flow entry" if flows == 1 else "flow entries"
        return f"<Prediction of {flows} {what}: stable={self.stable}, time={self.time}>"


def check(scenario: ScenarioRecord, at: float | None = None) -> Prediction:
    """Predicts the equilibrium of a scenario and its stability.

    Args:
        scenario: resolved scenario.
        at: time in s. Only flows active at this time count. By default, all flows count except those that arrive at
            random.

    Raises:
        CompetitionError: if no flow competes.
    """
    found = competition(in_force(scenario, 0.0 if at is None else at), listed(scenario, at))
    if not found.entries:
        raise CompetitionError(f"{scenario['name']}: no flow reacts to the network; needs one whose law does")
    rates, limits, prices = rates_of(found)
    loads = np.zeros(len(found.links))
    for route, total in zip(found.routes, rates * found.counts, strict=True):
        np.add.at(loads, route, total)
    judgements = tuple(_judgements(found, rates, limits, loads))
    return Prediction(found, rates, limits, loads, prices, judgements, _time(found, limits, judgements))


def as_plain(found: Prediction) -> dict[str, object]:
    """Returns a prediction as JSON values: names, numbers and texts."""
    links = found.competition.links
    names = [flow["name"] for flow in found.competition.entries]
    return {
        "stable": found.stable,
        "time_s": found.time,
        "flows": [
            {"name": flow["name"], "law": flow["law"], "rate_bps": float(rate), "bottleneck": links[link]["name"]}
            for flow, rate, link in zip(found.competition.entries, found.rates, found.bottlenecks, strict=True)
        ],
        "links": [
            {
                "name": link["name"],
                "load_bps": float(load),
                "queue_s": wait if wait is None or math.isfinite(wait) else "full",
            }
            for link, load, wait in zip(links, found.loads, found.queues, strict=True)
            if load > 0
        ],
        "bottlenecks": [
            {
                "link": links[own.link]["name"],
                "law": own.law,
                "flows": [names[number] for number in own.entries],
                "stable": own.verdict.stable,
                "margin": own.verdict.margin if own.verdict.margin != math.inf else None,
                "time_s": own.verdict.time,
                "why": own.verdict.why,
                "breaks": own.verdict.breaks,
            }
            for own in found.judgements
        ],
    }


def rates_of(found: Competition) -> tuple[Floats, Ints, Floats]:
    """Returns the rate per flow (bit/s) and the limiting link of each flow entry, and the price of each link."""
    known = equilibrium_of(found)
    if known is None:
        rates, limits = rates_and_bottlenecks(found.routes, found.available, weights(found))
        return rates / found.counts, limits, np.zeros(len(found.links))
    charges = theory_of(found.entries[0]["law"]).signal != "rate"
    return known.rates, known.bottlenecks, known.signals if charges else np.zeros(len(found.links))


def _judgements(found: Competition, rates: Floats, limits: Ints, loads: Floats) -> Iterator[Judgement]:
    packet = max(flow["packet_bytes"] for flow in found.entries)
    full = np.array([_full_wait(link, load, packet) for link, load in zip(found.links, loads, strict=True)])
    rtts = np.array([flow["base_rtt_s"] for flow in found.entries], dtype=np.float64)  # NaN if random
    delays = rtts + np.array([full[route].sum() for route in found.routes])
    over = loads > np.array([link["service_bps"] for link in found.links]) * (1 + FULL)
    groups: dict[tuple[int, str], list[int]] = {}
    for number, (flow, link) in enumerate(zip(found.entries, limits.tolist(), strict=True)):
        groups.setdefault((link, flow["law"]), []).append(number)
    for law in sorted({law for _, law in groups}):
        own = {link: members for (link, other), members in sorted(groups.items()) if other == law}
        for link in [link for link, members in own.items() if np.isnan(rtts[members]).any()]:
            random = Verdict(None, why=f"{law}: round-trip times are random")
            yield Judgement(link, law, tuple(own.pop(link)), random)
        if not own:
            continue
        signalling = next(flow["signalling"] for flow in found.entries if flow["law"] == law)
        ports = [
            Port(
                rates=rates[members],
                delays=delays[members],
                sender=(own_params := found.entries[members[0]]["params"]),
                router=found.links[link]["laws"].get(signalling, own_params),
                counts=found.counts[members],
                hops=np.array([_hops(over[found.routes[number]]) for number in members]),
            )
            for link, members in own.items()
        ]
        for (link, members), verdict in zip(own.items(), _judge(law, ports), strict=True):
            yield Judgement(link, law, tuple(members), verdict)


def _judge(law: str, ports: list[Port]) -> list[Verdict]:
    """Returns the verdict on a law at each port."""
    judge = theory_of(law).judge
    if isinstance(judge, NotSupported):
        return [Verdict(None, why=f"{law}: {judge.reason}")] * len(ports)
    return judge(ports)


def _hops(over: NDArray[np.bool_]) -> float:
    """Returns the number of links up to and including the first overloaded link; all links if none is overloaded."""
    return float(np.argmax(over) + 1 if over.any() else over.size)


def _full_wait(link: LinkRecord, load: float, packet: int) -> float:
    """Returns the queueing delay at a link, s: 0 unless the link is overloaded and its buffer is limited."""
    if "policer" in link["queue"] or link["buffer"] == "unlimited":
        return 0.0
    full = load > link["service_bps"] * (1 + FULL)
    return 8 * room(link["buffer"], packet) / float(link["service_bps"]) if full else 0.0


def _time(found: Competition, limits: Ints, judgements: tuple[Judgement, ...]) -> float | None:
    """Returns the time until all links have settled; None if unknown.

    Links form layers that settle one after another. The result is the sum, over layers, of the longest time of a link.
    """
    times: dict[int, float] = {}
    for judgement in judgements:
        if judgement.verdict.time is None:
            return None
        times[judgement.link] = max(judgement.verdict.time, times.get(judgement.link, 0.0))
    try:
        layers = assign(found.routes, limits, len(found.links)).layers()
    except InconsistentError:
        return None
    return sum(max((times.get(link, 0.0) for link in layer), default=0.0) for layer in layers)
