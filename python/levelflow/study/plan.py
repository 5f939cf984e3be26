"""What a study is: its scenarios, what varies, how often, what is measured."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from levelflow._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.scenario import Scenario
    from levelflow.study.design import Changes, Design

T = TypeVar("T")

#: Values of an axis that are tried before anything runs.
TRIED = 200


@dataclass(frozen=True)
class Replications:
    """So many runs of each point; with `metric`, as many until half of its interval is at most `width`.

    Attributes:
        least: runs of a point.
        most: runs of a point.
        metric: of a run, "" without one.
        width: half of the interval.
        relative: takes the width as a share of the mean.
    """

    least: int
    most: int
    metric: str = ""
    width: float = math.inf
    relative: bool = False


@dataclass(frozen=True)
class Plan:
    """A study: scenarios, what varies, how often, what is measured. Replication r has the seed `seed` + r.

    Attributes:
        name: of the study.
        scenarios: by name; several are the values of an axis `scenario`.
        design: the points.
        replications: of each point.
        seed: of the first replication.
        metrics: that tables and pictures show; empty for the usual ones.
        warm_up: "auto", or a share of each run that is left out.
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
            ScenarioError: if there is no entry of a path.
        """
        return self._changed(self.design.point(point)[1])

    def _changed(self, changes: Changes) -> Scenario:
        changed = self.scenarios[changes.get("scenario", next(iter(self.scenarios)))].copy()
        for path, value in changes.items():
            if path != "scenario":
                changed.set(path, value)
        return changed

    def about(self) -> dict[str, Any]:
        """Returns what makes this study another one than others: all but the number of replications."""
        axes = [{**axis.__dict__} for axis in self.design.axes]
        scenarios = {name: scenario.complete() for name, scenario in self.scenarios.items()}
        design = {"kind": self.design.kind, "points": self.design.points, "seed": self.design.seed}
        said = {"name": self.name, "scenarios": scenarios, "axes": axes, "design": design, "seed": self.seed}
        about: dict[str, Any] = json.loads(json.dumps(said | {"warm_up": self.warm_up}, default=str))
        return about

    def tried(self) -> None:
        """Tries each value of each axis.

        Raises:
            ScenarioError: in a line per mistake.
        """
        usual = self.design.point(0)[1]
        refused = self._refused([usual])
        works = {} if refused else usual
        if refused and self._refused([works]):
            self._changed(usual).resolve()
        wrong = Mistakes()
        for number, axis in enumerate(self.design.axes, 1 - (len(self.scenarios) > 1)):
            values = axis.changes[:TRIED] if axis.ends is None else [axis.drawn(share)[1] for share in (0.0, 1.0)]
            if mistake := self._refused([works | changes for changes in values]):
                wrong.append(f"{f'axis {number}' if number else 'study, scenario'}: {mistake}")
        if refused and not wrong:
            self._changed(usual).resolve()
        wrong.tell()

    def _refused(self, tried: list[Changes]) -> str:
        """The first mistake of the first of these changes that has any; "" if all are allowed."""
        for changes in tried:
            try:
                self._changed(changes).resolve()
            except ScenarioError as error:
                return str(error).splitlines()[0]
        return ""


class Mistakes(list[str]):
    """The mistakes of a file, a line each, to be reported together."""

    def of(self, read: Callable[..., T], *values: Any) -> T | None:
        """Returns what a call returns; None after a mistake, which is noted."""
        try:
            return read(*values)
        except ScenarioError as error:
            self.extend(line for line in str(error).splitlines() if line not in self)
            return None

    def error(self) -> ScenarioError:
        """Returns the error that reports them."""
        error = ScenarioError("\n".join(self))
        error.mistakes = list(self)
        return error

    def tell(self) -> None:
        """Reports what was noted.

        Raises:
            ScenarioError: if anything was.
        """
        if self:
            raise self.error()
