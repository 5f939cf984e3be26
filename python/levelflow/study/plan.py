"""Plan of a study: scenarios, axes, replications and metrics."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from levelflow._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from levelflow.scenario import Scenario
    from levelflow.study.design import Changes, Design

P = ParamSpec("P")
T = TypeVar("T")

#: Limit on the values per axis that are validated before the first run.
MAX_VALIDATED = 200


@dataclass(frozen=True)
class Replications:
    """Number of runs per point, fixed or adaptive.

    An adaptive number grows until the half-width of the 95 % confidence interval of `metric` is at most `width`.

    Attributes:
        least: Minimum number of runs per point.
        most: Maximum number of runs per point.
        metric: Metric of the stopping rule; "" for a fixed number of runs.
        width: Target for the half-width of the confidence interval.
        relative: True if `width` is a fraction of the mean.
    """

    least: int
    most: int
    metric: str = ""
    width: float = math.inf
    relative: bool = False


@dataclass(frozen=True)
class Plan:
    """Scenarios, design, replications and metrics of a study. Replication r has the seed `seed` + r.

    Attributes:
        name: Name of the study.
        scenarios: Scenarios by name. Several scenarios become the values of an axis `scenario`.
        design: Points of the study.
        replications: Number of runs per point.
        seed: Seed of the first replication.
        metrics: Metrics in tables and pictures; empty for the default metrics.
        warm_up: "auto", or the fraction of each run that is excluded at its start.
    """

    name: str
    scenarios: dict[str, Scenario]
    design: Design
    replications: Replications
    seed: int
    metrics: tuple[str, ...]
    warm_up: str | float

    def scenario(self, point: int) -> Scenario:
        """Returns the scenario of a point.

        Raises:
            ScenarioError: If the scenario has no entry at a path.
        """
        return self._changed(self.design.point(point)[1])

    def _changed(self, changes: Changes) -> Scenario:
        changed = self.scenarios[str(changes.get("scenario", next(iter(self.scenarios))))].copy()
        for path, value in changes.items():
            if path != "scenario":
                changed.set(path, value)
        return changed

    def identity(self) -> Mapping[str, object]:
        """Returns the identity of the study: all settings of its runs, except the number of replications."""
        axes = [{**axis.__dict__} for axis in self.design.axes]
        scenarios = {name: scenario.complete() for name, scenario in self.scenarios.items()}
        design = {"kind": self.design.kind, "points": self.design.points, "seed": self.design.seed}
        settings = {"name": self.name, "scenarios": scenarios, "axes": axes, "design": design, "seed": self.seed}
        identity: Mapping[str, object] = json.loads(json.dumps(settings | {"warm_up": self.warm_up}, default=str))
        return identity

    def validate(self) -> None:
        """Validates values of each axis: the first `MAX_VALIDATED` listed values, or both bounds of a range.

        Raises:
            ScenarioError: If a value is not allowed. The message has one line per invalid axis.
        """
        first = self.design.point(0)[1]
        mistake = self._mistake([first])
        valid = {} if mistake else first
        if mistake and self._mistake([valid]):
            self._changed(first).resolve()
        wrong = Mistakes()
        for number, axis in enumerate(self.design.axes, 1 - (len(self.scenarios) > 1)):
            values = (
                axis.changes[:MAX_VALIDATED]
                if axis.ends is None
                else [axis.drawn(position)[1] for position in (0.0, 1.0)]
            )
            if of_axis := self._mistake([valid | changes for changes in values]):
                wrong.append(f"{f'axis {number}' if number else 'study, scenario'}: {of_axis}")
        if mistake and not wrong:
            self._changed(first).resolve()
        wrong.raise_if_any()

    def _mistake(self, each: list[Changes]) -> str:
        """Returns the first mistake of the first invalid change; "" if all changes are valid."""
        for changes in each:
            try:
                self._changed(changes).resolve()
            except ScenarioError as error:
                return str(error).splitlines()[0]
        return ""


class Mistakes(list[str]):
    """Mistakes in a file that are reported together, one line each."""

    def of(self, read: Callable[P, T], *values: P.args, **options: P.kwargs) -> T | None:
        """Returns the result of `read`. If `read` raises, records its mistakes and returns None."""
        try:
            return read(*values, **options)
        except ScenarioError as error:
            self.extend(line for line in str(error).splitlines() if line not in self)
            return None

    def error(self) -> ScenarioError:
        """Returns an error that lists the recorded mistakes."""
        error = ScenarioError("\n".join(self))
        error.mistakes = list(self)
        return error

    def raise_if_any(self) -> None:
        """Raises an error if a mistake was recorded.

        Raises:
            ScenarioError: If a mistake was recorded. The message has one line per mistake.
        """
        if self:
            raise self.error()
