"""`levelflow theory phase`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelflow.cli.theory.asking import AsJson, Out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelflow.theory.arrays import Floats
    from levelflow.theory.pictures.convergence import Step

#: The gains of each law: what they are called, and what is assumed.
LAWS: dict[str, dict[str, float]] = {
    "rcp": {"alpha": 0.1, "beta": 1.0},
    "emkc": {"alpha": 2.0, "beta": 0.5},
    "aimd": {"alpha": 2.0, "beta": 0.5},
    "jetmax": {"tau": 0.5},
}
#: Capacity and starts for two flows without delay, and steps that they get.
CAPACITY, PAIRS, STEPS = 100.0, ((10.0, 90.0), (80.0, 70.0), (20.0, 5.0)), 200
#: How far the smaller rate may be below the larger.
FAIR = 0.01
#: Steps between those that are drawn, and the most round trips.
EVERY, LONGEST = 3, 10_000.0
#: Largest gains, beyond which rates grow without bound or below 0.
MOST = {"jetmax": {"tau": 2.0}, "emkc": {"alpha": CAPACITY, "beta": 2.0}, "aimd": {"alpha": CAPACITY, "beta": 1.0}}

Law = Annotated[str, typer.Argument(help=f"One of {', '.join(LAWS)}.", show_default=False)]


def phase(
    law: Law,
    alpha: Annotated[float | None, typer.Option(help="rcp, emkc, aimd.", show_default=False)] = None,
    beta: Annotated[float | None, typer.Option(help="rcp, emkc, aimd.", show_default=False)] = None,
    tau: Annotated[float | None, typer.Option(help="jetmax.", show_default=False)] = None,
    duration: Annotated[float, typer.Option(help="rcp: round trips.")] = 1000.0,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Where a law goes from several starts: RCP's rate against its queue, or the rates of two flows.

    RCP's fluid model has a delay and a queue that cannot fall below 0. That floor stops trajectories that its linear
    model lets grow. The others share a link of capacity 100 between two flows, in steps and without delay.
    """
    from levelflow.cli.show import show_table
    from levelflow.cli.theory.asking import save, show_json
    from levelflow.theory.errors import TheoryError

    given = {key: value for key, value in (("alpha", alpha), ("beta", beta), ("tau", tau)) if value is not None}
    if law not in LAWS:
        raise TheoryError(f"law {law} has no phase portrait here; needs one of {', '.join(LAWS)}")
    if strange := sorted(set(given) - set(LAWS[law])):
        raise TheoryError(f"{law} has no {strange[0]}; it has {', '.join(LAWS[law])}")
    gains = LAWS[law] | given
    answer, figure = _rcp(gains, duration, out is not None) if law == "rcp" else _pairs(law, gains, out is not None)
    if out is not None and figure is not None:
        save(figure, out)
    if as_json:
        show_json({"law": law, "gains": gains, **answer})
        return
    typer.echo(f"{law} with {', '.join(f'{key} {value:g}' for key, value in gains.items())}. {answer['verdict']}\n")
    rows = [[*(f"{value:.4g}" for value in (*row["start"], *row["end"])), row["word"]] for row in answer["starts"]]
    first, second = answer["axes"]
    show_table("Starts and ends", [first, second, f"{first} at the end", second, ""], rows)
    if out is not None:
        typer.echo(out)


def _rcp(gains: dict[str, float], duration: float, drawn: bool) -> tuple[dict[str, Any], Figure | None]:
    import numpy as np

    from levelflow.cli.theory.asking import paper
    from levelflow.theory.laws import rcp
    from levelflow.theory.pictures.phase import phase_portrait
    from levelflow.theory.validate import read_number

    read_number("duration", duration, high=LONGEST)
    link = rcp.Link()
    gamma, queue = np.array(rcp.STARTS).T
    run = rcp.fluid(
        (gains["alpha"], gains["beta"]),
        (gamma * link.capacity, queue * link.capacity * link.d0),
        link,
        duration=duration,
        every=EVERY,
    )
    rates, queues = run.states[:, 0] / link.rest[0], run.states[:, 1] / (link.capacity * link.d0)
    settled = rcp.settles(run, link)
    linear = "stable" if rcp.stable(gains["alpha"], gains["beta"]) else "unstable"
    axes = ("R N / C", "q / (C d0)")
    answer = {
        "axes": axes,
        "linear": linear,
        "settles": bool(settled.all()),
        "verdict": f"Linear model: {linear}. Fluid model with the queue's floor: "
        f"{'settles from all starts' if settled.all() else 'does not settle'} in {duration:g} round trips.",
        "starts": [
            {
                "start": [float(rates[0, k]), float(queues[0, k])],
                "end": [float(rates[-1, k]), float(queues[-1, k])],
                "word": "settles" if settled[k] else "does not",
            }
            for k in range(settled.size)
        ],
    }
    if not drawn:
        return answer, None
    figure = paper(5, 4)
    phase_portrait(rates, queues, (1.0, 0.0), axes, figure)
    figure.axes[0].set_title(f"alpha {gains['alpha']:g}, beta {gains['beta']:g}", loc="left")
    return answer, figure


def _pairs(law: str, gains: dict[str, float], drawn: bool) -> tuple[dict[str, Any], Figure | None]:
    import numpy as np

    from levelflow.theory.networks.fairness import fairness
    from levelflow.theory.pictures.convergence import phase_plane

    step = _step(law, gains)
    starts = []
    for pair in PAIRS:
        rates = np.array(pair)
        for _ in range(STEPS):
            rates = step(rates)
        fair = fairness(rates) > 1 - FAIR
        starts.append({"start": list(pair), "end": rates.tolist(), "word": "fair" if fair else "unfair"})
    answer = {"axes": ("x1", "x2"), "verdict": f"{STEPS} steps, capacity {CAPACITY:g}.", "starts": starts}
    return answer, phase_plane(step, CAPACITY, PAIRS, STEPS) if drawn else None


def _step(law: str, gains: dict[str, float]) -> Step:
    """Returns the next rates of two flows on one link, from those before."""
    import numpy as np

    from levelflow.theory.laws import aimd, emkc, jetmax
    from levelflow.theory.laws.shared import mkc
    from levelflow.theory.validate import read_number

    for name, value in gains.items():
        read_number(name, value, high=MOST[law][name])

    def step(rates: Floats) -> Floats:
        if law == "jetmax":
            share = jetmax.fair_share(np.array(CAPACITY), np.array(0.0), np.array(2.0))
            return jetmax.sender(rates, share, gains["tau"])
        if law == "aimd":
            return aimd.step(rates, CAPACITY, gains["alpha"], gains["beta"], pause=True)
        return mkc.sender(rates, emkc.price(rates.sum(), np.array(CAPACITY)), gains["alpha"], gains["beta"])

    return step
