"""Writes the traces of the ready scenarios: `python -m tools.lines` writes `scenarios/{lte,5g,wifi,leo}.csv`.

These are no measurements. Each is drawn from a model with published numbers, and what is a choice of our own is said.
"""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How long a trace is, seconds.
LENGTH_S = 120.0
Row = dict[str, float]


def normal(draw: Random) -> float:
    """A standard normal number, from uniform ones alone: the same in every version of Python."""
    return sqrt(-2 * log(1 - draw.random())) * cos(2 * pi * draw.random())


def lte(draw: Random) -> Iterator[Row]:
    """Cellular capacity as Winstein et al. 2013 model it (Sprout, section 3.1).

    The rate moves as a Brownian motion of 200 packets/s per root second, between 0 and 1000 packets/s of 1500 bytes.
    At 0 it stays until an outage of exponential length, 1 s on average, is over; then it moves up. Beginning and step
    of 100 ms: own choice.
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
    """Capacity of 5G, between mid band and low band.

    Medians in the United States in 2022: 230 Mb/s in the C-band, 62 Mb/s in the low band (Ookla, as the GSMA cites it).
    How long a phone stays in a band, 10 s on average, and the spread within it, 30 %: own choice.
    """
    medians, band, until = (230e6, 62e6), 0, 0.0
    step = 0.1
    for number in range(round(LENGTH_S / step)):
        now = number * step
        if now >= until:
            band, until = (1 - band, now - 10 * log(1 - draw.random())) if now else (0, 10.0)
        yield {"t_s": now, "capacity_bps": medians[band] * exp(0.3 * normal(draw))}


def wifi(draw: Random) -> Iterator[Row]:
    """Capacity of a station that walks about: IEEE 802.11n, one stream, 20 MHz, long guard interval.

    Rates of MCS 0 to 7 are those of the standard. The steps, up or down one each second with probability 0.3 each, and
    that 65 % are left for data: own choice.
    """
    rates, now = (6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0), 7
    for second in range(round(LENGTH_S)):
        yield {"t_s": float(second), "capacity_bps": 0.65e6 * rates[now]}
        drawn = draw.random()
        now = min(now + 1, 7) if drawn < 0.3 else max(now - 1, 0) if drawn < 0.6 else now


def leo(draw: Random) -> Iterator[Row]:
    """A user terminal in a low orbit's cell: another satellite, capacity, delay and loss every 15 s.

    The 15 s are those of Starlink's regular handovers (Zhao et al. 2026), 10 to 70 Mb/s and 0.5 to 6 % of loss the
    ranges of the traces of LeoCC (2025), half of the packets lost in a handover the most that Kassem et al. 2022 saw.
    Uniform draws, delays of 12 to 25 ms, and 200 ms for a handover: own choice.
    """
    for number in range(round(LENGTH_S / 15)):
        capacity, delay, loss = (low + (high - low) * draw.random() for low, high in RANGES)
        state = {"t_s": 15.0 * number, "capacity_bps": capacity, "delay_s": delay, "loss": loss}
        yield state
        yield {**state, "t_s": 15 * number + 14.8, "loss": 0.5}


#: Of `leo`: bit/s, seconds, and a share.
RANGES = ((10e6, 70e6), (0.012, 0.025), (0.005, 0.06))
LINES: dict[str, Callable[[Random], Iterator[Row]]] = {"lte": lte, "5g": fifth, "wifi": wifi, "leo": leo}


def text(name: str) -> str:
    """Returns what the file of a line holds."""
    rows = list(LINES[name](Random(name)))
    lines = [",".join(f"{value:.6g}" for value in row.values()) for row in rows]
    return "\n".join([",".join(rows[0]), *lines, ""])


def main() -> None:
    """Writes the files."""
    for name in LINES:
        path = Path("scenarios") / f"{name}.csv"
        path.write_text(text(name), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
