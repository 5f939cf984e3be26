"""Edge attributes that give links their capacity, delay and weight: names, units and values."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.theory.errors import ParameterError
from levelflow.theory.units import time
from levelflow.topology import labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Key = Literal["capacity", "delay", "weight"]
#: Label attributes of the Topology Zoo and of yEd. Some labels name no rate.
LABELS = ("LinkLabel", "label")
#: Topology Zoo attribute with the rate as a number, bit/s.
RAW_SPEED = "LinkSpeedRaw"
COORDINATES = "coordinates"
#: Propagation speed in fibre, two thirds of the speed of light, km/s.
FIBRE_KM_S = 2e5
EARTH_KM = 6371.0
#: Delay between nodes at the same place, s.
SHORTEST_S = 1e-5
_QUANTITY = re.compile(r"\s*[0-9.eE+-]+\s*[A-Za-z/]+\s*")
_SCALES = {
    "capacity": (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)),
    "delay": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
}


class Value(NamedTuple):
    """Capacity or delay of an edge, and its source.

    Attributes:
        text: value in scenario notation.
        number: value in bit/s or s; None for a text that only the engine parses.
        source: name of the attribute, or `COORDINATES`.
        bare: True if the value is a number without a unit in the file.
    """

    text: str
    number: float | None
    source: str
    bare: bool = False


@dataclass(frozen=True)
class Attribute:
    """Edge attribute to read.

    Attributes:
        key: link key that receives the value.
        name: name of the attribute in the graph.
        scale: unit of numbers without a unit, in bit/s or s.
    """

    key: Key
    name: str
    scale: float = 1.0

    @classmethod
    def of(cls, key: Key, text: str) -> Attribute:
        """Parses `NAME` or `NAME:UNIT`, such as `bandwidth:Mb/s`, or `length:5us` for 5 us per unit of length.

        Raises:
            ScenarioError: if the unit does not fit the key. The message has one line.
        """
        name, colon, unit = text.rpartition(":")
        if not colon:
            return cls(key, text)
        if key == "weight":
            raise ScenarioError(f"--weight-attribute {text}: a weight has no unit; write --weight-attribute {name}")
        return cls(key, name, _scale(key, unit.strip(), f"--{key}-attribute {text}"))

    def value(self, place: str, values: Mapping[str, Any]) -> Value | None:
        """Returns the capacity or delay of an edge; None if the edge does not have the attribute.

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
    """Returns the value of a unit, or of a multiple such as `5us`, in bit/s or s. The engine parses the text."""
    text = unit if unit[:1].isdigit() else f"1 {unit}"
    capacity, delay = (text, "0 s") if key == "capacity" else ("1 b/s", text)
    try:
        entry = {"from": "a", "to": "b", "capacity": capacity, "delay": delay}
        resolved = json.loads(_core.resolve(json.dumps({"name": "unit", "duration": "1 s", "link": [entry]})))
    except ScenarioError as error:
        raise ScenarioError(f"{place}: {str(error).partition(f'{key}: ')[2]}") from None
    scale = float(resolved["links"][0]["capacity_bps" if key == "capacity" else "delay_s"])
    if not scale:
        raise ScenarioError(f"{place}: the unit is zero; write e.g. {key}:ms")
    return scale


def number_of(value: Any) -> float | None:
    """Returns a number, or the number in a text; None for any other value."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None


def weight_of(place: str, given: Any) -> Fraction | None:
    """Returns the weight of an edge as a fraction.

    This is a fraction with a denominator of at most 1000 if its float value equals the weight. Otherwise, the fraction
    has the decimals of the weight.

    Raises:
        ScenarioError: if the weight is not a number above 0.
    """
    if given is None:
        return None
    number = number_of(given)
    if number is None or not 0 < number < math.inf:
        raise ScenarioError(f"edge {place}: weight is {given!r}; needs a number above 0")
    simple = Fraction(number).limit_denominator(1000)
    return simple if float(simple) == number else Fraction(repr(number))


def written(key: Key, number: float) -> str:
    """Returns a capacity in bit/s or a delay in s, in scenario notation.

    >>> written("capacity", 2.48832e9), written("delay", 0.0125), written("delay", 0.0)
    ('2.48832 Gb/s', '12.5 ms', '0 s')
    """
    scales = _SCALES[key] if number else (_SCALES[key][0],)
    unit, scale = next((one for one in scales if number >= one[1]), scales[-1])
    return f"{number / scale:.12g} {unit}"


def capacity_of(place: str, values: Mapping[str, Any], attribute: Attribute) -> Value | None:
    """Returns the capacity of an edge: from `attribute`, otherwise from attributes of the Topology Zoo or yEd.

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
    """Returns the delay of an edge: from `attribute`, otherwise of fibre along the great circle between its nodes.

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
