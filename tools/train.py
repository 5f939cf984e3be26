"""Simulates what `make bench` does, for the compiler of a wheel to learn which ways packets take (profile-guided)."""

from __future__ import annotations

from tools.bench import cases, measure

#: Packets of more flows do not differ in their ways.
MOST_FLOWS = 100_000


def main() -> None:
    """Runs each case once."""
    for _, _, scenario, flows in cases():
        if (flows or 0) <= MOST_FLOWS:
            measure(scenario)


if __name__ == "__main__":
    main()
