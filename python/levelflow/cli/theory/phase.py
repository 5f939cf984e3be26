"""`levelflow theory phase`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

import click

from levelflow.cli.theory.shared import HAVE, json_option, out_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from levelflow.theory.arrays import Floats
    from levelflow.theory.record import Pairs, Portrait

#: Capacity, pairs of initial rates, and number of steps, for two flows without delay.
CAPACITY, PAIRS, STEPS = 100.0, ((10.0, 90.0), (80.0, 70.0), (20.0, 5.0)), 200
#: Axes of a portrait in words.
IN_WORDS = {"R N / C": "rate over fair share", "q / (C d0)": "queue in round trips"}
#: Relative difference of the two rates within which they count as equal.
FAIR = 0.01
#: Largest number of round trips.
LONGEST = 10_000.0


class Trajectory(TypedDict):
    """Start and end of a trajectory, and whether it settles."""

    start: list[float]
    end: list[float]
    word: str


class PhaseFacts(TypedDict):
    """Trajectories in the plane of two variables."""

    axes: tuple[str, str]
    linear: NotRequired[str]
    settles: NotRequired[bool]
    verdict: str
    starts: list[Trajectory]


@click.command(epilog="Example: levelflow theory phase rcp --alpha 0.1 --beta 1 --out phase.png")
@click.argument("law", help=f"{HAVE} phase portrait.")
@click.option("--alpha", type=float, help="rcp, emkc, aimd: gain.")
@click.option("--beta", type=float, help="rcp, emkc, aimd: gain.")
@click.option("--tau", type=float, help="jetmax: gain.")
@click.option("--duration", default=1000.0, help="rcp: duration, round trips.")
@out_option
@json_option
def phase(
    law: str,
    alpha: float | None,
    beta: float | None,
    tau: float | None,
    duration: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draw the trajectories of a law from several starts: RCP's rate against its queue, or the rates of two flows.

    RCP's fluid model has a delay and a queue that cannot fall below 0. This limit stops trajectories that grow without
    bound in its linear model. The other laws share a link of capacity 100 between two flows, in steps and without
    delay.
    """
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.shared import reply
    from levelflow.theory.errors import TheoryError
    from levelflow.theory.laws import need
    from levelflow.theory.record import Portrait

    given = {key: value for key, value in (("alpha", alpha), ("beta", beta), ("tau", tau)) if value is not None}
    known: Portrait | Pairs = need(law, "phase")
    if strange := sorted(set(given) - set(known.gains)):
        raise TheoryError(f"{law} has no {strange[0]}; it has {', '.join(known.gains)}")
    gains = known.gains | given
    data, draw = _portrait(known, gains, duration) if isinstance(known, Portrait) else _pairs(known, gains)

    def show() -> None:
        click.echo(f"{law} with {_shown(gains)}. {data['verdict']}\n")
        rows = [[*(f"{value:.4g}" for value in (*row["start"], *row["end"])), row["word"]] for row in data["starts"]]
        first, second = data["axes"]
        show_table("Starts and ends", [first, second, f"{first} at the end", second, ""], rows)

    reply(as_json, {"law": law, "gains": gains, **data}, show, out, draw)


def _portrait(known: Portrait, gains: dict[str, float], duration: float) -> tuple[PhaseFacts, Callable[[], Figure]]:
    from levelflow.theory.validate import read_number

    read_number("duration", duration, high=LONGEST)
    found = known.run(gains, duration)
    linear = "stable" if found.linear else "unstable"
    data: PhaseFacts = {
        "axes": found.axes,
        "linear": linear,
        "settles": all(found.settles),
        "verdict": f"Linear model: {linear}. Fluid model with the queue's floor: "
        f"{'settles from all starts' if all(found.settles) else 'does not settle'} in {duration:g} round trips.",
        "starts": [
            {
                "start": [float(found.x[0, k]), float(found.y[0, k])],
                "end": [float(found.x[-1, k]), float(found.y[-1, k])],
                "word": "settles" if settled else "does not",
            }
            for k, settled in enumerate(found.settles)
        ],
    }

    def draw() -> Figure:
        from levelflow.cli.theory.shared import paper
        from levelflow.theory.pictures.phase import phase_portrait

        figure = paper(5, 4)
        words = tuple(f"{IN_WORDS[axis]}, {axis}" if axis in IN_WORDS else axis for axis in found.axes)
        phase_portrait(found.x, found.y, found.equilibrium, (words[0], words[1]), figure)
        figure.axes[0].set_title(_shown(gains), loc="left")
        return figure

    return data, draw


def _pairs(known: Pairs, gains: dict[str, float]) -> tuple[PhaseFacts, Callable[[], Figure]]:
    import numpy as np

    from levelflow.theory.networks.fairness import fairness
    from levelflow.theory.validate import read_number

    for name, value in gains.items():
        read_number(name, value, high=known.highest[name])

    def step(rates: Floats) -> Floats:
        return known.step(rates, CAPACITY, gains)

    starts: list[Trajectory] = []
    for pair in PAIRS:
        rates = np.array(pair)
        for _ in range(STEPS):
            rates = step(rates)
        fair = fairness(rates) > 1 - FAIR
        starts.append({"start": list(pair), "end": rates.tolist(), "word": "fair" if fair else "unfair"})
    data: PhaseFacts = {"axes": ("x1", "x2"), "verdict": f"{STEPS} steps, capacity {CAPACITY:g}.", "starts": starts}

    def draw() -> Figure:
        from levelflow.theory.pictures.convergence import phase_plane

        return phase_plane(step, CAPACITY, PAIRS, STEPS)

    return data, draw


def _shown(gains: dict[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in gains.items())
