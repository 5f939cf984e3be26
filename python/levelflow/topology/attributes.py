"""Attributes of edges that give links their capacity, delay and weight: names, units, values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from levelflow._core import ScenarioError
from levelflow.scenario import Scenario
from levelflow.theory.errors import ParameterError
from levelflow.theory.units import time
from levelflow.topology import labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Key = Literal["capacity", "delay", "weight"]
#: Attributes of the Topology Zoo and of yEd that hold a label; a label may name no rate.
LABELS = ("LinkLabel", "label")
#: Attribute of the Topology Zoo with the rate as a number, bit/s.
RAW_SPEED = "LinkSpeedRaw"
COORDINATES = "coordinates"
#: Two thirds of the speed of light, as in fibre, km/s.
FIBRE_KM_S = 2e5
EARTH_KM = 6371.0
#: Delay between nodes of the same place, s.
SHORTEST_S = 1e-5
_QUANTITY = re.compile(r"\s*[0-9.eE+-]+\s*[A-Za-z/]+\s*")
_SCALES = {
    "capacity": (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)),
    "delay": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
}


class Value(NamedTuple):
    """Capacity or delay of an edge.

    Attributes:
        text: as a scenario writes it.
        number: bit/s or s; None of a text that only the engine can read.
        source: attribute, or `COORDINATES`.
        bare: True if it is a number whose unit the file does not say.
    """

    text: str
    number: float | None
    source: str
    bare: bool = False


@dataclass(frozen=True)
class Attribute:
    """An attribute of edges.

    Attributes:
        key: of a link, which takes its value.
        name: in the graph.
        scale: what a number without a unit counts, bit/s or s.
    """

    key: Key
    name: str
    scale: float = 1.0

    @classmethod
    def of(cls, key: Key, text: str) -> Attribute:
        """Reads `NAME` or `NAME:UNIT`, such as `bandwidth:Mb/s`, or `length:5us` for 5 us a unit.

        Raises:
            ScenarioError: if the unit is none of the key; in one line.
        """
        name, colon, unit = text.rpartition(":")
        if not colon:
            return cls(key, text)
        if key == "weight":
            raise ScenarioError(f"--weight-attribute {text}: a weight has no unit; write --weight-attribute {name}")
        return cls(key, name, _scale(key, unit.strip(), f"--{key}-attribute {text}"))

    def value(self, place: str, values: Mapping[str, Any]) -> Value | None:
        """Returns the capacity or delay that an edge has; None if it has none.

        Raises:
            ScenarioError: if the value is not allowed.
        """
        given = values.get(self.name)
        if given is None:
            return None
        number = number_of(given)
        if number is None and isinstance(given, str):
            return self._of_text(given)
        least = 0.0 if self.key == "delay" else 5e-324
        if number is None or not least <= number < math.inf:
            needs = "a number above 0" if self.key == "capacity" else "a number, 0 or more"
            raise ScenarioError(f"edge {place}: {self.key} is {given!r}; needs {needs}, or a text with its unit")
        return Value(written(self.key, number * self.scale), number * self.scale, self.name, bare=True)

    def _of_text(self, text: str) -> Value | None:
        if self.key == "delay":
            try:
                return Value(text, time(text), self.name)
            except ParameterError:
                return Value(text, None, self.name)
        rate = labels.speed(text)
        if self.name not in LABELS and _QUANTITY.fullmatch(text):
            return Value(text, rate, self.name)
        return None if rate is None else Value(written("capacity", rate), rate, self.name)


def _scale(key: Key, unit: str, place: str) -> float:
    """Returns the value of a unit, or of a number of units, in base units, as the engine reads it."""
    text = unit if unit[:1].isdigit() else f"1 {unit}"
    capacity, delay = (text, "0 s") if key == "capacity" else ("1 b/s", text)
    try:
        link = Scenario("unit", "1 s").link("a", "b", capacity, delay).resolve()["links"][0]
    except ScenarioError as error:
        raise ScenarioError(f"{place}: {str(error).partition(f'{key}: ')[2]}") from None
    scale = float(link["capacity_bps" if key == "capacity" else "delay_s"])
    if not scale:
        raise ScenarioError(f"{place}: the unit is zero; write e.g. {key}:ms")
    return scale


def number_of(value: Any) -> float | None:
    """Returns a number, also of a text that is one; None of all else."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None


def weight_of(place: str, given: Any) -> Fraction | None:
    """Returns the weight of an edge as written in decimals, or as the simplest fraction that is the same number.

    Raises:
        ScenarioError: if it is no number above 0.
    """
    if given is None:
        return None
    number = number_of(given)
    if number is None or not 0 < number < math.inf:
        raise ScenarioError(f"edge {place}: weight is {given!r}; needs a number above 0")
    simple = Fraction(number).limit_denominator(1000)
    return simple if float(simple) == number else Fraction(repr(number))


def written(key: Key, number: float) -> str:
    """Returns a capacity or delay in base units as a scenario writes it.

    >>> written("capacity", 2.48832e9), written("delay", 0.0125), written("delay", 0.0)
    ('2.48832 Gb/s', '12.5 ms', '0 s')
    """
    scales = _SCALES[key] if number else (_SCALES[key][0],)
    unit, scale = next((one for one in scales if number >= one[1]), scales[-1])
    return f"{number / scale:.12g} {unit}"


def capacity_of(place: str, values: Mapping[str, Any], attribute: Attribute) -> Value | None:
    """Returns the capacity of an edge: by its attribute, or else as the Topology Zoo and yEd write it.

    Raises:
        ScenarioError: if the value is not allowed.
    """
    found = attribute.value(place, values)
    if found is not None or attribute != Attribute("capacity", "capacity"):
        return found
    raw = number_of(values.get(RAW_SPEED))
    if raw is not None and 0 < raw < math.inf:
        return Value(written("capacity", raw), raw, RAW_SPEED)
    named = (Attribute("capacity", name).value(place, {name: str(values[name])}) for name in LABELS if name in values)
    return next((one for one in named if one is not None), None)


def delay_of(
    place: str, values: Mapping[str, Any], attribute: Attribute, nodes: Sequence[Mapping[str, Any]]
) -> Value | None:
    """Returns the delay of an edge: by its attribute, or else that of fibre along the great circle between its nodes.

    Raises:
        ScenarioError: if the value is not allowed.
    """
    found = attribute.value(place, values)
    seconds = _distance(nodes) if found is None else None
    if seconds is None:
        return found
    return Value(f"{seconds * 1e3:.4g} ms", seconds, COORDINATES)


def _distance(nodes: Sequence[Mapping[str, Any]]) -> float | None:
    places = [
        [number_of(node.get(key, node.get(other))) for key, other in (("lat", "Latitude"), ("lon", "Longitude"))]
        for node in nodes
    ]
    if not all(degrees is not None and math.isfinite(degrees) for place in places for degrees in place):
        return None
    (north, east), (other, far) = np.radians(np.array(places, dtype=float))
    half = math.sin((other - north) / 2) ** 2 + math.cos(north) * math.cos(other) * math.sin((far - east) / 2) ** 2
    return max(2 * EARTH_KM * math.asin(math.sqrt(min(half, 1.0))) / FIBRE_KM_S, SHORTEST_S)
