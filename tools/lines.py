"""Writes the traces of the ready scenarios: `python -m tools.lines` writes `scenarios/{lte,5g,wifi,leo}.csv`.

The traces are not measurements. Each trace is drawn at random from a model with published numbers. Docstrings mark
numbers of our own choice.
"""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Length of a trace, seconds.
LENGTH_S = 120.0
Row = dict[str, float]


def normal(draw: Random) -> float:
    """Returns a standard normal number from uniform numbers only. It is then the same in every Python version."""
    return sqrt(-2 * log(1 - draw.random())) * cos(2 * pi * draw.random())


def lte(draw: Random) -> Iterator[Row]:
    """Yields a cellular capacity by the model of Winstein et al. 2013 (Sprout, section 3.1).

    The rate moves as a Brownian motion of 200 packets/s per root second, between 0 and 1000 packets/s of 1500 bytes. At
    0, an outage begins. The duration of an outage is exponential, 1 s on average. After an outage, the rate increases.
    Own choice: the initial rate, and steps of 100 ms.
    """
    step, rate, over = 0.1, 500.0, 0.0
    for number in range(round(LENGTH_S / step)):
        now = number * step
        yield {"t_s": now, "capacity_bps": rate * 1500 * 8}
        if now < over:
            continue
        change = 200 * sqrt(step) * normal(draw)
        moved = rate + change if rate else abs(change)
        rate = max(2000 - moved if moved > 1000 else moved, 0.0)
        if rate == 0.0:
            over = now - log(1 - draw.random())


def fifth(draw: Random) -> Iterator[Row]:
    """Yields a 5G capacity that alternates between mid band and low band.

    Medians in the United States in 2022: 230 Mb/s in the C-band, 62 Mb/s in the low band (Ookla, as cited by the GSMA).
    Own choice: the time in a band, 10 s on average, and the spread within a band, 30 %.
    """
    medians, band, until = (230e6, 62e6), 0, 0.0
    step = 0.1
    for number in range(round(LENGTH_S / step)):
        now = number * step
        if now >= until:
            band, until = (1 - band, now - 10 * log(1 - draw.random())) if now else (0, 10.0)
        yield {"t_s": now, "capacity_bps": medians[band] * exp(0.3 * normal(draw))}


def wifi(draw: Random) -> Iterator[Row]:
    """Yields the capacity of a moving station with IEEE 802.11n, one stream, 20 MHz, long guard interval.

    The rates of MCS 0 to 7 come from the standard. Own choice: each second, a step up or down with probability 0.3
    each, and 65 % of the rate for data.
    """
    rates, now = (6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0), 7
    for second in range(round(LENGTH_S)):
        yield {"t_s": float(second), "capacity_bps": 0.65e6 * rates[now]}
        drawn = draw.random()
        now = min(now + 1, 7) if drawn < 0.3 else max(now - 1, 0) if drawn < 0.6 else now


def leo(draw: Random) -> Iterator[Row]:
    """Yields the link of a terminal to low-orbit satellites: new satellite, capacity, delay and loss rate every 15 s.

    15 s is the interval of Starlink's regular handovers (Zhao et al. 2026). 10 to 70 Mb/s and a loss of 0.5 to 6 % are
    the ranges in the traces of LeoCC (2025). A handover loses half of the packets, which is the maximum of Kassem et
    al. 2022. Own choice: uniform draws, delays of 12 to 25 ms, and a duration of 200 ms for a handover.
    """
    for number in range(round(LENGTH_S / 15)):
        capacity, delay, loss = (low + (high - low) * draw.random() for low, high in RANGES)
        state = {"t_s": 15.0 * number, "capacity_bps": capacity, "delay_s": delay, "loss": loss}
        yield state
        yield {**state, "t_s": 15 * number + 14.8, "loss": 0.5}


#: Ranges of `leo`: capacity in bit/s, delay in seconds, loss rate as a fraction.
RANGES = ((10e6, 70e6), (0.012, 0.025), (0.005, 0.06))
LINES: dict[str, Callable[[Random], Iterator[Row]]] = {"lte": lte, "5g": fifth, "wifi": wifi, "leo": leo}


def text(name: str) -> str:
    """Returns the content of a trace file."""
    rows = list(LINES[name](Random(name)))
    lines = [",".join(f"{value:.6g}" for value in row.values()) for row in rows]
    return "\n".join([",".join(rows[0]), *lines, ""])


def main() -> None:
    """Writes all trace files."""
    for name in LINES:
        path = Path("scenarios") / f"{name}.csv"
        path.write_text(text(name), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
