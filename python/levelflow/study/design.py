"""Design of a study: its points, which are combinations of axis values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from levelflow._core import ScenarioError

#: Limit on the runs of one study.
MAX_RUNS = 1_000_000
KINDS = ("grid", "list", "random", "latin-hypercube")

#: Scenario values that one axis value sets, by scenario path.
Changes = dict[str, object]
#: Label of an axis value: a number in base units, or text.
Label = str | float


@dataclass(frozen=True)
class Axis:
    """Varied quantity: a list of changes with their labels, or a range from which values are drawn.

    Attributes:
        name: Column name in tables.
        labels: Labels of the values in tables and pictures: numbers in base units if all values are quantities.
        changes: Scenario changes, one entry per value.
        paths: Scenario paths that a value from the range sets.
        ends: Lower bound, upper bound and unit of the range; None for listed values.
        log: True if values are uniformly distributed on a logarithmic scale.
    """

    name: str
    labels: tuple[Label, ...] = ()
    changes: tuple[Changes, ...] = ()
    paths: tuple[str, ...] = ()
    ends: tuple[float, float, str] | None = None
    log: bool = False

    def drawn(self, position: float) -> tuple[float, Changes]:
        """Returns the label and the changes of the value at a relative position in the range, 0 to 1."""
        from levelflow.theory.units import UNITS

        assert self.ends is not None  # only axes with a range draw values
        low, high, unit = self.ends
        value = low * (high / low) ** position if self.log else low + position * (high - low)
        rounded = float(f"{value:.12g}")
        text = f"{value:.12g} {unit}" if unit else rounded
        label = rounded * UNITS.get(unit, 1.0)
        return label, dict.fromkeys(self.paths, text)


@dataclass(frozen=True)
class Design:
    """Points of a study in a fixed order, each computed on demand.

    `grid` crosses all axes. `list` combines the first values of all axes, then the second values, and so on.
    `random` and `latin-hypercube` draw points from the ranges and cross them with the axes that list values. All laws
    therefore run at the same drawn points.
    """

    axes: tuple[Axis, ...]
    kind: str = "grid"
    points: int = 1
    seed: int = 1

    def __len__(self) -> int:
        if self.kind == "list":
            return len(self.axes[0].changes) if self.axes else 1
        return self.points * math.prod(len(axis.changes) for axis in self.axes if axis.ends is None)

    @cached_property
    def positions(self) -> npt.NDArray[np.float64]:
        """Relative positions of drawn values in their ranges: one row per drawn point, one column per range."""
        random = np.random.default_rng(self.seed)
        ranges = sum(axis.ends is not None for axis in self.axes)
        uniform = random.random((self.points, ranges))
        if self.kind == "random":
            return uniform
        strata = np.array([random.permutation(self.points) for _ in range(ranges)]).reshape(ranges, self.points).T
        return np.asarray((strata + uniform) / self.points, dtype=np.float64)

    def point(self, number: int) -> tuple[dict[str, Label], Changes]:
        """Returns the labels of a point by axis, and its scenario changes in the order of the axes."""
        drawn, index = divmod(number, max(1, len(self) // self.points))
        if self.kind == "list":
            chosen = dict.fromkeys((axis.name for axis in self.axes), number)
        else:
            chosen = {}
            for axis in reversed([axis for axis in self.axes if axis.ends is None]):
                index, chosen[axis.name] = divmod(index, len(axis.changes))
        labels: dict[str, Label] = {}
        changes: Changes = {}
        column = 0
        for axis in self.axes:
            if axis.ends is None:
                label, own = axis.labels[chosen[axis.name]], axis.changes[chosen[axis.name]]
            else:
                label, own = axis.drawn(float(self.positions[drawn, column]))
                column += 1
            labels[axis.name] = label
            changes |= own
        return labels, changes


def check(design: Design, replications: int, first: int) -> None:
    """Validates a design. Messages number its axes from `first`.

    Raises:
        ScenarioError: If the design is inconsistent or has too many runs.
    """
    lengths = {len(axis.changes) for axis in design.axes if axis.ends is None}
    if design.kind == "list" and len(lengths) > 1:
        counts = ", ".join(f"{axis.name} {len(axis.changes)}" for axis in design.axes)
        raise ScenarioError(f"design: a list needs the same number of values on each axis; it has {counts}")
    drawn = [number for number, axis in enumerate(design.axes, first) if axis.ends is not None]
    draws = design.kind in {"random", "latin-hypercube"}
    if drawn and not draws:
        raise ScenarioError(f"axis {drawn[0]}: a {design.kind} needs steps, as in steps = 5")
    if draws and not drawn:
        raise ScenarioError(f"design: {design.kind} needs an axis with from and to, without steps")
    if len(design) * replications > MAX_RUNS:
        raise ScenarioError(
            f"study: {len(design):,} points with {replications:,} replications are {len(design) * replications:,} runs;"
            f" at most {MAX_RUNS:,} are allowed"
        )
